package store_test

import (
	"context"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// BenchmarkOpen measures the part of the start of a server.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		s, err := store.Open(context.Background(), store.Options{DSN: dir})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
