package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// twice writes two rows with the same mark in one transaction.
func twice(ctx context.Context, s *store.Store, mark string) error {
	return s.Update(ctx, func(tx *store.Tx) error {
		rows := [][]any{{mark + "/a", 1}, {mark + "/b", 1}}
		return errors.Join(tx.Insert("rate (key, tat)", rows), tx.Changed("pair", mark))
	})
}

// TestBackupIsASnapshot makes backups while other processes write pairs of rows.
func TestBackupIsASnapshot(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var written atomic.Int64
		var pause sync.RWMutex // while a backup is looked at
		for w := range 4 {
			all.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					pause.RLock()
					err := twice(t.Context(), s, fmt.Sprintf("%d-%d", w, i))
					pause.RUnlock()
					if err != nil {
						t.Error(err)
						return
					}
					written.Add(1)
				}
			})
		}
		defer func() { stop(); all.Wait() }()
		file := filepath.Join(t.TempDir(), "a.zip")
		copied := storetest.Open(t, t.TempDir())
		for round := range 3 {
			for i := range 30 {
				if err := twice(t.Context(), s, fmt.Sprintf("main-%d-%d", round, i)); err != nil {
					t.Fatal(err)
				}
				written.Add(1)
			}
			least := written.Load()
			backup(t, s, file)
			pause.Lock()
			_, err := copied.Restore(t.Context(), file, true)
			pause.Unlock()
			if err != nil {
				t.Fatal(err)
			}
			var pairs, odd int64
			err = copied.View(t.Context(), func(tx *store.Tx) error {
				return tx.Row("SELECT count(*), coalesce(sum(n <> 2), 0) FROM (SELECT count(*) AS n FROM rate "+
					"GROUP BY replace(replace(key, '/a', ''), '/b', ''))", nil, &pairs, &odd)
			})
			if err != nil || odd != 0 || pairs < least {
				t.Fatalf("of %d pairs that were written, the backup has %d, and %d that are none: %v", least, pairs,
					odd, err)
			}
		}
	})
}

func TestBackupKeepsOtherFiles(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	dir := t.TempDir()
	letter := filepath.Join(dir, "letter.txt")
	if err := os.WriteFile(letter, []byte("dear"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{letter, dir, filepath.Join(dir, "gone", "a.zip")} {
		if _, err := s.Backup(t.Context(), path); err == nil {
			t.Errorf("a backup took the place of %s", path)
		}
	}
	if text, err := os.ReadFile(letter); err != nil || string(text) != "dear" {
		t.Errorf("the letter says %q, %v", text, err)
	}
	file := filepath.Join(dir, "a.zip")
	backup(t, s, file)
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the backup: %v, %v", info.Mode(), err)
	}
	// Backup removes the file of a crash, but not one that is being written.
	old, young := filepath.Join(dir, ".a.zip.1.part"), filepath.Join(dir, ".a.zip.2.part")
	for _, path := range []string{old, young} {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(old, before, before); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Backup(ctx, file); !errors.Is(err, context.Canceled) {
		t.Errorf("a backup that was called off: %v", err)
	}
	backup(t, s, file)
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) != 1 || left[0] != young {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestStatus(t *testing.T) {
	if !store.Missing(t.TempDir()) || store.Missing("postgres://nobody@127.0.0.1:1/x") {
		t.Error("what is missing is there, or the other way round")
	}
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		if err := errors.Join(twice(t.Context(), s, "a"), s.Update(t.Context(), func(tx *store.Tx) error {
			return tx.Changed("pair", "b")
		})); err != nil {
			t.Fatal(err)
		}
		st, err := s.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rows := map[string]int64{}
		for _, table := range st.Tables {
			rows[table.Name] = table.Rows
		}
		if rows["rate"] != 2 || rows["change"] != 2 || st.Bytes == 0 || st.Step < 4 ||
			st.Location != s.Location() {
			t.Errorf("the status is %+v", st)
		}
		if st.Feed.First == st.Feed.Last || st.Feed.Oldest == 0 {
			t.Errorf("the feed is %+v", st.Feed)
		}
		if lite := s.Engine() == "sqlite"; lite != (st.WAL != nil) || lite == (st.Others != nil) || lite &&
			*st.WAL == 0 {
			t.Errorf("the status of %s is %+v", s.Engine(), st)
		}
	})
}

// TestStatusCountsConnections expects the number of other connections, without a
// password.
func TestStatusCountsConnections(t *testing.T) {
	dsn := strings.Replace(storetest.Database(t), "postgres@", "postgres:opensesame@", 1)
	s := storetest.Open(t, dsn)
	before, err := s.Status(t.Context())
	if err != nil || *before.Others != 0 {
		t.Fatalf("alone: %+v, %v", before, err)
	}
	storetest.Open(t, dsn)
	after, err := s.Status(t.Context())
	if err != nil || *after.Others == 0 || strings.Contains(after.Location, "opensesame") {
		t.Errorf("with another: %+v, %v", after, err)
	}
}
