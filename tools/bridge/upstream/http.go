package upstream

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

const (
	headerSession = "Mcp-Session-Id"
	maxErrorBody  = 64 << 10 // bytes that are read of the body of an error
	maxID         = 1000     // bytes of the id of a session or of an event
	maxBackOff    = time.Minute
	eventStream   = "text/event-stream"
	jsonType      = "application/json"
)

// An HTTP describes a server that is reached over HTTP.
type HTTP struct {
	URL    string
	Header http.Header // of every request
	// Transport connects. Redirects are followed to the same origin only.
	Transport http.RoundTripper
	SSE       bool // the older transport with SSE
}

// Dial opens a connection to a server over HTTP. A server that refuses the handshake is tried with
// the older transport too.
func Dial(ctx context.Context, client Client, h HTTP, stateless bool) (*Conn, error) {
	if h.SSE {
		return dialSSE(ctx, client, h)
	}
	l, err := newHTTPLink(client, h)
	if err != nil {
		return nil, err
	}
	//lint:ignore SA1019 servers of the older revisions announce changes there
	listening := transport.WithContinuousListening()
	streams, err := transport.NewStreamableHTTP(h.URL, transport.WithHTTPBasicClient(l.client),
		listening, transport.WithHTTPLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	l.library = streams
	if err := streams.Start(l.conn.life); err != nil {
		return nil, errors.Join(err, l.conn.Close())
	}
	opened, err := l.conn.open(ctx, stateless)
	if status := (*statusError)(nil); errors.As(err, &status) && (status.code == http.StatusNotFound ||
		status.code == http.StatusMethodNotAllowed || status.code == http.StatusBadRequest) {
		if older, failed := dialSSE(ctx, client, h); failed == nil {
			return older, nil
		}
	}
	return opened, err
}

// dialSSE opens a connection with the older transport: one stream of events from the server, and requests to the
// address that it names.
func dialSSE(ctx context.Context, client Client, h HTTP) (*Conn, error) {
	l, err := newHTTPLink(client, h)
	if err != nil {
		return nil, err
	}
	l.older = true
	events, err := transport.NewSSE(h.URL, transport.WithHTTPClient(l.client),
		transport.WithEndpointTimeout(startLimit), transport.WithSSELogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	l.library = events
	// The stream lasts as long as the connection.
	stop := context.AfterFunc(ctx, func() { l.conn.lose(context.Cause(ctx)) })
	err = events.Start(l.conn.life)
	stop()
	if err != nil {
		return nil, errors.Join(cmp.Or(l.conn.Err(), failure(err)), l.conn.Close())
	}
	return l.conn.open(ctx, false)
}

// A statusError is an answer with a status that is not a success.
type statusError struct {
	code int
	body string
}

func (e *statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the server answered with status %d %s", e.code, e.body))
}

// An httpLink carries messages over a transport of mcp-go. The transport has the sessions, resumes streams and
// listens. It is also the RoundTripper of that transport: all bytes pass here, so that they are bounded, and
// messages are read here.
type httpLink struct {
	conn    *Conn
	h       HTTP
	at      *url.URL
	client  *http.Client
	library transport.HTTPConnection
	older   bool // library is the older transport

	ready  chan struct{} // closed after the handshake
	pause  time.Duration // before the next stream of the server's own messages; for one goroutine
	paused time.Time     // when the last one began
}

func newHTTPLink(client Client, h HTTP) (*httpLink, error) {
	at, err := url.Parse(h.URL)
	if err != nil {
		return nil, err
	}
	l := &httpLink{conn: newConn(client), h: h, at: at, ready: make(chan struct{})}
	l.conn.link = l
	// The timeout of a request is the timeout of its context.
	l.client = &http.Client{Transport: l, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if !l.sameOrigin(r.URL) {
			return fmt.Errorf("the server redirects to another place, %s; redirects are followed within %s only",
				text.Clip(r.URL.Host, 100), at.Host)
		}
		if len(via) >= 5 {
			return errors.New("the server redirects too often")
		}
		return nil
	}}
	return l, nil
}

func (l *httpLink) sameOrigin(to *url.URL) bool {
	return to.Scheme == l.at.Scheme && to.Host == l.at.Host
}

// A trip is a message on its way. It is in the context of its HTTP requests.
type trip struct {
	outgoing
	asked *Call
	fail  context.CancelCauseFunc
	state atomic.Int32
}

type tripKey struct{}

// States of a trip. A message is sent as soon as a byte of it was read, and can be withdrawn before.
const (
	tripSent = 1 + iota
	tripWithdrawn
)

// withdraw reports whether nothing was sent. Then nothing will be.
func (t *trip) withdraw() bool { return t.state.CompareAndSwap(0, tripWithdrawn) }

func (t *trip) open() (io.ReadCloser, error) {
	return io.NopCloser(&tripReader{t, bytes.NewReader(t.body)}), nil
}

type tripReader struct {
	trip *trip
	body *bytes.Reader
}

func (r *tripReader) Read(p []byte) (int, error) {
	if !r.trip.state.CompareAndSwap(0, tripSent) && r.trip.state.Load() == tripWithdrawn {
		return 0, ErrNotSent
	}
	return r.body.Read(p)
}

// send makes mcp-go send a message. The body that mcp-go writes is replaced on the way, because it would decode and
// encode arguments again, and cannot send answers of ours.
func (l *httpLink) send(ctx context.Context, m outgoing, asked *Call) error {
	t := &trip{outgoing: m, asked: asked}
	ctx, t.fail = context.WithCancelCause(context.WithValue(ctx, tripKey{}, t))
	defer t.fail(nil)
	var err error
	if m.id == 0 || l.older { // answers of the older transport come on its stream
		err = l.library.SendNotification(ctx, mcp.JSONRPCNotification{})
	} else {
		_, err = l.library.SendRequest(ctx, transport.JSONRPCRequest{
			ID: mcp.NewRequestId(m.id), Method: m.method, Header: m.header,
		})
	}
	var of *url.Error
	if err != nil && !errors.As(err, &of) {
		err = errNoResponse // all other failures come from RoundTrip
	}
	switch err = failure(err); {
	case err == nil || errors.Is(err, ErrNotSent):
		return err
	case t.withdraw():
		return fmt.Errorf("%w: %w", ErrNotSent, err)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

// failure returns an error of a request without the URL: the URL may contain a secret.
func failure(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// RoundTrip makes a request of mcp-go's transport.
func (l *httpLink) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	t, _ := r.Context().Value(tripKey{}).(*trip)
	listens := t == nil && r.Method == http.MethodGet && !l.older
	switch {
	case listens && !l.mayListen(r.Context()):
		return &http.Response{StatusCode: http.StatusMethodNotAllowed, Body: http.NoBody}, nil
	case t != nil && r.Method == http.MethodPost:
		r.ContentLength, r.GetBody = int64(len(t.body)), t.open
		r.Body, _ = t.open()
	}
	for name, values := range l.h.Header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	response, err := l.h.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 300 && response.StatusCode <= 399 && response.Header.Get("Location") != "" {
		response.Body.Close()
		response.Body = http.NoBody
		return response, nil
	}
	if len(response.Header.Get(headerSession)) >= maxID {
		response.Header.Del(headerSession)
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	body, status := response.Body, response.StatusCode
	response.StatusCode = http.StatusOK // mcp-go takes two others only
	switch {
	case status < 200 || status > 299:
		defer body.Close()
		err := l.refused(r, status, body)
		if listens && status < 500 { // mcp-go asks no more
			return &http.Response{StatusCode: http.StatusMethodNotAllowed, Body: http.NoBody}, nil
		}
		return nil, err
	case t != nil && l.older: // an acknowledgement; its form differs between servers
		body.Close()
		response.Body = http.NoBody
	case kind == eventStream && (t == nil || t.id != 0):
		from, to := io.Pipe()
		response.Body = struct {
			io.Reader
			io.Closer
		}{from, closer(func() error { from.Close(); return body.Close() })}
		if !l.conn.spawn(func() { to.CloseWithError(l.events(body, to, t)) }) {
			response.Body.Close()
		}
	case kind == jsonType && t != nil && t.id != 0:
		defer body.Close()
		whole, err := io.ReadAll(io.LimitReader(body, MaxMessage+1))
		if err != nil {
			return nil, err
		}
		if len(whole) > MaxMessage {
			return nil, fmt.Errorf("the server sent an answer of more than %d bytes", MaxMessage)
		}
		l.conn.incoming(whole, t.asked)
		if l.waits(t.id) {
			return nil, errNoResponse
		}
		response.Body = io.NopCloser(strings.NewReader(answered(t.id)))
	case listens:
		body.Close()
		response.StatusCode, response.Body = http.StatusMethodNotAllowed, http.NoBody
	case t != nil && t.id != 0:
		defer body.Close()
		return nil, fmt.Errorf("the server sent %q, which is no answer", text.Clip(kind, 100))
	default:
		body.Close()
		response.Body = http.NoBody
	}
	return response, nil
}

var errNoResponse = errors.New("the server ended its answer without a response")

// answered returns a response for mcp-go, after the one of the server has gone to the caller.
func answered(id int64) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, id) }

func (l *httpLink) waits(id int64) bool {
	l.conn.mu.Lock()
	defer l.conn.mu.Unlock()
	return l.conn.waiting[id] != nil
}

type closer func() error

func (c closer) Close() error { return c() }

// mayListen reports whether the server of an older era announces anything. It waits before it allows another stream,
// because mcp-go asks again each second.
func (l *httpLink) mayListen(ctx context.Context) bool {
	select {
	case <-l.ready:
	case <-ctx.Done():
		return false
	}
	if time.Since(l.paused) > maxBackOff {
		l.pause = 0
	}
	select {
	case <-time.After(l.pause):
	case <-ctx.Done():
		return false
	}
	l.pause, l.paused = min(2*l.pause+time.Second, maxBackOff), time.Now()
	return l.conn.Info().announces && l.conn.client.Changed != nil
}

// refused returns the error of an answer that is none.
func (l *httpLink) refused(r *http.Request, status int, from io.Reader) error {
	if status == http.StatusUnauthorized {
		return ErrLogin
	}
	body, _ := io.ReadAll(io.LimitReader(from, maxErrorBody)) // as much as there is
	// The protocol has status 404 for a session that the server does not know; many servers send 400, and name the
	// session.
	if r.Header.Get(headerSession) != "" && r.Method != http.MethodDelete &&
		(status == http.StatusNotFound || status == http.StatusBadRequest &&
			bytes.Contains(bytes.ToLower(body), []byte("session"))) {
		l.conn.lose(errors.New("the server has forgotten the session"))
		return fmt.Errorf("%w: %w", ErrNotSent, l.conn.Err())
	}
	var answer message
	if json.Unmarshal(body, &answer) == nil && answer.Error != nil {
		_, err := result(answer)
		return err
	}
	said := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "")), " ")
	return &statusError{status, text.Clip(said, maxComplaint)}
}

// events takes the messages of a stream of events. It writes the rest of the stream to mcp-go:
// the ids for resuming it, the address of the older transport, and a response when the server
// has sent the response of the trip.
func (l *httpLink) events(from io.Reader, to io.Writer, t *trip) (err error) {
	defer func() {
		switch {
		case t != nil && err != nil:
			t.fail(failure(err))
		case t == nil && l.older:
			l.conn.lose(cmp.Or(failure(err), errors.New("the server ended the stream")))
		}
	}()
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 4<<10), MaxMessage+64)
	var event string
	var data []byte
	for lines.Scan() {
		line := lines.Bytes()
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case string(name) == "data":
			if data = append(append(data, value...), '\n'); len(data) > MaxMessage+1 {
				return fmt.Errorf("the server sent an event of more than %d bytes", MaxMessage)
			}
			continue
		case string(name) == "event":
			event = string(value)
		case string(name) == "retry" && len(value) > 5, len(line) > maxID, len(line) > 0 && len(name) == 0:
			continue // waits of days, ids of megabytes, comments
		case len(line) == 0 && event == "endpoint":
			address := strings.TrimSpace(string(data))
			if named, err := l.at.Parse(address); err != nil || !l.sameOrigin(named) {
				return errors.New("the server names an address of another place for requests")
			}
			line = []byte("data: " + address + "\n")
			event, data = "", nil
		case len(line) == 0:
			if t == nil {
				l.conn.incoming(data, nil)
			} else if l.conn.incoming(data, t.asked); !l.waits(t.id) {
				_, err := fmt.Fprintf(to, "data: %s\n\n", answered(t.id))
				return err
			}
			event, data = "", nil
		}
		if _, err := fmt.Fprintf(to, "%s\n", line); err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("the server sent a line of more than %d bytes", MaxMessage)
	}
	return lines.Err()
}

func (l *httpLink) opened() { close(l.ready) }

// close ends the session at the server.
func (l *httpLink) close() error {
	defer (&http.Client{Transport: l.h.Transport}).CloseIdleConnections()
	return l.library.Close()
}
