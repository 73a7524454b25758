package search

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestPages compares every page with the same part of the whole result.
func TestPages(t *testing.T) {
	dir := t.TempDir()
	names := corpus(t, dir)
	for _, contextLines := range []int{0, 2} {
		q := Query{Pattern: "foo", Limit: 1 << 20, Context: contextLines}
		whole := lookup(t, dir, q, names...)
		if whole.More || whole.Matches < 100 || whole.Searched != len(names) {
			t.Fatalf("the whole: %d matches in %d files", whole.Matches, whole.Searched)
		}
		type match struct {
			file string
			line Line
		}
		matches := func(found Found) (all []match) {
			for _, f := range found.Files {
				for _, line := range f.Lines {
					if line.Match {
						all = append(all, match{f.Name, line})
					}
				}
			}
			return all
		}
		all := matches(whole)
		for _, limit := range []int{1, 7, 100, len(all), len(all) + 1} {
			q.Limit = limit
			for offset := 0; offset <= len(all); offset += max(limit, 40) {
				q.Offset = offset
				page := lookup(t, dir, q, names...)
				want := all[offset:min(offset+limit, len(all))]
				if got := matches(page); !slices.Equal(got, want) || page.More != (offset+limit < len(all)) {
					t.Fatalf("limit %d offset %d context %d: more %v, %d lines, want %d: %v", limit, offset, contextLines, page.More, len(got), len(want), got)
				}
			}
		}
	}
}

func TestPagesOfFiles(t *testing.T) {
	dir := t.TempDir()
	names := corpus(t, dir)
	for _, mode := range []Mode{Names, Count} {
		whole := lookup(t, dir, Query{Pattern: "foo", Mode: mode, Limit: 1 << 20}, names...)
		for offset := 0; offset < len(whole.Files); offset += 13 {
			page := lookup(t, dir, Query{Pattern: "foo", Mode: mode, Limit: 13, Offset: offset}, names...)
			end := min(offset+13, len(whole.Files))
			if !reflect.DeepEqual(page.Files, whole.Files[offset:end]) || page.More != (end < len(whole.Files)) {
				t.Fatalf("%s from %d: %+v", mode, offset, page)
			}
		}
		for _, f := range whole.Files {
			text, err := os.ReadFile(filepath.Join(dir, f.Name))
			if err != nil {
				t.Fatal(err)
			}
			want := len(oracle(t, Query{Pattern: "foo"}, false, text))
			if mode == Names {
				want = 1
			}
			if f.Matches != want || f.Lines != nil {
				t.Errorf("%s %s: %d matches, want %d", mode, f.Name, f.Matches, want)
			}
		}
	}
}

// render returns lines in a short form: number, mark, text.
func render(lines []Line) string {
	var b strings.Builder
	for _, line := range lines {
		mark := "-"
		if line.Match {
			mark = ":"
		}
		fmt.Fprintf(&b, "%d%s%s ", line.Number, mark, line.Text)
	}
	return strings.TrimSpace(b.String())
}

func TestContext(t *testing.T) {
	text := "a\nb\nX\nc\nd\ne\nX\nX\nf\ng\nh\ni\nX"
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{Context: 1}, "2-b 3:X 4-c 6-e 7:X 8:X 9-f 12-i 13:X"},
		{Query{Context: 2}, "1-a 2-b 3:X 4-c 5-d 6-e 7:X 8:X 9-f 10-g 11-h 12-i 13:X"},
		{Query{Context: 50}, "1-a 2-b 3:X 4-c 5-d 6-e 7:X 8:X 9-f 10-g 11-h 12-i 13:X"},
		{Query{Context: 2, Limit: 1}, "1-a 2-b 3:X 4-c 5-d"},
		{Query{Context: 9, Limit: 1}, "1-a 2-b 3:X 4-c 5-d 6-e"},
		{Query{Context: 9, Limit: 1, Offset: 1}, "4-c 5-d 6-e 7:X"},
		{Query{Context: 1, Limit: 2, Offset: 2}, "8:X 9-f 12-i 13:X"},
	} {
		dir := t.TempDir()
		write(t, dir, "f", text)
		c.q.Pattern = "X"
		found := lookup(t, dir, c.q, "f")
		if got := render(found.Files[0].Lines); got != c.want {
			t.Errorf("%+v: %s\nwant %s", c.q, got, c.want)
		}
	}
}

func TestLongLines(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("é", 4<<20) + "needle" + strings.Repeat("é", 3<<20)
	write(t, dir, "long", "one\n"+long+"\nneedle three\n")
	write(t, dir, "start", "needle"+strings.Repeat("x", 1000))
	write(t, dir, "end", strings.Repeat("x", 1000)+"needle")
	write(t, dir, "wide", strings.Repeat("x", 500)+"needle"+strings.Repeat("y", 500))
	for _, pattern := range []string{"needle", "n.edle", "ne*dle.", "NEEDLE"} {
		q := Query{Pattern: pattern, IgnoreCase: pattern == "NEEDLE"}
		lines := lookup(t, dir, q, "long").Files[0].Lines
		if got := []int{lines[0].Number, lines[1].Number}; len(lines) != 2 || got[0] != 2 || got[1] != 3 {
			t.Fatalf("%s: lines %v", pattern, got)
		}
		if line := lines[0]; len(line.Text) > defaultMaxLine || !strings.Contains(line.Text, "needle") || line.Column < 1 ||
			line.Cut != len(long)-len(line.Text) || long[line.Column-1:line.Column-1+len(line.Text)] != line.Text {
			t.Errorf("%s: %d bytes from column %d, %d cut: %q", pattern, len(line.Text), line.Column, line.Cut, line.Text)
		}
	}
	write(t, dir, "longer", strings.Repeat(strings.Repeat("x", wholeFile)+"needle", 2)+"\nneedle two\n")
	parts := lookup(t, dir, Query{Pattern: "needle"}, "longer").Files[0]
	if at := parts.Lines[0].Column - 1; parts.Matches != 2 || len(parts.Lines) != 2 || at < wholeFile-300 || at > wholeFile ||
		parts.Lines[0].Text[wholeFile-at:][:6] != "needle" || parts.Lines[0].Cut < at {
		t.Errorf("a line that is not held whole: %d matching lines, from column %d", parts.Matches, at)
	}
	lines := lookup(t, dir, Query{Pattern: "needle", Context: 1}, "longer").Files[0].Lines
	if last := lines[len(lines)-1]; last.Number != 2 || !last.Match || lines[0].Number != 1 {
		t.Errorf("after a line that is not held whole: line %d", last.Number)
	}
	for name, column := range map[string]int{"start": 0, "end": 707, "wide": 401} {
		line := lookup(t, dir, Query{Pattern: "needle"}, name).Files[0].Lines[0]
		cut := map[string]int{"start": 706, "end": 706, "wide": 706}[name]
		if line.Column != column || len(line.Text) != 300 || !strings.Contains(line.Text, "needle") || line.Cut != cut {
			t.Errorf("%s: column %d, cut %d: %q", name, line.Column, line.Cut, line.Text)
		}
	}
	m, err := Compile(Query{Pattern: strings.Repeat("x", 400)})
	if err != nil {
		t.Fatal(err)
	}
	if found, ok := m.Bytes("x", []byte("ab "+strings.Repeat("x", 900))); !ok || found.Lines[0].Column != 4 {
		t.Errorf("a match longer than a line may be: %+v", found)
	}
}
