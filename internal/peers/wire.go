package peers

import (
	"bufio"
	"bytes"
	"cmp"
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

// A request is the id of its sender, its number, and the sealed bytes. An answer is a stream of frames: news while
// the request is served, then the answer. A frame is its length and its sealed bytes; the bytes begin with its kind.
// The place of a frame in the stream is authenticated with it, so that none can be left out.
const (
	idSize      = 26 // of rand.Text
	headSize    = idSize + 8
	maxRequest  = 16 << 20
	maxAnswer   = 64 << 20
	dialTimeout = 3 * time.Second
	signOfLife  = 5 * time.Second // between two frames without news
	patience    = time.Minute     // without a frame until a server counts as gone
	// Brief is the patience for requests that change nothing, so that asking in vain costs little: that of a lease.
	Brief = lease
	path  = "/peer"
)

// The kinds of frames.
const (
	frameAlive byte = iota // has nothing else
	frameNews
	frameAnswer // the last one
)

var errSilent = errors.New("nothing was heard from it")

func aead(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// bound returns the data that is authenticated with the bytes of a request or an answer.
func bound(what, to string, head []byte) []byte {
	return append([]byte("mcp-tools peers 2 "+what+" "+to+" "), head...)
}

// newClient returns a client that dials the address of a row in the store, and nothing else: no proxy, no redirects.
func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, MaxIdleConnsPerHost: 16,
			IdleConnTimeout: time.Minute, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// keyOf returns the key of another replica.
func (p *Peers) keyOf(ctx context.Context, at Peer) ([]byte, error) {
	switch {
	case len(at.sealed) == 1+len(p.key) && at.sealed[0] == 0:
		return at.sealed[1:], nil
	case len(at.sealed) > 1 && at.sealed[0] == 1 && p.o.Open != nil:
		key, err := p.o.Open(ctx, keyBound(at.ID), at.sealed[1:])
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", ErrKey, err)
		}
		return key, err
	case len(at.sealed) == 1 && at.sealed[0] == 1:
		return nil, ErrKey
	}
	return nil, errors.New("its key in the store is damaged")
}

// Ask sends a request to another replica and returns its answer. It calls news for each piece of news on the way, in
// their order; news may be nil. If the error is ErrGone, the other may have carried out the request. The request ends
// with ctx, on the other side too.
func (p *Peers) Ask(ctx context.Context, at Peer, request []byte, news func([]byte)) ([]byte, error) {
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
	heard, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	patience := cmp.Or(at.Patience, patience)
	silent := time.AfterFunc(patience, func() { stop(errSilent) })
	defer silent.Stop()
	head := binary.BigEndian.AppendUint64([]byte(p.id), p.next.Add(1))
	body := a.Seal(bytes.Clone(head), nil, request, bound("request", at.ID, head))
	r, err := http.NewRequestWithContext(heard, http.MethodPost, "http://"+at.Address+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	answer, err := p.client.Do(r)
	if err != nil {
		return nil, gone(ctx, heard, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it refused the request (status %d)", answer.StatusCode)
	}
	in := frames{a: a, bound: bound("answer", at.ID, head), r: bufio.NewReader(answer.Body), left: maxAnswer}
	for {
		kind, data, err := in.next()
		if errors.Is(err, errTooLong) || errors.Is(err, errNotAuthentic) {
			return nil, err
		}
		if err != nil {
			return nil, gone(ctx, heard, err)
		}
		silent.Reset(patience)
		switch {
		case kind == frameAnswer:
			return data, nil
		case kind == frameNews && news != nil:
			news(data)
		}
	}
}

// gone returns the error of a request that has no answer.
func gone(ctx, heard context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case heard.Err() != nil:
		err = context.Cause(heard)
	}
	return fmt.Errorf("%w: %w", ErrGone, err)
}

var (
	errTooLong      = errors.New("its answer is too long")
	errNotAuthentic = errors.New("its answer is not authentic")
)

// frames reads the frames of an answer.
type frames struct {
	a     cipher.AEAD
	bound []byte
	r     *bufio.Reader
	n     uint64 // of frames before
	left  int    // bytes that may come
}

func (f *frames) next() (kind byte, data []byte, err error) {
	var size [4]byte
	if _, err := io.ReadFull(f.r, size[:]); err != nil {
		return 0, nil, noEnd(err)
	}
	n := int(binary.BigEndian.Uint32(size[:]))
	if f.left -= n; f.left < 0 {
		return 0, nil, errTooLong
	}
	var sealed bytes.Buffer // grows with the received bytes, since the length is not authentic
	if _, err := io.CopyN(&sealed, f.r, int64(n)); err != nil {
		return 0, nil, noEnd(err)
	}
	plain, err := f.a.Open(nil, nil, sealed.Bytes(), binary.BigEndian.AppendUint64(bytes.Clone(f.bound), f.n))
	if err != nil || len(plain) == 0 {
		return 0, nil, errNotAuthentic
	}
	f.n++
	return plain[0], plain[1:], nil
}

// noEnd returns the error of an answer whose stream has ended before it.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// A stream writes the frames of an answer.
type stream struct {
	a     cipher.AEAD
	bound []byte
	to    http.ResponseWriter

	mu   sync.Mutex
	n    uint64 // of frames before
	done bool   // the answer was sent
}

func (s *stream) send(kind byte, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return
	}
	s.done = kind == frameAnswer
	plain := append([]byte{kind}, data...)
	frame := s.a.Seal(make([]byte, 4, len(plain)+64), nil, plain, binary.BigEndian.AppendUint64(bytes.Clone(s.bound), s.n))
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	s.n++
	_, _ = s.to.Write(frame) // the other may have gone
	_ = http.NewResponseController(s.to).Flush()
}

// live sends signs of life until stop is called.
func (s *stream) live() (stop func()) {
	end := make(chan struct{})
	var living sync.WaitGroup
	living.Go(func() {
		tick := time.NewTicker(signOfLife)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				s.send(frameAlive, nil)
			}
		}
	})
	return func() { close(end); living.Wait() }
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
	out := &stream{a: a, bound: bound("answer", p.id, head), to: w}
	defer out.live()()
	out.send(frameAnswer, p.o.Serve(r.Context(), request, func(news []byte) { out.send(frameNews, news) }))
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
