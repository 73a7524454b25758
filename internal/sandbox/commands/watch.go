package commands

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

const (
	maxPending = 256 << 10       // maximum bytes that wait for a slow function
	watchLast  = 2 * time.Second // maximum time for the rest at the end
)

// A watcher passes output to a function that may be slow. It does so in a separate goroutine,
// started at the first output, since many commands have none. Output that exceeds the buffer is
// skipped; the log still has it.
type watcher struct {
	tell func(sandbox.Stream, []byte)
	do   func(func()) // starts a goroutine that Close waits for

	mu      sync.Mutex
	waiting pieces
	spare   pieces        // the previous buffer, for reuse
	awake   chan struct{} // holds a value if there is something to do
	runs    bool
	after   func() // called after the last output; nil before finish
	late    *time.Timer
	over    atomic.Bool
}

// pieces is output that was not passed on yet, in order.
type pieces struct {
	data []byte
	ends []piece
}

// A piece of a stream begins where the previous piece ends.
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

// add appends output.
func (w *watcher) add(s sandbox.Stream, data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.after != nil || len(w.waiting.data)+len(data) > maxPending {
		return
	}
	w.waiting.add(s, data)
	if !w.runs {
		w.runs = true
		w.do(w.run)
	}
	w.rouse()
}

// finish calls after when all output was passed on, or after watchLast. Output that
// is added later is dropped.
func (w *watcher) finish(after func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.runs {
		w.after = after // drops later output
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

// run passes on output until finish.
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
