package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

func lookup(t *testing.T, dir string, q Query, names ...string) Found {
	t.Helper()
	m, err := Compile(q)
	if err != nil {
		t.Fatal(err)
	}
	found, err := m.Files(t.Context(), openRoot(t, dir), names, nil)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestRefusedPatterns(t *testing.T) {
	for _, q := range []Query{
		{Pattern: ""},
		{Pattern: "a", Mode: "everything"},
		{Pattern: "("},
		{Pattern: "a\x00b"},
		{Pattern: "\xff"},
		{Pattern: strings.Repeat("x", maxPattern+1)},
		{Pattern: "a\nb"},
		{Pattern: `a\nb`},
		{Pattern: "a\nb", Literal: true},
		{Pattern: `((a{100}){10}){10}`},
		{Pattern: strings.Repeat(`\pL{1000}`, 20)},
		{Pattern: `(?=x)`},
		{Pattern: strings.Repeat("(", 2000) + strings.Repeat(")", 2000)},
	} {
		_, err := Compile(q)
		var known *tool.Error
		if !errors.As(err, &known) || known.Kind != tool.Invalid || known.Next == "" || len(known.What) > 400 {
			t.Errorf("%.40q: %v", q.Pattern, err)
		}
	}
}

func TestLargePatterns(t *testing.T) {
	for _, q := range []Query{
		{Pattern: `a{0,1000}b`},
		{Pattern: `(?:a{0,30}b){1,30}c`},
		{Pattern: `\w{1,200}b`, Multiline: true},
		{Pattern: strings.Repeat("(?:", 700) + "b" + strings.Repeat(")?", 700) + "b", Word: true},
		{Pattern: strings.Repeat("aab", maxPattern/3), Literal: true},
		{Pattern: strings.Repeat("aab|", maxPattern/4-1) + "b"},
	} {
		m, err := Compile(q)
		if err != nil {
			t.Errorf("%.40q: %v", q.Pattern, err)
			continue
		}
		if _, ok := m.Bytes("x", []byte("x "+strings.Repeat("aab", maxPattern/3)+" bc b")); !ok {
			t.Errorf("%.40q finds nothing", q.Pattern)
		}
	}
}

// TestLargeFiles has matches and context on both sides of window boundaries.
func TestLargeFiles(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	var want []int
	for n := 1; b.Len() < 3*windowSize+windowSize/2; n++ {
		switch {
		case n%997 == 0:
			want = append(want, n)
			fmt.Fprintf(&b, "needle %d\n", n)
		default:
			fmt.Fprintf(&b, "%d %s\n", n, strings.Repeat("hay ", n%9))
		}
	}
	write(t, dir, "large", b.String())
	lines := strings.Split(b.String(), "\n")
	for _, q := range []Query{
		{Pattern: "needle"}, {Pattern: `^ne+dle\s`}, {Pattern: `needle`, IgnoreCase: true},
		{Pattern: `n[e-g]+dle`, Context: 3}, {Pattern: "needle", Context: 50}, {Pattern: `needle \d+$`, Multiline: true},
	} {
		q.Limit = 1 << 20
		f := lookup(t, dir, q, "large").Files[0]
		if got := numbersOf(f); !slices.Equal(got, want) {
			t.Fatalf("%+v: %v, want %v", q, got, want)
		}
		for i, line := range f.Lines {
			if line.Text != lines[line.Number-1] {
				t.Fatalf("%+v: line %d is %q, not %q", q, line.Number, line.Text, lines[line.Number-1])
			}
			if i > 0 && line.Number <= f.Lines[i-1].Number {
				t.Fatalf("%+v: line %d after line %d", q, line.Number, f.Lines[i-1].Number)
			}
		}
		if least := len(want) * (1 + 2*q.Context) * 9 / 10; len(f.Lines) < least {
			t.Errorf("%+v: %d lines, want %d at least", q, len(f.Lines), least)
		}
	}
	last := len(want) - 1
	page := lookup(t, dir, Query{Pattern: "needle", Limit: 1, Offset: last, Context: 1}, "large").Files[0]
	if len(page.Lines) != 3 || page.Lines[1].Number != want[last] {
		t.Errorf("the last match: %s", render(page.Lines))
	}
}

func encode16(text string, mark string, big bool) string {
	out := []byte(mark)
	for _, u := range utf16.Encode([]rune(text)) {
		if big {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return string(out)
}

func TestEncodings(t *testing.T) {
	dir := t.TempDir()
	text := "first\r\nnaïve 日本 \U0001F600 needle\r\n"
	many := strings.Repeat("filling \U0001F600 lines\n", 200_000)
	files := map[string]struct{ content, want string }{
		"bom":      {"\xEF\xBB\xBFneedle\n", "1:needle"},
		"le":       {encode16(text, "\xFF\xFE", false), "2:naïve 日本 \U0001F600 needle"},
		"be":       {encode16(text, "\xFE\xFF", true), "2:naïve 日本 \U0001F600 needle"},
		"odd":      {encode16(text, "\xFF\xFE", false) + "x", "2:naïve 日本 \U0001F600 needle"},
		"lone":     {"\xFF\xFE\x00\xD8n\x00e\x00e\x00d\x00l\x00e\x00", "1:\uFFFDneedle"},
		"large16":  {encode16(many+text, "\xFF\xFE", false), "200002:naïve 日本 \U0001F600 needle"},
		"latin":    {"caf\xe9 needle\n", "1:caf\uFFFD needle"},
		"utf32":    {"\xFF\xFE\x00\x00n\x00\x00\x00", ""},
		"nul":      {"needle\x00", ""},
		"nullater": {"needle\n" + strings.Repeat("text\n", 2000) + "needle\n needle \x00\nneedle\n", "1:needle 2002:needle"},
		"nulonly":  {strings.Repeat("text\n", 2000) + "\x00\nneedle\n", ""},
		"nullarge": {"needle\n" + strings.Repeat("text\n", 1<<20) + "\x00\nneedle\n", "1:needle"},
		"empty":    {"", ""},
		"one":      {"\xFF", ""},
	}
	for name, f := range files {
		write(t, dir, name, f.content)
		found := lookup(t, dir, Query{Pattern: "needle$|needle\r$", Limit: 10}, name)
		if name == "nullater" || name == "nul" { // the line of the NUL itself
			found = lookup(t, dir, Query{Pattern: "needle"}, name)
		}
		got := ""
		if len(found.Files) > 0 {
			got = strings.ReplaceAll(render(found.Files[0].Lines), "\r", "")
			if binary := strings.HasPrefix(name, "nul"); found.Files[0].Binary != binary {
				t.Errorf("%s: binary %v", name, !binary)
			}
		}
		if got != f.want {
			t.Errorf("%s: %q, want %q", name, got, f.want)
		}
	}
}

func TestFilesThatAreNotSearched(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "dir/c", "gone", "twin", "z"} {
		write(t, dir, name, "needle\n")
	}
	for _, err := range []error{
		os.Remove(filepath.Join(dir, "gone")),
		os.Symlink("a", filepath.Join(dir, "link")),
		os.Symlink("dir", filepath.Join(dir, "dirlink")),
		os.Link(filepath.Join(dir, "twin"), filepath.Join(dir, "twin2")),
	} {
		if err != nil {
			t.Skip(err)
		}
	}
	special(t, filepath.Join(dir, "fifo"))
	names := []string{"../a", "/etc/passwd", "a", "b", "b/c", "dir", "dir/../a", "dir/c", "dirlink/c", "fifo", "gone", "link", "nul\x00", "twin", "twin2", "z"}
	m, err := Compile(Query{Pattern: "needle|root", Mode: Names})
	if err != nil {
		t.Fatal(err)
	}
	found, err := m.Files(t.Context(), openRoot(t, dir), names, func(name string, info root.Info) bool {
		return name == "twin" && info.Links == 2 && info.Size == 7
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found.Files {
		got = append(got, f.Name)
	}
	if want := []string{"a", "b", "dir/c", "twin", "z"}; !slices.Equal(got, want) || found.Unread != 0 || found.Searched != 5 {
		t.Errorf("%v, unread %d, searched %d; want %v", got, found.Unread, found.Searched, want)
	}
}

func TestLimitsOfFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "small", "needle\n")
	write(t, dir, "large", strings.Repeat("text\n", wholeFile/5+1)+"needle\n")
	found := lookup(t, dir, Query{Pattern: "needle", MaxFile: 100}, "large", "small")
	if len(found.Files) != 1 || found.Unread != 1 || found.Searched != 1 {
		t.Errorf("MaxFile: %+v", found)
	}
	found = lookup(t, dir, Query{Pattern: "needle", Multiline: true}, "large", "small")
	if len(found.Files) != 1 || found.Unread != 1 || len(found.Failed) != 1 || !strings.Contains(found.Failed[0].Why, "without multiline") {
		t.Errorf("Multiline: %+v", found)
	}
	if found = lookup(t, dir, Query{Pattern: "needle"}, "large", "small"); len(found.Files) != 2 {
		t.Errorf("in windows: %+v", found)
	}
}

func TestMultiline(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		word          bool
		want          string
	}{
		{`b\nc`, "a\nb\nc\nd\n", false, "2:b 3:c"},
		{`b\nc`, "a\r\nb\r\nc\r\nd", false, "2:b 3:c"},
		{`b$\s^c`, "a\r\nb\nc\r\nd", false, "2:b 3:c"},
		{`a.*d`, "x\na\nb\nd\ny", false, "2:a 3:b 4:d"},
		{`a.*?b`, "a\nb\na b\n", false, "1:a 2:b 3:a b"},
		{`b\n`, "a\nb\nc\n", false, "2:b"},
		{`^$`, "a\n\nc\n", false, "2:"},
		{`\Aa`, "a\na\n", false, "1:a"},
		{`a\z`, "a\na", false, "2:a"},
		{`\n\n`, "a\n\nb\n", false, "1:a 2:"},
		{`foo`, "foo\nfoo\nxfoo\n foo\nfoo", true, "1:foo 2:foo 4: foo 5:foo"},
		{`a\nb|b`, "xa\nb\na\nb\n", true, "2:b 3:a 4:b"},
		{`$`, "a\nb", false, "1:a 2:b"},
		{`x*`, "a\nbxx\n", false, "1:a 2:bxx"},
		{`é\n`, "aé\né\n", false, "1:aé 2:é"},
		{`nothing\nhere`, "nothing\nthere", false, ""},
	} {
		m, err := Compile(Query{Pattern: c.pattern, Multiline: true, Word: c.word})
		if err != nil {
			t.Fatal(err)
		}
		found, _ := m.Bytes("x", []byte(c.text))
		if got := render(found.Lines); got != strings.TrimSpace(c.want) {
			t.Errorf("%q in %q: %q, want %q", c.pattern, c.text, got, c.want)
		}
	}
}

func TestVirtual(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", "needle on disk\n")
	write(t, dir, "b", "needle behind\n")
	m, err := Compile(Query{Pattern: "needle"})
	if err != nil {
		t.Fatal(err)
	}
	src := Source{Root: openRoot(t, dir), Virtual: func(name string) ([]byte, bool) {
		return []byte("virtual needle"), name == "b" || name == "c"
	}}
	found, err := m.Search(t.Context(), src, []string{"a", "b", "c"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found.Files {
		got = append(got, f.Name+" "+render(f.Lines))
	}
	if want := []string{"a 1:needle on disk", "b 1:virtual needle", "c 1:virtual needle"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestCancelled(t *testing.T) {
	dir := t.TempDir()
	names := corpus(t, dir)
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	m, err := Compile(Query{Pattern: "foo", Mode: Count, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	src := Source{Root: openRoot(t, dir), Virtual: func(name string) ([]byte, bool) {
		if name == names[20] {
			cancel()
		}
		return nil, false
	}}
	if _, err := m.Search(ctx, src, names); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
	late := time.Now().Add(time.Minute)
	for runtime.NumGoroutine() > before && time.Now().Before(late) { // the last one may not have ended yet
		time.Sleep(time.Millisecond)
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines, %d before", after, before)
	}
}

// TestPanic checks that a panic in a goroutine becomes an error of the call.
func TestPanic(t *testing.T) {
	m, err := Compile(Query{Pattern: "foo"})
	if err != nil {
		t.Fatal(err)
	}
	src := Source{Virtual: func(string) ([]byte, bool) { panic("a fault") }}
	if _, err := m.Search(t.Context(), src, make([]string, 100)); err == nil || !strings.Contains(err.Error(), "a fault") {
		t.Errorf("%v", err)
	}
}
