package search

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

const (
	chunkSize   = 8 // files that are taken at once
	mostWorkers = 8
	pageRoom    = 32 << 20 // bytes of lines that are held at most
	fileRoom    = 1 << 20  // of one file, before it is known whether they are wanted
)

// errNotOurs says that there is something that is not to be searched: no
// regular file, or one that the gate refuses.
var errNotOurs = errors.New("not a file to search")

// A Gate says whether a file with more than one hard link may be read. It is
// called from several goroutines.
type Gate func(name string, info root.Info) bool

// A Source is where files are.
type Source struct {
	Root *root.Root
	Gate Gate // nil refuses nothing
	// Virtual gives the content of files that are not on disk, or nil. It is
	// called for every name, from several goroutines.
	Virtual func(name string) (content []byte, ok bool)
}

// Files searches files of r; see Search.
func (m *Matcher) Files(ctx context.Context, r *root.Root, names []string, open Gate) (Found, error) {
	return m.Search(ctx, Source{Root: r, Gate: open}, names)
}

// Search searches files in the order of names and returns what Limit and
// Offset ask for. It reads several at once, and stops when nothing that is
// read could change the answer. Files that are gone or must not be read do not
// count; those that cannot be read are in Unread. What Found tells depends on
// the files alone, not on which was read first.
func (m *Matcher) Search(ctx context.Context, src Source, names []string) (Found, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &search{
		m: m, src: src, names: names, ctx: inner, cancel: cancel,
		chunks: make([]chunk, (len(names)+chunkSize-1)/chunkSize), enough: m.q.Offset + m.q.Limit + 1,
	}
	s.room.Store(pageRoom)
	workers := min(runtime.GOMAXPROCS(0), mostWorkers, len(s.chunks))
	var wait sync.WaitGroup
	for range workers - 1 {
		wait.Go(func() { s.work() })
	}
	last := s.work()
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return Found{}, err
	}
	if s.failed != nil {
		return Found{}, s.failed
	}
	return s.answer(ctx, last)
}

// A search is one call of Search.
type search struct {
	m      *Matcher
	src    Source
	names  []string
	ctx    context.Context
	cancel func() // called when there is enough
	chunks []chunk
	taken  atomic.Int64 // chunks
	room   atomic.Int64 // for lines
	large  sync.Mutex   // see worker

	mu     sync.Mutex
	enough int // matching lines or files
	have   int // in the first chunks
	first  int // chunks that are done without a gap
	failed error
}

// A chunk is what was found in some files that follow each other.
type chunk struct {
	done     bool
	hits     []hit
	searched int
	unread   int
}

// A hit is a file that matches.
type hit struct {
	name string
	result
	lines []Line // of its first matches; nil when they were not kept
}

// work takes chunks until there are no more. The worker that did it is returned.
func (s *search) work() *worker {
	w := newWorker(s.m)
	w.large = &s.large
	if s.src.Root != nil {
		w.opener = newOpener(s.src.Root, s.src.Gate)
	}
	for {
		i := int(s.taken.Add(1)) - 1
		if i >= len(s.chunks) || s.ctx.Err() != nil {
			return w
		}
		if err := s.chunk(w, i); err != nil {
			s.stop(err)
			return w
		}
	}
}

func (s *search) stop(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil && s.ctx.Err() == nil {
		s.failed = err
	}
	s.cancel()
}

// chunk searches the files of a chunk.
func (s *search) chunk(w *worker, i int) (err error) {
	defer func() {
		if p := recover(); p != nil { // nobody else can: this may be a goroutine of its own
			err = fmt.Errorf("searching files for %q: %v", s.m.q.Pattern, p)
		}
	}()
	c := &s.chunks[i]
	for _, name := range s.names[i*chunkSize : min((i+1)*chunkSize, len(s.names))] {
		var p *page
		if s.m.q.Offset == 0 {
			p = s.m.pageOf(0, s.m.q.Limit, int(min(s.room.Load(), fileRoom)))
		}
		got, err := s.file(s.ctx, w, name, s.m.enough(), p)
		switch {
		case s.ctx.Err() != nil:
			return s.ctx.Err()
		case errors.Is(err, errNotOurs), errors.Is(err, iofs.ErrNotExist):
			continue
		case err != nil:
			c.unread++
			continue
		}
		c.searched++
		if got.matches == 0 {
			continue
		}
		h := hit{name: name, result: got}
		if p != nil && !p.full {
			h.lines = p.lines
			s.room.Add(-int64(p.used))
		}
		c.hits = append(c.hits, h)
	}
	s.done(c)
	return nil
}

// done counts a chunk in, and ends the search when there is enough.
func (s *search) done(c *chunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.done = true
	for s.have < s.enough && s.first < len(s.chunks) && s.chunks[s.first].done {
		for _, h := range s.chunks[s.first].hits {
			if s.m.q.Mode == Content {
				s.have += h.matches
			} else {
				s.have++
			}
		}
		s.first++
	}
	if s.have >= s.enough {
		s.cancel()
	}
}

// file searches one file.
func (s *search) file(ctx context.Context, w *worker, name string, enough int, p *page) (result, error) {
	if s.src.Virtual != nil {
		if content, ok := s.src.Virtual(name); ok {
			return w.text(ctx, &memory{text: content}, enough, p)
		}
	}
	if w.opener == nil {
		return result{}, errNotOurs
	}
	h, size, err := w.opener.open(name)
	if err != nil {
		return result{}, err
	}
	defer h.close()
	if most := s.m.q.MaxFile; most > 0 && size > most {
		return result{}, errLarge
	}
	return w.text(ctx, &file{handle: h, length: size}, enough, p)
}
