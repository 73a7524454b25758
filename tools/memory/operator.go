package memory

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Room returns the verbs with which operators manage memories. open returns the
// memory of a host; no verb searches, so it needs no index.
func Room(open func(*room.Host) (*Memory, error)) *room.Room {
	o := new(operator)
	return &room.Room{
		Name: "memory", Title: "List, import, export and purge memories",
		Open: func(h *room.Host) (err error) { o.Memory, err = open(h); return err },
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "list", Title: "List the memories of one agent and one user, the latest first", Risk: tool.Reads,
				Where: room.Operator, Owned: true,
				Doc: `list prints what an agent remembers about a user, and what all users of the agent
share. To read, search or delete memories use mcp-tools call with memory_get,
memory_search and memory_forget.`,
				Example: "  mcp-tools memory list\n  mcp-tools memory list --agent helper --user ann",
			}, o.list),
			room.Do(room.Verb{
				Name: "import", Title: "Store the files of a directory as memories", Args: []string{"dir"}, Risk: tool.Writes,
				Owned: true,
				Doc: `import stores the files of a directory as memories of one agent and one user:
MEMORY.md, memory.md and the Markdown files in memory/, and other Markdown files as
memory/FILE. Documents such as PDF, Word and HTML files become memory/FILE.md.
Equal memories are not changed; different ones get a new version, and the old version
can be restored.`,
				Example: `  mcp-tools memory import notes
  mcp-tools memory import backup --agent helper --user ann
  mcp-tools memory import handbook --agent helper --user -    for all its users`,
			}, o.importDir),
			room.Do(room.Verb{
				Name: "export", Title: "Write memories as Markdown files", Args: []string{"dir"}, Risk: tool.Writes, Owned: true,
				Doc: `export writes the memories of one agent and one user to a directory, one file
each. Category, tags and expiry are in the front matter, so that import restores
them. Files of an earlier export are replaced; other files only with --force.`,
				Example: `  mcp-tools memory export backup`,
			}, o.export),
			room.Do(room.Verb{
				Name: "purge", Title: "Remove memories with their former versions, for good", Risk: tool.Destroys,
				Where: room.Operator, Owned: true,
				Doc: `purge removes the memories of one agent and one user that were last written in a
session, or all of them, with their former versions. Nothing can restore them but a
backup. Memories that all users of the agent share stay, unless --user is -.`,
				Example: `  mcp-tools memory purge --agent helper --user ann --all`,
			}, o.purge),
		},
	}
}

// operator has the verbs of memories.
type operator struct{ *Memory }

// of names the agent and the user whose memories a verb is about.
type of struct {
	Agent string `json:"agent,omitempty" jsonschema:"the agent that remembers"`
	User  string `json:"user,omitempty" jsonschema:"the user it is about; none: memories that all users of the agent share"`
}

// caller returns a context in which they call.
func (w of) caller(ctx context.Context) context.Context {
	return tool.With(ctx, &tool.Running{Caller: tool.Caller{Agent: w.Agent, User: w.User, Channel: "cli"}, Tool: "memory"})
}

func (o *operator) list(ctx context.Context, a of) (tool.Result, error) {
	list, err := o.List(a.caller(ctx))
	head := []string{"PATH", "SIZE", "UPDATED", "CATEGORY", "TAGS", ""}
	return room.Rows(list, "There are no memories.", head, func(d Listed) []string {
		shared := ""
		if d.Shared {
			shared = "shared"
		}
		return []string{d.Path, terminal.FileSize(d.Size), terminal.Date(d.Updated), d.Category,
			strings.Join(d.Tags, " "), shared}
	}), err
}

type importArgs struct {
	Dir string `json:"dir" jsonschema:"the directory"`
	of
}

func (o *operator) importDir(ctx context.Context, a importArgs) (tool.Result, error) {
	if info, err := os.Stat(a.Dir); err != nil || !info.IsDir() {
		return tool.Result{}, room.Mistake("%s is not a directory", a.Dir)
	}
	r, err := o.Import(a.caller(ctx), os.DirFS(a.Dir))
	skipped := ""
	for _, s := range r.Skipped {
		skipped += "left out: " + s + "\n"
	}
	return room.Said(r, "%s%d stored, %d unchanged", skipped, r.Written, r.Unchanged), err
}

type exportArgs struct {
	Dir   string `json:"dir" jsonschema:"the directory"`
	Force bool   `json:"force,omitempty" jsonschema:"replace files that are not from an earlier export"`
	of
}

func (o *operator) export(ctx context.Context, a exportArgs) (tool.Result, error) {
	n, err := o.Export(a.caller(ctx), Dir{Path: a.Dir, Force: a.Force, Ours: Exported})
	return room.Said(map[string]int{"written": n}, "%s written to %s", text.Plural(n, "file"), a.Dir), err
}

type purgeArgs struct {
	Session string `json:"session,omitempty" jsonschema:"only memories that were last written in this session"`
	All     bool   `json:"all,omitempty" jsonschema:"all memories"`
	of
}

func (o *operator) purge(ctx context.Context, a purgeArgs) (tool.Result, error) {
	if (a.Session != "") == a.All {
		return tool.Result{}, room.Mistake("mcp-tools memory purge needs --session or --all")
	}
	n, err := o.Purge(a.caller(ctx), a.Session)
	return room.Said(map[string]int{"removed": n}, "%d removed", n), err
}

// A Dir is the Writer of a directory.
type Dir struct {
	Path  string
	Force bool                      // replace any file
	Ours  func(content []byte) bool // whether a file is an earlier export; nil: none is
}

// Write writes a file, unless that would lose another one.
func (d Dir) Write(name string, content []byte, modified time.Time) error {
	path := filepath.Join(d.Path, filepath.FromSlash(name))
	if !d.Force && !d.free(path, content) {
		return room.Mistake("%s exists and has different content; choose an empty directory, or add --force", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := private.Replace(path, content); err != nil {
		return err
	}
	return os.Chtimes(path, modified, modified)
}

// free reports whether writing a file loses nothing that is not an export.
func (d Dir) free(path string, content []byte) bool {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil || !info.Mode().IsRegular() { // reading a pipe would block
		return false
	}
	there, err := os.ReadFile(path)
	return err == nil && (bytes.Equal(there, content) || d.Ours != nil && d.Ours(there))
}
