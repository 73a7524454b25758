package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// maxEntries is the maximum number of entries that one walk reads.
const maxEntries = 8 << 20

// A job is a directory to walk.
type job struct {
	dir   string
	depth int
	rules *rules
	node  *node
}

// A walker distributes jobs to workers.
type walker struct {
	ctx     context.Context
	root    *root.Root
	o       Options
	visit   func(*job, []candidate) error
	entries atomic.Int64

	mu      sync.Mutex
	wake    sync.Cond // signalled when a job was added, and at the end
	jobs    []job     // a stack
	pending int       // jobs that were added and are not done
	unread  []string
	err     error
}

func walk(
	ctx context.Context, r *root.Root, o Options, top *node, visit func(*job, []candidate) error,
) (unread []string, err error) {
	if o.Dir == "" {
		o.Dir = "."
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := &walker{ctx: ctx, root: r, o: o, visit: visit}
	w.wake.L = &w.mu
	first := job{dir: o.Dir, depth: 1, node: top}
	if !o.Ignored {
		first.rules = rulesAbove(r, o.Dir)
	}
	w.add([]job{first})
	var all sync.WaitGroup
	for range o.workers() - 1 {
		all.Go(w.work)
	}
	w.work()
	all.Wait()
	slices.Sort(w.unread)
	return w.unread, w.err
}

func (w *walker) add(jobs []job) {
	if len(jobs) == 0 {
		return
	}
	w.mu.Lock()
	w.jobs = append(w.jobs, jobs...)
	w.pending += len(jobs)
	w.mu.Unlock()
	if len(jobs) == 1 {
		w.wake.Signal()
	} else {
		w.wake.Broadcast()
	}
}

// next waits for a job. ok is false at the end of the walk.
func (w *walker) next() (j job, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.jobs) == 0 && w.pending > 0 && w.err == nil {
		w.wake.Wait()
	}
	if w.err != nil || len(w.jobs) == 0 {
		return job{}, false
	}
	last := len(w.jobs) - 1
	j = w.jobs[last]
	w.jobs[last] = job{}
	w.jobs = w.jobs[:last]
	return j, true
}

// done completes a job. The first error ends the walk.
func (w *walker) done(j *job, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending--
	var unread *unreadError
	switch {
	case err == nil:
	case errors.As(err, &unread) && j.depth > 1:
		if !unread.vanished() {
			w.unread = append(w.unread, j.dir)
		}
	case w.err == nil:
		w.err = err
	}
	if w.pending == 0 || w.err != nil {
		w.wake.Broadcast()
	}
}

func (w *walker) work() {
	var s scanner
	for {
		j, ok := w.next()
		if !ok {
			return
		}
		err := w.ctx.Err()
		if err == nil {
			err = w.walkDirSafely(&s, &j)
		}
		w.done(&j, err)
	}
}

// walkDirSafely turns a panic into an error, since it runs in its own goroutine.
func (w *walker) walkDirSafely(s *scanner, j *job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a walk: %v\n%s", p, debug.Stack())
		}
	}()
	return w.walkDir(s, j)
}

// walkDir reads one directory, and adds jobs for its subdirectories.
func (w *walker) walkDir(s *scanner, j *job) error {
	err := s.scan(w, j.dir)
	var unread *unreadError
	if err != nil && (!errors.As(err, &unread) || len(s.ends) == 0) {
		return err
	}
	rules := j.rules
	if !w.o.Ignored {
		rules = rules.extend(w.root, j.dir, s.markers)
	}
	all := w.filter(s, j, rules)
	if err := w.visit(j, all); err != nil {
		return err
	}
	var jobs []job
	for i := range all {
		if f := &all[i]; f.enter {
			jobs = append(jobs, job{dir: f.name, depth: j.depth + 1, rules: rules, node: f.node})
		}
	}
	w.add(jobs)
	return err
}

// filter removes the entries that are hidden, ignored or skipped.
func (w *walker) filter(s *scanner, j *job, rules *rules) []candidate {
	text, at, from := string(s.text), s.base, 0
	view := rules.scopes(j.dir, s.scopes[:0])
	s.scopes, s.found = view, s.found[:0]
	deeper := w.o.Depth == 0 || j.depth < w.o.Depth
	for i, end := range s.ends {
		f := candidate{name: text[from:end], at: at, mode: s.modes[i]}
		from = end
		dir := f.mode.IsDir()
		if w.o.Skip != nil && w.o.Skip(f.name, dir) || !view.visible(f.base(), dir, w.o.Hidden) {
			continue
		}
		f.enter = dir && deeper && (w.o.Enter == nil || w.o.Enter(f.name))
		s.found = append(s.found, f)
	}
	return s.found
}

// An unreadError means that a directory could not be read.
type unreadError struct{ cause error }

func (e *unreadError) Error() string { return e.cause.Error() }
func (e *unreadError) Unwrap() error { return e.cause }

// vanished reports whether the directory was removed during the walk.
func (e *unreadError) vanished() bool {
	return errors.Is(e.cause, fs.ErrNotExist) || errors.Is(e.cause, root.ErrLink) || notDirectory(e.cause)
}

// A scanner reads directories into reusable buffers. Each worker has one.
type scanner struct {
	reader
	base    int // where the last steps of the names begin
	text    []byte
	ends    []int // where each name in text ends
	modes   []fs.FileMode
	markers markers

	scopes scopes
	found  []candidate
}

// scan reads the entries of a directory. With an error, it may have read some.
func (s *scanner) scan(w *walker, dir string) error {
	prefix := ""
	if dir != "." {
		prefix = dir + "/"
	}
	s.base, s.text, s.ends, s.modes, s.markers = len(prefix), s.text[:0], s.ends[:0], s.modes[:0], 0
	counted := 0
	count := func() error {
		n := int64(len(s.ends) - counted)
		counted = len(s.ends)
		if w.entries.Add(n) > maxEntries {
			return tool.Errorf(tool.TooLarge, "there are more than %d files below %q", maxEntries, path.Clean(w.o.Dir)).
				Try("begin in one of its subdirectories")
		}
		return w.ctx.Err()
	}
	err := s.read(w.root, dir, count, func(name []byte, mode fs.FileMode) {
		s.text = append(append(s.text, prefix...), name...)
		s.ends = append(s.ends, len(s.text))
		s.modes = append(s.modes, mode)
		s.markers |= markerOf(name, mode)
	})
	if err != nil {
		return err
	}
	return count()
}
