package meaning_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/memory"
	"github.com/mcp-tools/mcp-tools/internal/memory/meaning"
)

// stuckFeed says when it is read, and has an answer when it may.
type stuckFeed struct {
	readers atomic.Int32
	read    chan struct{}
	may     chan struct{}
}

func (f *stuckFeed) Follow(context.Context, string, int, []string, func(topic, key string)) (string, bool, bool, error) {
	if f.readers.Add(1) == 1 {
		close(f.read)
	}
	<-f.may
	return "", false, false, errors.New("stuck")
}

func (f *stuckFeed) Wait(string) <-chan struct{} { return nil }

// ready is an encoder that knows everything at once.
type ready struct{}

func (ready) Query(context.Context, string) ([]float32, error)     { return []float32{1}, nil }
func (ready) Texts(context.Context, []string) ([][]float32, error) { return nil, nil }

// TestASearchWaitsForNoOther has one search wait for a feed that does not answer,
// and another whose caller gives up meanwhile.
func TestASearchWaitsForNoOther(t *testing.T) {
	feed := &stuckFeed{read: make(chan struct{}), may: make(chan struct{})}
	m := meaning.New(meaning.Options{Encoder: ready{}, Feed: feed})
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := m.Near(t.Context(), memory.NearQuery{Text: "heron"})
		first <- err
	}()
	<-feed.read
	go func() {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := m.Near(ctx, memory.NearQuery{Text: "crane"})
		second <- err
	}()
	select {
	case err := <-second:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it says %v", err)
		}
	case <-time.After(3 * time.Minute):
		t.Error("who gave up waits for another search")
	}
	close(feed.may)
	if err := <-first; err == nil {
		t.Error("a feed that fails is no error")
	}
	if n := feed.readers.Load(); n != 1 {
		t.Errorf("%d searches have read the feed", n)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
