package store_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// An unpacked backup.
type unpacked map[string][]byte

func unpack(t testing.TB, file string) unpacked {
	t.Helper()
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	all := unpacked{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if all[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func (u unpacked) pack(t testing.TB) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range u {
		w, err := z.Create(strings.TrimSuffix(name, " twice"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "packed.zip")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// edit changes the manifest.
func (u unpacked) edit(t testing.TB, change func(m *store.Manifest)) {
	t.Helper()
	var m store.Manifest
	if err := json.Unmarshal(u["manifest.json"], &m); err != nil {
		t.Fatal(err)
	}
	change(&m)
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	u["manifest.json"] = text
}

// set replaces the rows of a table, with their digest.
func (u unpacked) set(t testing.TB, table, lines string) {
	u[table+".jsonl"] = []byte(lines)
	u.edit(t, func(m *store.Manifest) {
		for i := range m.Tables {
			if m.Tables[i].Name == table {
				m.Tables[i].Rows = int64(strings.Count(lines, "\n"))
				m.Tables[i].SHA256 = fmt.Sprintf("%x", sha256.Sum256([]byte(lines)))
			}
		}
	})
}

// within is a place in the middle of what a file of a backup holds: not every bit
// around it means something.
func within(t testing.TB, backup, name string) int64 {
	t.Helper()
	z, err := zip.OpenReader(backup)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		if f.Name == name {
			from, err := f.DataOffset()
			if err != nil {
				t.Fatal(err)
			}
			return from + int64(f.CompressedSize64)/2
		}
	}
	t.Fatalf("%s is not in %s", name, backup)
	return 0
}

// TestRestoreOfInvalidFiles tries files that are damaged, or made by
// an attacker, on a store that has rows.
func TestRestoreOfInvalidFiles(t *testing.T) {
	from := storetest.Open(t, t.TempDir())
	(&filler{Rand: rand.New(rand.NewPCG(1, 2))}).fill(t, from, 20)
	good := filepath.Join(t.TempDir(), "good.zip")
	backup(t, from, good)
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	spoilt := func(change func(b []byte) []byte) string {
		file := filepath.Join(t.TempDir(), "spoilt.zip")
		if err := os.WriteFile(file, change(bytes.Clone(whole)), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	edited := func(change func(u unpacked)) string {
		u := unpack(t, good)
		change(u)
		return u.pack(t)
	}
	manifest := func(change func(m *store.Manifest)) string {
		return edited(func(u unpacked) { u.edit(t, change) })
	}
	bad := map[string]string{
		"no file":     filepath.Join(t.TempDir(), "gone.zip"),
		"a directory": t.TempDir(),
		"empty":       spoilt(func([]byte) []byte { return nil }),
		"cut":         spoilt(func(b []byte) []byte { return b[:len(b)/2] }),
		"a bit":       spoilt(func(b []byte) []byte { b[within(t, good, "memory.jsonl")] ^= 4; return b }),
		"no manifest": edited(func(u unpacked) { delete(u, "manifest.json") }),
		"a word":      edited(func(u unpacked) { u["manifest.json"] = []byte("manifest") }),
		"a huge manifest": edited(func(u unpacked) {
			u["manifest.json"] = append(u["manifest.json"],
				bytes.Repeat([]byte(" "), 5<<20)...)
		}),
		"a table twice": edited(func(u unpacked) { u["rate.jsonl twice"] = u["rate.jsonl"] }),
		"a table less":  edited(func(u unpacked) { delete(u, "rate.jsonl") }),
		"a row less": edited(func(u unpacked) {
			_, u["rate.jsonl"], _ = bytes.Cut(u["rate.jsonl"], []byte("\n"))
		}),
		"half a row":             edited(func(u unpacked) { u["rate.jsonl"] = u["rate.jsonl"][:len(u["rate.jsonl"])-1] }),
		"a row that is no row":   edited(func(u unpacked) { u.set(t, "rate", "[\"a\"]\n") }),
		"a number that is none":  edited(func(u unpacked) { u.set(t, "rate", "[\"a\",\"b\"]\n") }),
		"the same row twice":     edited(func(u unpacked) { u.set(t, "rate", "[\"a\",1]\n[\"a\",1]\n") }),
		"rows out of order":      edited(func(u unpacked) { u.set(t, "rate", "[\"b\",1]\n[\"a\",1]\n") }),
		"a row in other words":   edited(func(u unpacked) { u.set(t, "rate", "[\"a\", 1]\n") }),
		"a reference to nothing": edited(func(u unpacked) { u.set(t, "entity", "") }),
		"format 2":               manifest(func(m *store.Manifest) { m.Format = 2 }),
		"step 0":                 manifest(func(m *store.Manifest) { m.Step = 0 }),
		"step 1":                 manifest(func(m *store.Manifest) { m.Step = 1 }),
		"a step to come":         manifest(func(m *store.Manifest) { m.Step = 1000 }),
		"no table":               manifest(func(m *store.Manifest) { m.Tables = nil }),
		"a table of ours":        manifest(func(m *store.Manifest) { m.Tables[0].Name = "migration" }),
		"no digest":              manifest(func(m *store.Manifest) { m.Tables[0].SHA256 = "" }),
		"other columns":          manifest(func(m *store.Manifest) { m.Tables[0].Columns = m.Tables[0].Columns[1:] }),
		"another key":            manifest(func(m *store.Manifest) { m.Tables[0].Key = nil }),
	}
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		if err := twice(t.Context(), s, "mine"); err != nil {
			t.Fatal(err)
		}
		mine := backup(t, s, filepath.Join(t.TempDir(), "mine.zip"))
		place, _, _, err := s.Follow(t.Context(), "", 100, []string{"pair"}, func(string, string) {})
		if err != nil {
			t.Fatal(err)
		}
		for name, file := range bad {
			if _, err := s.Restore(t.Context(), file, true); err == nil {
				t.Errorf("%s was restored", name)
			}
			same(t, mine, s)
		}
		if _, err := s.Restore(t.Context(), good, false); err == nil || !strings.Contains(err.Error(), "not empty") {
			t.Errorf("what was there was replaced unasked: %v", err)
		}
		same(t, mine, s)
		if _, lost, _, err := s.Follow(t.Context(), place, 100, []string{"pair"}, func(string, string) {}); lost ||
			err != nil {
			t.Errorf("who follows the feed is lost, though nothing happened: %v", err)
		}
		m, err := s.Restore(t.Context(), good, true)
		if err != nil {
			t.Fatal(err)
		}
		same(t, m, s)
	})
}

// jobColumns returns the columns of a table that the first migration made, and a
// later one removed.
func jobColumns() (list []store.Column) {
	for _, c := range []string{"id text", "kind text", "dedupe text", "payload text", "state text", "run_at int",
		"attempt int", "attempts int", "holder text", "cancel bool", "result text", "error text", "created int",
		"ended int"} {
		name, kind, _ := strings.Cut(c, " ")
		list = append(list, store.Column{Name: name, Kind: store.Kind(kind)})
	}
	return list
}

// TestRestoreOfEarlierVersion restores a backup that was made before there were other
// tables than the first ones.
func TestRestoreOfEarlierVersion(t *testing.T) {
	from := storetest.Open(t, t.TempDir())
	if err := twice(t.Context(), from, "early"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "new.zip")
	now := backup(t, from, file)
	u := unpack(t, file)
	u.edit(t, func(m *store.Manifest) {
		m.Step = 1
		var first []store.Table
		for _, table := range m.Tables {
			if table.Name == "rate" {
				first = append(first, table)
			}
		}
		m.Tables = append(first, store.Table{Name: "job", Columns: jobColumns(), Key: []string{"id"}, Rows: 0,
			SHA256: fmt.Sprintf("%x", sha256.Sum256(nil))})
	})
	u["job.jsonl"] = nil
	early := u.pack(t)
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for range 2 { // cost an empty store, and over a full one
			m, err := s.Restore(t.Context(), early, true)
			if err != nil || m.Step != 1 || len(m.Tables) != 2 {
				t.Fatal(m, err)
			}
			same(t, now, s)
			if st, err := s.Status(t.Context()); err != nil || st.Step != now.Step {
				t.Errorf("the store is at step %d, %v", st.Step, err)
			}
			if err := twice(t.Context(), s, "late"); err != nil {
				t.Fatal(err)
			}
		}
	})
}
