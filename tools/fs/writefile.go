package fs

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/fs/text"
)

// writeFile writes a whole file, or adds to its end.
type writeFile struct {
	files workspace.Files
	seen  *Seen
}

type writeFileArgs struct {
	Path       string `json:"path" jsonschema:"file" alias:"file_path,file,filename,absolute_path,target_file"`
	Content    string `json:"content" jsonschema:"all of it" alias:"contents,text,file_text" maxlen:"4194304"`
	Append     bool   `json:"append,omitempty" jsonschema:"add at the end"`
	CreateOnly bool   `json:"create_only,omitempty" jsonschema:"refuse if it exists"`
	IfVersion  string `json:"if_version,omitempty" jsonschema:"refuse if it has another" alias:"expected_version"`
	Encoding   string `json:"encoding,omitempty" jsonschema:"default: as it was, else utf-8; base64 for bytes"`

	Mode string `json:"mode,omitempty" jsonschema:"how to write" hidden:"true" enum:"overwrite,append"`
}

func (writeFile) Spec() tool.Spec {
	return tool.Spec{
		Name: "write_file", Group: group, Title: "Write file", Risk: tool.Writes,
		Doc:  "Creates or replaces a file, with its directories. To change parts use edit.",
		Also: []string{"Write", "write", "file_write", "tool::file_write", "create_file"}, Keywords: "create save append overwrite new",
	}
}

const asBase64 = "base64"

func (t writeFile) Do(ctx context.Context, a writeFileArgs) (tool.Result, error) {
	a.Append = a.Append || a.Mode == "append"
	w := writing{args: a, raw: strings.EqualFold(a.Encoding, asBase64)}
	if err := w.check(); err != nil {
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
	// A session that adds to a file knows only what it knew before.
	if done.Removed {
		t.seen.Note(caller, w.name, "")
	} else if !a.Append || !w.existed || w.wasRead && w.known == w.version {
		t.seen.Note(caller, w.name, version)
	}
	return tool.Text(w.reply(receipt, done, version)), nil
}

// check refuses what no file could make right.
func (w *writing) check() error {
	if !w.raw {
		if _, err := text.Name(w.args.Encoding); err != nil {
			return tool.Errorf(tool.Invalid, "%w", err).Try("use one of %s, %s", strings.Join(text.Encodings(), ", "), asBase64)
		}
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(w.args.Content))
	if err != nil {
		return tool.Errorf(tool.Invalid, "content is not base64: %v", err).Try("leave encoding out to write it as text")
	}
	w.bytes = data
	return nil
}

// encode turns the content into bytes as doc is kept.
func (w *writing) encode(doc text.Doc) ([]byte, error) {
	if w.raw {
		return w.bytes, nil
	}
	content := w.args.Content
	if doc.Encoding != text.UTF8 { // has its own way of marking itself
		content = strings.TrimPrefix(content, "\uFEFF")
	}
	out, err := doc.Encode(content)
	var char *text.CharError
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

// reply says what was done, and what the caller may not expect.
func (w *writing) reply(r workspace.Receipt, done workspace.Changed, version string) string {
	var b strings.Builder
	switch {
	case done.Removed:
		fmt.Fprintf(&b, "removed %s", w.name)
	case !w.existed:
		fmt.Fprintf(&b, "created %s: %s", w.name, counted(int(done.Size), "byte", "bytes"))
	case w.args.Append:
		fmt.Fprintf(&b, "appended %s to %s: %d bytes", counted(len(w.content), "byte", "bytes"), w.name, done.Size)
	case w.same:
		fmt.Fprintf(&b, "nothing to write to %s", w.name)
	default:
		fmt.Fprintf(&b, "replaced %s: %s, was %s", w.name, counted(int(done.Size), "byte", "bytes"), size(w.size))
	}
	if !done.Removed && version != "" {
		fmt.Fprintf(&b, ", version %s", version)
	}
	b.WriteString(undoHint(r))
	for _, note := range append(w.notes, done.Notes...) {
		b.WriteString("\n" + note)
	}
	return b.String()
}
