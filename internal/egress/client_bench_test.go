package egress

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

const pageSize = 200 << 10

// page returns a server with a page of 200 KB, and a client that may reach it.
func page(b *testing.B) (*httptest.Server, *Client) {
	text := make([]byte, pageSize)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(text)
	}))
	b.Cleanup(server.Close)
	return server, asker(b, ruled(Rules{AllowPrivate: []string{server.Listener.Addr().String()}}, nil))
}

func fetch(b *testing.B, c *Client, url string) {
	a, err := c.Do(b.Context(), outbound.Request{URL: url})
	if err != nil {
		b.Error(err)
		return
	}
	if n, err := io.Copy(io.Discard, a.Body); n != pageSize || err != nil {
		b.Error(n, err)
	}
	_ = a.Body.Close()
}

// BenchmarkDo fetches a page; BenchmarkBareGet fetches it with net/http.
func BenchmarkDo(b *testing.B) {
	server, c := page(b)
	b.ReportAllocs()
	for b.Loop() {
		fetch(b, c, server.URL)
	}
}

func BenchmarkBareGet(b *testing.B) {
	server, _ := page(b)
	b.ReportAllocs()
	for b.Loop() {
		res, err := server.Client().Get(server.URL)
		if err != nil {
			b.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, res.Body); n != pageSize || err != nil {
			b.Error(n, err)
		}
		_ = res.Body.Close()
	}
}
