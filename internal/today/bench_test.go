package today

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
)

// BenchmarkDay reads a day with 10,000 calls of 20 sessions: at first, and again when a call was added.
func BenchmarkDay(b *testing.B) {
	const calls = 10_000
	dir := b.TempDir()
	db := audit.NewDB(storetest.Open(b, dir))
	log, err := audit.Open(audit.Options{DB: db, Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	tools := []string{"read_file", "read_file", "search", "edit", "exec", "exec", "web_fetch", "write_file", "read_file", "memory_search"}
	for i := range calls {
		record := audit.Record{Phase: audit.Done, Call: fmt.Sprint("CALL", i), Tool: tools[i%len(tools)],
			About: fmt.Sprintf("dir/file%d.go", i%300), Outcome: "ok", User: "ann", Session: fmt.Sprint("s", i*20/calls)}
		if err := log.Append(b.Context(), record); err != nil {
			b.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		b.Fatal(err)
	}
	books := history.New(filepath.Join(dir, "files"), history.Limits{}, slog.New(slog.DiscardHandler))
	q := Query{Day: time.Now()}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			day, err := (&Reader{Log: db, History: books}).Day(b.Context(), q)
			if err != nil || day.Calls < calls/2 { // it may be midnight
				b.Fatal(day.Calls, err)
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		r := &Reader{Log: db, History: books}
		for b.Loop() {
			if _, err := r.Day(b.Context(), q); err != nil {
				b.Fatal(err)
			}
		}
	})
}
