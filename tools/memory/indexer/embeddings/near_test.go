package embeddings_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/tools/memory/indexer/embeddings"
)

// stuckFeed reports when it is read, and blocks until it may fail.
type stuckFeed struct {
	once sync.Once
	read chan struct{}
	may  chan struct{}
}

func (f *stuckFeed) Follow(context.Context, string, int, []string, func(topic, key string)) (string, bool, bool,
	error) {
	f.once.Do(func() { close(f.read) })
	<-f.may
	return "", false, false, errors.New("stuck")
}

func (f *stuckFeed) Watch(...string) (<-chan struct{}, func()) { return nil, func() {} }

// ready is an encoder that needs no time.
type ready struct{}

func (ready) Query(context.Context, string) ([]float32, error)     { return []float32{1}, nil }
func (ready) Texts(context.Context, []string) ([][]float32, error) { return nil, nil }

// noRows are rows that no test reads.
type noRows struct{ embeddings.Rows }

func (noRows) Topics() (documents, vectors string) { return "d", "v" }

// TestACancelledSearchDoesNotWait checks a search that waits for a feed that
// blocks, and one that its caller cancels.
func TestACancelledSearchDoesNotWait(t *testing.T) {
	feed := &stuckFeed{read: make(chan struct{}), may: make(chan struct{})}
	m := embeddings.New(embeddings.Options{Encoder: ready{}, Rows: noRows{}, Feed: feed})
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := m.Near(t.Context(), embeddings.Query{Text: "heron", Scopes: []string{"s"}})
		first <- err
	}()
	<-feed.read
	go func() {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := m.Near(ctx, embeddings.Query{Text: "crane", Scopes: []string{"s"}})
		second <- err
	}()
	select {
	case err := <-second:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the search returns %v", err)
		}
	case <-time.After(3 * time.Minute):
		t.Error("a search whose caller gave up waits for another")
	}
	close(feed.may)
	if err := <-first; err == nil {
		t.Error("a feed that fails is no error")
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
