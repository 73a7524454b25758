package textfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func everything() Query {
	return Query{From: 1, Lines: 1 << 30, Bytes: 1 << 30, Line: 1 << 30, Count: Unlimited}
}

func window(t *testing.T, content string, q Query) Window {
	t.Helper()
	w, err := Read(t.Context(), strings.NewReader(content), int64(len(content)), q)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func joined(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text + l.Ending)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	long := strings.Repeat("x", 3*chunk)
	var many strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&many, "line %d\n", i+1)
	}
	tests := []struct {
		name    string
		content string
		change  func(*Query)
		want    string
		first   int
		total   int
		end     bool
	}{
		{"empty", "", nil, "", 0, 0, true},
		{"one line", "a\n", nil, "a\n", 1, 1, true},
		{"no newline at the end", "a\nb", nil, "a\nb", 1, 2, true},
		{"only newlines", "\n\n", nil, "\n\n", 1, 2, true},
		{"CRLF and a lone CR", "a\r\nb\rc\r", nil, "a\r\nb\rc\r", 1, 2, true},
		{"some", "a\nb\nc\nd\n", func(q *Query) { q.From, q.Lines = 2, 2 }, "b\nc\n", 2, 4, false},
		{"up to the last", "a\nb\nc\n", func(q *Query) { q.From, q.Lines = 2, 2 }, "b\nc\n", 2, 3, true},
		{"up to the last, unfinished", "a\nb\nc", func(q *Query) { q.From, q.Lines = 2, 2 }, "b\nc", 2, 3, true},
		{"beyond the end", "a\nb", func(q *Query) { q.From = 9 }, "", 0, 2, true},
		{"just beyond the end", "a\nb\n", func(q *Query) { q.From = 3 }, "", 0, 2, true},
		{"bytes", "aaa\nbbb\nccc\n", func(q *Query) { q.Bytes = 9 }, "aaa\nbbb\n", 1, 3, false},
		{"bytes for each line", "aaa\nbbb\nccc\n", func(q *Query) { q.Bytes, q.Extra = 13, 3 }, "aaa\n", 1, 3, false},
		{"the last two", "a\nb\nc\n", func(q *Query) { q.From = -2 }, "b\nc\n", 2, 3, true},
		{"the last two, unfinished", "a\nb\nc", func(q *Query) { q.From = -2 }, "b\nc", 2, 3, true},
		{"the last but one", "a\nb\nc\n", func(q *Query) { q.From, q.Lines = -2, 1 }, "b\n", 2, 3, false},
		{"more from the end than there are", "a\nb\n", func(q *Query) { q.From = -1 << 62 }, "a\nb\n", 1, 2, true},
		{"the end of nothing", "", func(q *Query) { q.From = -3 }, "", 0, 0, true},
		{"not counted", long + "\n" + long, func(q *Query) { q.Lines, q.Count = 1, 10 }, long + "\n", 1, -1, false},
		{"not counted and at the end", "a\nb\n", func(q *Query) { q.Count = 1 }, "a\nb\n", 1, 2, true},
		{"from the end, not counted", "a\nb\nc", func(q *Query) { q.From, q.Count = -2, 1 }, "b\nc", -2, -1, true},
		{"fewer from the end, not counted", "a\nb\nc\n", func(q *Query) { q.From, q.Lines, q.Count = -3, 1, 1 }, "a\n", -3, -1, false},
		{"far inside", many.String(), func(q *Query) { q.From, q.Lines = 70_000, 2 }, "line 70000\nline 70001\n", 70_000, 100_000, false},
		{"far from the end", many.String(), func(q *Query) { q.From, q.Lines = -30_000, 2 }, "line 70001\nline 70002\n", 70_001, 100_000, false},
		{"byte order mark", "\xEF\xBB\xBFa\nb", nil, "a\nb", 1, 2, true},
		{"byte order mark, from the end", "\xEF\xBB\xBFa\nb", func(q *Query) { q.From = -5 }, "a\nb", 1, 2, true},
		{"only a byte order mark", "\xEF\xBB\xBF", nil, "", 0, 0, true},
		{"UTF-16", "\xFF\xFEa\x00\r\x00\n\x00\x0A\x01\n\x00", func(q *Query) { q.Encoding = UTF16LE }, "a\r\nĊ\n", 1, 2, true},
		{"UTF-16 the other way", "\x00a\x00\n\x0A\x00\x0A\x41\x00\n\x00b", func(q *Query) { q.Encoding, q.From = UTF16BE, -2 }, "\u0A00\u0A41\nb", 2, 3, true},
		{"UTF-16 with half a character", "a\x00\n\x00b", func(q *Query) { q.Encoding = UTF16LE }, "a\n\uFFFD", 1, 2, true},
		{"Latin-1", "gr\xFC\xDF\r\n", func(q *Query) { q.Encoding = Latin1 }, "grüß\r\n", 1, 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := everything()
			if tt.change != nil {
				tt.change(&q)
			}
			w := window(t, tt.content, q)
			if got := joined(w.Lines); got != tt.want {
				t.Errorf("got %.80q, want %.80q", got, tt.want)
			}
			first := 0
			if len(w.Lines) > 0 {
				first = w.Lines[0].Number
			}
			if first != tt.first || w.Total != tt.total || w.End != tt.end {
				t.Errorf("first %d, total %d, end %t; want %d, %d, %t", first, w.Total, w.End, tt.first, tt.total, tt.end)
			}
		})
	}
}

func TestReadCutsLongLines(t *testing.T) {
	tests := []struct {
		name, content, encoding string
		line, bytes             int
		want                    []Line
	}{
		{"one of several", "ab\n" + strings.Repeat("x", 1<<20) + "\r\ncd\n", "", 10, 100, []Line{
			{1, "ab", "\n", 0}, {2, "xxxxxxxxxx", "\r\n", 1<<20 - 10}, {3, "cd", "\n", 0},
		}},
		{"the only one", strings.Repeat("x", 1<<20), "", 1 << 20, 8, []Line{{1, "xxxxxxxx", "", 1<<20 - 8}}},
		{"its CR is just too much", "12345678\r\n", "", 8, 100, []Line{{1, "12345678", "\r\n", 0}}},
		{"between characters", "aéé\n", "", 4, 100, []Line{{1, "aé", "\n", 2}}},
		{"within a pair of UTF-16", "a\x00\x3D\xD8\x00\xDEb\x00", UTF16LE, 4, 100, []Line{{1, "a", "", 5}}},
		{"it takes more room in UTF-8", "\xE9\xE9\xE9\xE9\n", Latin1, 100, 5, []Line{{1, "éé", "\n", 4}}},
		{"no room at all", "abc\n", "", 100, 1, []Line{{1, "", "\n", 3}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := everything()
			q.Line, q.Bytes, q.Encoding = tt.line, tt.bytes, tt.encoding
			if diff := cmp.Diff(tt.want, window(t, tt.content, q).Lines); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadTellsOfDamage(t *testing.T) {
	w := window(t, "ok\na\xE9b\n", everything())
	if string(w.Damaged) != "a\xE9b" {
		t.Errorf("damaged: %q", w.Damaged)
	}
	q := everything()
	q.Line = 2
	if w := window(t, "aé\n", q); w.Damaged != nil {
		t.Errorf("a cut line counts as damaged: %q", w.Damaged)
	}
}

// gone is a file that ends earlier than it said.
type gone struct{ *strings.Reader }

func TestReadWhatCannotBeRead(t *testing.T) {
	w, err := Read(t.Context(), gone{strings.NewReader("a\nb")}, 1<<20, everything())
	if err != nil || joined(w.Lines) != "a\nb" || !w.End {
		t.Errorf("a file that became shorter: %v, %v", w, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, strings.NewReader("a"), 1, everything()); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that ended: %v", err)
	}
	broken := io.NewSectionReader(readerAt{iotest.ErrReader(io.ErrNoProgress)}, 0, 5)
	if _, err := Read(t.Context(), broken, 5, everything()); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a broken disk: %v", err)
	}
	q := everything()
	q.Encoding = "klingon"
	if _, err := Read(t.Context(), strings.NewReader("a"), 1, q); !errors.Is(err, ErrEncoding) {
		t.Errorf("an unknown encoding: %v", err)
	}
}

type readerAt struct{ io.Reader }

func (r readerAt) ReadAt(p []byte, _ int64) (int, error) { return r.Read(p) }

// FuzzWindow compares with splitting the whole text.
func FuzzWindow(f *testing.F) {
	f.Add("a\nb\r\nc", 2, 1, false)
	f.Add("", -1, 1, true)
	f.Add(strings.Repeat("0123456789abcde\n", chunk/16)+"x\n\n", -3, 2, false)
	f.Add(strings.Repeat("0123456\r\n", chunk/9)+"x", 7000, 900, true)
	f.Fuzz(func(t *testing.T, content string, from, lines int, wide bool) {
		content = strings.ToValidUTF8(content, "?")
		content = strings.TrimLeft(content, "\uFEFF")
		if from == 0 || lines <= 0 {
			return
		}
		all := strings.SplitAfter(content, "\n")
		if all[len(all)-1] == "" {
			all = all[:len(all)-1]
		}
		first := min(max(from, 1), len(all)+1)
		if from < 0 {
			first = max(len(all)+1+max(from, -len(all)), 1)
		}
		want := all[first-1 : min(first-1+min(lines, len(all)), len(all))]

		data, encoding := []byte(content), UTF8
		if wide {
			encoding = UTF16LE
			data, _ = encode(nil, content, UTF16LE)
		}
		q := everything()
		q.From, q.Lines, q.Encoding = from, lines, encoding
		w, err := Read(t.Context(), bytes.NewReader(data), int64(len(data)), q)
		if err != nil {
			t.Fatal(err)
		}
		if got := joined(w.Lines); got != strings.Join(want, "") {
			t.Fatalf("lines %d+%d of %q: got %q, want %q", from, lines, content, got, want)
		}
		if w.Total != len(all) || w.End != (first-1+len(want) == len(all)) {
			t.Fatalf("total %d, end %t of %q; %d lines", w.Total, w.End, content, len(all))
		}
		for i, l := range w.Lines {
			if l.Number != first+i {
				t.Fatalf("line %d is called %d", first+i, l.Number)
			}
		}
	})
}

func fiftyMegabytes() []byte {
	line := []byte("Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do ei\n")
	return bytes.Repeat(line, 50<<20/len(line))
}

func BenchmarkWindow50MB(b *testing.B) {
	content := fiftyMegabytes()
	q := Query{From: 500_000, Lines: 101, Bytes: 10_000, Line: 2000, Count: 64 << 20}
	b.ReportAllocs()
	for b.Loop() {
		w, err := Read(b.Context(), bytes.NewReader(content), int64(len(content)), q)
		if err != nil || len(w.Lines) != 101 || w.Total < 700_000 {
			b.Fatal(len(w.Lines), w.Total, err)
		}
	}
}

func BenchmarkTail50MB(b *testing.B) {
	content := fiftyMegabytes()
	q := Query{From: -50, Lines: 100, Bytes: 10_000, Line: 2000}
	b.ReportAllocs()
	for b.Loop() {
		if w, err := Read(b.Context(), bytes.NewReader(content), int64(len(content)), q); err != nil ||
			len(w.Lines) != 50 {
			b.Fatal(len(w.Lines), err)
		}
	}
}

func TestReadOfRandomPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		var b strings.Builder
		for b.Len() < 3*chunk {
			b.WriteString(strings.Repeat("é", r.IntN(5000)) + strings.Repeat("\n", r.IntN(3)))
		}
		content := b.String()
		for _, encoding := range []string{UTF8, UTF16LE, UTF16BE, Latin1} {
			d, err := New(encoding)
			if err != nil {
				t.Fatal(err)
			}
			data, err := d.Encode(content)
			if err != nil {
				t.Fatal(err)
			}
			q := everything()
			q.Encoding = encoding
			if got := joined(window(t, string(data), q).Lines); got != content {
				t.Fatalf("%s: %d bytes became %d", encoding, len(content), len(got))
			}
		}
	}
}
