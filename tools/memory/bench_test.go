package memory_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// BenchmarkStoreWithIndex stores documents of one owner from 32 goroutines, while the index follows.
func BenchmarkStoreWithIndex(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		dir := b.TempDir()
		benchmarkStore(b, dir, filepath.Join(dir, "search"))
	})
	b.Run("postgres", func(b *testing.B) { benchmarkStore(b, storetest.Database(b), b.TempDir()) })
}

func benchmarkStore(b *testing.B, dsn, dir string) {
	m, _ := open(b, dsn, dir)
	ctx := as(b, "a", "ada")
	if _, err := m.Search(ctx, memory.Query{Text: "heron"}); err != nil { // opens the index
		b.Fatal(err)
	}
	var n atomic.Int64
	b.SetParallelism(16)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			i := n.Add(1)
			text := fmt.Sprintf("Note %d says that the heron of lake %d was seen near village %d in year %d, with %d others.",
				i, i%7, i%31, i%101, i%13)
			if _, err := m.Store(ctx, memory.Write{Key: fmt.Sprint("n", i), Text: text}); err != nil {
				b.Error(err)
			}
		}
	})
}
