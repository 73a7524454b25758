// Package wiretest is a service of chats for tests: it expects requests in an order, compares
// them field by field, and answers as the service's documentation says.
//
// Begin with [New].
package wiretest

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

// A Service expects requests. Requests that it does not expect, and expected ones that do
// not come, fail the test.
type Service struct {
	chat.Account // leads to the service

	t    testing.TB
	mu   sync.Mutex
	want []Exchange
	done int
}

// An Exchange is an expected request and its response.
type Exchange struct {
	Request string            // such as POST https://slack.com/api/chat.postMessage?a=b
	Header  map[string]string // "" as a value: the request has no such header
	JSON    string            // the body, as JSON; key order and white space do not count
	Form    map[string]string // the fields of a body that is a form; values that are JSON are compared as such
	Files   map[string]string // of a multipart form: name of the field, to FILENAME TYPE CONTENT
	Body    string            // any other body

	Status int // 0 is 200
	Head   map[string]string
	Reply  string
	Drop   bool   // the connection ends without a response
	Before func() // is called before the response; nil: nothing
	Socket func(p *Peer)
}

// A Peer is the service's side of a WebSocket.
type Peer struct {
	t  testing.TB
	ws *websocket.Conn
}

// Send sends JSON.
func (p *Peer) Send(message string) {
	if err := p.ws.Write(p.t.Context(), websocket.MessageText, []byte(message)); err != nil {
		p.t.Errorf("sending %s: %v", message, err)
	}
}

// Expect reads JSON.
func (p *Peer) Expect(message string) {
	_, got, err := p.ws.Read(p.t.Context())
	if diff := cmp.Diff(decoded(message), decoded(string(got))); err != nil || diff != "" {
		p.t.Errorf("error %v, the message differs (-want +got):\n%s", err, diff)
	}
}

// Close ends the connection with a code.
func (p *Peer) Close(code int) { _ = p.ws.Close(websocket.StatusCode(code), "") }

// Wait returns when the other side has ended the connection.
func (p *Peer) Wait() {
	if _, got, err := p.ws.Read(p.t.Context()); err == nil {
		p.t.Errorf("unexpected message %s", got)
	}
}

// New returns a service that answers at the hosts until the test ends.
func New(t testing.TB, hosts ...string) *Service {
	t.Helper()
	s := &Service{t: t}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	servers := map[string]*httptest.Server{}
	for _, host := range hosts {
		servers[host] = server
	}
	net := egresstest.New(t, servers)
	s.HTTP = net.Client(t)
	dialer, err := egress.NewDialer(egress.Rules{}, net)
	if err == nil {
		dialer, err = dialer.ThroughProxy(net.ProxyURL)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Dial, s.Roots = dialer.DialContext, net.Roots
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, x := range s.want[s.done:] {
			t.Errorf("no request came: %s", x.Request)
		}
	})
	return s
}

// Expect adds to the expected exchanges.
func (s *Service) Expect(list ...Exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.want = append(s.want, list...)
}

// ServeHTTP compares a request with the next expected one.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x, ok := s.next()
	got := fmt.Sprintf("%s https://%s%s", r.Method, r.Host, r.URL.RequestURI())
	if !ok {
		s.t.Errorf("unexpected request: %s", got)
		w.WriteHeader(http.StatusTeapot)
		return
	}
	if got != x.Request {
		s.t.Errorf("request %s, want %s", got, x.Request)
	}
	for name, value := range x.Header {
		if r.Header.Get(name) != value {
			s.t.Errorf("%s: header %s is %q, want %q", got, name, r.Header.Get(name), value)
		}
	}
	if diff := cmp.Diff(x.body(), bodyOf(r)); diff != "" {
		s.t.Errorf("%s: the body differs (-want +got):\n%s", got, diff)
	}
	if x.Before != nil {
		x.Before()
	}
	if x.Socket != nil {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			s.t.Errorf("%s: %v", got, err)
			return
		}
		defer ws.CloseNow()
		x.Socket(&Peer{s.t, ws})
		return
	}
	if x.Drop {
		panic(http.ErrAbortHandler)
	}
	for name, value := range x.Head {
		w.Header().Set(name, value)
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	if x.Status != 0 {
		w.WriteHeader(x.Status)
	}
	_, _ = io.WriteString(w, x.Reply)
}

func (s *Service) next() (Exchange, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done == len(s.want) {
		return Exchange{}, false
	}
	s.done++
	return s.want[s.done-1], true
}

// A content is a body in a form that can be compared.
type content struct {
	JSON  any
	Form  map[string]any
	Files map[string]string
	Text  string
}

func (x Exchange) body() content {
	c := content{Files: x.Files, Text: x.Body}
	if x.JSON != "" {
		c.JSON = decoded(x.JSON)
	}
	for name, value := range x.Form {
		c.add(name, value)
	}
	return c
}

func (c *content) add(name, value string) {
	if c.Form == nil {
		c.Form = map[string]any{}
	}
	c.Form[name] = decoded(value)
}

func decoded(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	return v
}

func bodyOf(r *http.Request) (c content) {
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	data, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		c.Text = err.Error()
	case kind == "application/json":
		c.JSON = decoded(string(data))
	case kind == "application/x-www-form-urlencoded":
		fields, err := url.ParseQuery(string(data))
		if err != nil {
			c.Text = err.Error()
		}
		for name, list := range fields {
			c.add(name, strings.Join(list, ","))
		}
	case kind == "multipart/form-data":
		c.parts(multipart.NewReader(strings.NewReader(string(data)), params["boundary"]))
	default:
		c.Text = string(data)
	}
	return c
}

func (c *content) parts(r *multipart.Reader) {
	for {
		part, err := r.NextPart()
		if err != nil {
			if err != io.EOF {
				c.Text = err.Error()
			}
			return
		}
		data, err := io.ReadAll(part)
		if err != nil {
			c.Text = err.Error()
			return
		}
		if part.FileName() == "" {
			c.add(part.FormName(), string(data))
			continue
		}
		if c.Files == nil {
			c.Files = map[string]string{}
		}
		c.Files[part.FormName()] = part.FileName() + " " + part.Header.Get("Content-Type") + " " + string(data)
	}
}
