package egresstest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/tools"
)

func TestClient(t *testing.T) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "hello "+r.Host+" "+r.Proto) })
	plain := httptest.NewServer(hello)
	defer plain.Close()
	secure := httptest.NewUnstartedServer(hello)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer secure.Close()
	c := Client(t, map[string]*httptest.Server{"docs.example.org": plain, "docs.example.org:8080": plain, "www.example.com": secure})
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
	for url, kind := range map[string]tools.Kind{plain.URL: tools.Refused, "http://other.example.org/": tools.NotFound, "http://docs.example.org:81/": tools.Unavailable, "http://93.184.216.200/": tools.Unavailable} {
		if _, err := c.Do(t.Context(), outbound.Request{URL: url}); err == nil || tools.AsError(err).Kind != kind {
			t.Errorf("%s: %v", url, err)
		}
	}
}
