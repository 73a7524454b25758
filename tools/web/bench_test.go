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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/tools"
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

// forgetful is a cache that keeps nothing, so that every fetch is one.
type forgetful struct{}

func (forgetful) Get(string) (Kept, bool) { return Kept{}, false }
func (forgetful) Put(string, Kept)        {}

// BenchmarkFetch reports what web_fetch takes more than a bare GET of the same
// page from the same server.
func BenchmarkFetch(b *testing.B) {
	body := twoHundred(b)
	n := newNet(b, typed("text/html; charset=utf-8", body))
	n.Cache = forgetful{}
	tool := webFetch{newFetcher(n.Options)}
	ctx := caller(b, "ann")
	bare := httptest.NewServer(typed("text/html; charset=utf-8", body))
	defer bare.Close()
	var ours, theirs time.Duration
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		if _, err := tool.Do(ctx, fetchArgs{URL: "https://docs.example.com/", Format: "markdown", MaxChars: mostChars}); err != nil {
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

// BenchmarkFetchMany fetches with 64 callers at once, and reports how much
// memory that took more.
func BenchmarkFetchMany(b *testing.B) {
	n := newNet(b, typed("text/html; charset=utf-8", twoHundred(b)))
	n.Cache = forgetful{}
	tool := webFetch{newFetcher(n.Options)}
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	most := uint64(0)
	for b.Loop() {
		var all sync.WaitGroup
		for i := range 64 {
			all.Go(func() {
				ctx := tools.With(context.Background(), &tools.Running{Caller: tools.Caller{User: fmt.Sprint(i)}})
				if _, err := tool.Do(ctx, fetchArgs{URL: "https://docs.example.com/", Format: "markdown"}); err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
		runtime.ReadMemStats(&now)
		most = max(most, now.HeapSys-now.HeapReleased)
	}
	b.ReportMetric(float64(most-(before.HeapSys-before.HeapReleased))/(1<<20), "MB-more")
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/64, "ms/fetch")
}
