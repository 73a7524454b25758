package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

const (
	headerSession  = "Mcp-Session-Id"
	headerVersion  = "Mcp-Protocol-Version"
	headerLast     = "Last-Event-ID"
	maxErrorBody   = 64 << 10 // bytes that are read of the body of an error
	maxRetry       = 30 * time.Second
	minRetry       = 10 * time.Millisecond
	eventStream    = "text/event-stream"
	jsonType       = "application/json"
	acceptedByUs   = jsonType + ", " + eventStream
	sessionTimeout = 5 * time.Second // for the request that ends a session
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
	at, err := url.Parse(h.URL)
	if err != nil {
		return nil, err
	}
	if h.SSE {
		return dialSSE(ctx, client, h, at)
	}
	c := newConn(client)
	l := &httpLink{conn: c, h: h, at: at, client: newHTTPClient(h, at)}
	c.link = l
	opened, err := c.open(ctx, stateless)
	if status := (*statusError)(nil); errors.As(err, &status) && (status.code == http.StatusNotFound ||
		status.code == http.StatusMethodNotAllowed || status.code == http.StatusBadRequest) {
		if older, failed := dialSSE(ctx, client, h, at); failed == nil {
			return older, nil
		}
	}
	return opened, err
}

// newHTTPClient returns a client whose requests stay at one origin. The timeout of a request is
// that of its context.
func newHTTPClient(h HTTP, at *url.URL) *http.Client {
	return &http.Client{Transport: h.Transport, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if r.URL.Scheme != at.Scheme || r.URL.Host != at.Host {
			return fmt.Errorf("the server redirects to another place, %s; redirects are followed within %s only",
				text.Clip(r.URL.Host, 100), at.Host)
		}
		if len(via) >= 5 {
			return errors.New("the server redirects too often")
		}
		return nil
	}}
}

// A statusError is an answer with a status that is not a success.
type statusError struct {
	code int
	body string
}

func (e *statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the server answered with status %d %s", e.code, e.body))
}

// An httpLink is a streamable HTTP connection.
type httpLink struct {
	conn   *Conn
	h      HTTP
	at     *url.URL
	client *http.Client

	mu      sync.Mutex
	session string
}

func (l *httpLink) sessionID() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

func (l *httpLink) do(ctx context.Context, method string, body []byte, header http.Header) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, l.at.String(), nil)
	if err != nil {
		return nil, err
	}
	var sent letter
	if body != nil {
		r.Header.Set("Content-Type", jsonType)
		r.ContentLength = int64(len(body))
		r.GetBody = func() (io.ReadCloser, error) { return sent.open(body), nil }
		r.Body = sent.open(body)
	}
	if method == http.MethodPost {
		r.Header.Set("Accept", acceptedByUs)
	} else {
		r.Header.Set("Accept", eventStream)
	}
	if id := l.sessionID(); id != "" {
		r.Header.Set(headerSession, id)
	}
	if version := l.conn.Info().Protocol; version != "" {
		r.Header.Set(headerVersion, version)
	}
	for _, more := range []http.Header{header, l.h.Header} {
		for name, values := range more {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	response, err := l.client.Do(r)
	if err != nil && sent.withdraw() {
		return nil, fmt.Errorf("%w: %w", ErrNotSent, failure(err))
	} else if err != nil {
		return nil, failure(err)
	}
	return response, nil
}

// A letter is the body of a request. It is sent as soon as a byte of it was read, and it can be withdrawn before.
type letter struct{ state atomic.Int32 }

const (
	letterSent = 1 + iota
	letterWithdrawn
)

func (l *letter) open(body []byte) io.ReadCloser {
	return io.NopCloser(&letterReader{l, bytes.NewReader(body)})
}

// withdraw reports whether nothing was sent. Then nothing will be.
func (l *letter) withdraw() bool { return l.state.CompareAndSwap(0, letterWithdrawn) }

type letterReader struct {
	letter *letter
	body   *bytes.Reader
}

func (r *letterReader) Read(p []byte) (int, error) {
	if !r.letter.state.CompareAndSwap(0, letterSent) && r.letter.state.Load() == letterWithdrawn {
		return 0, ErrNotSent
	}
	return r.body.Read(p)
}

// failure returns an error of a request without the URL, which may have a secret in it.
func failure(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

func (l *httpLink) send(ctx context.Context, m outgoing, asked *Call) error {
	response, err := l.do(ctx, http.MethodPost, m.body, m.header)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return l.refused(response, m)
	}
	if m.id == 0 {
		return nil
	}
	if mcp.MCPMethod(m.method) == mcp.MethodInitialize {
		if id := response.Header.Get(headerSession); id != "" && len(id) < 1000 {
			l.mu.Lock()
			l.session = id
			l.mu.Unlock()
		}
	}
	return l.read(ctx, response, m.id, asked)
}

// refused returns the error of an answer that is none.
func (l *httpLink) refused(response *http.Response, m outgoing) error {
	if response.StatusCode == http.StatusUnauthorized {
		return ErrLogin
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody)) // as much as there is
	if mcp.MCPMethod(m.method) != mcp.MethodInitialize && l.forgotten(response.StatusCode, body) {
		return fmt.Errorf("%w: %w", ErrNotSent, l.conn.Err())
	}
	var answer message
	if m.id != 0 && json.Unmarshal(body, &answer) == nil && answer.Error != nil {
		return answer.Error
	}
	said := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "")), " ")
	return &statusError{response.StatusCode, text.Clip(said, maxComplaint)}
}

// forgotten reports whether an answer says that the server does not know the session, and then ends the connection.
// The protocol has status 404 for that; many servers send 400, and name the session.
func (l *httpLink) forgotten(status int, body []byte) bool {
	is := status == http.StatusNotFound ||
		status == http.StatusBadRequest && bytes.Contains(bytes.ToLower(body), []byte("session"))
	if is = is && l.sessionID() != ""; is {
		l.conn.lose(errors.New("the server has forgotten the session"))
	}
	return is
}

// read passes on what an answer has until the response to request id is there.
func (l *httpLink) read(ctx context.Context, response *http.Response, id int64, asked *Call) error {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch kind {
	case jsonType:
		body, err := io.ReadAll(io.LimitReader(response.Body, MaxMessage+1))
		if err != nil {
			return failure(err)
		}
		if len(body) > MaxMessage {
			return fmt.Errorf("the server sent an answer of more than %d bytes", MaxMessage)
		}
		l.conn.incoming(body, asked)
		return l.answered(id)
	case eventStream:
		return l.readStream(ctx, response, id, asked)
	}
	return fmt.Errorf("the server sent %q, which is no answer", text.Clip(kind, 100))
}

// answered returns an error if a request has no response yet.
func (l *httpLink) answered(id int64) error {
	if l.waits(id) {
		return errors.New("the server ended its answer without a response")
	}
	return nil
}

func (l *httpLink) waits(id int64) bool {
	l.conn.mu.Lock()
	defer l.conn.mu.Unlock()
	return l.conn.waiting[id] != nil
}

// readStream reads a stream of events. If the server ends one that can be resumed, it is.
func (l *httpLink) readStream(ctx context.Context, response *http.Response, id int64, asked *Call) error {
	place := place{retry: time.Second}
	for {
		err := events(response.Body, &place, func(_, data string) bool {
			l.conn.incoming([]byte(data), asked)
			return l.waits(id)
		})
		switch {
		case !l.waits(id):
			return nil
		case err != nil:
			return failure(err)
		case place.last == "" || l.conn.modern():
			return l.answered(id)
		}
		select {
		case <-time.After(place.retry):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		next, err := l.do(ctx, http.MethodGet, nil, http.Header{headerLast: {place.last}})
		if err != nil {
			return err
		}
		defer next.Body.Close() // few: the server asks for each
		if next.StatusCode != http.StatusOK {
			return l.refused(next, outgoing{id: id})
		}
		response = next
	}
}

// opened listens to what a server of the older era sends by itself.
func (l *httpLink) opened(life context.Context) {
	if l.conn.modern() || !l.conn.Info().announces || l.conn.client.Changed == nil {
		return
	}
	l.conn.spawn(func() {
		for wait := time.Second; life.Err() == nil; wait = min(2*wait, time.Minute) {
			begun := time.Now()
			if !l.listen(life) {
				return
			}
			if time.Since(begun) > time.Minute {
				wait = time.Second
			}
			select {
			case <-time.After(wait):
			case <-life.Done():
			}
		}
	})
}

// listen reads one stream of what the server sends by itself. again is false if it has none.
func (l *httpLink) listen(ctx context.Context) (again bool) {
	response, err := l.do(ctx, http.MethodGet, nil, nil)
	if err != nil {
		return true
	}
	defer response.Body.Close()
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode != http.StatusOK || kind != eventStream {
		body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody)) // as much as there is
		return !l.forgotten(response.StatusCode, body) && response.StatusCode >= 500
	}
	_ = events(response.Body, &place{}, func(_, data string) bool { // the next stream follows
		l.conn.incoming([]byte(data), nil)
		return true
	})
	return true
}

// close ends the session at the server.
func (l *httpLink) close() error {
	defer l.client.CloseIdleConnections()
	if l.sessionID() == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), sessionTimeout)
	defer cancel()
	response, err := l.do(ctx, http.MethodDelete, nil, nil)
	if err == nil {
		response.Body.Close()
	}
	return nil // the server forgets it by itself
}

// A place is where a stream of events can be resumed.
type place struct {
	last  string
	retry time.Duration
}

// events reads a stream of events until its end or until each returns false. An event has at most
// MaxMessage bytes.
func events(from io.Reader, at *place, each func(event, data string) bool) error {
	lines := bufio.NewReaderSize(from, 32<<10)
	var event, id string
	var data []byte
	have := false
	for {
		line, err := readLine(lines, MaxMessage+64)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if len(line) == 0 {
			if id != "" {
				at.last = id
			}
			if have && len(data) > 0 && !each(event, string(data)) {
				return nil
			}
			event, id, data, have = "", "", nil, false
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			event = string(value)
		case "data":
			if have {
				data = append(data, '\n')
			}
			have = true
			if data = append(data, value...); len(data) > MaxMessage {
				return fmt.Errorf("the server sent an event of more than %d bytes", MaxMessage)
			}
		case "id":
			if len(value) < 1000 && !bytes.ContainsRune(value, 0) {
				id = string(value)
			}
		case "retry":
			if n, err := strconv.Atoi(string(value)); err == nil {
				at.retry = min(max(time.Duration(n)*time.Millisecond, minRetry), maxRetry)
			}
		}
	}
}

// readLine returns a line without its end.
func readLine(from *bufio.Reader, max int) (line []byte, err error) {
	for {
		part, err := from.ReadSlice('\n')
		if len(line)+len(part) > max {
			return nil, fmt.Errorf("the server sent a line of more than %d bytes", max)
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}

// An sseLink is the older transport: one stream of events from the server, and requests to the
// address that it names.
type sseLink struct {
	*httpLink
	stream   io.Closer
	endpoint *url.URL
}

func dialSSE(ctx context.Context, client Client, h HTTP, at *url.URL) (*Conn, error) {
	c := newConn(client)
	l := &sseLink{httpLink: &httpLink{conn: c, h: h, at: at, client: newHTTPClient(h, at)}}
	c.link = l
	// The stream lasts as long as the connection.
	opening := time.AfterFunc(startLimit, func() {
		c.lose(fmt.Errorf("the server did not answer within %s",
			startLimit))
	})
	stop := context.AfterFunc(ctx, func() { c.lose(context.Cause(ctx)) })
	defer func() { opening.Stop(); stop() }()
	response, err := l.do(c.life, http.MethodGet, nil, nil)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	l.stream = response.Body
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(l.refused(response, outgoing{}), c.Close())
	}
	named := make(chan *url.URL, 1)
	c.spawn(func() {
		err := events(response.Body, &place{}, func(event, data string) bool {
			if event != "endpoint" {
				c.incoming([]byte(data), nil)
				return true
			}
			to, err := at.Parse(strings.TrimSpace(data))
			if err != nil || to.Scheme != at.Scheme || to.Host != at.Host {
				c.lose(errors.New("the server names an address of another place for requests"))
				return false
			}
			select {
			case named <- to:
			default: // the first one counts
			}
			return true
		})
		if err == nil {
			err = errors.New("the server ended the stream")
		}
		c.lose(failure(err))
	})
	select {
	case l.endpoint = <-named:
	case <-c.life.Done():
		return nil, errors.Join(c.Err(), c.Close())
	}
	return c.open(ctx, false)
}

func (l *sseLink) send(ctx context.Context, m outgoing, _ *Call) error {
	at := &httpLink{conn: l.conn, h: l.h, at: l.endpoint, client: l.client}
	response, err := at.do(ctx, http.MethodPost, m.body, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return at.refused(response, m)
	}
	return nil
}

func (l *sseLink) opened(context.Context) {}

func (l *sseLink) close() error {
	if l.stream != nil {
		l.stream.Close()
	}
	l.client.CloseIdleConnections()
	return nil
}
