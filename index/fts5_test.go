package index

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"modernc.org/sqlite"
)

// BenchmarkAgainstFTS5 sends the same queries over the same chunks to the index
// and to SQLite's FTS5 (Porter stemmer, its own bm25), alternating.
func BenchmarkAgainstFTS5(b *testing.B) {
	const n = 20_000
	x := fill(b, b.TempDir(), n)
	defer x.Close()
	db := fillFTS5(b, n)
	z := newZipf(4)
	var ours, theirs []time.Duration
	for b.Loop() {
		text := z.text(3)
		start := time.Now()
		if _, err := x.Search(b.Context(), Query{Text: text, Scopes: []string{"owner"}}); err != nil {
			b.Fatal(err)
		}
		ours = append(ours, time.Since(start))
		start = time.Now()
		searchFTS5(b, db, strings.Join(strings.Fields(text), " OR "))
		theirs = append(theirs, time.Since(start))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	at := len(ours) / 2
	b.ReportMetric(float64(ours[at].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(theirs[at].Microseconds())/1000, "fts5-p50-ms")
	b.ReportMetric(float64(theirs[at])/float64(ours[at]), "times-as-fast")
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
		b.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var score float64
		if err := rows.Scan(&id, &score); err != nil {
			b.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
}
