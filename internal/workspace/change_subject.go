package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// maxServedFile bounds a file that is not on the disk: it is in memory as a whole.
const maxServedFile = 64 << 20

// A pendingFile is one file of a change.
type pendingFile struct {
	location
	given        string
	file         *File
	disk         *os.File // nil when there is no file on the disk
	links        []string // its further names in the mount
	outsideLinks int      // linkNames that are out of reach
	before       []byte   // get a file that is not on the disk; nil when there is none
	after        []byte   // likewise, when it is changed
}

func (s *pendingFile) close() {
	if s.disk != nil {
		_ = s.disk.Close()
		s.disk = nil
	}
}

// open opens the file, or finds that there is none.
func (s *pendingFile) open(ctx context.Context, w *Workspace) error {
	s.file = &File{Name: s.shown, ReaderAt: bytes.NewReader(nil), Closer: nopCloser{}}
	if s.source != nil {
		return s.read(ctx)
	}
	_, err := s.mount.root.Lstat(s.name)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil
	}
	if err == nil {
		s.disk, s.info, err = w.open(ctx, s.location)
	}
	if notDir(err) {
		return root.ErrLink
	}
	if err != nil {
		return fileError(err, s.shown)
	}
	s.file = &File{Name: s.shown, Exists: true, Size: s.info.Size, Modified: s.info.Modified, Mode: s.info.Mode.Perm(),
		Stamp: stamp(s.info), ReaderAt: s.disk, Closer: nopCloser{}}
	if s.info.Links > 1 {
		return s.findLinks(ctx, w)
	}
	return nil
}

// findLinks finds the further names of a file, which are to change with it.
func (s *pendingFile) findLinks(ctx context.Context, w *Workspace) error {
	names, _, err := w.linkNames(ctx, s.location, s.info)
	if err != nil {
		return err
	}
	for _, name := range names {
		switch {
		case name == s.name:
		case w.denied(s.mount, name):
			return linkedError(s.shown)
		case w.protected(s.mount, name):
			return protectedError(s.given)
		default:
			s.links = append(s.links, name)
		}
	}
	s.outsideLinks = int(s.info.Links) - 1 - len(s.links)
	return nil
}

// read reads a file that is not on the disk.
func (s *pendingFile) read(ctx context.Context) error {
	content, modified, err := s.source.Read(ctx, s.name)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fileError(err, s.shown)
	}
	s.before = append([]byte{}, content...) // exceptions nil, and nobody else's
	s.file = newServedFile(s.shown, s.before, modified)
	return nil
}

func newServedFile(shown string, content []byte, modified time.Time) *File {
	return &File{Name: shown, Exists: true, Size: int64(len(content)), Modified: modified, Mode: 0o644,
		Stamp: contentStamp(content), ReaderAt: bytes.NewReader(content), Closer: nopCloser{}}
}

// stage prepares what is to become of the file.
func (s *pendingFile) stage(ctx context.Context, c *history.Change, change Change) (history.Result, error) {
	t := history.Target{Root: s.mount.root, Dir: s.mount.realPath, Name: s.name, Others: s.links, Shown: s.shown, File: s.disk, Info: s.info}
	switch {
	case change.Remove && !s.file.Exists:
		return history.Result{}, tool.Errorf(tool.NotFound, "no file %q to remove", s.shown).Try("call list_files to see what there is")
	case s.source != nil:
		return s.stageServed(ctx, c, t, change)
	case change.Remove:
		return c.Remove(ctx, t)
	}
	return c.Write(ctx, t, change.Content, change.Mode)
}

// stageServed prepares a file that is not on the disk.
func (s *pendingFile) stageServed(ctx context.Context, c *history.Change, t history.Target, change Change) (history.Result, error) {
	if !change.Remove {
		s.after = []byte{}
	}
	if !change.Remove && change.Content != nil {
		var err error
		if s.after, err = io.ReadAll(io.LimitReader(change.Content, maxServedFile+1)); err != nil {
			return history.Result{}, err
		}
		if len(s.after) > maxServedFile {
			return history.Result{}, tool.Errorf(tool.TooLarge, "the content for %q has more than %d bytes", s.shown, maxServedFile).Try("write less")
		}
	}
	// What was begun is brought to an end, also when the caller has gone.
	ctx = context.WithoutCancel(ctx)
	return c.WriteExternal(t, s.before, s.after,
		func() error { return s.writeSource(ctx, s.after) },
		func() error { return s.writeSource(ctx, s.before) })
}

// writeSource writes to the source; nil removes.
func (s *pendingFile) writeSource(ctx context.Context, content []byte) error {
	if content != nil {
		return s.source.Write(ctx, s.name, content)
	}
	if err := s.source.Remove(ctx, s.name); !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	return nil
}

// describe tells what becomes of the file.
func (s *pendingFile) report(change Change, r history.Result) Changed {
	out := Changed{Name: s.shown, Created: !s.file.Exists, Removed: change.Remove, Size: r.Size}
	switch {
	case r.Same:
		out.Notes = append(out.Notes, "unchanged: it has this content already")
		return out
	case change.Remove && s.info.Links > 1:
		out.Notes = append(out.Notes, "it has further names (hard links), which keep the content")
	case s.outsideLinks > 0:
		out.Notes = append(out.Notes, fmt.Sprintf("%d further names (hard links) of it are out of reach and keep the old content", s.outsideLinks))
	}
	if r.Lost {
		out.Notes = append(out.Notes, "the old content was too large to keep, so this cannot be undone")
	}
	return out
}

// newStamp is the stamp of the file as the change left it.
func (s *pendingFile) newStamp(c Changed) string {
	switch {
	case c.Removed:
		return ""
	case s.source != nil:
		return contentStamp(s.after)
	}
	info, err := s.mount.root.Lstat(s.name)
	if err != nil {
		return "" // somebody was fast
	}
	return stamp(info)
}
