package egresstest

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestProxy checks that the proxy leads into the internet, with the pinned key.
func TestProxy(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_,
			_ = io.WriteString(w, "hello "+r.Host)
	}))
	defer plain.Close()
	n := New(t, map[string]*httptest.Server{"docs.example.org": plain})
	asked := make(chan string, 2)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := n.Proxy(t, func(to string) { asked <- to }, nil).Serve(ctx, l); err != nil {
			t.Error(err)
		}
	})
	transport := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: l.Addr().String()}),
		TLSClientConfig: &tls.Config{RootCAs: n.Roots}}
	res, err := (&http.Client{Transport: transport}).Get("https://docs.example.org/")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if string(text) != "hello docs.example.org" || err != nil || res.Body.Close() != nil {
		t.Errorf("%q, %v", text, err)
	}
	sum := sha256.Sum256(res.TLS.PeerCertificates[0].RawSubjectPublicKeyInfo)
	if pin := base64.StdEncoding.EncodeToString(sum[:]); pin != n.KeyPin() {
		t.Errorf("the key is %s, the pin %s", pin, n.KeyPin())
	}
	transport.CloseIdleConnections()
	cancel()
	serving.Wait()
	if to := <-asked; to != "docs.example.org:443" {
		t.Errorf("it was asked for %q", to)
	}
}

func TestClient(t *testing.T) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_,
			_ = io.WriteString(w, "hello "+r.Host+" "+r.Proto)
	})
	plain := httptest.NewServer(hello)
	defer plain.Close()
	secure := httptest.NewUnstartedServer(hello)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer secure.Close()
	c := Client(t, map[string]*httptest.Server{"docs.example.org": plain, "docs.example.org:8080": plain,
		"www.example.com": secure})
	for url, want := range map[string]string{
		"http://docs.example.org/":      "hello docs.example.org HTTP/1.1",
		"https://docs.example.org/":     "hello docs.example.org HTTP/1.1",
		"http://docs.example.org:8080/": "hello docs.example.org:8080 HTTP/1.1",
		"https://www.example.com/":      "hello www.example.com HTTP/2.0",
	} {
		a, err := c.Do(t.Context(), outbound.Request{URL: url})
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		text, err := io.ReadAll(a.Body)
		if string(text) != want || err != nil || a.Body.Close() != nil {
			t.Errorf("%s: %q, %v", url, text, err)
		}
	}
	for url, kind := range map[string]tool.Kind{plain.URL: tool.Refused, "http://other.example.org/": tool.NotFound,
		"http://docs.example.org:81/": tool.Unavailable, "http://93.184.216.200/": tool.Unavailable} {
		if _, err := c.Do(t.Context(), outbound.Request{URL: url}); err == nil || tool.AsError(err).Kind != kind {
			t.Errorf("%s: %v", url, err)
		}
	}
}
