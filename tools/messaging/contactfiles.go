package messaging

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// The files that show the contacts of the caller.
const (
	activeFile   = "contacts/ACTIVE.md"
	inactiveFile = "contacts/INACTIVE.md"
)

// ContactFiles show contacts as files.
type ContactFiles struct{ Contacts }

// Serves reports whether a name is the name of a file with contacts. Serves, Read, Write,
// Remove and List make a [workspace.Source].
func (ContactFiles) Serves(ctx context.Context, name string) bool {
	return (name == activeFile || name == inactiveFile) && tool.CallerFrom(ctx) != (tool.Caller{})
}

// Note says that the file is not on the disk.
func (ContactFiles) Note() string { return "kept as contacts, not as a file: commands do not see it" }

// Read returns the active or the inactive contacts in Markdown.
func (f ContactFiles) Read(ctx context.Context, name string) ([]byte, time.Time, error) {
	o, err := tool.OwnerFrom(ctx)
	if err != nil || !f.Serves(ctx, name) {
		return nil, time.Time{}, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	list, err := f.Contacts.List(ctx, o)
	if err != nil {
		return nil, time.Time{}, err
	}
	list = slices.DeleteFunc(list, func(c Contact) bool { return c.Active != (name == activeFile) })
	if len(list) == 0 {
		return nil, time.Time{}, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	content, err := writeContacts(name, list)
	return content, time.Time{}, err
}

// Write replaces the contacts by the contacts of a file.
func (f ContactFiles) Write(ctx context.Context, name string, content []byte) error {
	o, err := tool.OwnerFrom(ctx)
	if err != nil {
		return err
	}
	list, err := readContacts(content)
	if err != nil {
		return err
	}
	active := name == activeFile
	for i := range list {
		list[i].Active = active
	}
	return f.Replace(ctx, o, active, list)
}

// Remove removes the contacts of a file.
func (f ContactFiles) Remove(ctx context.Context, name string) error {
	if _, _, err := f.Read(ctx, name); err != nil {
		return err
	}
	o, err := tool.OwnerFrom(ctx)
	if err != nil {
		return err
	}
	return f.Replace(ctx, o, name == activeFile, nil)
}

// List returns the files with contacts in a directory.
func (f ContactFiles) List(ctx context.Context, dir string) (list []workspace.SourceEntry, err error) {
	for _, name := range []string{activeFile, inactiveFile} {
		if dir != "." && dir != "contacts" && dir != name {
			continue
		}
		if content, at, err := f.Read(ctx, name); err == nil {
			list = append(list, workspace.SourceEntry{Name: name, Size: int64(len(content)), Modified: at})
		}
	}
	return list, nil
}

// Replace makes a list the active or the inactive contacts of an owner.
func (r Contacts) Replace(ctx context.Context, o tool.Owner, active bool, list []Contact) error {
	return r.Store.Update(ctx, func(t *store.Tx) error {
		before, err := listContacts(t, o)
		if err != nil {
			return err
		}
		var kept []Contact
		for _, c := range before {
			if c.Active != active || slices.ContainsFunc(list, func(other Contact) bool { return other.ID == c.ID }) {
				kept = append(kept, c)
				continue
			}
			if _, err := t.Exec("DELETE FROM contact WHERE agent = $1 AND usr = $2 AND id = $3", o.Agent, o.User,
				c.ID); err != nil {
				return err
			}
		}
		return putContacts(t, o, kept, list)
	})
}

const fence = "```"

// writeContacts writes contacts as sections of Markdown, each with a block of YAML.
func writeContacts(name string, list []Contact) ([]byte, error) {
	var b bytes.Buffer
	title := "Active contacts"
	if name == inactiveFile {
		title = "Inactive contacts"
	}
	fmt.Fprintf(&b, "# %s\n", title)
	for _, c := range list {
		c.Cooldown, c.Talked = c.Cooldown.UTC(), c.Talked.UTC()
		fields, err := yaml.Marshal(c)
		if err != nil {
			return nil, err
		}
		heading := c.Nickname
		if heading == "" {
			heading = c.ID
		}
		fmt.Fprintf(&b, "\n## %s\n\n%syaml\n%s%s\n", strings.Join(strings.Fields(heading), " "), fence, fields, fence)
	}
	return b.Bytes(), nil
}

// readContacts reads the output of writeContacts. Text beside the blocks is ignored.
func readContacts(content []byte) (list []Contact, err error) {
	rest := string(content)
	for n := 1; ; n++ {
		_, after, found := strings.Cut("\n"+rest, "\n"+fence+"yaml\n")
		if !found {
			return list, nil
		}
		block, more, found := strings.Cut("\n"+after, "\n"+fence)
		if !found {
			return nil, tool.Errorf(tool.Invalid, "block %d of YAML has no end", n).Try("end it with %s on a line",
				fence)
		}
		rest = more
		d := yaml.NewDecoder(strings.NewReader(block))
		d.KnownFields(true)
		var c Contact
		if err := d.Decode(&c); err != nil {
			return nil, tool.Errorf(tool.Invalid, "block %d is not a contact: %v", n, err).
				Try("read the file and change only existing entries")
		}
		if err := c.check(); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(list, func(other Contact) bool { return other.ID == c.ID }) {
			return nil, tool.Errorf(tool.Invalid, "two blocks have the contact %q", c.ID).Try("keep one")
		}
		list = append(list, c)
	}
}
