package fs

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/fs/text"
)

// A writing is one call of write_file, while it looks at the file.
type writing struct {
	args  writeFileArgs
	raw   bool   // content is base64
	bytes []byte // what it stands for

	known   string // the version the session knows
	wasRead bool   // it knows one

	name    string
	existed bool
	size    int64
	old     []byte // all of a small file, the beginning of a large one
	whole   bool   // old is all of it
	version string
	content []byte // what is written or added
	same    bool
	notes   []string
}

// oldSample is how much of a large file is looked at for its encoding.
const oldSample = 64 << 10

// plan decides what becomes of the file.
func (w *writing) plan(f *workspace.File) (workspace.Change, error) {
	w.name, w.existed, w.size = f.Name, f.Exists, f.Size
	if !f.Exists {
		if w.args.IfVersion != "" {
			return workspace.Change{}, tool.Errorf(tool.Conflict, "%q does not exist any more", f.Name).Try("leave if_version out to create it")
		}
		return w.create()
	}
	if w.args.CreateOnly {
		return workspace.Change{}, tool.Errorf(tool.Conflict, "%q exists already (%s)", f.Name, size(f.Size)).
			Try("use another name, or leave create_only out to replace it")
	}
	if err := w.read(f); err != nil {
		return workspace.Change{}, err
	}
	if err := w.current(); err != nil {
		return workspace.Change{}, err
	}
	if w.args.Append && f.Size > 0 {
		return w.add(f)
	}
	return w.replace()
}

// read reads a small file, or the beginning of a large one, and tells its
// version.
func (w *writing) read(f *workspace.File) error {
	n := f.Size
	if w.whole = n <= VersionedWhole; !w.whole {
		n = oldSample
	}
	w.old = make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, n), w.old); err != nil {
		return fmt.Errorf("reading what is replaced: %w", err)
	}
	if w.whole {
		w.version = VersionOf(w.old)
		return nil
	}
	var err error
	w.version, err = Version(f, f.Size, f.Stamp)
	return err
}

// current refuses to overwrite what the caller does not know of.
func (w *writing) current() error {
	switch {
	case w.args.IfVersion != "" && w.args.IfVersion != w.version:
		return tool.Errorf(tool.Conflict, "%q has version %s, not %s", w.name, w.version, w.args.IfVersion).
			Try("read it again, then write")
	case w.args.IfVersion == "" && !w.args.Append && w.wasRead && w.known != w.version:
		return tool.Errorf(tool.Conflict, "%q changed since you read it (version %s, now %s)", w.name, w.known, w.version).
			Try("read it again, then write")
	}
	return nil
}

func (w *writing) create() (workspace.Change, error) {
	doc, err := text.New(w.wanted())
	if err != nil {
		return workspace.Change{}, err
	}
	return w.put(doc, "")
}

// wanted is the encoding that was asked for.
func (w *writing) wanted() string {
	if w.raw {
		return ""
	}
	return w.args.Encoding
}

func (w *writing) replace() (workspace.Change, error) {
	kept, err := w.kept()
	if err != nil {
		return workspace.Change{}, err
	}
	doc := kept
	if w.wanted() != "" {
		if doc, err = text.New(w.wanted()); err != nil {
			return workspace.Change{}, err
		}
	}
	if strings.Contains(kept.Text, "\r\n") && strings.Contains(w.args.Content, "\n") && !strings.Contains(w.args.Content, "\r\n") && !w.raw {
		w.notes = append(w.notes, "its lines ended with CRLF, now they end with LF")
	}
	return w.put(doc, kept.Text)
}

// kept is the old content as text. Where it is none, what is written is UTF-8.
func (w *writing) kept() (text.Doc, error) {
	if len(w.old) > 0 && !text.Sniff(w.old[:min(len(w.old), oldSample)], w.name).Binary() {
		doc, err := text.Decode(w.old, "")
		if err != nil || doc.Lossless || !w.whole {
			return doc, err
		}
	}
	return text.New("")
}

// put writes the content in the place of before.
func (w *writing) put(doc text.Doc, before string) (workspace.Change, error) {
	var err error
	if w.content, err = w.encode(doc); err != nil {
		return workspace.Change{}, err
	}
	if err := w.unmasked(before); err != nil {
		return workspace.Change{}, err
	}
	w.same = w.existed && w.whole && bytes.Equal(w.old, w.content)
	return workspace.Change{Content: bytes.NewReader(w.content)}, nil
}

// unmasked refuses content that would put a mask where a secret was.
func (w *writing) unmasked(before string) error {
	content := w.args.Content
	if w.raw {
		content = string(w.bytes)
	}
	if err := scrub.CheckNoMask(before, content); err != nil {
		return tool.Errorf(tool.Invalid, "%w", err)
	}
	return nil
}

// add adds the content to the end of a file, in the encoding that it has.
func (w *writing) add(f *workspace.File) (workspace.Change, error) {
	encoding := w.wanted()
	if encoding == "" {
		encoding = text.Detect(w.old, w.whole)
	}
	doc, err := text.Decode(nil, encoding) // a text that has no byte order mark
	if err != nil {
		return workspace.Change{}, err
	}
	if w.content, err = w.encode(doc); err != nil {
		return workspace.Change{}, err
	}
	if err := w.unmasked(""); err != nil {
		return workspace.Change{}, err
	}
	tail := make([]byte, min(2, f.Size))
	if _, err := f.ReadAt(tail, f.Size-int64(len(tail))); err != nil && err != io.EOF {
		return workspace.Change{}, fmt.Errorf("reading the end: %w", err)
	}
	if !bytes.ContainsRune(tail, '\n') && !w.raw && !strings.HasPrefix(w.args.Content, "\n") {
		w.notes = append(w.notes, "its last line had no end, so what was added continues it")
	}
	return workspace.Change{Content: io.MultiReader(io.NewSectionReader(f, 0, f.Size), bytes.NewReader(w.content))}, nil
}

// versionAfter is the version of what was written, "" when it is not known,
// because something keeps the file in its own way.
func (w *writing) versionAfter(done workspace.Changed) (string, error) {
	content := w.content
	if w.args.Append && w.existed && w.whole {
		content = append(w.old[:len(w.old):len(w.old)], w.content...)
	}
	return versionAfter(content, done)
}

func versionAfter(content []byte, done workspace.Changed) (string, error) {
	switch {
	case done.Size > VersionedWhole:
		return Version(nil, done.Size, done.Stamp) // reads nothing
	case done.Size != int64(len(content)):
		return "", nil
	}
	return VersionOf(content), nil
}

// changedFile is what a receipt says about a file.
func changedFile(r workspace.Receipt, name string) workspace.Changed {
	for _, c := range r.Files {
		if c.Name == name {
			return c
		}
	}
	return workspace.Changed{Name: name}
}

// undoHint tells how to take a change back.
func undoHint(r workspace.Receipt) string {
	if r.ID == "" {
		return ""
	}
	return "; undo with call " + r.ID
}
