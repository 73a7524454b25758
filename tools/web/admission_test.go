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
	"github.com/mcp-tools/mcp-tools/tools/web/cache"
)

// full acquires a semaphore completely.
func full(t *testing.T, r semaphores, of chan struct{}) *admission {
	t.Helper()
	p := &admission{semaphores: r}
	for range cap(of) {
		if err := p.acquire(t.Context(), of, 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(p.release)
	return p
}

// empty checks that everything was released.
func empty(t *testing.T, r semaphores) {
	t.Helper()
	if n := len(r.readers) + len(r.images) + len(r.large) + len(r.largeReader); n != 0 {
		t.Errorf("%d are still acquired", n)
	}
}

func TestReadersWait(t *testing.T) {
	f := newFetcher(newNet(t, nil).Options)
	others := full(t, f.semaphores, f.readers)
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan error)
	go func() {
		_, err := f.read(ctx, f.patient(), cache.Entry{Body: []byte("x")}, fetchArgs{})
		waits <- err
	}()
	cancel()
	if err := <-waits; !errors.Is(err, context.Canceled) {
		t.Errorf("after the context ended: %v", err)
	}
	f.patience = time.Millisecond
	_, err := f.read(t.Context(), &admission{semaphores: f.semaphores}, cache.Entry{Body: []byte("x")}, fetchArgs{})
	if failure := tool.AsError(err); failure.Kind != tool.Busy || !strings.Contains(err.Error(), "fetch this page again") {
		t.Errorf("after the patience: %v", err)
	}
	others.release()
	if _, err := f.read(t.Context(), &admission{semaphores: f.semaphores}, cache.Entry{Body: []byte("x")},
		fetchArgs{}); err != nil {
		t.Error(err)
	}
	empty(t, f.semaphores)
}

// TestSmallPagesDoNotWaitForLargeOnes reads a small page while a large one is read
// and others wait.
func TestSmallPagesDoNotWaitForLargeOnes(t *testing.T) {
	f := newFetcher(newNet(t, nil).Options)
	reading := full(t, f.semaphores, f.largeReader)
	if err := reading.acquire(t.Context(), f.readers, 0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for range cap(f.large) {
		p := f.patient()
		if err := p.admitLarge(ctx); err != nil {
			t.Fatal(err)
		}
		waiting.Go(func() {
			defer p.release()
			if err := p.admitReader(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("two large pages were read at the same time: %v", err)
			}
		})
	}
	small := f.patient()
	if _, err := f.read(t.Context(), small, cache.Entry{Body: []byte("x")}, fetchArgs{}); err != nil {
		t.Error(err)
	}
	cancel()
	waiting.Wait()
	reading.release()
	empty(t, f.semaphores)
}

// countedBody counts the bytes that are read.
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

func TestLargeBodiesAreAdmitted(t *testing.T) {
	for _, c := range []struct {
		name   string
		size   int
		length int64
		kind   tool.Kind // of the error without admission
	}{
		{"small", 1000, 1000, ""},
		{"small, of unknown length", largeBody - 1, -1, ""},
		{"large", 3 * largeBody, 3 * largeBody, tool.Busy},
		{"large, of unknown length", 3 * largeBody, -1, tool.Busy},
		{"large, announced as small", 2 * largeBody, 10, tool.Busy},
		{"small, announced as large", 10, 9 << 20, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newSemaphores()
			r.patience = time.Millisecond
			others := full(t, r, r.large)
			text := bytes.Repeat([]byte("0123456789abcdef"), c.size/16+1)[:c.size]
			try := func() ([]byte, int, error) {
				p := &admission{semaphores: r}
				defer p.release()
				body := &countedBody{Reader: bytes.NewReader(text)}
				got, err := p.readBody(t.Context(), &outbound.Answer{Body: body, Length: c.length})
				return got, body.read, err
			}
			got, read, err := try()
			switch {
			case c.kind != "" && (err == nil || tool.AsError(err).Kind != c.kind || read > largeBody):
				t.Errorf("%d bytes were read without admission: %v", read, err)
			case c.kind == "" && (err != nil || !bytes.Equal(got, text)):
				t.Errorf("%d bytes: %v", len(got), err)
			}
			others.release()
			r.patience = 0
			if got, _, err := try(); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%d bytes after admission: %v", len(got), err)
			}
			empty(t, r)
		})
	}
}

// TestManyLargePages fetches more large pages at the same time than are admitted, and
// again from the cache.
func TestManyLargePages(t *testing.T) {
	large := "<p>" + strings.Repeat("Some words of a page. ", 2*largeBody/22)
	n := newNet(t, typed("text/html", large))
	f := newFetcher(n.Options)
	f.patience = 0
	fetch := webFetch{f}
	for _, when := range []string{"fetched", "cached"} {
		var all sync.WaitGroup
		for i := range 3 * maxLarge {
			all.Go(func() {
				ctx := tool.With(t.Context(), &tool.Running{Caller: tool.Caller{User: fmt.Sprint(i % 2)}})
				r, err := fetch.Do(ctx, fetchArgs{URL: "https://docs.example.com/large", Format: "text"})
				if err != nil || !strings.Contains(r.Text(), "Some words") {
					t.Errorf("%s: %v", when, err)
				}
			})
		}
		all.Wait()
		empty(t, f.semaphores)
	}
	if _, err := fetch.Do(caller(t, "ann"), fetchArgs{URL: "https://docs.example.com/large", Selector: "["}); err == nil {
		t.Error("no error for an invalid selector")
	}
	empty(t, f.semaphores)
}
