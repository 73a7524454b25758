package managed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/mirror"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// readers is the number of contents that are fetched at the same time.
const readers = 8

// pull updates the files here to the tree. The turn and the lease are held.
func (w *workspace) pull(ctx context.Context, tree string) error {
	fresh := w.files == nil
	err := w.open()
	if err == nil && (fresh || w.tree != tree || !w.files.InPlace() || w.wasBehind()) {
		err = w.merge(ctx)
	}
	var place fs.FileInfo
	if err == nil {
		place, err = os.Stat(w.dir)
	}
	if err == nil {
		w.mu.Lock()
		w.ready, w.behind, w.place = w.held, false, place
		w.mu.Unlock()
		return nil
	}
	if ctx.Err() != nil {
		return err
	}
	return tool.Errorf(tool.Unavailable, "the files of the workspace could not be fetched%s", reason(err)).
		Try("try again; if it persists, tell the user that the server cannot read the files of the workspace").Because(err)
}

func (w *workspace) wasBehind() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.behind
}

// merge updates the files here to the store. A change that only this machine has is kept if the store has not changed
// the file since, and otherwise put aside.
func (w *workspace) merge(ctx context.Context) error {
	all, tree, err := w.load(ctx)
	if err != nil {
		return err
	}
	local, _, err := w.files.Changes(ctx)
	if err != nil {
		return err
	}
	var notes note
	same := tree == w.tree && (w.sure || tree == "")
	var aside, empty []mirror.Entry
	kept := false
	for _, e := range local {
		s, there := all[e.Path]
		switch {
		case there && mirror.Same(e, s.Entry):
			w.remember(s.Entry, mirror.Mark{}, s.parts) // without a mark it is read once more
		case e.Kind == mirror.Gone: // a missing file is fetched again
			w.remember(e, mirror.Mark{}, nil)
		case there && e.Kind == mirror.Dir && s.Kind == mirror.Dir:
			w.remember(mirror.Entry{Path: e.Path}, mirror.Mark{}, nil)
		case same:
			kept = true
		case e.Kind == mirror.Dir:
			empty = append(empty, e)
		default:
			aside = append(aside, e)
		}
	}
	if err := w.putAside(ctx, aside); err != nil {
		return err
	}
	for _, e := range slices.Backward(empty) { // a directory with entries that were not copied stays
		_ = w.files.Put(&mirror.Entry{Path: e.Path}, nil)
		w.remember(mirror.Entry{Path: e.Path}, mirror.Mark{}, nil)
	}
	if err := w.fetch(ctx, all, &notes); err != nil {
		return errors.Join(err, w.write(&notes)) // files that are here already are not fetched again
	}
	for path, s := range all { // equal contents may have become other blobs
		if s.Kind == mirror.File {
			w.parts[path] = s.parts
		}
	}
	w.tree, w.sure = tree, true
	if err := w.rewrite(); err != nil {
		w.t.o.Log.Warn("what this machine has of a workspace is not remembered", "dir", w.dir, "err", err)
	}
	if kept || len(aside) > 0 {
		w.mark()
		tool.AtEnd(ctx, storing{w, true}, w.store)
	}
	return nil
}

// putAside moves files that only this machine has into a directory of the workspace.
func (w *workspace) putAside(ctx context.Context, list []mirror.Entry) error {
	if len(list) == 0 {
		return nil
	}
	host := strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '_'
		}
		return r
	}, w.t.o.Name)
	dir := fmt.Sprintf("conflict-%s-%.40s", time.Now().UTC().Format("20060102-150405.000"), host)
	for _, e := range list {
		if err := w.files.Move(e.Path, dir+"/"+e.Path); err != nil {
			return fmt.Errorf("putting aside what only this machine has: %w", err)
		}
		w.remember(mirror.Entry{Path: e.Path}, mirror.Mark{}, nil)
	}
	w.t.o.Log.Warn("files that only this machine had were put aside, because another server has changed the workspace since",
		"dir", filepath.Join(w.dir, dir), "files", len(list))
	names := make([]string, 0, 3)
	for _, e := range list[:min(3, len(list))] {
		names = append(names, fmt.Sprintf("%q", e.Path))
	}
	tool.Note(ctx, fmt.Sprintf("Note: %d files, such as %s, had changes on the server %q that were not stored before another "+
		"server changed the workspace. They are in %s/ now; compare them, and delete it.", len(list), strings.Join(names, ", "),
		w.t.o.Name, dir))
	return nil
}

// fetch removes files that the tree does not have, and makes the files of the tree.
func (w *workspace) fetch(ctx context.Context, all map[string]stored, notes *note) error {
	var lost []string
	for e := range w.files.All {
		if _, there := all[e.Path]; !there {
			lost = append(lost, e.Path)
		}
	}
	slices.SortFunc(lost, func(a, b string) int { return cmp.Compare(b, a) })
	for _, path := range lost {
		e := mirror.Entry{Path: path}
		_ = w.files.Put(&e, nil) // a directory with entries that were not copied stays
		w.remember(e, mirror.Mark{}, nil)
		notes.entry(e, mirror.Mark{}, nil)
	}
	var wanted []stored
	for path, s := range all {
		if !mirror.Same(w.files.Known(path), s.Entry) {
			wanted = append(wanted, s)
		}
	}
	slices.SortFunc(wanted, func(a, b stored) int { return cmp.Compare(a.Path, b.Path) })
	done := func(s stored) {
		m := w.files.Mark(s.Path)
		w.remember(s.Entry, m, s.parts)
		notes.entry(s.Entry, m, s.parts)
	}
	for _, s := range wanted {
		if s.Kind == mirror.Dir {
			if err := w.files.Put(&s.Entry, nil); err != nil {
				return err
			}
			done(s)
		}
	}
	var mu sync.Mutex
	var fetching sync.WaitGroup
	var failed error
	slots := make(chan struct{}, readers)
	for _, s := range wanted {
		if s.Kind == mirror.Dir {
			continue
		}
		slots <- struct{}{}
		mu.Lock()
		stop := failed != nil
		mu.Unlock()
		if stop {
			break
		}
		fetching.Go(func() {
			defer func() { <-slots }()
			err := w.fetchOne(ctx, s)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = errors.Join(failed, err)
				return
			}
			done(s)
		})
	}
	fetching.Wait()
	return failed
}

func (w *workspace) fetchOne(ctx context.Context, s stored) error {
	e := s.Entry
	if e.Kind != mirror.File {
		return w.files.Put(&e, nil)
	}
	var contents []io.Reader
	for _, p := range s.parts {
		item, err := w.t.o.Blobs.Open(ctx, blob.Ref{Name: p.Blob, Size: p.Size})
		if err != nil {
			return err
		}
		defer item.Close()
		contents = append(contents, item)
	}
	if err := w.files.Put(&e, io.MultiReader(contents...)); err != nil {
		return err
	}
	if e.Digest != s.Digest {
		return fmt.Errorf("the content of a file of the workspace is damaged")
	}
	return nil
}
