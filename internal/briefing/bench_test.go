package briefing_test

import (
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/briefing"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// BenchmarkTogether hands out six documents of usual size.
func BenchmarkTogether(b *testing.B) {
	told := briefing.New(storetest.Open(b, b.TempDir()), nil)
	for _, name := range briefing.Names() {
		set(b, told, "open", "", name, strings.Repeat("You are a heron.\n", 100))
		set(b, told, "open", "ada", name, strings.Repeat("You are a crane.\n", 100))
	}
	ctx := as(b, "open", "ada")
	for b.Loop() {
		if _, err := told.Together(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkServes is asked of every file that a search goes through.
func BenchmarkServes(b *testing.B) {
	told := briefing.New(nil, nil)
	ctx := as(b, "open", "ada")
	b.ReportAllocs()
	for b.Loop() {
		told.Serves(ctx, "internal/briefing/briefing.go")
	}
}
