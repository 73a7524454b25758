package server

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/policy"
)

func TestTwoHundredCallersOverHTTP(t *testing.T) {
	noLeaks(t)
	s := openSite(t, func(h *HTTP) { h.MaxSessions = 5000 })
	old := s.visitor("alice").hello(t, "2025-11-25")
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			v, body := old, callLine("1", "echo", fmt.Sprintf(`{"n":%d}`, i))
			switch i % 4 {
			case 0: // a request of the stateless era
				v, body = s.visitor("bob").modern("tools/call", "echo"),
					modernLine("1", "tools/call", fmt.Sprintf(`"name":"echo","arguments":{"n":%d}`, i))
			case 1: // the shared session with a new request id
				body = strings.Replace(body, `"id":1`, fmt.Sprintf(`"id":"%d"`, i), 1)
			default: // a new session
				own := *s.visitor([]string{"alice2", "reader"}[i%2])
				a := own.post(handshake("2025-06-18", "{}")[0])
				own.session, own.version, v = a.header.Get(mcp.HeaderSessionID), "2025-06-18", &own
			}
			if a := v.post(body); len(a.messages) != 1 || read(t, a.messages[0]).text() != strconv.Itoa(i) {
				t.Errorf("caller %d got %d %v %q", i, a.status, a.err, a.messages)
			}
		})
	}
	all.Wait()
}

func TestProgressComesBeforeTheAnswerAndToTheRightCall(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	old := s.visitor("alice").hello(t, "2025-11-25")
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			id := strconv.Itoa(i)
			v, body := old,
				fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"chatty","arguments":{"text":"m%s"},"_meta":{"progressToken":%s}}}`, id, id, id)
			if i%2 == 0 {
				v, body = s.visitor("alice").modern("tools/call", "chatty"),
					modernLine(id, "tools/call", `"name":"chatty","arguments":{"text":"m`+id+`"}`)
			}
			a := v.post(body)
			if len(a.messages) != 4 {
				t.Errorf("call %d got %q", i, a.messages)
				return
			}
			for k, line := range a.messages {
				r := read(t, line)
				if last := k == 3; last != (string(r.ID) == id) || !last &&
					!strings.Contains(string(r.Params), `"message":"m`+id+`"`) {
					t.Errorf("call %d: message %d is %s", i, k, line)
				}
			}
		})
	}
	all.Wait()
}

func TestAnHTTPClientThatDisappears(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	for name, v := range map[string]*visitor{
		"stateless": s.visitor("alice").modern("tools/call", "slow"),
		"session":   s.visitor("alice").hello(t, "2025-11-25"),
	} {
		ctx, leave := context.WithCancel(t.Context())
		done := make(chan answer, 1)
		body := callLine("1", "slow", `{"text":"x"}`)
		if name == "stateless" {
			body = modernLine("1", "tools/call", `"name":"slow","arguments":{"text":"x"}`)
		}
		go func() { done <- v.do(ctx, "POST", body) }()
		expect(t, s.started, name+": the start of the call")
		leave()
		expect(t, s.stopped, name+": the end of the call")
		expect(t, done, name+": the end of the request")
	}
}

// dialogue writes raw bytes and returns all that comes back.
func (s *site) dialogue(t *testing.T, raw string) *bufio.Reader {
	t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(hang)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	return bufio.NewReader(c)
}

func (s *site) raw(proto, extra, body string) string {
	return fmt.Sprintf("POST /mcp HTTP/%s\r\nHost: %s\r\nAuthorization: Bearer alice\r\nContent-Type: application/json\r\n"+
		"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\nContent-Length: %d\r\n%s\r\n%s", proto, s.addr, len(body), extra, body)
}

func TestRequestsInARowOnOneConnection(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	var row strings.Builder
	for i := range 20 {
		row.WriteString(s.raw("1.1", "", modernLine(strconv.Itoa(i), "tools/call",
			fmt.Sprintf(`"name":"echo","arguments":{"n":%d}`, i))))
	}
	from := s.dialogue(t, row.String())
	for i := range 20 {
		resp, err := http.ReadResponse(from, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if r := read(t, string(body)); err != nil || r.text() != strconv.Itoa(i) || string(r.ID) != strconv.Itoa(i) {
			t.Errorf("request %d got %s %v", i, body, err)
		}
	}
}

func TestOldAndOddHTTP(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	body := modernLine("1", "tools/call", `"name":"echo","arguments":{"n":5}`)
	for name, test := range map[string]struct {
		raw    string
		status int
	}{
		"HTTP/1.0": {s.raw("1.0", "", body), 200},
		"HTTP/1.0 with progress": {strings.ReplaceAll(s.raw("1.0", "", strings.ReplaceAll(body, `"echo"`, `"long"`)),
			": echo", ": long"), 200},
		"HTTP/1.0 without a host": {strings.Replace(s.raw("1.0", "", body), "Host: "+s.addr+"\r\n", "", 1), 403},
		"HTTP/1.1 without a host": {strings.Replace(s.raw("1.1", "", body), "Host: "+s.addr+"\r\n", "", 1), 400},
		"two hosts":               {s.raw("1.1", "Host: evil.example\r\n", body), 400},
		"two lengths":             {s.raw("1.1", "Content-Length: 3\r\n", body), 400},
		"a length and chunks": {s.raw("1.1", "Transfer-Encoding: chunked\r\nConnection: close\r\n", "0\r\n\r\n"),
			400},
		"another protocol":         {strings.Replace(s.raw("1.1", "", body), "HTTP/1.1", "HTTP/3.7", 1), 505},
		"not HTTP at all":          {`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\r\n\r\n", 400},
		"a header without a colon": {s.raw("1.1", "Nonsense\r\n", body), 400},
		"a folded header":          {s.raw("1.1", "X-A: b\r\n c\r\nConnection: close\r\n", body), 200},
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := http.ReadResponse(s.dialogue(t, test.raw), nil)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != test.status {
				t.Errorf("got %d, want %d", resp.StatusCode, test.status)
			}
		})
	}
}

func TestSettingsChangeUnderHTTPClients(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	old := s.visitor("alice").hello(t, "2025-11-25")
	get := old.listen(t, "")
	listen := s.visitor("bob").modern("subscriptions/listen", "").listen(t,
		modernLine(`"sub"`, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`))
	other := s.visitor("bob").modern("subscriptions/listen", "").listen(t,
		modernLine(`"sub"`, "subscriptions/listen", `"notifications":{"promptsListChanged":true}`))
	for _, e := range []*events{listen, other} {
		if got := expect(t, e.data, "the acknowledgement"); !strings.Contains(got, "acknowledged") {
			t.Errorf("got %s", got)
		}
	}
	next := testSettings(t, s.Config.Tools, policy.Rules{Deny: policy.List{"echo"}})
	if err := s.Apply(next); err != nil {
		t.Fatal(err)
	}
	if got := expect(t, get.data, "the announcement on the session's stream"); !strings.Contains(got, "list_changed") {
		t.Errorf("got %s", got)
	}
	if got := expect(t, listen.data, "the announcement to the subscriber"); !strings.Contains(got, "list_changed") ||
		!strings.Contains(got, `"sub"`) {
		t.Errorf("got %s", got)
	}
	s.stop()
	for line := range other.data {
		if strings.Contains(line, "tools/list_changed") {
			t.Errorf("a client without a subscription got %s", line)
		}
	}
}

func TestShuttingDown(t *testing.T) {
	for name, grace := range map[string]time.Duration{"with time to finish": hang, "without": 10 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			s := openSite(t, func(h *HTTP) { h.Grace = grace })
			old := s.visitor("alice").hello(t, "2025-11-25")
			streams := []*events{
				old.listen(t, ""), s.visitor("bob").modern("subscriptions/listen", "").listen(t,
					modernLine("1", "subscriptions/listen", `"notifications":{"toolsListChanged":true}`)),
			}
			sse := s.visitor("bob")
			sse.path = "/sse"
			streams = append(streams, sse.listen(t, ""))
			called := make(chan answer, 1)
			go func() { called <- old.post(callLine("1", "slow", `{"text":"x"}`)) }()
			expect(t, s.started, "the start of the call")
			s.stop()
			for _, e := range streams {
				for range e.data { // until it ends
				}
			}
			if grace > time.Second {
				s.release <- struct{}{}
				if a := expect(t, called, "the answer"); !strings.Contains(a.body, "done x") {
					t.Errorf("the call got %d %q %v", a.status, a.body, a.err)
				}
			} else {
				expect(t, s.stopped, "the end of the call")
				expect(t, called, "the answer")
			}
			if err := expect(t, s.ended, "the end"); err != nil {
				t.Errorf("Serve returned %v", err)
			}
			if a := old.post(ping("2")); a.err == nil {
				t.Errorf("it still answers: %d", a.status)
			}
		})
	}
}

func TestReadinessEndsWithTheServer(t *testing.T) {
	b := newTestServer(t)
	h := newDoor(b)
	handler := h.Handler()
	ask := func() int {
		w := &recorder{header: http.Header{}}
		r, err := http.NewRequest("GET", "http://localhost/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		handler.ServeHTTP(w, r)
		return w.status
	}
	before := ask()
	b.Close()
	if after := ask(); before != 200 || after != 503 {
		t.Errorf("before %d, after %d", before, after)
	}
}

// recorder is a response without a connection.
type recorder struct {
	header http.Header
	status int
	body   strings.Builder
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.body.Write(b)
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

func (r *recorder) Flush()                             {}
func (r *recorder) SetReadDeadline(_ time.Time) error  { return nil }
func (r *recorder) SetWriteDeadline(_ time.Time) error { return nil }

// selfSigned makes a certificate for the loopback address.
func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestTLS(t *testing.T) {
	noLeaks(t)
	certificate, pool := selfSigned(t)
	s := openSite(t, func(h *HTTP) { h.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}} })
	for name, protocol := range map[string]string{"HTTP/1.1": "http/1.1", "HTTP/2": "h2"} {
		t.Run(name, func(t *testing.T) {
			transport := &http.Transport{
				TLSClientConfig:   &tls.Config{RootCAs: pool, NextProtos: []string{protocol}},
				ForceAttemptHTTP2: protocol == "h2",
			}
			defer transport.CloseIdleConnections()
			v := s.visitor("alice")
			v.web, v.base = &http.Client{Transport: transport}, "https://"+s.addr
			v.hello(t, "2025-11-25")
			a := v.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chatty","arguments":{},"_meta":{"progressToken":1}}}`)
			if len(a.messages) != 4 {
				t.Errorf("got %d %q %v", a.status, a.messages, a.err)
			}
			var last struct{ ID json.Number }
			if err := json.Unmarshal([]byte(a.messages[3]), &last); err != nil || last.ID != "1" {
				t.Errorf("the last is %s", a.messages[3])
			}
		})
	}
	if a := s.visitor("alice").post(ping("1")); a.err == nil && a.status == 200 {
		t.Error("it speaks plain HTTP too")
	}
}
