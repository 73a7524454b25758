package egress_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func deflated(text string, wrapped bool) string {
	var out bytes.Buffer
	var w io.WriteCloser = zlib.NewWriter(&out)
	if !wrapped {
		w, _ = flate.NewWriter(&out, flate.BestCompression)
	}
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return out.String()
}

func TestBodies(t *testing.T) {
	text := strings.Repeat("a page with words\n", 500)
	packed := zipped(text)
	noise := make([]byte, 100<<10)
	for i := range noise {
		noise[i] = byte(i * i >> 3)
	}
	answers := map[string]struct {
		encoding, body string
		want           string
		says           string
	}{
		"plain":            {"", text, text, ""},
		"identity":         {"identity", text, text, ""},
		"gzip":             {"gzip", packed, text, ""},
		"x-gzip":           {" X-GZIP ", packed, text, ""},
		"two members":      {"gzip", packed + packed, text + text, ""},
		"zlib":             {"deflate", deflated(text, true), text, ""},
		"deflate":          {"deflate", deflated(text, false), text, ""},
		"empty":            {"gzip", "", "", ""},
		"empty deflate":    {"deflate", "", "", ""},
		"nested":           {"gzip, gzip", zipped(packed), "", "2 times"},
		"brotli":           {"br", "xx", "", `"br"`},
		"not gzip":         {"gzip", text, "", "compressed body of"},
		"cut gzip":         {"gzip", packed[:len(packed)-20], "-", "compressed body of"},
		"broken sum":       {"gzip", packed[:len(packed)-8] + "12345678", text, "compressed body of"},
		"a thousand empty": {"gzip", strings.Repeat(zipped(""), 10000), "", "larger than the limit"},
		"trailing noise":   {"gzip", packed + string(noise), text, "compressed body of"},
	}
	c, _ := web(t, egress.ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		a := answers[r.URL.Query().Get("q")]
		if a.encoding != "" {
			w.Header().Set("Content-Encoding", a.encoding)
		}
		_, _ = io.WriteString(w, a.body)
	}, "www.example.org")
	for name, a := range answers {
		res, got, err := get(t.Context(), c, outbound.Request{URL: "http://www.example.org/?q=" + name,
			MaxBytes: 50 << 10})
		switch {
		case a.says == "" && err != nil, a.says != "" && (err == nil || !strings.Contains(err.Error(), a.says)):
			t.Errorf("%s: %v; want %q", name, err, a.says)
		case a.want != "-" && got != a.want:
			t.Errorf("%s: %.60q", name, got)
		case err == nil && a.encoding != "" && a.encoding != "identity" &&
			(res.Header.Get("Content-Encoding") != "" || res.Header.Get("Content-Length") != ""):
			t.Errorf("%s: %v", name, res.Header)
		}
		res, got, err = get(t.Context(), c, outbound.Request{URL: "http://www.example.org/?q=" + name, Raw: true})
		if err != nil || got != a.body || res.Header.Get("Content-Encoding") != strings.TrimSpace(a.encoding) {
			t.Errorf("%s, raw: %.60q, %v", name, got, err)
		}
	}
}

func TestTooLong(t *testing.T) {
	c, _ := web(t, egress.ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		out := io.Writer(w)
		if r.URL.Path == "/bomb" {
			w.Header().Set("Content-Encoding", "gzip")
			zip, _ := gzip.NewWriterLevel(w, gzip.BestCompression)
			defer zip.Close()
			out = zip
		}
		block := make([]byte, 64<<10)
		for r.Context().Err() == nil && r.URL.Path != "/exact" {
			if _, err := out.Write(block); err != nil {
				return
			}
		}
		_, _ = out.Write(block)
	}, "www.example.org")
	for path, test := range map[string]struct {
		most, got int64
		says      string
	}{
		"/endless": {1 << 20, 1 << 20, outbound.ErrTooLong.Error()}, "/exact": {64 << 10, 64 << 10, ""},
		"/bomb": {1 << 20, 1 << 20, outbound.ErrTooLong.Error()},
	} {
		_, text, err := get(t.Context(), c, outbound.Request{URL: "http://www.example.org" + path, MaxBytes: test.most})
		if int64(len(text)) != test.got || (test.says == "") != (err == nil) || test.says != "" &&
			!errors.Is(err, outbound.ErrTooLong) {
			t.Errorf("%s: %d bytes, %v", path, len(text), err)
		}
	}
	_, text, err := get(t.Context(), c, outbound.Request{URL: "http://www.example.org/bomb", MaxBytes: 1 << 40})
	if kind(err) != tool.TooLarge || len(text) > 8<<20 {
		t.Errorf("a bomb: %d bytes, %v", len(text), err)
	}
	_, text, err = get(t.Context(), c, outbound.Request{URL: "http://www.example.org/endless", MaxBytes: -1})
	if !errors.Is(err, outbound.ErrTooLong) || len(text) != 10<<20 {
		t.Errorf("no limit: %d bytes, %v", len(text), err)
	}
}

// wire returns a server that answers each connection with bytes, then closes it.
func wire(t *testing.T, n *egresstest.Net, name string, answer func(conn net.Conn)) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 4096))
				answer(conn)
				if half, ok := conn.(*net.TCPConn); ok && half.CloseWrite() == nil {
					_, _ = io.Copy(io.Discard, conn) // closing with unread bytes resets the connection
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	n.Add(name, &httptest.Server{Listener: l})
}

// TestInvalidResponses sends responses that no honest server sends.
func TestInvalidResponses(t *testing.T) {
	n := egresstest.New(t, nil)
	c := newClientConn(t, egress.ClientOptions{Resolver: n, Proxy: n.ProxyURL,
		Limits: egress.Limits{Head: 20 * time.Second}})
	tests := []struct {
		answer string
		kind   tool.Kind
		got    string
	}{
		{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345", tool.Unavailable, "12345"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12345678", "", "12345"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n", tool.Unavailable, "12345"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", tool.Unavailable, ""},
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n123456", tool.Unavailable, ""},
		{"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n123456", tool.Unavailable, ""},
		{"HTTP/1.1 200 OK\r\n\r\nto the end", "", "to the end"},
		{"HTTP/1.0 200\r\n\r\nold", "", "old"},
		{"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 100\r\n\r\n" + zipped("hello"), tool.Unavailable,
			"hello"},
		{"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", tool.Unavailable, ""},
		{"SSH-2.0-OpenSSH_9\r\n", tool.Unavailable, ""},
		{"", tool.Unavailable, ""},
		{"HTTP/1.1 200 OK\r\nX-A", tool.Unavailable, ""},
		{"HTTP/1.1 200 OK\r\n X: b\r\n\r\n", tool.Unavailable, ""},
		{"HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: "+strings.Repeat("x", 1000)+"\r\n", 200) + "\r\n", tool.TooLarge,
			""},
		{"HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("x", 200<<10), tool.TooLarge, ""},
		{strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 20000), "head", ""},
		{"HTTP/1.1 302 Found\r\nLocation: /\x01\r\nContent-Length: 0\r\n\r\n", "redirect", ""},
	}
	for i, test := range tests {
		name := fmt.Sprintf("w%d.example.org", i)
		wire(t, n, name, func(conn net.Conn) { _, _ = io.WriteString(conn, test.answer) })
		_, got, err := get(t.Context(), c, outbound.Request{URL: "http://" + name + "/", Redirects: 3})
		ok := kind(err) == test.kind
		switch test.kind {
		case "head":
			ok = kind(err) == tool.TooLarge || kind(err) == tool.Unavailable
		case "redirect":
			ok = kind(err) == tool.Invalid || kind(err) == tool.Unavailable
		}
		if !ok || got != test.got {
			t.Errorf("%.60q: %q, %v; want %q, %s", test.answer, got, err, test.got, test.kind)
		}
		if err != nil && (strings.Contains(err.Error(), "127.0.0.1") || strings.Contains(err.Error(), "net/http") ||
			strings.Contains(err.Error(), "93.184")) {
			t.Errorf("%.60q: %v", test.answer, err)
		}
	}
}

// TestSlowBody sends a byte at a time, without end.
func TestSlowBody(t *testing.T) {
	c, _ := web(t, egress.ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_, _ = io.WriteString(w, "x")
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}, "slow.example.org")
	if _, _, err := get(t.Context(), c, outbound.Request{URL: "http://slow.example.org/",
		Timeout: 200 * time.Millisecond}); kind(err) != tool.Timeout {
		t.Error(err)
	}
}

// TestNoGoroutinesOrConnectionsRemain checks that no goroutines and connections remain after responses that
// were read, dropped, or never closed.
func TestNoGoroutinesOrConnectionsRemain(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("requests", func(t *testing.T) {
		c, _ := web(t, egress.ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(make([]byte, 200<<10))
		}, "www.example.org")
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() {
				a, err := c.Do(t.Context(), outbound.Request{URL: fmt.Sprint("https://www.example.org/", i),
					Polite: i%2 == 0})
				if err != nil {
					t.Error(err)
					return
				}
				switch i % 3 {
				case 0:
					_, err = io.Copy(io.Discard, a.Body)
				case 1:
					_, err = a.Body.Read(make([]byte, 10))
				}
				if err := errors.Join(err, a.Body.Close()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		// its body is not closed
		if _, err := c.Do(t.Context(), outbound.Request{URL: "https://www.example.org/left"}); err != nil {
			t.Error(err)
		}
	})
	deadline := time.Now().Add(3 * time.Minute)
	for runtime.NumGoroutine() > before+2 {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
		runtime.Gosched()
	}
}
