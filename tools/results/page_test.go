package results

import (
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/blob"
)

func TestPage(t *testing.T) {
	const text = "aä漢\U0001f600z" // runes begin at 0, 1, 3, 6, 10; 11 bytes
	tests := []struct {
		offset int64
		limit  int
		want   Page
	}{
		{0, 0, Page{text, 0, 11, 11}},
		{0, 1, Page{"a", 0, 1, 11}},
		{0, 2, Page{"a", 0, 1, 11}},
		{0, 3, Page{"aä", 0, 3, 11}},
		{1, 1, Page{"ä", 1, 3, 11}}, // never nothing before the end
		{2, 1, Page{"ä", 1, 3, 11}},
		{2, 9, Page{"ä漢\U0001f600", 1, 10, 11}},
		{5, 4, Page{"漢", 3, 6, 11}},
		{7, 1, Page{"\U0001f600", 6, 10, 11}},
		{9, 100, Page{"\U0001f600z", 6, 11, 11}},
		{11, 5, Page{"", 11, 11, 11}},
		{99, 5, Page{"", 11, 11, 11}},
		{-5, 1, Page{"a", 0, 1, 11}},
	}
	s := open(t, blob.Limits{})
	id := put(t, s, "me", text)
	for _, tt := range tests {
		got, err := s.Page(t.Context(), "me", id, tt.offset, tt.limit)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("from %d, %d bytes: %v (-want +got)\n%s", tt.offset, tt.limit, err, diff)
		}
	}
}

func TestTail(t *testing.T) {
	const text = "one\ntwo\n\nfünf\n"
	tests := []struct {
		text         string
		lines, limit int
		want         string
	}{
		{text, 1, 0, "fünf\n"},
		{text, 2, 0, "\nfünf\n"},
		{text, 3, 0, "two\n\nfünf\n"},
		{text, 99, 0, text},
		{text, 0, 0, ""},
		{text, 99, 3, "nf\n"}, // not half of ü
		{text, 99, 4, "nf\n"},
		{text, 99, 5, "ünf\n"},
		{"no newline", 1, 0, "no newline"},
		{"a\nb", 1, 0, "b"},
		{"\n\n\n", 2, 0, "\n\n"},
		{"", 3, 0, ""},
		{"\xff\xfe\xfd", 1, 2, "\xfe\xfd"},
	}
	s := open(t, blob.Limits{})
	for _, tt := range tests {
		got, err := s.Tail(t.Context(), "me", put(t, s, "me", tt.text), tt.lines, tt.limit)
		size := int64(len(tt.text))
		want := Page{tt.want, size - int64(len(tt.want)), size, size}
		if tt.text == text && tt.limit == 4 {
			want.Offset = size - 3
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("last %d lines of %q, %d bytes: %v (-want +got)\n%s", tt.lines, tt.text, tt.limit, err, diff)
		}
	}
}

func TestPagingALargeResultDoesNotLoadIt(t *testing.T) {
	s := open(t, blob.Limits{})
	id := put(t, s, "me", strings.Repeat("0123456789", 1<<20)) // one line of 10 MB
	const rounds = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		if p, err := s.Page(t.Context(), "me", id, 5_000_000, 10_000); err != nil || len(p.Text) != 10_000 {
			t.Fatal(len(p.Text), err)
		}
		if p, err := s.Tail(t.Context(), "me", id, 10, 10_000); err != nil || len(p.Text) != 10_000 {
			t.Fatal(len(p.Text), err)
		}
	}
	runtime.ReadMemStats(&after)
	if allocated := (after.TotalAlloc - before.TotalAlloc) / rounds; allocated > 100_000 {
		t.Errorf("%d bytes were allocated for two pages of 10,000", allocated)
	}
}

func FuzzPage(f *testing.F) {
	f.Add("aä漢\U0001f600\xff\xe6\xbc", int64(2), 3)
	s := open(f, blob.Limits{Count: 5})
	f.Fuzz(func(t *testing.T, text string, offset int64, limit int) {
		id := put(t, s, "me", text)
		var all strings.Builder
		step := 1 + (limit&0xff+0x100)&0xff
		for at := int64(0); at < int64(len(text)); {
			p, err := s.Page(t.Context(), "me", id, at, step)
			if err != nil || p.Offset != at || p.Next <= at || utf8.ValidString(text) && !utf8.ValidString(p.Text) {
				t.Fatalf("%+v at %d: %v", p, at, err)
			}
			all.WriteString(p.Text)
			at = p.Next
		}
		if all.String() != text {
			t.Fatalf("the pages are %q, the text %q", all.String(), text)
		}
		p, err := s.Page(t.Context(), "me", id, offset, limit)
		if err != nil || text[p.Offset:p.Next] != p.Text {
			t.Fatalf("%+v: %v", p, err)
		}
		p, err = s.Tail(t.Context(), "me", id, limit&7, step)
		if err != nil || !strings.HasSuffix(text, p.Text) || text[p.Offset:] != p.Text {
			t.Fatalf("%+v: %v", p, err)
		}
	})
}
