package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/tool"

	"github.com/mcp-tools/mcp-tools/policy"
)

// guestList is the identities of a site, by token.
type guestList map[string]Identity

func (g guestList) Identify(_ context.Context, token, _ string) (Identity, error) {
	who, ok := g[token]
	if !ok {
		return who, &Challenge{Status: http.StatusUnauthorized, Header: `Bearer error="invalid_token"`,
			Reason: "the token is not known"}
	}
	return who, nil
}

func (guestList) Challenge(string) *Challenge {
	return &Challenge{Status: http.StatusUnauthorized, Header: "Bearer", Reason: "send a token"}
}

func (guestList) Forbidden(profile string) *Challenge {
	return &Challenge{Status: http.StatusForbidden, Header: `Bearer error="insufficient_scope"`,
		Reason: "not with this token: " + profile}
}

func (guestList) Metadata(string) []byte { return nil }

func guests() guestList {
	return guestList{
		"alice":  {ID: "t1", Agent: "a", User: "alice", Profiles: []string{policy.AnyProfile}},
		"alice2": {ID: "t2", Agent: "a", User: "alice", Profiles: []string{policy.AnyProfile}},
		"bob":    {ID: "t3", Agent: "b", User: "bob", Profiles: []string{policy.AnyProfile}},
		"reader": {ID: "t4", Agent: "r", User: "rita", Profiles: []string{"readonly"}},
	}
}

// site is a server behind HTTP on a real port.
type site struct {
	*testServer
	door  *HTTP
	addr  string
	stop  context.CancelFunc
	ended chan error
	web   *http.Client
}

func newDoor(b *testServer, change ...func(*HTTP)) *HTTP {
	h := &HTTP{
		Server: b.Server, Identities: guests(), Base: Access{Caller: tool.Caller{Workspace: "w"}}, SSE: true,
		MaxMessage: 1 << 20, MaxSessions: 50, SessionIdle: time.Hour, ReadHeaderTimeout: hang, Grace: time.Second,
	}
	for _, f := range change {
		f(h)
	}
	return h
}

// openSite serves until the test ends, or until stop is called.
func openSite(tb testing.TB, change ...func(*HTTP)) *site {
	tb.Helper()
	return openSiteOf(tb, newTestServer(tb), change...)
}

func openSiteOf(tb testing.TB, b *testServer, change ...func(*HTTP)) *site {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &site{
		testServer: b, door: newDoor(b, change...), addr: l.Addr().String(), ended: make(chan error, 1),
		web: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 300}},
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	closed := make(chan struct{})
	go func() {
		s.ended <- s.door.Serve(ctx, l)
		close(closed)
	}()
	tb.Cleanup(func() {
		stop()
		<-closed
		s.web.CloseIdleConnections()
	})
	return s
}

// visitor is a client of a site: who it is, where it goes, and what it adds.
type visitor struct {
	web     *http.Client
	base    string // scheme and address
	path    string
	token   string
	session string
	version string
	header  map[string]string
}

func (s *site) visitor(token string) *visitor {
	return &visitor{web: s.web, base: "http://" + s.addr, path: "/mcp", token: token}
}

// IsResponse is what a visitor got back.
type answer struct {
	status   int
	header   http.Header
	body     string
	messages []string // in the order in which they came
	err      error
}

func (v *visitor) request(ctx context.Context, method, body string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, v.base+v.path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range map[string]string{
		mcp.HeaderSessionID: v.session, mcp.HeaderProtocolVersion: v.version,
	} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	if v.token != "" {
		r.Header.Set("Authorization", "Bearer "+v.token)
	}
	for name, value := range v.header {
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	return r, nil
}

func (v *visitor) do(ctx context.Context, method, body string) answer {
	r, err := v.request(ctx, method, body)
	if err != nil {
		return answer{err: err}
	}
	resp, err := v.web.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	a := answer{status: resp.StatusCode, header: resp.Header, body: string(raw), err: err}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		for line := range strings.Lines(a.body) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				a.messages = append(a.messages, strings.TrimSpace(data))
			}
		}
	} else if len(bytes.TrimSpace(raw)) > 0 {
		a.messages = []string{a.body}
	}
	return a
}

func (v *visitor) post(body string) answer { return v.do(context.Background(), http.MethodPost, body) }

// hello shakes hands as a client of the given revision.
func (v *visitor) hello(tb testing.TB, version string) *visitor {
	tb.Helper()
	lines := handshake(version, "{}")
	a := v.post(lines[0])
	if a.status != http.StatusOK || a.header.Get(mcp.HeaderSessionID) == "" {
		tb.Fatalf("initialize got %d %q %v", a.status, a.body, a.err)
	}
	v.session, v.version = a.header.Get(mcp.HeaderSessionID), version
	if a := v.post(lines[1]); a.status != http.StatusAccepted {
		tb.Fatalf("initialized got %d %q", a.status, a.body)
	}
	return v
}

// events is an open stream of events.
type events struct {
	status int
	header http.Header
	data   chan string
	close  func()
}

// listen opens a stream of events with GET, or with a POST when there is a body.
func (v *visitor) listen(tb testing.TB, body string) *events {
	tb.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	ctx, cancel := context.WithCancel(context.Background())
	tb.Cleanup(cancel)
	r, err := v.request(ctx, method, body)
	if err != nil {
		tb.Fatal(err)
	}
	resp, err := v.web.Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	e := &events{status: resp.StatusCode, header: resp.Header, data: make(chan string, 10_000), close: cancel}
	go func() {
		defer close(e.data)
		defer resp.Body.Close()
		scanner := bufio.NewScanner(resp.Body)
		scanner.Buffer(nil, 16<<20)
		for scanner.Scan() {
			if data, ok := strings.CutPrefix(scanner.Text(), "data: "); ok {
				e.data <- data
			}
		}
	}()
	return e
}

// modernLine is a request of the stateless era.
func modernLine(id, method, params string) string {
	if params != "" {
		params += ","
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s"_meta":{%q:"2026-07-28",%q:{"name":"t","version":"1"},%q:{"elicitation":{}},"progressToken":%s}}}`,
		id, method, params, mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities, id)
}

// modern makes v a client of the stateless era that sends method and name.
func (v *visitor) modern(method, name string) *visitor {
	w := *v
	w.version = mcp.ProtocolVersion20260728
	w.header = map[string]string{mcp.HeaderMethod: method}
	if name != "" {
		w.header[mcp.HeaderName] = name
	}
	for k, value := range v.header {
		w.header[k] = value
	}
	return &w
}
