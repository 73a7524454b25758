package fs

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/view"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/fs/textfile"
)

// writeFile is the tool that writes a whole file, or appends to one.
type writeFile struct {
	files    workspace.Files
	seen     *Seen
	problems Problems
}

type writeFileArgs struct {
	Path       string `json:"path" jsonschema:"file to write" alias:"file_path,file,filename,absolute_path,target_file"`
	Content    string `json:"content" jsonschema:"new content of the file" alias:"contents,text,file_text" maxlen:"4194304"`
	Append     bool   `json:"append,omitempty" jsonschema:"add content at the end"`
	CreateOnly bool   `json:"create_only,omitempty" jsonschema:"fail if the file exists"`
	IfVersion  string `json:"if_version,omitempty" jsonschema:"fail if the version differs" alias:"expected_version,expected_hash,expected_sha256"`
	Encoding   string `json:"encoding,omitempty" jsonschema:"encoding; base64 if content is base64"`

	Mode string `json:"mode,omitempty" jsonschema:"how to write" hidden:"true" enum:"overwrite,append"`
}

func (writeFile) Spec() tool.Spec {
	return tool.Spec{
		Name: "write_file", Group: group, Title: "Write file", Risk: tool.Writes, Viewed: true,
		Doc: `Writes a whole file and creates missing directories. Returns the file's version and an id for undo.
To change part of a file use edit.`,
		Also:     []string{"Write", "write", "file_write", "tool::file_write", "create_file"},
		Keywords: "create save append overwrite new make put store text into empty script document disk",
		Output:   written{},
	}
}

// asBase64 is the value of encoding for content that is bytes in base64.
const asBase64 = "base64"

// written is the structured content of write_file.
type written struct {
	Written bool   `json:"written"`
	Path    string `json:"path"`
	Size    int64  `json:"size"`
	Version string `json:"version,omitempty"`
}

func (t writeFile) Do(ctx context.Context, a writeFileArgs) (tool.Result, error) {
	a.Append = a.Append || a.Mode == "append"
	w := writer{secrets: t.seen.secretsFor(ctx), args: a, typed: a.Content, raw: strings.EqualFold(a.Encoding, asBase64)}
	if err := w.checkArgs(); err != nil {
		return tool.Result{}, err
	}
	caller := tool.CallerFrom(ctx)
	receipt, err := t.files.Change(ctx, []string{a.Path}, func(files []*workspace.File) ([]workspace.Change, error) {
		w.known, w.wasRead = t.seen.Version(caller, files[0].Name)
		change, err := w.plan(files[0])
		if err != nil {
			return nil, err
		}
		change.Path = a.Path
		return []workspace.Change{change}, nil
	})
	if err != nil {
		return tool.Result{}, err
	}
	done := changedFile(receipt, w.name)
	version, err := w.versionAfter(done)
	if err != nil {
		return tool.Result{}, err
	}
	// A session that appends to a file knows the new version only if it knew the old one.
	if done.Removed {
		t.seen.Note(caller, w.name, "")
	} else if !a.Append || !w.existed || w.wasRead && w.known == w.version {
		t.seen.Note(caller, w.name, version)
	}
	res := tool.Text(t.problems.after(ctx, w.format(receipt, done, version), receipt)).
		With(written{!done.Removed, w.name, done.Size, version})
	if tool.Viewed(ctx) {
		res = res.Showing(w.view(receipt, done))
	}
	return res, nil
}

// view returns the view for the page of an app. The difference is known if all of the old content was read.
func (w *writer) view(r workspace.Receipt, done workspace.Changed) view.Changes {
	f := view.File{Name: w.name, Action: actionOf(done)}
	if !w.existed || w.isWhole {
		after := string(w.content)
		if w.args.Append {
			after = string(w.old) + after
		}
		f = f.Of(string(w.old), after, scrubbed(w.secrets))
	}
	return view.Changes{Kind: "changes", Files: []view.File{f}, Undo: r.ID}
}

// A writer plans one call of write_file.
type writer struct {
	secrets *scrub.Scrubber
	args    writeFileArgs
	typed   string // content as it was sent
	raw     bool   // content is base64
	bytes   []byte // decoded content, if it is base64

	known   string // the version that the session knows
	wasRead bool   // the session knows a version

	name    string
	existed bool
	size    int64
	old     []byte // all of a small file, the head of a large one
	isWhole bool   // old is the whole file
	version string
	content []byte // that is written or appended
	same    bool   // the file has this content already
	notes   []string
}

// checkArgs refuses arguments that are invalid for any file.
func (w *writer) checkArgs() error {
	if !w.raw {
		if _, err := textfile.Name(w.args.Encoding); err != nil {
			return tool.Errorf(tool.Invalid, "%w", err).
				Try("use one of %s, %s", strings.Join(textfile.Encodings(), ", "), asBase64)
		}
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(w.args.Content))
	if err != nil {
		return tool.Errorf(tool.Invalid, "content is not base64: %v", err).Try("omit encoding to write it as text")
	}
	w.bytes = data
	return nil
}

// plan returns the change of the file.
func (w *writer) plan(f *workspace.File) (workspace.Change, error) {
	w.name, w.existed, w.size = f.Name, f.Exists, f.Size
	if !f.Exists {
		if w.args.IfVersion != "" {
			return workspace.Change{}, tool.Errorf(tool.Conflict, "%q does not exist any longer", f.Name).
				Try("omit if_version to create it")
		}
		doc, err := textfile.New(w.wantedEncoding())
		if err != nil {
			return workspace.Change{}, err
		}
		return w.replaceText(doc, "")
	}
	if w.args.CreateOnly {
		return workspace.Change{}, tool.Errorf(tool.Conflict, "%q exists already (%s)", f.Name, text.Bytes(f.Size)).
			Try("use another name, or omit create_only to replace it")
	}
	if err := w.readOld(f); err != nil {
		return workspace.Change{}, err
	}
	if err := w.checkVersion(); err != nil {
		return workspace.Change{}, err
	}
	if w.args.Append && f.Size > 0 {
		return w.append(f)
	}
	return w.replace()
}

// readOld reads a small file or the head of a large one, and its version.
func (w *writer) readOld(f *workspace.File) error {
	n := f.Size
	if w.isWhole = n <= MaxHashed; !w.isWhole {
		n = headSize
	}
	w.old = make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, n), w.old); err != nil {
		return fmt.Errorf("reading the old content: %w", err)
	}
	if w.isWhole {
		w.version = VersionOf(w.old)
		return nil
	}
	var err error
	w.version, err = Version(f, f.Size, f.Stamp)
	return err
}

// checkVersion refuses to overwrite changes that the session does not know.
func (w *writer) checkVersion() error {
	switch {
	case w.args.IfVersion != "" && versionFrom(w.args.IfVersion) != w.version:
		return tool.Errorf(tool.Conflict, "%q has version %s, not %s", w.name, w.version, w.args.IfVersion).
			Try("read it again, then write")
	case w.args.IfVersion == "" && !w.args.Append && w.wasRead && w.known != w.version:
		return tool.Errorf(tool.Conflict, "%q changed since you read it (version %s, now %s)", w.name, w.known,
			w.version).
			Try("read it again, then write")
	}
	return nil
}

func (w *writer) wantedEncoding() string {
	if w.raw {
		return ""
	}
	return w.args.Encoding
}

func (w *writer) replace() (workspace.Change, error) {
	old, err := w.decodeOld()
	if err != nil {
		return workspace.Change{}, err
	}
	w.args.Content = w.secrets.Unmask(w.name, old.Text, w.args.Content)
	doc := old
	if w.wantedEncoding() != "" {
		if doc, err = textfile.New(w.wantedEncoding()); err != nil {
			return workspace.Change{}, err
		}
	}
	onlyLF := strings.Contains(w.args.Content, "\n") && !strings.Contains(w.args.Content, "\r\n")
	if strings.Contains(old.Text, "\r\n") && onlyLF && !w.raw {
		w.notes = append(w.notes, "its line endings changed from CRLF to LF")
	}
	return w.replaceText(doc, old.Text)
}

// decodeOld returns the old content as text, or an empty UTF-8 document if it is not text.
func (w *writer) decodeOld() (textfile.Doc, error) {
	if len(w.old) > 0 && !textfile.Sniff(w.old[:min(len(w.old), headSize)], w.name).Binary() {
		doc, err := textfile.Decode(w.old, "")
		if err != nil || doc.Lossless || !w.isWhole {
			return doc, err
		}
	}
	return textfile.New("")
}

// replaceText replaces the text before by the content, in the encoding of doc.
func (w *writer) replaceText(doc textfile.Doc, before string) (workspace.Change, error) {
	var err error
	if w.content, err = w.encode(doc); err != nil {
		return workspace.Change{}, err
	}
	after := w.args.Content
	if w.raw {
		after = string(w.content)
	}
	if err := checkChange(w.secrets, before, after, w.typed); err != nil {
		return workspace.Change{}, err
	}
	w.same = w.existed && w.isWhole && bytes.Equal(w.old, w.content)
	return workspace.Change{Content: bytes.NewReader(w.content)}, nil
}

// encode returns the content in the encoding of doc.
func (w *writer) encode(doc textfile.Doc) ([]byte, error) {
	if w.raw {
		return w.bytes, nil
	}
	content := w.args.Content
	if doc.Encoding != textfile.UTF8 { // other encodings write their own byte order mark
		content = strings.TrimPrefix(content, "\uFEFF")
	}
	out, err := doc.Encode(content)
	var char *textfile.CharError
	if errors.As(err, &char) {
		return nil, tool.Errorf(tool.Invalid, "%w, and %s is in %s", char, w.name, doc.Encoding).
			Try("use another character, or set encoding to utf-8")
	}
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	if string(out) != w.args.Content {
		w.notes = append(w.notes, "written as "+doc.Encoding)
	}
	return out, nil
}

// append adds the content at the end of a file, in the encoding of the file.
func (w *writer) append(f *workspace.File) (workspace.Change, error) {
	encoding := w.wantedEncoding()
	if encoding == "" {
		encoding = textfile.Detect(w.old, w.isWhole)
	}
	doc, err := textfile.Decode(nil, encoding) // without a byte order mark
	if err != nil {
		return workspace.Change{}, err
	}
	if w.content, err = w.encode(doc); err != nil {
		return workspace.Change{}, err
	}
	tail := make([]byte, min(2, f.Size))
	if _, err := f.ReadAt(tail, f.Size-int64(len(tail))); err != nil && err != io.EOF {
		return workspace.Change{}, fmt.Errorf("reading the end: %w", err)
	}
	if !bytes.ContainsRune(tail, '\n') && !w.raw && !strings.HasPrefix(w.args.Content, "\n") {
		w.notes = append(w.notes, "its last line had no newline, so the content continues that line")
	}
	if err := w.checkEnd(f); err != nil {
		return workspace.Change{}, err
	}
	content := io.MultiReader(io.NewSectionReader(f, 0, f.Size), bytes.NewReader(w.content))
	return workspace.Change{Content: content}, nil
}

// checkEnd refuses to append text that would show a secret at the end of the file: it may change the text before it.
func (w *writer) checkEnd(f *workspace.File) error {
	from := max(0, f.Size-scrub.LongestKey)
	end := make([]byte, f.Size-from)
	if _, err := f.ReadAt(end, from); err != nil && err != io.EOF {
		return fmt.Errorf("reading the end: %w", err)
	}
	return checkChange(w.secrets, string(end), string(end)+string(w.content), w.typed)
}

// versionAfter returns the version of the file after the call, "" if it is unknown.
func (w *writer) versionAfter(done workspace.Changed) (string, error) {
	content := w.content
	if w.args.Append && w.existed && w.isWhole {
		content = append(w.old[:len(w.old):len(w.old)], w.content...)
	}
	return versionAfter(len(content), done, func() string { return VersionOf(content) })
}

// format describes the change.
func (w *writer) format(r workspace.Receipt, done workspace.Changed, version string) string {
	var b strings.Builder
	switch {
	case done.Removed:
		fmt.Fprintf(&b, "removed %s", w.name)
	case !w.existed:
		fmt.Fprintf(&b, "created %s: %s", w.name, text.Plural(int(done.Size), "byte"))
	case w.args.Append:
		fmt.Fprintf(&b, "appended %s to %s: %d bytes", text.Plural(len(w.content), "byte"), w.name, done.Size)
	case w.same:
		fmt.Fprintf(&b, "unchanged: %s has this content already", w.name)
	default:
		fmt.Fprintf(&b, "replaced %s: %s, was %s", w.name, text.Plural(int(done.Size), "byte"), text.Bytes(w.size))
	}
	if !done.Removed && version != "" {
		fmt.Fprintf(&b, ", version %s", version)
	}
	b.WriteString(undoHint(r))
	notes := w.notes
	if !w.same { // else they say once more that nothing has changed
		notes = append(notes, done.Notes...)
	}
	for _, note := range notes {
		b.WriteString("\n" + note)
	}
	return b.String()
}
