package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// A syntax edits settings files of one format. Each method gets the whole file and does not
// change it: results are new slices. The file may be empty. The error for a file that does not
// parse is a *[SyntaxError].
type syntax interface {
	// entry returns the text of the named server's entry, "" when it has none.
	entry(src []byte, name string) (string, error)
	// set adds the entry, or changes the owned keys of the existing one.
	// It returns an equal file if there is nothing to change.
	set(src []byte, name string, want fields, owned func(key string) bool) ([]byte, error)
	// remove removes the entry.
	remove(src []byte, name string) ([]byte, error)
	// rest returns everything except the entry, with comments. It is equal for two
	// files if and only if they have the same content there, and empty without any.
	rest(src []byte, name string) ([]string, error)
}

// A Change is the result of [Client.Connect] or [Client.Disconnect].
type Change struct {
	Client string // name of the client
	Path   string // the settings file, as the client reads it
	Backup string // copy of the old file; "" if there was none

	NothingToDo bool // the file was up to date and was not changed
	Created     bool // the file is new
	Replaced    bool // an entry of the same name was different
	Removed     bool // the file had only our entry and was removed

	Note string // a remark about the file for the person; may be empty

	// Before and After are the text of our entry, "" for none. They may contain a
	// token, so they must not be printed.
	Before, After string
}

// A Status describes a client's settings file.
type Status struct {
	Client    string
	Path      string
	Exists    bool   // the file is there
	Connected bool   // it has an entry with the name
	Entry     string // text of the entry; it may contain a token
}

// Render returns the entry in the form of a new settings file.
func (c Client) Render(s Server) ([]byte, error) {
	want, err := c.entry(s)
	if err != nil {
		return nil, err
	}
	return c.syntax.set(nil, s.Name, want, s.owned)
}

// Status finds out whether the settings file has an entry.
func (c Client) Status(env Env, name string) (Status, error) {
	st := Status{Client: c.Name, Path: c.Path(env)}
	file, err := readSettings(st.Path)
	if err != nil {
		return st, err
	}
	st.Exists = file.exists
	st.Entry, err = c.syntax.entry(file.data, name)
	st.Connected = st.Entry != ""
	if err != nil {
		err = fmt.Errorf("%s: %w", st.Path, err)
	}
	return st, err
}

// Connect adds an entry for s to the client's settings file, or updates the one of
// that name. It creates a missing file, and keeps a backup of one that it changes.
// On an error the file is not changed.
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
	if c.strict && !json.Valid(bytes.TrimPrefix(after, bom)) {
		ch.Note = fmt.Sprintf("%s refuses JSON with comments or commas at the end: remove those from the file.",
			c.Title)
	}
	ch.Backup, err = file.replace(after, c.shared, env.now())
	return ch, err
}

// Disconnect removes an entry from the client's settings file, and keeps everything
// else. A file with nothing else in it is removed. There is a backup in any case.
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
	if rest, err := c.syntax.rest(file.data, name); err == nil && len(rest) == 0 && !file.linked {
		ch.Removed = true
		ch.Backup, err = file.remove(env.now())
		return ch, err
	}
	after, err := c.syntax.remove(file.data, name)
	if err != nil {
		return ch, c.explain(ch.Path, err)
	}
	if ch.After, err = c.verify(file.data, after, name); err != nil {
		return ch, err
	}
	if ch.After != "" {
		return ch, fmt.Errorf("%s: the entry %q could not be removed; nothing was changed, remove it by hand",
			ch.Path, name)
	}
	ch.Backup, err = file.replace(after, c.shared, env.now())
	return ch, err
}

// verify checks an edit before the file is written: after must parse, and be equal
// to before except for our entry. It returns the text of the entry.
func (c Client) verify(before, after []byte, name string) (string, error) {
	had, err := c.syntax.rest(before, name)
	if err != nil {
		return "", err
	}
	has, err := c.syntax.rest(after, name)
	if err != nil {
		return "", fmt.Errorf("the edit would break the file (%w); nothing was changed, "+
			"paste the output of `mcp-tools print-config %s`", err, c.Name)
	}
	if !slices.Equal(had, has) {
		return "", fmt.Errorf("the edit would change more than the entry %q; nothing was changed, "+
			"paste the output of `mcp-tools print-config %s`", name, c.Name)
	}
	return c.syntax.entry(after, name)
}

// explain adds the path to an error, and advice if the file does not parse.
func (c Client) explain(path string, err error) error {
	if err == nil {
		return nil
	}
	if bad := (*SyntaxError)(nil); errors.As(err, &bad) {
		return fmt.Errorf("%s: %w; nothing was changed; correct the file there and try again", path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// A SyntaxError is an error in a settings file.
type SyntaxError struct {
	Line, Column int // counting from 1, columns in characters
	Message      string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// syntaxError returns a SyntaxError at an offset of src.
func syntaxError(src []byte, offset int, format string, args ...any) *SyntaxError {
	head := bytes.TrimPrefix(src[:min(max(offset, 0), len(src))], bom)
	start := bytes.LastIndexByte(head, '\n') + 1
	return &SyntaxError{
		Line:    bytes.Count(head, []byte("\n")) + 1,
		Column:  len([]rune(string(head[start:]))) + 1,
		Message: fmt.Sprintf(format, args...),
	}
}
