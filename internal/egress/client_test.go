package egress_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// web returns an internet with one handler at many names.
func web(t testing.TB, o egress.ClientOptions, h http.HandlerFunc, names ...string) (*egress.Client, *egresstest.Net) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	hosts := map[string]*httptest.Server{}
	for _, name := range names {
		hosts[name] = server
	}
	n := egresstest.New(t, hosts)
	o.Resolver, o.Proxy, o.Roots = n, n.ProxyURL, n.Roots
	return newClientConn(t, o), n
}

func newClientConn(t testing.TB, o egress.ClientOptions) *egress.Client {
	t.Helper()
	c, err := egress.NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// get sends a request and reads the response.
func get(ctx context.Context, c *egress.Client, r outbound.Request) (*outbound.Answer, string, error) {
	a, err := c.Do(ctx, r)
	if err != nil {
		return nil, "", err
	}
	text, err := io.ReadAll(a.Body)
	return a, string(text), errors.Join(err, a.Body.Close())
}

func kind(err error) tool.Kind {
	if err == nil {
		return ""
	}
	return tool.AsError(err).Kind
}

func zipped(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return out.String()
}

func TestClientAsks(t *testing.T) {
	c, _ := web(t, egress.ClientOptions{Agent: "robot/1"}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s ua=%q ct=%q ae=%q body=%q len=%d ref=%q", r.Method, r.Host, r.RequestURI,
			r.UserAgent(), r.Header.Get("Content-Type"), r.Header.Get("Accept-Encoding"), body, r.ContentLength,
			r.Referer())
	}, "www.example.org", "xn--bcher-kva.example")
	for want, r := range map[string]outbound.Request{
		`GET www.example.org / ua="robot/1" ct="" ae="gzip, deflate" body="" len=0 ref=""`:                            {URL: "http://WWW.example.org.:80#part"},
		`GET www.example.org /a%20b?q=c%20d&e=%C3%A9 ua="robot/1" ct="" ae="gzip, deflate" body="" len=0 ref=""`:      {URL: "https://www.example.org/a b?q=c d&e=é"},
		`POST www.example.org /x ua="me" ct="text/plain" ae="gzip, deflate" body="hello" len=5 ref=""`:                {Method: "post", URL: "http://www.example.org/x", Body: []byte("hello"), Header: http.Header{"content-type": {"text/plain"}, "User-Agent": {"me"}}},
		`POST www.example.org /x ua="robot/1" ct="" ae="gzip, deflate" body="" len=0 ref=""`:                          {Method: "POST", URL: "http://www.example.org/x"},
		`GET www.example.org /raw ua="robot/1" ct="" ae="" body="" len=0 ref=""`:                                      {URL: "http://www.example.org/raw", Raw: true},
		`GET www.example.org /part ua="robot/1" ct="" ae="" body="" len=0 ref=""`:                                     {URL: "http://www.example.org/part", Header: http.Header{"Range": {"bytes=0-"}, "Accept-Encoding": {"br"}}},
		`GET xn--bcher-kva.example /%C3%BC ua="robot/1" ct="" ae="gzip, deflate" body="" len=0 ref=""`:                {URL: "http://BÜCHER.example/ü"},
		`DELETE www.example.org //x/..//y ua="robot/1" ct="" ae="gzip, deflate" body="" len=0 ref="http://a.example"`: {Method: "DELETE", URL: "http://www.example.org//x/..//y", Header: http.Header{"Referer": {"http://a.example"}}},
	} {
		a, text, err := get(t.Context(), c, r)
		if err != nil || text != want || a.Status != 200 || a.Length != int64(len(want)) {
			t.Errorf("%s: %+v\n%s\n%s\n%v", r.URL, a, text, want, err)
		}
	}
	a, text, err := get(t.Context(), c, outbound.Request{Method: "HEAD", URL: "http://www.example.org/"})
	if err != nil || text != "" || a.Length <= 0 {
		t.Errorf("HEAD: %+v %q %v", a, text, err)
	}
}

func TestBadRequests(t *testing.T) {
	var reached atomic.Int64
	c, n := web(t, egress.ClientOptions{}, func(http.ResponseWriter, *http.Request) { reached.Add(1) },
		"www.example.org")
	many := http.Header{}
	for i := range 65 {
		many.Set(fmt.Sprint("X-", i), "x")
	}
	tests := []struct {
		r    outbound.Request
		kind tool.Kind
		says string
	}{
		{outbound.Request{URL: "http://me:secret@www.example.org/"}, tool.Invalid, "auth_profile"},
		{outbound.Request{URL: "www.example.org"}, tool.Invalid, "https://"},
		{outbound.Request{URL: "ftp://www.example.org"}, tool.Invalid, `"ftp"`},
		{outbound.Request{URL: "http://www.example.org/" + strings.Repeat("x", 9000)}, tool.Invalid, "8192"},
		{outbound.Request{URL: "http://www.example.org/100%"}, tool.Invalid, "%25"},
		{outbound.Request{URL: "http://www.example.org:0/"}, tool.Invalid, "port"},
		{outbound.Request{Method: "CONNECT"}, tool.Refused, "CONNECT"},
		{outbound.Request{Method: "trace"}, tool.Refused, "TRACE"},
		{outbound.Request{Method: "GE T"}, tool.Invalid, "method"},
		{outbound.Request{Header: http.Header{"X-A": {"b\r\nc: d"}}}, tool.Invalid, "X-A"},
		{outbound.Request{Header: http.Header{"X A": {"b"}}}, tool.Invalid, "X A"},
		{outbound.Request{Header: http.Header{"": {"b"}}}, tool.Invalid, "name"},
		{outbound.Request{Header: many}, tool.TooLarge, "64"},
		{outbound.Request{Header: http.Header{"X-A": {strings.Repeat("x", 17<<10)}}}, tool.TooLarge, "bytes"},
	}
	for _, name := range strings.Fields("Authorization authorization Cookie cookie Cookie2 Host Content-Length Connection Keep-Alive TE Trailer Transfer-Encoding Upgrade HTTP2-Settings Expect " +
		"Proxy-Authorization Proxy-Connection proxy-x X-Forwarded-For X-Forwarded-Host x_forwarded_for X-Forwarded Forwarded Via X-Real-IP X-HTTP-Method-Override X-Original-URL Set-Cookie") {
		tests = append(tests, struct {
			r    outbound.Request
			kind tool.Kind
			says string
		}{outbound.Request{Header: http.Header{name: {"x"}}}, tool.Refused, name})
	}
	for _, test := range tests {
		if test.r.URL == "" {
			test.r.URL = "http://www.example.org/"
		}
		_, _, err := get(t.Context(), c, test.r)
		if kind(err) != test.kind || !strings.Contains(err.Error(), test.says) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%.200v: %v; want %s, %q", test.r, err, test.kind, test.says)
		}
	}
	if reached.Load() > 0 || len(n.Lookups()) > 0 {
		t.Errorf("%d requests were sent, and %q looked up", reached.Load(), n.Lookups())
	}
}

func TestConnectionsAreKept(t *testing.T) {
	c, n := web(t, egress.ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "x")
	}, "www.example.org")
	for range 5 {
		if _, _, err := get(t.Context(), c, outbound.Request{URL: "https://www.example.org/"}); err != nil {
			t.Fatal(err)
		}
	}
	if got := n.Dialed(); len(got) != 1 {
		t.Errorf("connections: %q", got)
	}
	c.Renew()
	if _, _, err := get(t.Context(), c, outbound.Request{URL: "https://www.example.org/"}); err != nil ||
		len(n.Dialed()) != 2 {
		t.Errorf("after other rules: %q, %v", n.Dialed(), err)
	}
}

func TestHTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/head" {
			for i := range 70 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1000))
			}
		}
		_, _ = io.WriteString(w, r.Proto)
	}))
	silent := log.New(io.Discard, "", 0)
	server.EnableHTTP2, server.Config.ErrorLog = true, silent
	server.StartTLS()
	defer server.Close()
	n := egresstest.New(t, map[string]*httptest.Server{"example.com": server})
	c := newClientConn(t, egress.ClientOptions{Resolver: n, Proxy: n.ProxyURL, Roots: n.Roots})
	if _, text, err := get(t.Context(), c, outbound.Request{URL: "https://example.com/"}); err != nil ||
		text != "HTTP/2.0" {
		t.Errorf("%q, %v", text, err)
	}
	if _, _, err := get(t.Context(), c, outbound.Request{URL: "https://example.com/head"}); kind(err) != tool.TooLarge {
		t.Errorf("an endless head: %v", err)
	}
	n.Add("other.example.org", server)
	if _, _,
		err := get(t.Context(), c,
		outbound.Request{URL: "https://other.example.org/"}); kind(err) != tool.Unavailable ||
		!strings.Contains(err.Error(), "for another host") {
		t.Errorf("a certificate of another host: %v", err)
	}
	plain := newClientConn(t, egress.ClientOptions{Resolver: n, Proxy: n.ProxyURL})
	if _, _,
		err := get(t.Context(), plain, outbound.Request{URL: "https://example.com/"}); kind(err) != tool.Unavailable ||
		!strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("an untrusted certificate: %v", err)
	}
	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	old.Config.ErrorLog = silent
	old.StartTLS()
	defer old.Close()
	n.Add("www.example.com", old)
	if _, _,
		err := get(t.Context(), c, outbound.Request{URL: "https://www.example.com/"}); kind(err) != tool.Unavailable ||
		!strings.Contains(err.Error(), "secure") {
		t.Errorf("TLS 1.1: %v", err)
	}
}

// TestProfiles checks that a profile does not use the connections of another one.
func TestProfiles(t *testing.T) {
	allowed := "www.example.org"
	rules := func(profile string) (egress.Rules, error) {
		switch profile {
		case "broken":
			return egress.Rules{}, errors.New("the path of a file")
		case "some":
			return egress.Rules{Allow: []string{allowed}}, nil
		}
		return egress.Rules{}, nil
	}
	profile := func(ctx context.Context) string { return tool.CallerFrom(ctx).Agent }
	c, n := web(t, egress.ClientOptions{Rules: rules, Profile: profile},
		func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "x") }, "www.example.org",
		"b.example.org")
	as := func(profile, url string) error {
		ctx := tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: profile}})
		_, _, err := get(ctx, c, outbound.Request{URL: url})
		return err
	}
	for _, profile := range []string{"", "some", "other"} {
		if err := as(profile, "http://www.example.org/"); err != nil {
			t.Error(err)
		}
	}
	if got := n.Dialed(); len(got) != 2 {
		t.Errorf("connections %q; want one for each set of rules", got)
	}
	if err := errors.Join(as("", "http://b.example.org/"), as("other", "http://b.example.org/")); err != nil {
		t.Error(err)
	}
	if err := as("some", "http://b.example.org/"); kind(err) != tool.Refused {
		t.Error(err)
	}
	if err := as("broken", "http://b.example.org/"); kind(err) != tool.Internal ||
		strings.Contains(err.Error(), "path") {
		t.Error(err)
	}
	allowed = "b.example.org"
	c.Renew()
	if err := as("some", "http://www.example.org/"); kind(err) != tool.Refused {
		t.Errorf("after the rules have changed: %v", err)
	}
	if err := as("some", "http://b.example.org/"); err != nil {
		t.Error(err)
	}
}

// TestClose checks that Close ends running requests and leaves no connection open.
func TestClose(t *testing.T) {
	started := make(chan bool)
	c, _ := web(t, egress.ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			_, _ = io.WriteString(w, "begin")
			_ = http.NewResponseController(w).Flush()
		}
		started <- true
		<-r.Context().Done()
	}, "www.example.org")
	ended := make(chan error, 2)
	for _, path := range []string{"/head", "/body"} {
		go func() {
			_, _, err := get(context.Background(), c, outbound.Request{URL: "http://www.example.org" + path})
			ended <- err
		}()
		<-started
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-ended; kind(err) != tool.Unavailable || !strings.Contains(err.Error(), "stopping") {
			t.Error(err)
		}
	}
	if _, err := c.Do(t.Context(), outbound.Request{URL: "http://www.example.org/"}); kind(err) != tool.Unavailable {
		t.Error(err)
	}
}

func TestTimeouts(t *testing.T) {
	release := make(chan bool)
	defer close(release)
	silent := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			_, _ = io.WriteString(w, "begin")
			_ = http.NewResponseController(w).Flush()
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	c, _ := web(t, egress.ClientOptions{Limits: egress.Limits{Stall: 50 * time.Millisecond}}, silent, "www.example.org")
	_, err := c.Do(t.Context(), outbound.Request{URL: "http://www.example.org/head", Timeout: 50 * time.Millisecond})
	if kind(err) != tool.Timeout || !strings.Contains(err.Error(), "50ms") {
		t.Error(err)
	}
	_, text, err := get(t.Context(), c, outbound.Request{URL: "http://www.example.org/body"})
	if kind(err) != tool.Timeout || text != "begin" || !strings.Contains(err.Error(), "stopped sending") {
		t.Errorf("%q, %v", text, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	patient, _ := web(t, egress.ClientOptions{}, silent, "www.example.org")
	a, err := patient.Do(ctx, outbound.Request{URL: "http://www.example.org/body"})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(a.Body); kind(err) != tool.Cancelled {
		t.Error(err)
	}
	_ = a.Body.Close()
	slow, _ := web(t, egress.ClientOptions{Limits: egress.Limits{Head: 50 * time.Millisecond}},
		func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "slow.example.org")
	if _, err := slow.Do(t.Context(), outbound.Request{URL: "http://slow.example.org/"}); kind(err) != tool.Timeout {
		t.Error(err)
	}
}
