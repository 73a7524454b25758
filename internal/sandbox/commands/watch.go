package commands

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

const (
	watchMost = 256 << 10       // bytes that wait for a slow watcher
	watchLast = 2 * time.Second // that it gets at the end
)

// A watcher hands output to somebody who may be slow, from a goroutine of its
// own that begins with the first output: many commands have none. What is too
// much for it is left out: the log has it.
type watcher struct {
	tell func(sandbox.Stream, []byte)
	do   func(func()) // in a goroutine that somebody counts

	mu      sync.Mutex
	waiting pieces
	spare   pieces        // what was told before: floods make no garbage
	awake   chan struct{} // holds word that there is something to do
	runs    bool
	after   func() // what comes when all is told; nil: it goes on
	late    *time.Timer
	over    atomic.Bool
}

// Pieces are output that was not told yet, in the order in which it came.
type pieces struct {
	data []byte
	ends []piece
}

// A piece ends where it says, and begins where the one before it ends.
type piece struct {
	stream sandbox.Stream
	end    int
}

func (p *pieces) add(s sandbox.Stream, data []byte) {
	p.data = append(p.data, data...)
	if last := len(p.ends) - 1; last >= 0 && p.ends[last].stream == s {
		p.ends[last].end = len(p.data)
		return
	}
	p.ends = append(p.ends, piece{s, len(p.data)})
}

func newWatcher(tell func(sandbox.Stream, []byte), do func(func())) *watcher {
	return &watcher{tell: tell, do: do, awake: make(chan struct{}, 1)}
}

// add has data told.
func (w *watcher) add(s sandbox.Stream, data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.after != nil || len(w.waiting.data)+len(data) > watchMost {
		return
	}
	w.waiting.add(s, data)
	if !w.runs {
		w.runs = true
		w.do(w.run)
	}
	w.rouse()
}

// finish has after called when all was told, or when that takes too long. There
// is no more afterwards.
func (w *watcher) finish(after func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.runs {
		w.after = after // what comes later is too late
		after()
		return
	}
	w.after = sync.OnceFunc(func() {
		w.over.Store(true)
		after()
	})
	w.late = time.AfterFunc(watchLast, w.after)
	w.rouse()
}

func (w *watcher) rouse() {
	select {
	case w.awake <- struct{}{}:
	default:
	}
}

// run tells until the end.
func (w *watcher) run() {
	for range w.awake {
		news, after := w.next()
		from := 0
		for _, p := range news.ends {
			if !w.over.Load() {
				w.tell(p.stream, news.data[from:p.end])
			}
			from = p.end
		}
		if after != nil {
			w.late.Stop()
			after()
			return
		}
		w.mu.Lock()
		w.spare = pieces{data: news.data[:0], ends: news.ends[:0]}
		w.mu.Unlock()
	}
}

func (w *watcher) next() (pieces, func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	news := w.waiting
	w.waiting, w.spare = w.spare, pieces{}
	return news, w.after
}
