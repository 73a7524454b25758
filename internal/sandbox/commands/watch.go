package commands

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/tools/exec"
)

const (
	watchMost = 256 << 10       // bytes that wait for a slow watcher
	watchLast = 2 * time.Second // that it gets at the end
)

// A watcher hands output to somebody who may be slow, from a goroutine of its
// own. What is too much for it is left out: the log has it.
type watcher struct {
	tell func(exec.Stream, []byte)

	mu      sync.Mutex
	waiting []piece
	size    int
	awake   chan struct{} // holds word that there is something to do
	after   func()        // what comes when all is told; nil: it goes on
	late    *time.Timer
	over    atomic.Bool
}

type piece struct {
	stream exec.Stream
	data   []byte
}

func newWatcher(tell func(exec.Stream, []byte)) *watcher {
	return &watcher{tell: tell, awake: make(chan struct{}, 1)}
}

// add has data told.
func (w *watcher) add(s exec.Stream, data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.after != nil || w.size+len(data) > watchMost {
		return
	}
	w.waiting = append(w.waiting, piece{s, append([]byte(nil), data...)})
	w.size += len(data)
	w.rouse()
}

// finish has after called when all was told, or when that takes too long. There
// is no more afterwards.
func (w *watcher) finish(after func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
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
		pieces, after := w.next()
		for _, p := range pieces {
			if !w.over.Load() {
				w.tell(p.stream, p.data)
			}
		}
		if after != nil {
			w.late.Stop()
			after()
			return
		}
	}
}

func (w *watcher) next() ([]piece, func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	pieces := w.waiting
	w.waiting, w.size = nil, 0
	return pieces, w.after
}
