package managed

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/mirror"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
)

// A part is a blob with a part of a file.
type part struct {
	Blob string
	Size int64
}

// copied is the copy of a workspace on this machine, and the last known state of the store. The
// turn guards it.
type copied struct {
	files  *mirror.Files // nil: not open
	parts  map[string][]part
	tree   string // the tree that files remembers; "" for none
	bytes  int64
	sure   bool // files has changed only through this process, or while the machine has not started anew
	log    *os.File
	lines  int
	warned int // number of names that are not stored and that the log has reported
}

// A line is one step of the log of a copy: an entry that it has like the store, or the tree that it has then. The log is
// only a memory: without it all files are read again.
type line struct {
	Tree  string        `json:",omitempty"`
	Boot  string        `json:",omitempty"` // with Tree: of the machine
	Path  []byte        `json:",omitempty"` // need not be UTF-8
	Entry *mirror.Entry `json:",omitempty"` // without Path
	Mark  *mirror.Mark  `json:",omitempty"`
	Parts []part        `json:",omitempty"`
}

func (w *workspace) logPath() string {
	sum := sha256.Sum256([]byte(w.name))
	return filepath.Join(w.t.o.Dir, hex.EncodeToString(sum[:16])+".log")
}

// open opens the directory, and reads the known state of this machine's copy.
func (w *workspace) open() error {
	if w.files != nil && w.files.InPlace() {
		return nil
	}
	moved := w.files != nil
	if err := w.forget(); err != nil {
		return err
	}
	if moved { // the files are gone with the directory
		_ = os.Remove(w.logPath())
	}
	skip := func(base string) bool { return history.Temporary(base) || w.t.o.Skip != nil && w.t.o.Skip(base) }
	files, err := mirror.OpenFiles(w.dir, skip)
	if err != nil {
		return err
	}
	w.copied = copied{files: files, parts: make(map[string][]part)}
	if err := os.MkdirAll(w.t.o.Dir, 0o700); err != nil {
		return err
	}
	text, err := os.ReadFile(w.logPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	boot := ""
	in := bufio.NewReader(bytes.NewReader(text))
	for {
		row, err := in.ReadBytes('\n')
		var l line
		if err != nil || json.Unmarshal(row, &l) != nil {
			break // the end, or a line that was not written whole
		}
		w.lines++
		if l.Entry == nil {
			w.tree, boot = l.Tree, l.Boot
			continue
		}
		l.Entry.Path = string(l.Path)
		m := mirror.Mark{}
		if l.Mark != nil {
			m = *l.Mark
		}
		w.remember(*l.Entry, m, l.Parts)
	}
	if w.sure = boot == w.t.boot; !w.sure { // after a power cut files may have other contents with the same marks
		for e := range w.files.All {
			w.files.RememberAt(e, mirror.Mark{})
		}
	}
	return nil
}

// forget closes the directory.
func (w *workspace) forget() error {
	var errs []error
	if w.files != nil {
		errs = append(errs, w.files.Close())
	}
	if w.log != nil {
		errs = append(errs, w.log.Close())
	}
	w.copied = copied{}
	return errors.Join(errs...)
}

// remember records an entry that this machine has like the store.
func (w *workspace) remember(e mirror.Entry, m mirror.Mark, parts []part) {
	if was := w.files.Known(e.Path); was.Kind == mirror.File {
		w.bytes -= was.Size
	}
	w.files.RememberAt(e, m)
	delete(w.parts, e.Path)
	if e.Kind == mirror.File {
		w.bytes += e.Size
		w.parts[e.Path] = parts
	}
}

// A note collects lines for the log.
type note struct{ bytes.Buffer }

func (n *note) entry(e mirror.Entry, m mirror.Mark, parts []part) {
	l := line{Path: []byte(e.Path), Entry: &e, Parts: parts}
	if e.Kind == mirror.File {
		l.Mark = &m
	}
	e.Path = ""
	n.add(l)
}

func (n *note) add(l line) {
	text, err := json.Marshal(l)
	if err != nil {
		return // it has no values that cannot be written
	}
	n.Write(append(text, '\n'))
}

// save writes the state of the store and of this machine. A failure costs only time, after the next
// start.
func (w *workspace) save(n *note, tree string) {
	w.tree = tree
	n.add(line{Tree: tree, Boot: w.t.boot})
	if err := w.write(n); err != nil {
		w.t.o.Log.Warn("what this machine has of a workspace is not remembered", "dir", w.dir, "err", err)
	}
}

func (w *workspace) write(n *note) error {
	w.lines += bytes.Count(n.Bytes(), []byte{'\n'})
	if w.lines > 3*len(w.parts)+1000 {
		return w.rewrite()
	}
	if w.log == nil {
		f, err := os.OpenFile(w.logPath(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		w.log = f
	}
	_, err := w.log.Write(n.Bytes())
	return err
}

// rewrite writes the log anew, without replaced lines.
func (w *workspace) rewrite() error {
	var n note
	w.lines = 1
	for e, m := range w.files.All {
		n.entry(e, m, w.parts[e.Path])
		w.lines++
	}
	n.add(line{Tree: w.tree, Boot: w.t.boot})
	f, err := private.TempFile(w.t.o.Dir)
	if err != nil {
		return err
	}
	_, err = f.Write(n.Bytes())
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), w.logPath())
	}
	if w.log != nil {
		err = errors.Join(err, w.log.Close())
		w.log = nil
	}
	return err
}
