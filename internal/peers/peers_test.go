package peers

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
	p := New(Options{Store: s, Name: name, Address: l.Addr().String(), Serve: func(ctx context.Context, r []byte, news func([]byte)) []byte {
		switch string(r) {
		case "wait":
			<-ctx.Done()
		case "count":
			for _, n := range []string{"1", "2", strings.Repeat("3", 1<<20)} {
				news([]byte(n))
			}
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
		if got, err := a.Ask(t.Context(), at, []byte(text), nil); err != nil || string(got) != "b got "+text {
			t.Errorf("%.40q, %v", got, err)
		}
	}
	var news []string
	if got, err := a.Ask(t.Context(), at, []byte("count"), func(n []byte) { news = append(news, string(n)) }); err != nil ||
		string(got) != "b got count" || len(news) != 3 || news[0] != "1" || news[1] != "2" || len(news[2]) != 1<<20 {
		t.Errorf("%q, %v, %d pieces of news", got, err, len(news))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	go cancel(stopped)
	if _, err := a.Ask(ctx, at, []byte("wait"), nil); !errors.Is(err, stopped) {
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
	if got, err := a.Ask(t.Context(), through, []byte("hunter2"), nil); err != nil || string(got) != "b got hunter2" {
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
	if _, err := a.Ask(t.Context(), through, []byte("hunter2"), nil); err == nil || !strings.Contains(err.Error(), "not authentic") {
		t.Errorf("an answer to another request: %v", err)
	}
	through.Address = "127.0.0.1:1"
	if _, err := a.Ask(t.Context(), through, nil, nil); !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
}

// TestDamagedAnswers has a network that repeats, leaves out, and cuts off frames.
func TestDamagedAnswers(t *testing.T) {
	s := open(t)
	a, b := replica(t, s, "a"), replica(t, s, "b")
	b.Hold("process", "ann", "p1")
	at, _, err := a.Where(t.Context(), "process", "ann", "p1")
	if err != nil {
		t.Fatal(err)
	}
	var damage func(frames [][]byte) [][]byte
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := http.Post("http://"+b.o.Address+path, "", r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		defer answer.Body.Close()
		all, _ := io.ReadAll(answer.Body)
		var list [][]byte
		for len(all) > 0 {
			n := 4 + binary.BigEndian.Uint32(all)
			list, all = append(list, all[:n]), all[n:]
		}
		_, _ = w.Write(bytes.Join(damage(list), nil))
	}))
	defer proxy.Close()
	at.Address = strings.TrimPrefix(proxy.URL, "http://")
	for name, c := range map[string]struct {
		damage func([][]byte) [][]byte
		want   error
	}{
		"as it is":      {func(f [][]byte) [][]byte { return f }, nil},
		"one repeated":  {func(f [][]byte) [][]byte { return slices.Insert(f, 1, f[0]) }, errNotAuthentic},
		"one left out":  {func(f [][]byte) [][]byte { return f[1:] }, errNotAuthentic},
		"two exchanged": {func(f [][]byte) [][]byte { f[0], f[1] = f[1], f[0]; return f }, errNotAuthentic},
		"no end":        {func(f [][]byte) [][]byte { return f[:2] }, ErrGone},
		"half a frame":  {func(f [][]byte) [][]byte { return append(f[:1], f[1][:7]) }, ErrGone},
		"a long one":    {func(f [][]byte) [][]byte { return [][]byte{{255, 255, 255, 255, 0}} }, errTooLong},
		"an empty one":  {func(f [][]byte) [][]byte { return [][]byte{{0, 0, 0, 0}} }, errNotAuthentic},
	} {
		damage = c.damage
		if _, err := a.Ask(t.Context(), at, []byte("count"), nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A pipes is a network in memory, whose connections take their time from a bubble of synctest.
type pipes struct {
	net.Listener
	dialed chan net.Conn
	closed chan struct{}
	frozen chan struct{} // nothing is sent to the one who dialed while it has an element
}

func newPipes() *pipes {
	return &pipes{dialed: make(chan net.Conn), closed: make(chan struct{}), frozen: make(chan struct{}, 1)}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialed:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { close(p.closed); return nil }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	p.dialed <- &pipe{far, p}
	return near, nil
}

// A pipe is the end of a connection at the server.
type pipe struct {
	net.Conn
	p *pipes
}

func (c *pipe) Write(b []byte) (int, error) {
	c.p.frozen <- struct{}{}
	defer func() { <-c.p.frozen }()
	return c.Conn.Write(b)
}

// TestSignsOfLife has calls of another replica that take long. Its signs of life keep them going; a replica that
// freezes, with the answer begun or before it, ends them a minute later.
func TestSignsOfLife(t *testing.T) {
	for name, c := range map[string]struct {
		works  time.Duration // of the call
		freeze time.Duration // after so much of it the replica sends nothing more; 0: never
		took   time.Duration
		want   error
		brief  time.Duration // the patience, if it is not the usual one
	}{
		"slow":                   {works: time.Hour, took: time.Hour},
		"frozen before it began": {works: time.Hour, freeze: time.Nanosecond, took: patience, want: errSilent},
		"frozen on the way":      {works: time.Hour, freeze: 10*time.Minute + time.Second, took: 10*time.Minute + patience, want: errSilent},
		"slow and brief":         {works: time.Hour, took: time.Hour, brief: Brief},
		"frozen and brief":       {works: time.Hour, freeze: 31 * time.Second, took: 30*time.Second + Brief, want: errSilent, brief: Brief},
		"frozen for a moment":    {works: time.Minute, freeze: 31 * time.Second, took: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := newPipes()
				ended := make(chan error, 1)
				b := New(Options{Serve: func(ctx context.Context, _ []byte, _ func([]byte)) []byte {
					select {
					case <-time.After(c.works):
					case <-ctx.Done():
					}
					ended <- ctx.Err()
					return []byte("done")
				}})
				stop := b.Listen(network)
				a := New(Options{})
				a.client.Transport.(*http.Transport).DialContext = network.dial
				if c.freeze > 0 {
					time.AfterFunc(c.freeze, func() { network.frozen <- struct{}{} })
				}
				if c.freeze > 0 && c.want == nil {
					time.AfterFunc(c.freeze+patience/3, func() { <-network.frozen })
				}
				began := time.Now()
				got, err := a.Ask(t.Context(), Peer{ID: b.id, Address: "b:1", Patience: c.brief, sealed: append([]byte{0}, b.key[:]...)}, []byte("x"), nil)
				if took := time.Since(began).Round(time.Second); took != c.took {
					t.Errorf("it took %s, want %s", took, c.took)
				}
				if c.want == nil && (err != nil || string(got) != "done") || c.want != nil && (!errors.Is(err, ErrGone) || !errors.Is(err, c.want)) {
					t.Errorf("%q, %v", got, err)
				}
				if c.want != nil {
					<-network.frozen // it goes on
				}
				if err := <-ended; (err != nil) != (c.want != nil) {
					t.Errorf("the context of the call ended with %v", err)
				}
				stop()
				for _, p := range []*Peers{a, b} {
					if err := p.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// TestAll lists what the others have, by replica.
func TestAll(t *testing.T) {
	s := open(t)
	a, b, c := replica(t, s, "a"), replica(t, s, "b"), replica(t, s, "c")
	a.Hold("process", "ann", "p0")
	for _, name := range []string{"p1", "p2"} {
		b.Hold("process", "ann", name)
	}
	b.Hold("process", "ben", "p3")
	b.Hold("browser", "ann", "s")
	c.Hold("process", "ann", "p4")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := a.All(t.Context(), "process", "ann")
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	for i, want := range []string{"b true [p1 p2]", "c false [p4]"} {
		if got := fmt.Sprint(all[i].Name, " ", all[i].Alive, " ", all[i].Names); got != want {
			t.Errorf("%s, want %s", got, want)
		}
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

// TestKeyThatCannotBeSealed has a replica without the key of the vault, and one with it. Neither key is in the store as
// it is.
func TestKeyThatCannotBeSealed(t *testing.T) {
	s := open(t)
	a, b := replica(t, s, "a"), replica(t, s, "b")
	seal := func(_ context.Context, bound string, plain []byte) ([]byte, error) {
		return slices.Concat([]byte(bound), []byte{1}, plain), nil
	}
	unseal := func(_ context.Context, bound string, sealed []byte) ([]byte, error) {
		return bytes.TrimPrefix(sealed, append([]byte(bound), 1)), nil
	}
	locked := func(context.Context, string, []byte) ([]byte, error) { return nil, errors.New("locked") }
	a.o.Seal, a.o.Open, b.o.Seal, b.o.Open = seal, unseal, locked, locked
	a.Hold("process", "ann", "p1")
	b.Hold("process", "ann", "p2")
	for _, c := range []struct {
		from *Peers
		name string
	}{{a, "p2"}, {b, "p1"}} {
		at, found, err := c.from.Where(t.Context(), "process", "ann", c.name)
		if err != nil || !found || !at.Alive {
			t.Fatalf("%+v, %v", at, err)
		}
		if bytes.HasPrefix(at.sealed, []byte{0}) {
			t.Errorf("the key for %s is in the store as it is", c.name)
		}
		if _, err := c.from.Ask(t.Context(), at, []byte("hello"), nil); !errors.Is(err, ErrKey) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	b.o.Seal, b.o.Open = seal, unseal // it gets the key
	b.Hold("process", "ann", "p3")
	at, _, err := a.Where(t.Context(), "process", "ann", "p2")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.Ask(t.Context(), at, []byte("hello"), nil); string(got) != "b got hello" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}
