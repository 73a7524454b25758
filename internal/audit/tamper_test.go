package audit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func fixedTime() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC) }

// sample is a closed log of two chains; the first has three segments.
func sample(t testing.TB) (dir string, segments []string) {
	t.Helper()
	dir = t.TempDir()
	for _, size := range []int64{1000, 1 << 20} {
		l, err := Open(dir, Options{SegmentBytes: size})
		if err != nil {
			t.Fatal(err)
		}
		add(t, l, "a", "b", "c", "d", "e", "f", "g", "h")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	mustBeGreen(t, dir, 16)
	segments = files(t, dir)
	if len(segments) != 4 {
		t.Fatalf("segments %q", segments)
	}
	return dir, segments
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// names says whether a problem is named at a line of a file, or right after it,
// which may be in the next file.
func names(r Report, file string, line int) bool {
	return slices.ContainsFunc(r.Problems, func(p Problem) bool {
		return p.File == file && (p.Line == 0 || p.Line == line || p.Line == line+1) || p.File > file && p.Line == 1
	})
}

// damaged verifies the log with another text in the file, and puts it back.
func damaged(t testing.TB, dir, path string, text []byte) Report {
	t.Helper()
	whole := read(t, path)
	write(t, path, text)
	r := verify(t, dir)
	write(t, path, whole)
	return r
}

func TestAnyDamageToALineIsFound(t *testing.T) {
	dir, segments := sample(t)
	foreign, _ := newSealer(key{9}).seal(appendRow(nil, 3, fixedTime(), nil), 0, origin())
	harms := map[string]func(lines [][]byte, i int) [][]byte{
		"drop":      func(l [][]byte, i int) [][]byte { return slices.Delete(l, i, i+1) },
		"duplicate": func(l [][]byte, i int) [][]byte { return slices.Insert(l, i, l[i]) },
		"insert":    func(l [][]byte, i int) [][]byte { return slices.Insert(l, i, foreign) },
		"garbage":   func(l [][]byte, i int) [][]byte { return slices.Insert(l, i, []byte("hello\n")) },
		"swap": func(l [][]byte, i int) [][]byte {
			j := (i + 1) % len(l)
			l[i], l[j] = l[j], l[i]
			return l
		},
		"empty": func(l [][]byte, i int) [][]byte { l[i] = []byte("\n"); return l },
		"again at the end": func(l [][]byte, i int) [][]byte {
			return append(l, l[i])
		},
	}
	for _, path := range append(segments, filepath.Join(dir, "audit", headsName)) {
		for harm, apply := range harms {
			lines := slices.Collect(bytes.Lines(read(t, path)))
			for i := range lines {
				r := damaged(t, dir, path, bytes.Join(apply(slices.Clone(lines), i), nil))
				last := filepath.Base(path) == headsName && i == len(lines)-1
				if harm == "drop" && last {
					continue // the end of heads itself is what no chain can keep
				}
				at := i + 1
				if harm == "again at the end" {
					at = len(lines) + 1
				}
				if harm == "swap" && i == len(lines)-1 {
					at = 1
				}
				if r.OK() || !names(r, filepath.Base(path), at) {
					t.Errorf("%s line %d of %s: problems %v", harm, i+1, filepath.Base(path), r.Problems)
				}
			}
		}
	}
}

func TestAnyFlippedByteIsFound(t *testing.T) {
	dir, segments := sample(t)
	path := segments[1]
	whole := read(t, path)
	for i := range whole {
		text := bytes.Clone(whole)
		text[i] ^= 1
		line := 1 + bytes.Count(whole[:i], []byte("\n"))
		if r := damaged(t, dir, path, text); r.OK() || !names(r, filepath.Base(path), line) {
			t.Fatalf("byte %d %q in line %d: problems %v", i, whole[i], line, r.Problems)
		}
	}
}

func TestKindsOfDamage(t *testing.T) {
	dir, segments := sample(t)
	path := segments[3] // nine lines in one segment
	lines := slices.Collect(bytes.Lines(read(t, path)))
	other := slices.Collect(bytes.Lines(read(t, segments[0])))
	tests := []struct {
		name string
		edit func(l [][]byte) [][]byte
		want []Kind
		line int
	}{
		{"changed", func(l [][]byte) [][]byte {
			l[4] = bytes.Replace(l[4], []byte("datetime"), []byte("evil_one"), 1)
			return l
		}, []Kind{Changed}, 5},
		{"dropped", func(l [][]byte) [][]byte { return slices.Delete(l, 4, 6) }, []Kind{Missing}, 5},
		{"swapped", func(l [][]byte) [][]byte { l[4], l[5] = l[5], l[4]; return l }, []Kind{Missing, Reordered}, 5},
		{"duplicated", func(l [][]byte) [][]byte { return slices.Insert(l, 5, l[4]) }, []Kind{Duplicated}, 6},
		{"foreign", func(l [][]byte) [][]byte { return slices.Insert(l, 4, []byte("{}\n")) }, []Kind{Foreign}, 5},
		{"of another chain", func(l [][]byte) [][]byte { l[1] = other[1]; return l }, []Kind{Foreign}, 2},
		{"without header", func(l [][]byte) [][]byte { return l[1:] }, []Kind{BadHeader}, 1},
		{"header of another", func(l [][]byte) [][]byte { l[0] = other[0]; return l }, []Kind{BadHeader, Foreign}, 1},
		{"cut off", func(l [][]byte) [][]byte { return l[:6] }, []Kind{Missing}, 0},
		{"emptied", func([][]byte) [][]byte { return nil }, []Kind{Missing}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := damaged(t, dir, path, bytes.Join(tt.edit(slices.Clone(lines)), nil))
			var got []Kind
			for _, p := range r.Problems {
				got = append(got, p.Kind)
			}
			if !slices.Equal(got, tt.want) || r.Problems[0].Line != tt.line {
				t.Errorf("problems %v, want %v at line %d", r.Problems, tt.want, tt.line)
			}
		})
	}
}

func TestRemovedAndMovedFilesAreFound(t *testing.T) {
	dir, segments := sample(t)
	aside := filepath.Join(t.TempDir(), "aside")
	for i, path := range append(segments, filepath.Join(dir, "audit", headsName)) {
		if err := os.Rename(path, aside); err != nil {
			t.Fatal(err)
		}
		r := verify(t, dir)
		if r.OK() || r.Problems[0].File != filepath.Base(path) {
			t.Errorf("without file %d: problems %v", i, r.Problems)
		}
		if err := os.Rename(aside, path); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("the last two", func(t *testing.T) {
		dir, segments := sample(t)
		if err := errors.Join(os.Remove(segments[1]), os.Remove(segments[2])); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, dir); r.OK() || r.Problems[0].Kind != Missing {
			t.Errorf("problems %v", r.Problems)
		}
	})
	t.Run("swapped", func(t *testing.T) {
		one, two := read(t, segments[0]), read(t, segments[1])
		write(t, segments[0], two)
		if r := damaged(t, dir, segments[1], one); r.OK() || r.Problems[0].Kind != BadHeader {
			t.Errorf("problems %v", r.Problems)
		}
		write(t, segments[0], one)
	})
	t.Run("heads made anew", func(t *testing.T) {
		dir, segments := sample(t)
		if err := os.Remove(filepath.Join(dir, "audit", headsName)); err != nil {
			t.Fatal(err)
		}
		write(t, segments[3], bytes.Join(slices.Collect(bytes.Lines(read(t, segments[3])))[:4], nil))
		l := open(t, dir, Options{})
		add(t, l, "a later process")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, dir); r.OK() || r.Problems[0].File != headsName {
			t.Errorf("problems %v", r.Problems)
		}
	})
}

func TestTornTails(t *testing.T) {
	dir, segments := sample(t)
	half := []byte(`{"seq":9,"ts":"2026-`)
	tests := []struct {
		name string
		path string
		tail []byte
		ok   bool
	}{
		{"at the end of a chain", segments[3], half, true},
		{"zeros at the end of a chain", segments[3], make([]byte, 5000), true},
		{"longer than a line", segments[3], bytes.Repeat([]byte("x"), 3*maxLine), true},
		{"in the middle of a chain", segments[1], half, false},
		{"followed by a newline", segments[3], append(half, '\n'), false},
		{"in heads", filepath.Join(dir, "audit", headsName), half, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := damaged(t, dir, tt.path, append(read(t, tt.path), tt.tail...))
			if r.OK() != tt.ok {
				t.Errorf("problems %v", r.Problems)
			}
			if tt.ok && r.Records != 16 {
				t.Errorf("%d records", r.Records)
			}
		})
	}
	t.Run("of which nothing was written", func(t *testing.T) {
		name := "20260101T000000.000000Z-0123456789abcdef-000001.jsonl"
		write(t, filepath.Join(dir, "audit", name), nil)
		defer os.Remove(filepath.Join(dir, "audit", name))
		r := mustBeGreen(t, dir, 16)
		if len(r.Notes) == 0 || !strings.HasPrefix(r.Notes[0].Detail, "a segment was begun and nothing written") {
			t.Errorf("notes %v", r.Notes)
		}
	})
	t.Run("of heads is cut off by the next who writes", func(t *testing.T) {
		path := filepath.Join(dir, "audit", headsName)
		write(t, path, append(read(t, path), half...))
		l := open(t, dir, Options{})
		add(t, l, "x")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		mustBeGreen(t, dir, 17)
	})
}

func TestStrangeFilesAreNoted(t *testing.T) {
	dir, _ := sample(t)
	for _, name := range []string{"x.jsonl", "20260101T000000.000000Z-0123456789abcdeg-000001.jsonl", "20260101T000000.000000Z-0123456789abcdef-1.jsonl"} {
		write(t, filepath.Join(dir, "audit", name), nil)
	}
	if r := mustBeGreen(t, dir, 16); len(r.Notes) != 3 {
		t.Errorf("notes %v", r.Notes)
	}
}

func TestProblemsSayWhere(t *testing.T) {
	p := Problem{File: "f", Line: 3, Kind: Changed, Detail: "d"}
	if got := p.String(); got != "f:3: changed: d" {
		t.Error(got)
	}
	p.Line = 0
	if got := p.String(); !strings.HasPrefix(got, "f: changed") {
		t.Error(got)
	}
}
