package peers

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// A request is the id of its sender, its number, and the sealed bytes. An answer is sealed bytes.
const (
	idSize      = 26 // of rand.Text
	headSize    = idSize + 8
	maxRequest  = 16 << 20
	maxAnswer   = 64 << 20
	dialTimeout = 3 * time.Second
	path        = "/peer"
)

func aead(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// bound returns what is authenticated with the bytes of a request or an answer.
func bound(what, to string, head []byte) []byte {
	return append([]byte("mcp-tools peers 1 "+what+" "+to+" "), head...)
}

// client dials the address of a row in the store, and nothing else: no proxy, no redirects.
var client = sync.OnceValue(func() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, MaxIdleConnsPerHost: 16,
			IdleConnTimeout: time.Minute, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
})

// keyOf returns the key of another replica.
func (p *Peers) keyOf(ctx context.Context, at Peer) ([]byte, error) {
	switch {
	case len(at.sealed) == 1+len(p.key) && at.sealed[0] == 0:
		return at.sealed[1:], nil
	case len(at.sealed) > 1 && at.sealed[0] == 1 && p.o.Open != nil:
		return p.o.Open(ctx, keyBound(at.ID), at.sealed[1:])
	}
	return nil, errors.New("its key in the store is damaged")
}

// Ask sends a request to another replica and returns its answer. If the error is ErrGone, the other may have done what was
// asked. The request ends with ctx, on the other side too.
func (p *Peers) Ask(ctx context.Context, at Peer, request []byte) ([]byte, error) {
	if at.Address == "" {
		return nil, errors.New("it has no address for other servers (server.internal)")
	}
	key, err := p.keyOf(ctx, at)
	if err != nil {
		return nil, err
	}
	a, err := aead(key)
	if err != nil {
		return nil, err
	}
	head := binary.BigEndian.AppendUint64([]byte(p.id), p.next.Add(1))
	body := a.Seal(bytes.Clone(head), nil, request, bound("request", at.ID, head))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+at.Address+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	answer, err := client().Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	defer answer.Body.Close()
	sealed, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it refused the request (status %d)", answer.StatusCode)
	case len(sealed) > maxAnswer:
		return nil, errors.New("its answer is too long")
	}
	plain, err := a.Open(nil, nil, sealed, bound("answer", at.ID, head))
	if err != nil {
		return nil, errors.New("its answer is not authentic")
	}
	return plain, nil
}

// Listen answers requests of other replicas until stop is called.
func (p *Peers) Listen(l net.Listener) (stop func()) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+path, p.answer)
	srv := &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, MaxHeaderBytes: 8 << 10,
		BaseContext: func(net.Listener) context.Context { return p.ctx },
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(l) })
	return func() { _ = srv.Close(); serving.Wait() }
}

func (p *Peers) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil || len(body) <= headSize {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	head, sealed := body[:headSize:headSize], body[headSize:]
	a, err := aead(p.key[:])
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	request, err := a.Open(nil, nil, sealed, bound("request", p.id, head))
	if err != nil || !p.taken.take(string(head[:idSize]), binary.BigEndian.Uint64(head[idSize:])) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	// Without this a client that has gone is not noticed while the body was read whole.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	answer := a.Seal(nil, nil, p.o.Serve(r.Context(), request), bound("answer", p.id, head))
	_, _ = w.Write(answer) // it may have gone
}

// taken knows the numbers of requests that were taken, by sender. The zero taken is empty.
type taken struct {
	mu sync.Mutex
	of map[string]*window
}

const (
	windowSize = 4096 // numbers of one sender that may come out of order
	maxSenders = 4096 // runs of replicas
)

type window struct {
	highest uint64
	seen    map[uint64]bool // those above highest - windowSize
}

// take reports whether a request is new. It is called for authentic requests only.
func (t *taken) take(sender string, number uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.of[sender]
	if w == nil {
		if len(t.of) >= maxSenders {
			return false
		}
		if t.of == nil {
			t.of = map[string]*window{}
		}
		w = &window{seen: map[uint64]bool{}}
		t.of[sender] = w
	}
	if number == 0 || number+windowSize <= w.highest || w.seen[number] {
		return false
	}
	w.seen[number] = true
	w.highest = max(w.highest, number)
	if len(w.seen) > 2*windowSize {
		for n := range w.seen {
			if n+windowSize <= w.highest {
				delete(w.seen, n)
			}
		}
	}
	return true
}
