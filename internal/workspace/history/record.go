package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// A Record describes one change.
type Record struct {
	ID     string       `json:"id"`
	Time   time.Time    `json:"time"`
	By     string       `json:"by,omitempty"` // the caller
	Tool   string       `json:"tool,omitempty"`
	Call   string       `json:"call,omitempty"`
	Script string       `json:"script,omitempty"` // the call of the script that made Call
	Undoes string       `json:"undoes,omitempty"` // the change that this one reverts
	Files  []FileRecord `json:"files"`
	// Command is the command that made the change, "" for a tool that changes files.
	Command string `json:"command,omitempty"`
	// Left are names of files that the command changed and that cannot be restored.
	Left []Text `json:"left,omitempty"`
}

// A FileRecord describes the change of one file.
type FileRecord struct {
	Root     Text     `json:"root"` // the path of a directory, without links
	Name     Text     `json:"name"` // relative to Root
	Shown    Text     `json:"shown"`
	Made     []Text   `json:"made,omitempty"`   // directories created for the file, outermost first
	External bool     `json:"away,omitempty"`   // the file is not on disk, but served to By
	Before   *Content `json:"before,omitempty"` // nil if the file did not exist
	After    *Content `json:"after,omitempty"`  // nil if the file was removed
}

// Path returns the path of the file, without links.
func (f FileRecord) Path() string { return path.Join(string(f.Root), string(f.Name)) }

// Content describes the content of a file, and its permissions.
type Content struct {
	Digest string      `json:"sha256,omitempty"` // "" if the content was too large
	Size   int64       `json:"size"`
	Mode   fs.FileMode `json:"mode"`
	Kept   bool        `json:"kept,omitempty"` // there is a copy
}

// Text is a file name. It may contain any bytes, and its JSON form preserves them.
type Text string

type rawText struct {
	Bytes []byte `json:"base64"`
}

// MarshalJSON returns a string, or an object if the name is not valid UTF-8.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(rawText{[]byte(t)})
}

// UnmarshalJSON parses the result of MarshalJSON.
func (t *Text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var raw rawText
		err := json.Unmarshal(b, &raw)
		*t = Text(raw.Bytes)
		return err
	}
	return json.Unmarshal(b, (*string)(t))
}

const (
	blockSize = 128 << 10
	maxLine   = 64 << 20
)

// OperatorUndo begins the tool of a record when an operator, whose name follows, has reverted a change.
const OperatorUndo = "undo by "

// A LoggedChange is a record from the catalogue.
type LoggedChange struct {
	Record
	Undone   string // the id of the change that reverted this one and is not reverted itself
	UndoneBy string // the operator who reverted it, "" for a call
}

// appendRecord writes one record with one write. The caller holds the lock of the
// catalogue, and syncs and closes the file that appendRecord returns.
func (s *Store) appendRecord(r Record) (*os.File, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	book, err := os.OpenFile(s.path(catalogueName), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := book.Stat()
	if err != nil {
		return nil, errors.Join(err, book.Close())
	}
	if size := info.Size(); size > 0 {
		var last [1]byte
		if _, err := book.ReadAt(last[:], size-1); err != nil {
			return nil, errors.Join(err, book.Close())
		}
		if last[0] != '\n' {
			line = append([]byte{'\n'}, line...) // a process was killed while writing
		}
	}
	if _, err := book.Write(append(line, '\n')); err != nil {
		return nil, errors.Join(err, book.Truncate(info.Size()), book.Close())
	}
	return book, nil
}

// Add adds a change that was made by other means. It reads the old contents of the files from
// olds and keeps them; nil stands for a file that did not exist.
func (s *Store) Add(ctx context.Context, r Record, olds []io.Reader) error {
	if err := s.prepare(); err != nil {
		return err
	}
	if err := s.add(ctx, r, olds); err != nil {
		return err
	}
	s.publish(ctx)
	s.pruneIfDue(ctx, r)
	return nil
}

func (s *Store) add(ctx context.Context, r Record, olds []io.Reader) error {
	unlock, err := s.lockCatalogue(ctx) // nothing removes the copies before they are on record
	if err != nil {
		return err
	}
	defer unlock()
	copies, err := s.copies()
	if err != nil {
		return err
	}
	defer copies.Close()
	r.ID = token(8)
	for i, old := range olds {
		if old == nil {
			continue
		}
		name := copyName(r.ID, i)
		to, err := copies.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		before := r.Files[i].Before
		before.Digest, before.Size, err = s.copyDigest(ctx, to, old)
		if err = errors.Join(err, to.Close()); err == nil {
			err = copies.Rename(name, before.Digest)
		}
		if err != nil {
			return errors.Join(err, dropCopies(copies, r.ID, i+1))
		}
		before.Kept = true
	}
	book, err := s.appendRecord(r)
	if err != nil {
		return err
	}
	return book.Close()
}

// Each calls yield with all records, the latest first, until it returns false. If hint is not
// "", Each may leave out records without a name or an id that ends with hint.
func (s *Store) Each(ctx context.Context, hint string, yield func(LoggedChange) bool) error {
	return s.each(ctx, hint, yield, func(ctx context.Context, yield func(line []byte) bool) error {
		return s.eachLine(ctx, hint, yield)
	})
}

// each is Each for the records that lines has.
func (s *Store) each(ctx context.Context, hint string, yield func(LoggedChange) bool,
	lines func(context.Context, func(line []byte) bool) error) error {
	var needle []byte
	if quoted, err := json.Marshal(hint); err == nil && hint != "" {
		needle = quoted[1:] // with the closing quote
	}
	type undo struct{ id, by string }
	undone := map[string]undo{}
	return lines(ctx, func(line []byte) bool {
		if needle != nil && !bytes.Contains(line, needle) && !bytes.Contains(line, []byte(`"undoes":`)) {
			return true
		}
		var r Record
		if json.Unmarshal(line, &r) != nil || r.ID == "" {
			return true
		}
		p := LoggedChange{Record: r}
		for _, whole := range []string{r.ID, r.Call, r.Script} {
			if p.Undone == "" && whole != "" {
				p.Undone, p.UndoneBy = undone[whole].id, undone[whole].by
			}
		}
		if r.Undoes != "" && p.Undone == "" {
			_, by, _ := strings.Cut(r.Tool, OperatorUndo)
			undone[r.Undoes] = undo{r.ID, by}
		}
		return yield(p)
	})
}

// A State is equal as long as no change was recorded or removed.
type State struct {
	size     int64
	modified time.Time
	shared   int // changes
	latest   string
}

// State returns the state of the history since a time. It reads no record.
func (s *Store) State(ctx context.Context, since time.Time) (state State) {
	if info, err := os.Stat(s.path(catalogueName)); err == nil {
		state.size, state.modified = info.Size(), info.ModTime()
	}
	if s.shared != nil {
		// Without the store the catalogue is the history.
		_ = s.shared.store.Row(ctx, `SELECT count(*), coalesce(max(id), '') FROM file_change WHERE at >= $1`,
			[]any{store.Millis(since)}, &state.shared, &state.latest)
	}
	return state
}

// recorded returns the record of a change by its id, if it is in the catalogue of this server.
func (s *Store) recorded(ctx context.Context, id string) (found LoggedChange, ok bool, err error) {
	err = s.each(ctx, id, func(p LoggedChange) bool {
		if p.ID == id {
			found, ok = p, true
		}
		return !ok
	}, s.eachLineBackward)
	return found, ok, err
}

// Find returns the record of a change, or of all changes of a call or a script as one: id is a change or a call
// in the audit log. ok is false if there is none.
func (s *Store) Find(ctx context.Context, id string) (found LoggedChange, ok bool, err error) {
	var all []LoggedChange // of the call or the script, the latest first
	err = s.Each(ctx, id, func(p LoggedChange) bool {
		switch id {
		case p.ID:
			found, ok = p, true
		case p.Call, p.Script:
			all = append(all, p)
		}
		return !ok
	})
	if ok || len(all) == 0 {
		return found, ok, err
	}
	return merge(id, all), true, err
}

// merge makes one record of the changes of a call or a script, without undone ones.
func merge(id string, all []LoggedChange) LoggedChange {
	one := LoggedChange{Record: Record{ID: id, Time: all[0].Time, By: all[0].By, Tool: all[0].Tool, Call: id}}
	if all[0].Script == id {
		one.Tool = "script"
	}
	at := map[string]int{}
	for _, p := range all {
		if p.Undone != "" {
			continue
		}
		one.Left = append(one.Left, p.Left...)
		for _, f := range p.Files {
			i, seen := at[f.Path()]
			if !seen {
				at[f.Path()] = len(one.Files)
				one.Files = append(one.Files, f)
				continue
			}
			one.Files[i].Before = f.Before
			one.Files[i].Made = append(slices.Clone(f.Made), one.Files[i].Made...)
		}
	}
	if len(one.Files) == 0 {
		one.Files, one.Undone, one.UndoneBy = all[0].Files, all[0].Undone, all[0].UndoneBy
	}
	one.Files = slices.DeleteFunc(one.Files, func(f FileRecord) bool { return f.Before == nil && f.After == nil })
	return one
}

// eachLineBackward calls yield with the lines of the catalogue, the last one first.
func (s *Store) eachLineBackward(ctx context.Context, yield func(line []byte) bool) error {
	book, err := os.Open(s.path(catalogueName))
	if notExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer book.Close()
	end, err := book.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	var rest []byte // the end of a line that begins in an earlier block
	for end > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(end, max(blockSize, int64(len(rest)))) // doubles for a long line
		block := make([]byte, n, n+int64(len(rest)))
		if _, err := book.ReadAt(block, end-n); err != nil && err != io.EOF {
			return err
		}
		end -= n
		block = append(block, rest...)
		for {
			i := bytes.LastIndexByte(block, '\n')
			if i < 0 {
				break
			}
			if line := block[i+1:]; len(line) > 0 && !yield(line) {
				return nil
			}
			block = block[:i]
		}
		if rest = block; len(rest) > maxLine {
			return errors.New("the history of files has a line without an end")
		}
	}
	if len(rest) > 0 {
		yield(rest)
	}
	return nil
}
