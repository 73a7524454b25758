package search

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

const (
	chunkSize      = 8 // files that a worker takes at once
	maxWorkers     = 8
	maxHeldBytes   = 32 << 20 // bytes of lines to hold in total
	maxHeldPerFile = 1 << 20  // bytes of lines to hold for one file
)

// errSkip means that a file is not to be searched: it is not a regular file, or the
// LinkCheck refuses it.
var errSkip = errors.New("not a file to search")

// A LinkCheck reports whether a file with several hard links may be read. It must be
// safe for concurrent use.
type LinkCheck func(name string, info root.Info) bool

// A Source provides the files to search.
type Source struct {
	Root       *root.Root
	CheckLinks LinkCheck // nil allows all files
	// Virtual returns the content of files that are not on disk. It may be nil. It is
	// called for every name and must be safe for concurrent use.
	Virtual func(name string) (content []byte, ok bool)
}

// Search searches files in the order of names and returns the results that Limit and Offset
// select. It reads several files at once, and stops when the remaining files cannot change the
// result. Search skips files that do not exist or must not be read, and counts unreadable files
// in Unread. The result does not depend on the order in which files are read.
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

// A run is the state of one call of Search.
type run struct {
	m           *Matcher
	src         Source
	names       []string
	ctx         context.Context
	cancel      func() // called when there is enough
	chunks      []chunk
	nextChunk   atomic.Int64
	lineBudget  atomic.Int64 // bytes
	largeBuffer sync.Mutex   // see worker

	mu         sync.Mutex
	enough     int // matching lines or files after which to stop
	found      int // matching lines or files in the first doneChunks chunks
	doneChunks int // chunks that are done, without a gap
	failed     error
}

// A chunk is the result for some consecutive files.
type chunk struct {
	done     bool
	hits     []hit
	searched int
	unread   int
	waiting  int
	failed   []UnreadError
}

// A hit is a file with a match.
type hit struct {
	name string
	textResult
	lines []Line // of its first matches; nil if they were not kept
}

// work processes chunks until there are none left. It returns its worker for reuse.
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
		if p := recover(); p != nil { // a panic in this goroutine would end the program
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
		case errors.Is(err, ErrLater):
			c.waiting++
			continue
		case err != nil:
			c.unread++
			if why, ok := errors.AsType[*UnreadError](err); ok && len(c.failed) < maxFailed {
				c.failed = append(c.failed, UnreadError{name, why.Why})
			}
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

// done marks a chunk as done, and ends the search when there are enough results.
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

// file searches one file.
func (s *run) file(ctx context.Context, w *worker, name string, enough int, p *page) (textResult, error) {
	if s.src.Virtual != nil {
		if content, ok := s.src.Virtual(name); ok {
			return w.text(ctx, memorySource(content), enough, p)
		}
	}
	if w.opener == nil {
		return textResult{}, errSkip
	}
	h, info, err := w.opener.open(name)
	if err != nil {
		return textResult{}, err
	}
	defer h.close()
	if d := s.m.q.Documents; d != nil && d.Has(name) {
		return s.document(ctx, w, name, info, h, enough, p)
	}
	if most := s.m.q.MaxFile; most > 0 && info.Size > most {
		if s.m.q.Multiline {
			return textResult{}, errLarge
		}
		return textResult{}, &UnreadError{Why: "is too large"}
	}
	return w.text(ctx, source{io.NewSectionReader(h, 0, info.Size), info.Size, false}, enough, p)
}

// result assembles the result from the chunks.
func (s *run) result(ctx context.Context, w *worker) (Found, error) {
	a := &resultBuilder{run: s, w: w, skip: s.m.q.Offset, left: s.m.q.Limit, budget: maxHeldBytes}
	for _, c := range s.chunks[:s.doneChunks] {
		a.found.Searched += c.searched
		a.found.Unread += c.unread
		a.found.Waiting += c.waiting
		a.found.Failed = append(a.found.Failed, c.failed[:min(len(c.failed), maxFailed-len(a.found.Failed))]...)
		for i := range c.hits {
			a.found.Matches += c.hits[i].matches
			if s.m.q.Mode == Content {
				a.addLines(ctx, &c.hits[i])
			} else {
				a.addFile(&c.hits[i])
			}
		}
		if err := ctx.Err(); err != nil {
			return Found{}, err
		}
	}
	return a.found, nil
}

// A resultBuilder builds a Found: the page of results between Offset and Limit.
type resultBuilder struct {
	run        *run
	w          *worker
	skip, left int // matching lines, or files, still to skip and to add
	budget     int // bytes of lines
	found      Found
}

// addFile adds a hit, unless it is before or after the page.
func (a *resultBuilder) addFile(h *hit) {
	switch {
	case a.skip > 0:
		a.skip--
	case a.left == 0:
		a.found.More = true
	default:
		a.left--
		a.found.Files = append(a.found.Files, FileMatches{Name: h.name, Matches: h.matches, Binary: h.binary, Document: h.document})
	}
}

// addLines adds the lines of a hit that are on the page.
func (a *resultBuilder) addLines(ctx context.Context, h *hit) {
	if a.skip >= h.matches {
		a.skip -= h.matches
		return
	}
	skip, take := a.skip, min(h.matches-a.skip, a.left)
	a.skip = 0
	if take < h.matches-skip {
		a.found.More = true
	}
	if take == 0 {
		return
	}
	lines := h.lines
	if lines == nil || skip > 0 || take < min(h.matches, a.run.m.q.Limit) {
		lines = a.reread(ctx, h, skip, take)
	}
	for _, line := range lines {
		a.budget -= len(line.Text) + lineOverhead
	}
	if a.left -= take; len(lines) == 0 {
		return
	}
	a.found.Files = append(a.found.Files, FileMatches{
		Name: h.name, Matches: h.matches, Binary: h.binary, Document: h.document, Lines: lines,
	})
}

// reread reads the lines of a hit that were not kept. If the file has changed since,
// its current lines are returned.
func (a *resultBuilder) reread(ctx context.Context, h *hit, skip, take int) []Line {
	p := a.run.m.newPage(skip, take, a.budget)
	if p == nil {
		a.found.More, a.left = true, take
		return nil
	}
	if _, err := a.run.file(ctx, a.w, h.name, skip+take+1, p); err != nil {
		return nil
	}
	if p.full {
		a.found.More, a.left = true, take
	}
	return p.lines
}
