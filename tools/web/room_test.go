package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// full takes all there is of something in a room.
func full(t *testing.T, r room, of chan struct{}) *place {
	t.Helper()
	p := &place{room: r}
	for range cap(of) {
		if err := p.take(t.Context(), of, 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(p.leave)
	return p
}

// empty shows that nobody has left anything taken.
func empty(t *testing.T, r room) {
	t.Helper()
	if n := len(r.readers) + len(r.images) + len(r.large) + len(r.heavy); n != 0 {
		t.Errorf("%d places are taken still", n)
	}
}

func TestReadersWaitForTheirTurn(t *testing.T) {
	f := newFetcher(newNet(t, nil).Options)
	others := full(t, f.room, f.room.readers)
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan error)
	go func() {
		_, err := f.read(ctx, f.room.patient(), Kept{Body: []byte("x")}, fetchArgs{})
		waits <- err
	}()
	cancel()
	if err := <-waits; !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up waiting has %v", err)
	}
	f.room.patience = time.Millisecond
	_, err := f.read(t.Context(), &place{room: f.room}, Kept{Body: []byte("x")}, fetchArgs{})
	if failure := tool.AsError(err); failure.Kind != tool.Busy || !strings.Contains(err.Error(), "ask for this one again") {
		t.Errorf("who lost patience has %v", err)
	}
	others.leave()
	if _, err := f.read(t.Context(), &place{room: f.room}, Kept{Body: []byte("x")}, fetchArgs{}); err != nil {
		t.Error(err)
	}
	empty(t, f.room)
}

// TestSmallPagesPassByLargeOnes reads a small page while a large one is read
// and others wait for that.
func TestSmallPagesPassByLargeOnes(t *testing.T) {
	f := newFetcher(newNet(t, nil).Options)
	reading := full(t, f.room, f.room.heavy)
	if err := reading.take(t.Context(), f.room.readers, 0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for range cap(f.room.large) {
		p := f.room.patient()
		if err := p.grow(ctx); err != nil {
			t.Fatal(err)
		}
		waiting.Go(func() {
			defer p.leave()
			if err := p.turn(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("a large page was read beside another: %v", err)
			}
		})
	}
	small := f.room.patient()
	if _, err := f.read(t.Context(), small, Kept{Body: []byte("x")}, fetchArgs{}); err != nil {
		t.Error(err)
	}
	cancel()
	waiting.Wait()
	reading.leave()
	empty(t, f.room)
}

// countedBody is a body that notes how much of it was read.
type countedBody struct {
	io.Reader
	read int
}

func (c *countedBody) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.read += n
	return n, err
}

func (c *countedBody) Close() error { return nil }

func TestLargeBodiesAreLetInOneByOne(t *testing.T) {
	for _, c := range []struct {
		name   string
		size   int
		length int64
		kind   tool.Kind // of the error, when there is no room
	}{
		{"small", 1000, 1000, ""},
		{"small, of unknown length", largeBody - 1, -1, ""},
		{"large", 3 * largeBody, 3 * largeBody, tool.Busy},
		{"large, of unknown length", 3 * largeBody, -1, tool.Busy},
		{"large, said to be small", 2 * largeBody, 10, tool.Busy},
		{"small, said to be large", 10, 9 << 20, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRoom()
			r.patience = time.Millisecond
			others := full(t, r, r.large)
			text := bytes.Repeat([]byte("0123456789abcdef"), c.size/16+1)[:c.size]
			try := func() ([]byte, int, error) {
				p := &place{room: r}
				defer p.leave()
				body := &countedBody{Reader: bytes.NewReader(text)}
				got, err := p.whole(t.Context(), &outbound.Answer{Body: body, Length: c.length})
				return got, body.read, err
			}
			got, read, err := try()
			switch {
			case c.kind != "" && (err == nil || tool.AsError(err).Kind != c.kind || read > largeBody):
				t.Errorf("without room %d bytes were read: %v", read, err)
			case c.kind == "" && (err != nil || !bytes.Equal(got, text)):
				t.Errorf("%d bytes: %v", len(got), err)
			}
			others.leave()
			r.patience = 0
			if got, _, err := try(); err != nil || !bytes.Equal(got, text) {
				t.Errorf("with room there are %d bytes: %v", len(got), err)
			}
			empty(t, r)
		})
	}
}

// TestManyLargePages fetches more large pages at once than there is room for, and
// a second time from the cache.
func TestManyLargePages(t *testing.T) {
	large := "<p>" + strings.Repeat("Some words of a page. ", 2*largeBody/22)
	n := newNet(t, typed("text/html", large))
	f := newFetcher(n.Options)
	f.room.patience = 0
	fetch := webFetch{f}
	for _, when := range []string{"anew", "kept"} {
		var all sync.WaitGroup
		for i := range 3 * mostLarge {
			all.Go(func() {
				ctx := tool.With(t.Context(), &tool.Running{Caller: tool.Caller{User: fmt.Sprint(i % 2)}})
				r, err := fetch.Do(ctx, fetchArgs{URL: "https://docs.example.com/large", Format: "text"})
				if err != nil || !strings.Contains(r.Text(), "Some words") {
					t.Errorf("%s: %v", when, err)
				}
			})
		}
		all.Wait()
		empty(t, f.room)
	}
	if _, err := fetch.Do(caller(t, "ann"), fetchArgs{URL: "https://docs.example.com/large", Selector: "["}); err == nil {
		t.Error("no error for a selector that is none")
	}
	empty(t, f.room)
}
