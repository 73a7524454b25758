package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
)

// A store is an index of Bleve, whose engine is Scorch, in a directory that no
// other process uses.
type store struct {
	bleve.Index
	files string // the directory of Scorch's files

	mu      sync.Mutex
	waiting map[chan error]bool // one channel for each batch that is not on disk yet
	broken  error               // a background goroutine of Scorch has ended
}

// openStore opens the store in dir, or makes an empty one if dir is missing. It
// fails if dir has anything else than a complete store.
func openStore(dir string) (*store, error) {
	registerCallbacks()
	s := &store{files: filepath.Join(dir, "store"), waiting: map[chan error]bool{}}
	openStores.Store(s.files, s)
	_, err := os.Stat(dir)
	created := errors.Is(err, fs.ErrNotExist)
	if created {
		s.Index, err = bleve.NewUsing(dir, noMapping(), scorch.Name, scorch.Name, config())
	} else {
		s.Index, err = bleve.OpenUsing(dir, config())
	}
	if err != nil {
		openStores.Delete(s.files)
		return nil, err
	}
	if created {
		b := s.NewBatch()
		b.SetInternal([]byte(keyFormat), []byte(format))
		if err := s.apply(context.Background(), b); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

// noMapping returns a mapping that indexes nothing: documents come with their
// terms, see record.
func noMapping() mapping.IndexMapping {
	m := bleve.NewIndexMapping()
	m.DefaultMapping = bleve.NewDocumentDisabledMapping()
	return m
}

// config returns the settings of Scorch in a new map, because Bleve writes to it.
//
// A batch is unsafe in Bleve's sense: it is introduced before it is on disk; apply waits for
// the disk. With safe batches a full disk ends the process: Scorch then closes a segment that
// its readers still use.
func config() map[string]any {
	return map[string]any{
		"unsafe_batch":           true,
		"bolt_timeout":           "1s", // the lock of the slot is held, so that only a fault makes it wait
		"eventCallbackName":      callbacks,
		"asyncErrorCallbackName": callbacks,
		"scorchMergePlanOptions": map[string]any{"FloorSegmentSize": smallSegment},
	}
}

// Segments with fewer documents than smallSegment count as equally small. With Bleve's default, 2,000, an index of
// fewer documents is merged to one segment after each batch, a fifth to a third of the processor time of storing a
// memory. Searches cost the same with 100 to 2,000.
const smallSegment = 250

// callbacks is the name of the functions of registerCallbacks in Scorch.
const callbacks = "github.com/mcp-tools/mcp-tools/index"

// openStores has the open stores by the directory of Scorch's files, because
// Scorch calls functions that are registered once for all indexes.
var openStores = new(sync.Map)

// registerCallbacks makes Scorch report errors of its goroutines to their store.
var registerCallbacks = sync.OnceFunc(func() {
	scorch.RegistryEventCallbacks[callbacks] = func(e scorch.Event) bool {
		switch e.Kind {
		case scorch.EventKindPreMergeCheck, scorch.EventKindPurgerCheck:
			// In the goroutines of the merger and the persister: a fault is then a panic. They
			// recover from it, so it does not end the process.
			debug.SetPanicOnFault(true)
		}
		return true
	}
	scorch.RegistryAsyncErrorCallbacks[callbacks] = func(err error, files string) {
		if s, ok := openStores.Load(files); ok {
			s.(*store).failed(err)
		}
	}
})

// retryPause is the time between two attempts to write. Scorch repeats them without a pause of
// its own.
const retryPause = 100 * time.Millisecond

// failed is called in the goroutine of Scorch that had the error.
func (s *store) failed(err error) {
	if errors.Is(err, scorch.ErrAsyncPanic) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	s.mu.Lock()
	if errors.Is(err, ErrDamaged) {
		s.broken = err
	}
	for done := range s.waiting {
		select {
		case done <- err:
		default: // it has one already
		}
	}
	s.mu.Unlock()
	if errors.Is(err, scorch.ErrPersist) {
		time.Sleep(retryPause)
	}
}

// apply makes a change and returns when it is on disk. After an error, such as a
// full disk, the change can be visible, and be written later.
func (s *store) apply(ctx context.Context, b *bleve.Batch) error {
	done := make(chan error, 1)
	s.mu.Lock()
	broken := s.broken
	s.waiting[done] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.waiting, done)
		s.mu.Unlock()
	}()
	if broken != nil {
		return broken
	}
	b.SetPersistedCallback(func(err error) {
		select {
		case done <- err:
		default:
		}
	})
	if err := s.Batch(b); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// view returns the current content. It does not change. The caller closes it.
func (s *store) view() (*scorch.IndexSnapshot, error) {
	engine, err := s.Advanced()
	if err != nil {
		return nil, err
	}
	r, err := engine.Reader()
	if err != nil {
		return nil, err
	}
	view, ok := r.(*scorch.IndexSnapshot)
	if !ok || view == nil {
		return nil, ErrClosed
	}
	return view, nil
}

// close ends the goroutines of Scorch.
func (s *store) close() error {
	err := s.Index.Close()
	openStores.Delete(s.files)
	return err
}
