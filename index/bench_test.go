package index

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"
)

// fill indexes n synthetic chunks of about 150 words.
func fill(tb testing.TB, dir string, n int) *Index {
	tb.Helper()
	x, err := Open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	z := newZipf(1)
	for from := 0; from < n; from += 1000 {
		b := Batch{Cursor: strconv.Itoa(from + 1000)}
		for i := from; i < min(from+1000, n); i++ {
			b.Put = append(b.Put, z.document(i))
		}
		if err := x.Apply(tb.Context(), b); err != nil {
			tb.Fatal(err)
		}
	}
	return x
}

// chunks returns how many chunks the benchmarks search.
func chunks(tb testing.TB) int {
	if text := os.Getenv("INDEX_CHUNKS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			tb.Fatal(err)
		}
		return n
	}
	return 20_000
}

func BenchmarkIndexing(b *testing.B) {
	z := newZipf(1)
	documents := make([]Document, 20_000)
	for i := range documents {
		documents[i] = z.document(i)
	}
	for b.Loop() {
		x, err := Open(b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		for part := range slices.Chunk(documents, 1000) {
			if err := x.Apply(b.Context(), Batch{Put: part, Cursor: "x"}); err != nil {
				b.Fatal(err)
			}
		}
		x.Close()
	}
	b.ReportMetric(float64(b.N*len(documents))/b.Elapsed().Seconds(), "chunks/s")
}

func BenchmarkSearch(b *testing.B) {
	n := chunks(b)
	dir := b.TempDir()
	start := time.Now()
	fill(b, dir, n).Close()
	b.Logf("indexed %d in %s: %.0f/s", n, time.Since(start), float64(n)/time.Since(start).Seconds())
	start = time.Now()
	x, err := Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	opened := time.Since(start)
	z := newZipf(9)
	if _, err := x.Search(b.Context(), Query{Text: z.text(3), Scopes: []string{"owner"}}); err != nil {
		b.Fatal(err)
	}
	b.Logf("opened in %s, first search after %s", opened, time.Since(start))
	z = newZipf(2)
	for _, words := range []int{1, 3, 6} {
		b.Run(strconv.Itoa(words)+"words", func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				q := Query{Text: z.text(words), Scopes: []string{"owner"}}
				start := time.Now()
				if _, err := x.Search(b.Context(), q); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
		})
	}
	view, err := x.view()
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("segments: %d", len(view.Segments()))
	view.Close()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.Logf("heap %d MB, from the system %d MB; resident %s", m.HeapAlloc>>20, m.Sys>>20, resident())
}

func resident() string {
	status, _ := os.ReadFile("/proc/self/status")
	out := ""
	for line := range bytesLines(status) {
		if len(line) > 3 && (line[:3] == "VmR" || line[:3] == "VmH" || line[:3] == "Rss") {
			out += line + "; "
		}
	}
	return out
}

func bytesLines(text []byte) func(func(string) bool) {
	return func(yield func(string) bool) {
		start := 0
		for i, c := range text {
			if c == '\n' {
				if !yield(string(text[start:i])) {
					return
				}
				start = i + 1
			}
		}
	}
}
