package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

const (
	chunkSize      = 8 // files that are taken at once
	maxWorkers     = 8
	maxHeldBytes   = 32 << 20 // emitBytes of lines that are held at most
	maxHeldPerFile = 1 << 20  // of one file, before it is known whether they are wanted
)

// errSkip says that there is something that is not to be searched: no
// regular file, or one that the gate refuses.
var errSkip = errors.New("not a file to search")

// A CheckLinks says whether a file with more than one hard link may be read. It is
// called from several goroutines.
type LinkCheck func(name string, info root.Info) bool

// A Source is where files are.
type Source struct {
	Root       *root.Root
	CheckLinks LinkCheck // nil refuses nothing
	// Virtual gives the content of files that are not on disk, or nil. It is
	// called for every name, from several goroutines.
	Virtual func(name string) (content []byte, ok bool)
}

// Files searches files of r; see Search.
func (m *Matcher) Files(ctx context.Context, r *root.Root, names []string, open LinkCheck) (Found, error) {
	return m.Search(ctx, Source{Root: r, CheckLinks: open}, names)
}

// Search searches files in the order of names and returns what Limit and
// Offset ask for. It reads several at once, and stops when nothing that is
// read could change the answer. Files that are gone or must not be read do not
// count; those that cannot be read are in Unread. What Found tells depends on
// the files alone, not on which was read first.
func (m *Matcher) Search(ctx context.Context, src Source, names []string) (Found, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &run{
		m: m, src: src, names: names, ctx: inner, cancel: cancel,
		chunks: make([]chunk, (len(names)+chunkSize-1)/chunkSize), enough: m.q.Offset + m.q.Limit + 1,
	}
	s.lineBudget.Store(maxHeldBytes)
	workers := min(runtime.GOMAXPROCS(0), maxWorkers, len(s.chunks))
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
	return s.result(ctx, last)
}

// A run is one call of Search.
type run struct {
	m           *Matcher
	src         Source
	names       []string
	ctx         context.Context
	cancel      func() // called when there is enough
	chunks      []chunk
	nextChunk   atomic.Int64 // chunks
	lineBudget  atomic.Int64 // for lines
	largeBuffer sync.Mutex   // see worker

	mu         sync.Mutex
	enough     int // matching lines or files
	found      int // in the first chunks
	doneChunks int // chunks that are done without a gap
	failed     error
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
	textResult
	lines []Line // of its first matches; nil when they were not kept
}

// work takes chunks until there are no more. The worker that did it is returned.
func (s *run) work() *worker {
	w := newWorker(s.m)
	w.largeBuffer = &s.largeBuffer
	if s.src.Root != nil {
		w.opener = newOpener(s.src.Root, s.src.CheckLinks)
	}
	for {
		i := int(s.nextChunk.Add(1)) - 1
		if i >= len(s.chunks) || s.ctx.Err() != nil {
			return w
		}
		if err := s.chunk(w, i); err != nil {
			s.stop(err)
			return w
		}
	}
}

func (s *run) stop(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil && s.ctx.Err() == nil {
		s.failed = err
	}
	s.cancel()
}

// chunk searches the files of a chunk.
func (s *run) chunk(w *worker, i int) (err error) {
	defer func() {
		if p := recover(); p != nil { // nobody else can: this may be a goroutine of its own
			err = fmt.Errorf("searching files for %q: %v", s.m.q.Pattern, p)
		}
	}()
	c := &s.chunks[i]
	for _, name := range s.names[i*chunkSize : min((i+1)*chunkSize, len(s.names))] {
		var p *page
		if s.m.q.Offset == 0 {
			p = s.m.newPage(0, s.m.q.Limit, int(min(s.lineBudget.Load(), maxHeldPerFile)))
		}
		got, err := s.file(s.ctx, w, name, s.m.maxMatches(), p)
		switch {
		case s.ctx.Err() != nil:
			return s.ctx.Err()
		case errors.Is(err, errSkip), errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			c.unread++
			continue
		}
		c.searched++
		if got.matches == 0 {
			continue
		}
		h := hit{name: name, textResult: got}
		if p != nil && !p.full {
			h.lines = p.lines
			s.lineBudget.Add(-int64(p.used))
		}
		c.hits = append(c.hits, h)
	}
	s.done(c)
	return nil
}

// done counts a chunk in, and ends the search when there is enough.
func (s *run) done(c *chunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.done = true
	for s.found < s.enough && s.doneChunks < len(s.chunks) && s.chunks[s.doneChunks].done {
		for _, h := range s.chunks[s.doneChunks].hits {
			if s.m.q.Mode == Content {
				s.found += h.matches
			} else {
				s.found++
			}
		}
		s.doneChunks++
	}
	if s.found >= s.enough {
		s.cancel()
	}
}

// fileSource searches one file.
func (s *run) file(ctx context.Context, w *worker, name string, enough int, p *page) (textResult, error) {
	if s.src.Virtual != nil {
		if content, ok := s.src.Virtual(name); ok {
			return w.text(ctx, &memorySource{text: content}, enough, p)
		}
	}
	if w.opener == nil {
		return textResult{}, errSkip
	}
	h, size, err := w.opener.open(name)
	if err != nil {
		return textResult{}, err
	}
	defer h.close()
	if most := s.m.q.MaxFile; most > 0 && size > most {
		return textResult{}, errLarge
	}
	return w.text(ctx, &fileSource{handle: h, length: size}, enough, p)
}
