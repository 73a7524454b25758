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

// maxAway bounds a file that is not on the disk: it is in memory as a whole.
const maxAway = 64 << 20

// A subject is one file of a change.
type subject struct {
	place
	given   string
	file    *File
	disk    *os.File // nil when there is no file on the disk
	others  []string // its further names in the mount
	strays  int      // names that are out of reach
	content []byte   // of a file that is not on the disk; nil when there is none
	after   []byte   // likewise, when it is changed
}

func (s *subject) close() {
	if s.disk != nil {
		_ = s.disk.Close()
		s.disk = nil
	}
}

// open opens the file, or finds that there is none.
func (s *subject) open(ctx context.Context, w *Workspace) error {
	s.file = &File{Name: s.shown, ReaderAt: bytes.NewReader(nil), Closer: nothing{}}
	if s.source != nil {
		return s.read(ctx)
	}
	_, err := s.mount.root.Lstat(s.name)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil
	}
	if err == nil {
		s.disk, s.info, err = w.open(ctx, s.place)
	}
	if notDir(err) {
		return root.ErrLink
	}
	if err != nil {
		return said(err, s.shown)
	}
	s.file = &File{Name: s.shown, Exists: true, Size: s.info.Size, Modified: s.info.Modified, Mode: s.info.Mode.Perm(),
		Stamp: stamp(s.info), ReaderAt: s.disk, Closer: nothing{}}
	if s.info.Links > 1 {
		return s.findOthers(ctx, w)
	}
	return nil
}

// findOthers finds the further names of a file, which are to change with it.
func (s *subject) findOthers(ctx context.Context, w *Workspace) error {
	names, _, err := w.names(ctx, s.place, s.info)
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
			s.others = append(s.others, name)
		}
	}
	s.strays = int(s.info.Links) - 1 - len(s.others)
	return nil
}

// read reads a file that is not on the disk.
func (s *subject) read(ctx context.Context) error {
	content, modified, err := s.source.Read(ctx, s.name)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return said(err, s.shown)
	}
	s.content = append([]byte{}, content...) // not nil, and nobody else's
	s.file = awayFile(s.shown, s.content, modified)
	return nil
}

func awayFile(shown string, content []byte, modified time.Time) *File {
	return &File{Name: shown, Exists: true, Size: int64(len(content)), Modified: modified, Mode: 0o644,
		Stamp: contentStamp(content), ReaderAt: bytes.NewReader(content), Closer: nothing{}}
}

// stage prepares what is to become of the file.
func (s *subject) stage(ctx context.Context, c *history.Change, change Change) (history.Result, error) {
	t := history.Target{Root: s.mount.root, Dir: s.mount.real, Name: s.name, Others: s.others, Shown: s.shown, File: s.disk, Info: s.info}
	switch {
	case change.Remove && !s.file.Exists:
		return history.Result{}, tool.Errorf(tool.NotFound, "no file %q to remove", s.shown).Try("call list_files to see what there is")
	case s.source != nil:
		return s.stageAway(ctx, c, t, change)
	case change.Remove:
		return c.Remove(ctx, t)
	}
	return c.Write(ctx, t, change.Content, change.Mode)
}

// stageAway prepares a file that is not on the disk.
func (s *subject) stageAway(ctx context.Context, c *history.Change, t history.Target, change Change) (history.Result, error) {
	if !change.Remove {
		s.after = []byte{}
	}
	if !change.Remove && change.Content != nil {
		var err error
		if s.after, err = io.ReadAll(io.LimitReader(change.Content, maxAway+1)); err != nil {
			return history.Result{}, err
		}
		if len(s.after) > maxAway {
			return history.Result{}, tool.Errorf(tool.TooLarge, "the content for %q has more than %d bytes", s.shown, maxAway).Try("write less")
		}
	}
	// What was begun is brought to an end, also when the caller has gone.
	ctx = context.WithoutCancel(ctx)
	return c.Elsewhere(t, s.content, s.after,
		func() error { return s.put(ctx, s.after) },
		func() error { return s.put(ctx, s.content) })
}

// put writes to the source; nil removes.
func (s *subject) put(ctx context.Context, content []byte) error {
	if content != nil {
		return s.source.Write(ctx, s.name, content)
	}
	if err := s.source.Remove(ctx, s.name); !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	return nil
}

// tell tells what becomes of the file.
func (s *subject) tell(change Change, r history.Result) Changed {
	out := Changed{Name: s.shown, Created: !s.file.Exists, Removed: change.Remove, Size: r.Size}
	switch {
	case r.Same:
		out.Notes = append(out.Notes, "unchanged: it has this content already")
		return out
	case change.Remove && s.info.Links > 1:
		out.Notes = append(out.Notes, "it has further names (hard links), which keep the content")
	case s.strays > 0:
		out.Notes = append(out.Notes, fmt.Sprintf("%d further names (hard links) of it are out of reach and keep the old content", s.strays))
	}
	if r.Lost {
		out.Notes = append(out.Notes, "the old content was too large to keep, so this cannot be undone")
	}
	return out
}

// stampNow is the stamp of the file as the change left it.
func (s *subject) stampNow(c Changed) string {
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
