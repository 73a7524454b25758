package indexer

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
)

// A recorder records the keys that it gets.
type recorder struct {
	mu      sync.Mutex
	topics  []string
	cursor  string
	keys    []string
	lost    int
	failing error
}

func (r *recorder) Topics() []string { return r.topics }

func (r *recorder) Cursor(context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cursor, nil
}

func (r *recorder) Apply(_ context.Context, c Changes) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failing != nil {
		return false, r.failing
	}
	if c.Lost {
		r.lost++
	}
	for _, k := range c.Keys {
		r.keys = append(r.keys, k.Name)
	}
	r.cursor = c.Next
	return false, nil
}

func (r *recorder) set(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failing = err
}

func (r *recorder) got() ([]string, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.keys), r.lost
}

func TestSubscribersGetTheirTopics(t *testing.T) {
	feed := newWorld()
	f := NewFollower(feed, nil)
	defer f.Close()
	one, two := &recorder{topics: []string{"t"}}, &recorder{topics: []string{"t"}}
	var subs []*Subscription
	for _, r := range []*recorder{one, two} {
		subs = append(subs, f.Subscribe("test", r))
	}
	catchUp := func() {
		t.Helper()
		for _, s := range subs {
			if err := s.CatchUp(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	catchUp()
	feed.set("a", "x")
	feed.set("b", "x")
	feed.set("a", "y")
	catchUp()
	for _, r := range []*recorder{one, two} {
		if keys, lost := r.got(); !slices.Equal(keys, []string{"a", "b"}) &&
			!slices.Equal(keys, []string{"a", "b", "a"}) || lost != 1 {
			t.Errorf("got %v, lost %d times", keys, lost)
		}
	}
}

func TestAnErrorOfOneSubscriberDoesNotStopOthers(t *testing.T) {
	feed := newWorld()
	f := NewFollower(feed, nil)
	defer f.Close()
	well, ill := &recorder{topics: []string{"t"}}, &recorder{topics: []string{"t"}}
	a, b := f.Subscribe("well", well), f.Subscribe("ill", ill)
	if err := errors.Join(a.CatchUp(t.Context()), b.CatchUp(t.Context())); err != nil {
		t.Fatal(err)
	}
	down := errors.New("down")
	ill.set(down)
	feed.set("a", "x")
	if err := b.CatchUp(t.Context()); !errors.Is(err, down) {
		t.Errorf("catching up with a subscriber that fails: %v", err)
	}
	if err := a.CatchUp(t.Context()); err != nil {
		t.Error(err)
	}
	if keys, _ := well.got(); !slices.Equal(keys, []string{"a"}) {
		t.Errorf("got %v", keys)
	}
	ill.set(nil)
	if err := b.CatchUp(t.Context()); err != nil {
		t.Error(err)
	}
	if keys, _ := ill.got(); !slices.Equal(keys, []string{"a"}) {
		t.Errorf("got %v after the error", keys)
	}
	b.Close()
	feed.set("b", "x")
	if err := a.CatchUp(t.Context()); err != nil {
		t.Error(err)
	}
	if keys, _ := ill.got(); len(keys) != 1 {
		t.Errorf("a closed subscription got %v", keys)
	}
	if err := b.CatchUp(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("catching up with a closed subscription: %v", err)
	}
}
