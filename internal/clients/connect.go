package clients

import (
	"bytes"
	"errors"
	"fmt"
)

// A syntax edits one kind of settings file. Each method gets the whole file,
// which may be empty, and leaves it alone: results are new slices. A file
// that does not parse is a *[SyntaxError].
type syntax interface {
	// entry returns the text of the named server's entry, "" when it has none.
	entry(src []byte, name string) (string, error)
	// set adds the entry or changes the owned keys of the one that is there.
	// It returns an equal file when there is nothing to change.
	set(src []byte, name string, want fields, owned func(key string) bool) ([]byte, error)
	// remove takes the entry out.
	remove(src []byte, name string) ([]byte, error)
	// graft adds the entry that from holds, as set would have written it.
	graft(src, from []byte, name string) ([]byte, error)
	// rest is everything that is not the entry, comments included, in a form
	// that is equal for two files if and only if they say the same there.
	rest(src []byte, name string) ([]string, error)
}

// A Change is what [Client.Connect] or [Client.Disconnect] did.
type Change struct {
	Client string // name of the client
	Path   string // the settings file, as the client reads it
	Backup string // copy of the file as it was; "" when there was none to keep

	NothingToDo bool // the file was right already and is untouched
	Created     bool // the file is new
	Replaced    bool // an entry of the same name said something else
	Removed     bool // the file was ours alone and is gone

	// Before and After are the text of our entry, "" for none. They may hold
	// a token: do not print them without care.
	Before, After string
}

// A Status is how a client's settings file stands.
type Status struct {
	Client    string
	Path      string
	Exists    bool   // the file is there
	Connected bool   // and has an entry with our name
	Entry     string // its text, which may hold a token
}

// Render returns what a person would paste into an empty settings file.
func (c Client) Render(s Server) ([]byte, error) {
	want, err := c.entry(s)
	if err != nil {
		return nil, err
	}
	return c.syntax.set(nil, s.Name, want, s.owned)
}

// Status looks for the entry called name.
func (c Client) Status(env Env, name string) (Status, error) {
	st := Status{Client: c.Name, Path: c.Path(env)}
	file, err := readSettings(st.Path)
	if err != nil {
		return st, err
	}
	st.Exists = file.exists
	st.Entry, err = c.syntax.entry(file.data, name)
	st.Connected = st.Entry != ""
	return st, c.explain(st.Path, err)
}

// Connect adds s to the client's settings file, or brings the entry of that
// name up to date. The file is created when it is missing, and kept beside
// itself as a backup when it changes. On an error the file is as it was.
func (c Client) Connect(env Env, s Server) (Change, error) {
	ch := Change{Client: c.Name, Path: c.Path(env)}
	want, err := c.entry(s)
	if err != nil {
		return ch, err
	}
	file, err := readSettings(ch.Path)
	if err != nil {
		return ch, err
	}
	if ch.Before, err = c.syntax.entry(file.data, s.Name); err != nil {
		return ch, c.explain(ch.Path, err)
	}
	after, err := c.syntax.set(file.data, s.Name, want, s.owned)
	if err != nil {
		return ch, c.explain(ch.Path, err)
	}
	if file.exists && bytes.Equal(after, file.data) {
		ch.After, ch.NothingToDo = ch.Before, true
		return ch, nil
	}
	if ch.After, err = c.verify(file.data, after, s.Name); err != nil {
		return ch, err
	}
	ch.Created, ch.Replaced = !file.exists, ch.Before != ""
	ch.Backup, err = file.replace(after, c.shared, env.now())
	return ch, err
}

// Disconnect takes the entry called name out of the client's settings file.
// When nothing else changed since the entry was added, the file gets back the
// very bytes that it had, and a file that we created goes away.
func (c Client) Disconnect(env Env, name string) (Change, error) {
	ch := Change{Client: c.Name, Path: c.Path(env)}
	if err := checkName(name); err != nil {
		return ch, err
	}
	file, err := readSettings(ch.Path)
	if err != nil {
		return ch, err
	}
	if ch.Before, err = c.syntax.entry(file.data, name); err != nil {
		return ch, c.explain(ch.Path, err)
	}
	if ch.Before == "" {
		ch.NothingToDo = true
		return ch, nil
	}
	after, known := c.original(file, name)
	if !known && !file.linked && c.ours(file.data, name) {
		ch.Removed = true
		ch.Backup, err = file.remove(env.now())
		return ch, err
	}
	if !known {
		if after, err = c.syntax.remove(file.data, name); err != nil {
			return ch, c.explain(ch.Path, err)
		}
	}
	if ch.After, err = c.verify(file.data, after, name); err != nil {
		return ch, err
	}
	if ch.After != "" {
		return ch, fmt.Errorf("%s: the entry %q could not be taken out; nothing was changed, remove it by hand",
			ch.Path, name)
	}
	ch.Backup, err = file.replace(after, c.shared, env.now())
	return ch, err
}

// original finds the backup that the file was made from: the one which, given
// our entry, is the file as it stands. That needs no memory of what we did,
// and it is wrong for a file that was changed in any other way.
func (c Client) original(file settings, name string) ([]byte, bool) {
	for _, path := range file.backups() {
		old, err := readSettings(path)
		if err != nil {
			continue
		}
		if text, err := c.syntax.entry(old.data, name); err != nil || text != "" {
			continue
		}
		made, err := c.syntax.graft(old.data, file.data, name)
		if err == nil && bytes.Equal(made, file.data) {
			return old.data, true
		}
	}
	return nil, false
}

// ours reports whether the file holds exactly what Connect writes when there
// is no file.
func (c Client) ours(data []byte, name string) bool {
	made, err := c.syntax.graft(nil, data, name)
	return err == nil && bytes.Equal(made, data)
}

// verify is the last look before a file is written: after must parse and say
// the same as before everywhere but in our entry, whose text it returns.
func (c Client) verify(before, after []byte, name string) (string, error) {
	had, err := c.syntax.rest(before, name)
	if err != nil {
		return "", err
	}
	has, err := c.syntax.rest(after, name)
	if err != nil {
		return "", fmt.Errorf(
			"the edit would break the file (%w); nothing was changed, paste what `mcp-tools print-config %s` prints",
			err, c.Name,
		)
	}
	for i := range max(len(had), len(has)) {
		if i >= len(had) || i >= len(has) || had[i] != has[i] {
			return "", fmt.Errorf(
				"the edit would change more than the entry %q; nothing was changed, paste what `mcp-tools print-config %s` prints",
				name, c.Name,
			)
		}
	}
	return c.syntax.entry(after, name)
}

// explain tells a person where a file does not parse and what to do.
func (c Client) explain(path string, err error) error {
	if err == nil {
		return nil
	}
	if bad := (*SyntaxError)(nil); errors.As(err, &bad) {
		return fmt.Errorf("%s: %w; nothing was changed, mend the file there and run this again", path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// A SyntaxError is a place in a settings file that is not what it should be.
type SyntaxError struct {
	Line, Column int // counting from 1, columns in characters
	Message      string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// syntaxError makes a SyntaxError at an offset of src.
func syntaxError(src []byte, offset int, format string, args ...any) *SyntaxError {
	head := bytes.TrimPrefix(src[:min(max(offset, 0), len(src))], bom)
	start := bytes.LastIndexByte(head, '\n') + 1
	return &SyntaxError{
		Line:    bytes.Count(head, []byte("\n")) + 1,
		Column:  len([]rune(string(head[start:]))) + 1,
		Message: fmt.Sprintf(format, args...),
	}
}
