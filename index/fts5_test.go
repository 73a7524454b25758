package index

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"modernc.org/sqlite"
)

// BenchmarkAgainstFTS5 sends the same queries over the same chunks to the index
// and to SQLite's FTS5 (Porter stemmer, its own bm25), alternating: from one caller, and
// from 32 at once.
func BenchmarkAgainstFTS5(b *testing.B) {
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) { againstFTS5(b, callers) })
	}
}

func againstFTS5(b *testing.B, callers int) {
	const n = 16_000
	x := fill(b, b.TempDir(), n)
	defer x.Close()
	db := fillFTS5(b, n)
	z := newZipf(4)
	var ours, theirs []time.Duration
	for b.Loop() {
		text := z.text(3)
		ours = append(ours, together(callers, func() {
			if _, err := x.Search(b.Context(), Query{Text: text, Scopes: []string{"owner"}}); err != nil {
				b.Error(err)
			}
		}))
		theirs = append(theirs, together(callers, func() { searchFTS5(b, db, strings.Join(strings.Fields(text), " OR ")) }))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	at := len(ours) / 2
	b.ReportMetric(float64(ours[at].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(theirs[at].Microseconds())/1000, "fts5-p50-ms")
	b.ReportMetric(float64(theirs[at])/float64(ours[at]), "times-as-fast")
}

// together returns how long n callers take that do the same at once.
func together(n int, do func()) time.Duration {
	start := time.Now()
	var all sync.WaitGroup
	for range n {
		all.Go(do)
	}
	all.Wait()
	return time.Since(start)
}

func fillFTS5(b *testing.B, n int) *sql.DB {
	b.Helper()
	var _ *sqlite.Driver // which is registered as sqlite
	db, err := sql.Open("sqlite", filepath.Join(b.TempDir(), "fts5.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	if _, err := db.Exec(`CREATE VIRTUAL TABLE chunk USING fts5(id UNINDEXED, body, tokenize = 'porter')`); err != nil {
		b.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		b.Fatal(err)
	}
	z := newZipf(1)
	for i := range n {
		d := z.document(i)
		if _, err := tx.Exec(`INSERT INTO chunk VALUES (?, ?)`, d.ID, d.Body); err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	return db
}

func searchFTS5(b *testing.B, db *sql.DB, match string) {
	b.Helper()
	rows, err := db.Query(`SELECT id, bm25(chunk) FROM chunk WHERE chunk MATCH ? ORDER BY bm25(chunk) LIMIT 10`, match)
	if err != nil {
		b.Error(err)
		return
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var score float64
		if err := rows.Scan(&id, &score); err != nil {
			b.Error(err)
		}
	}
	if err := rows.Err(); err != nil {
		b.Error(err)
	}
}
