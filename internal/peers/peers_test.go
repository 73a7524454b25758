package peers

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// replica returns a replica that listens, and answers with its name and the request.
func replica(t *testing.T, s *store.Store, name string) *Peers {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := New(Options{Store: s, Name: name, Address: l.Addr().String(), Serve: func(ctx context.Context, r []byte) []byte {
		if string(r) == "wait" {
			<-ctx.Done()
		}
		return append([]byte(name+" got "), r...)
	}})
	stop := p.Listen(l)
	t.Cleanup(func() {
		stop()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func open(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestAsk(t *testing.T) {
	s := open(t)
	a, b := replica(t, s, "a"), replica(t, s, "b")
	if _, found, err := a.Where(t.Context(), "process", "ann", "p1"); found || err != nil {
		t.Errorf("%v, %v", found, err)
	}
	b.Hold("process", "ann", "p1")
	b.Hold("process", "ann", "p1")
	at, found, err := a.Where(t.Context(), "process", "ann", "p1")
	if err != nil || !found || !at.Alive || at.Name != "b" {
		t.Fatalf("%+v, %v, %v", at, found, err)
	}
	if _, found, _ := b.Where(t.Context(), "process", "ann", "p1"); found {
		t.Error("a replica finds itself")
	}
	for _, text := range []string{"one", "two", strings.Repeat("x", 1<<20)} {
		if got, err := a.Ask(t.Context(), at, []byte(text)); err != nil || string(got) != "b got "+text {
			t.Errorf("%.40q, %v", got, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	go cancel(stopped)
	if _, err := a.Ask(ctx, at, []byte("wait")); !errors.Is(err, stopped) {
		t.Errorf("%v", err)
	}
	b.Release("process", "ann", "p1")
	if _, found, err := a.Where(t.Context(), "process", "ann", "p1"); found || err != nil {
		t.Errorf("after the end: %v, %v", found, err)
	}
	b.Hold("browser", "ann", "s")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if at, found, err := a.Where(t.Context(), "browser", "ann", "s"); !found || at.Alive || err != nil {
		t.Errorf("%+v, %v, %v", at, found, err)
	}
}

// TestOutsiders sends what someone on the network could: nothing, noise, what was recorded, and what was changed. A
// machine that takes the address of a replica cannot answer for it.
func TestOutsiders(t *testing.T) {
	s := open(t)
	a, b := replica(t, s, "a"), replica(t, s, "b")
	b.Hold("process", "ann", "p1")
	at, _, err := a.Where(t.Context(), "process", "ann", "p1")
	if err != nil {
		t.Fatal(err)
	}
	var recorded, answered []byte
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorded, _ = io.ReadAll(r.Body)
		answer, err := http.Post("http://"+b.o.Address+path, "", bytes.NewReader(recorded))
		if err != nil {
			t.Error(err)
			return
		}
		defer answer.Body.Close()
		answered, _ = io.ReadAll(answer.Body)
		_, _ = w.Write(answered)
	}))
	defer proxy.Close()
	through := at
	through.Address = strings.TrimPrefix(proxy.URL, "http://")
	if got, err := a.Ask(t.Context(), through, []byte("hunter2")); err != nil || string(got) != "b got hunter2" {
		t.Fatalf("%q, %v", got, err)
	}
	if bytes.Contains(recorded, []byte("hunter2")) || bytes.Contains(answered, []byte("hunter2")) {
		t.Error("the network sees what is asked")
	}
	send := func(body []byte) int {
		r, err := http.Post("http://"+b.o.Address+path, "", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		return r.StatusCode
	}
	if code := send(recorded); code != http.StatusForbidden {
		t.Errorf("a recorded request has status %d", code)
	}
	for i := range recorded {
		changed := bytes.Clone(recorded)
		changed[i] ^= 1
		if code := send(changed); code != http.StatusForbidden {
			t.Errorf("with byte %d changed it has status %d", i, code)
		}
	}
	for _, body := range [][]byte{nil, []byte("x"), recorded[:headSize], bytes.Repeat([]byte("x"), 500)} {
		if code := send(body); code != http.StatusBadRequest && code != http.StatusForbidden {
			t.Errorf("%d bytes have status %d", len(body), code)
		}
	}
	false := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(answered) }))
	defer false.Close()
	through.Address = strings.TrimPrefix(false.URL, "http://")
	if _, err := a.Ask(t.Context(), through, []byte("hunter2")); err == nil || !strings.Contains(err.Error(), "not authentic") {
		t.Errorf("an answer to another request: %v", err)
	}
	through.Address = "127.0.0.1:1"
	if _, err := a.Ask(t.Context(), through, nil); !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
}

func TestTaken(t *testing.T) {
	var seen taken
	for i, c := range []struct {
		sender string
		number uint64
		want   bool
	}{
		{"a", 1, true}, {"a", 1, false}, {"b", 1, true}, {"a", 3, true}, {"a", 2, true}, {"a", 2, false}, {"a", 0, false},
		{"a", 10_000, true}, {"a", 10_000 - windowSize, false}, {"a", 10_000 - windowSize + 1, true}, {"a", 4, false},
	} {
		if got := seen.take(c.sender, c.number); got != c.want {
			t.Errorf("%d: %v is %v", i, c, got)
		}
	}
	for n := uint64(10_001); n < 40_000; n++ {
		if !seen.take("a", n) || seen.take("a", n) {
			t.Fatal(n)
		}
	}
	if n := len(seen.of["a"].seen); n > 2*windowSize+1 {
		t.Errorf("%d numbers are kept", n)
	}
}

// TestSigns lists the replicas that had something, with the number of things that they have now, on each store.
func TestSigns(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		a, b := replica(t, s, "a"), replica(t, s, "b")
		replica(t, s, "idle")
		a.Hold("process", "ann", "p1")
		a.Hold("browser", "ann", "s")
		b.Hold("process", "ben", "p2")
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		signs, err := Signs(t.Context(), s)
		if err != nil || len(signs) != 2 {
			t.Fatalf("%+v, %v", signs, err)
		}
		if one := signs[0]; one.Name != "a" || one.Address != a.o.Address || !one.Alive || one.Holds != 2 || one.Seen.IsZero() {
			t.Errorf("the replica that is alive: %+v", one)
		}
		if one := signs[1]; one.Name != "b" || one.Alive {
			t.Errorf("the replica that has ended: %+v", one)
		}
	})
}
