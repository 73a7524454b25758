package contextfiles_test

import (
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/memory/contextfiles"
)

// BenchmarkCombined hands out six documents of usual size.
func BenchmarkCombined(b *testing.B) {
	files := contextfiles.New(memory.NewRows(storetest.Open(b, b.TempDir()), memory.Limits{}), nil)
	for _, name := range contextfiles.Names() {
		set(b, files, "open", "", name, strings.Repeat("You are a heron.\n", 100))
		set(b, files, "open", "ada", name, strings.Repeat("You are a crane.\n", 100))
	}
	ctx := as(b, "open", "ada")
	for b.Loop() {
		if _, err := files.Combined(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkServes is asked of every file that a search goes through.
func BenchmarkServes(b *testing.B) {
	files := contextfiles.New(nil, nil)
	ctx := as(b, "open", "ada")
	b.ReportAllocs()
	for b.Loop() {
		files.Serves(ctx, "internal/briefing/contextfiles.go")
	}
}
