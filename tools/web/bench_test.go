package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// twoHundred is a page of 200 KB, made of what there is in testdata/pages.
func twoHundred(b testing.TB) string {
	b.Helper()
	var all strings.Builder
	all.WriteString(`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Large</title></head><body>`)
	for i := 0; all.Len() < 200<<10; i++ {
		name := []string{"news", "blog", "docs", "qa", "wiki", "changelog", "government"}[i%7]
		text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "pages", name+".html"))
		if err != nil {
			b.Fatal(err)
		}
		_, body, _ := strings.Cut(string(text), "<body")
		_, body, _ = strings.Cut(body, ">")
		body, _, _ = strings.Cut(body, "</body>")
		all.WriteString("<section>" + body + "</section>")
	}
	return all.String()
}

// BenchmarkFetch reports what web_fetch takes more than a bare GET of the same
// page from the same server.
func BenchmarkFetch(b *testing.B) {
	body := twoHundred(b)
	n := newNet(b, typed("text/html; charset=utf-8", body))
	n.Cache = nil
	one := webFetch{newFetcher(n.Options)}
	ctx := caller(b, "ann")
	bare := httptest.NewServer(typed("text/html; charset=utf-8", body))
	defer bare.Close()
	var ours, theirs time.Duration
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		if _, err := one.Do(ctx, fetchArgs{URL: "https://docs.example.com/", Format: "markdown", MaxChars: maxFetch}); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		res, err := http.Get(bare.URL)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			b.Fatal(err)
		}
		_ = res.Body.Close()
		ours += middle.Sub(began)
		theirs += time.Since(middle)
	}
	b.ReportMetric(float64((ours-theirs).Microseconds())/1000/float64(b.N), "ms-more-than-GET")
	b.ReportMetric(float64(len(body)), "page-bytes")
}

// BenchmarkFetchMany fetches with 64 callers at once from as many hosts, and reports how much
// memory that took more, and of how many calls there was no room for the page.
func BenchmarkFetchMany(b *testing.B) {
	usual := twoHundred(b)
	for _, c := range []struct{ name, body string }{
		{"200KB", usual},
		{"9MB", strings.Repeat(usual, 9<<20/len(usual))},
	} {
		b.Run(c.name, func(b *testing.B) { fetchMany(b, c.body) })
	}
}

func fetchMany(b *testing.B, body string) {
	n := newNet(b, nil)
	n.Cache = nil
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, body) // without a copy for each
	}))
	defer server.Close()
	hosts := map[string]*httptest.Server{}
	for i := range 64 {
		hosts[fmt.Sprintf("host%d.example.com", i)] = server
	}
	n.Client = egresstest.Client(b, hosts)
	one := webFetch{newFetcher(n.Options)}
	var before, now runtime.MemStats
	runtime.GC()
	debug.FreeOSMemory()
	runtime.ReadMemStats(&before)
	var busy atomic.Int64
	for b.Loop() {
		var all sync.WaitGroup
		for i := range 64 {
			all.Go(func() {
				ctx := tool.With(context.Background(), &tool.Running{Caller: tool.Caller{User: fmt.Sprint(i)}})
				_, err := one.Do(ctx, fetchArgs{URL: fmt.Sprintf("https://host%d.example.com/", i), Format: "markdown", MaxChars: defaultChars})
				if err != nil && tool.AsError(err).Kind == tool.Busy {
					busy.Add(1)
				} else if err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
	}
	runtime.ReadMemStats(&now) // what the system gave is taken back slowly
	b.ReportMetric(float64(now.Sys-before.Sys)/(1<<20), "MB-more")
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/64, "ms/fetch")
	b.ReportMetric(float64(busy.Load())/float64(b.N), "busy")
}
