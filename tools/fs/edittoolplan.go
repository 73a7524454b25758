package fs

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/fs/edit"
	"github.com/mcp-tools/mcp-tools/tools/fs/text"
)

// An editing is one call of edit.
type editing struct {
	edits     []edit.Edit
	ifVersion string

	known   string // the version the session knows
	wasRead bool   // it knows one

	name    string
	created bool
	version string // before; "" when nobody asks for it
	after   string
	outcome edit.Outcome
	// hashing ends when version and after are known. On a file of 5 MB each
	// takes as long as finding the place.
	hashing sync.WaitGroup
}

// plan makes the edits in f and returns what it is to hold then.
func (e *editing) plan(ctx context.Context, f *workspace.File) (io.Reader, error) {
	e.name = f.Name
	if !f.Exists {
		return e.create()
	}
	if f.Size > edit.MaxWhole {
		return e.stream(ctx, f)
	}
	before, err := whole(f)
	if err != nil {
		return nil, err
	}
	if e.ifVersion != "" {
		e.version = versionOf(before)
	} else if e.wasRead {
		e.hashing.Go(func() { e.version = versionOf(before) })
	}
	if err := e.current(); err != nil {
		return nil, err
	}
	kind := text.Sniff([]byte(before[:min(len(before), sniffed)]), e.name)
	if kind.Binary() && (kind.MIME != "" || !utf8.ValidString(before)) {
		return nil, tool.Errorf(tool.Invalid, "%q is no text: %s", e.name, kind.Name).
			Try("change it with a program for such files")
	}
	if e.outcome, err = edit.Apply(ctx, before, e.edits); err != nil {
		return nil, keyless(err, before)
	}
	if e.masked() {
		if err := unmasked(e.outcome.Texts()); err != nil {
			return nil, err
		}
	}
	return strings.NewReader(e.outcome.Content), nil
}

// whole reads all of a file that is not too large.
func whole(f *workspace.File) (string, error) {
	var b strings.Builder
	b.Grow(int(f.Size))
	n, err := io.Copy(&b, io.NewSectionReader(f, 0, f.Size))
	if err == nil && n < f.Size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return "", fmt.Errorf("reading what is edited: %w", err)
	}
	return b.String(), nil
}

// versionOf is [VersionOf] without a copy.
func versionOf(content string) string {
	version, err := Version(strings.NewReader(content), int64(len(content)), "")
	if err != nil { // which memory does not give
		return ""
	}
	return version
}

// sniffed is how much of a file is looked at to tell what it is.
const sniffed = 4 << 10

// create makes the file when that is what an edit without an old text means.
func (e *editing) create() (io.Reader, error) {
	first := e.edits[0]
	if len(e.edits) > 1 || first.Old != "" || first.At != "" || first.New == "" || e.ifVersion != "" {
		return nil, tool.Errorf(tool.NotFound, "no file %q", e.name).
			Try("call glob to find it, or write_file to create it")
	}
	if err := unmasked("", first.New); err != nil {
		return nil, err
	}
	e.created = true
	e.outcome.Content = first.New
	return strings.NewReader(first.New), nil
}

// stream edits a file that is too large to be held in memory.
func (e *editing) stream(ctx context.Context, f *workspace.File) (io.Reader, error) {
	if len(e.edits) > 1 {
		return nil, tool.Errorf(tool.TooLarge, "%q has %s; several edits at once are for files of up to %d MB", e.name, size(f.Size), edit.MaxWhole>>20).
			Try("make them one by one")
	}
	if e.ifVersion != "" || e.wasRead {
		var err error
		if e.version, err = Version(f, f.Size, f.Stamp); err != nil {
			return nil, err
		}
	}
	if err := e.current(); err != nil {
		return nil, err
	}
	if err := unmasked(e.edits[0].Old, e.edits[0].New); err != nil {
		return nil, err
	}
	content, outcome, err := edit.Stream(ctx, f, f.Size, e.edits[0])
	e.outcome = outcome
	return content, err
}

// current refuses to edit another version than the one that was asked for.
func (e *editing) current() error {
	if e.ifVersion == "" || e.ifVersion == e.version {
		return nil
	}
	return tool.Errorf(tool.Conflict, "%q has version %s, not %s", e.name, e.version, e.ifVersion).
		Try("read it again, then edit")
}

// stale reports whether the session knew another version than was there.
func (e *editing) stale() bool { return e.wasRead && e.version != "" && e.known != e.version }

// versionAfter is the version of what was written, "" when it is not known
// because something keeps the file in its own way.
func (e *editing) versionAfter(done workspace.Changed) (string, error) {
	switch {
	case done.Size > VersionedWhole:
		return Version(nil, done.Size, done.Stamp) // reads nothing
	case done.Size == int64(len(e.outcome.Content)):
		return e.after, nil
	}
	return "", nil
}

// masked reports whether an edit brings a mask.
func (e *editing) masked() bool {
	for _, one := range e.edits {
		if scrub.HasMask(one.New) {
			return true
		}
	}
	return false
}

// unmasked refuses to put a mask where a secret was.
func unmasked(before, after string) error {
	if err := scrub.CheckNoMask(before, after); err != nil {
		return tool.Errorf(tool.Invalid, "%w", err)
	}
	return nil
}

// summary is the name of the file, and how much was replaced and how it was
// found.
func (e *editing) summary() string {
	text := e.name + ": " + counted(e.outcome.Replaced, "replacement", "replacements")
	var how []string
	for _, rung := range e.outcome.Rungs {
		how = append(how, rung.String())
	}
	if how != nil {
		text += " (matched " + strings.Join(how, ", ") + ")"
	}
	return text
}

func (e *editing) diff() string {
	const lines, most = 2, 2000
	before, _ := e.outcome.Texts()
	return withoutKeys(e.outcome.Diff(lines, most), before, e.outcome.Content == "")
}
