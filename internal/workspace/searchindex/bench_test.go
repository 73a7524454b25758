package searchindex

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

// benchTree returns the tree to index: GOROOT, or the directory in WARM_TREE.
func benchTree(b *testing.B) *world {
	b.Helper()
	dir := os.Getenv("WARM_TREE")
	if dir == "" {
		dir = needtest.GoRoot(b)
	}
	w := newWorld(b, dir)
	w.skip = nil
	return w
}

func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / 1e6
}

// BenchmarkBuild builds an index, and then loads it from disk.
func BenchmarkBuild(b *testing.B) {
	w := benchTree(b)
	for b.Loop() {
		w.do(os.RemoveAll(w.store))
		before := heap()
		w.start()
		names, err := filepath.Glob(filepath.Join(w.store, "*"))
		w.do(err)
		info, err := os.Stat(names[0])
		w.do(err)
		b.ReportMetric(float64(info.Size())/1e6, "disk-MB")
		b.ReportMetric(heap()-before, "heap-MB")
		w.do(w.x.Close())
		begun := time.Now()
		w.start()
		b.ReportMetric(float64(time.Since(begun).Milliseconds()), "reload-ms")
		b.ReportMetric(float64(w.known()), "files")
		w.do(w.x.Close())
	}
}

func BenchmarkFiles(b *testing.B) {
	w := benchTree(b)
	w.start()
	for b.Loop() {
		if _, ok := w.x.Files(b.Context(), "."); !ok {
			b.Fatal("no answer")
		}
	}
}
