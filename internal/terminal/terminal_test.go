package terminal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

func TestColumns(t *testing.T) {
	rows := func() [][]string {
		return [][]string{{"A", "STATE", "LAST"}, {"日本", "ok", "two\nlines"}, {"long word", "fail", "\x1b[31mred"}}
	}
	for _, c := range []struct {
		name  string
		paint Painter
		want  string
	}{
		{"plain", Painter{}, "A          STATE  LAST\n" +
			"日本         ok     two lines\n" +
			"long word  fail   <U+001B>[31mred\n"},
		{"coloured", Painter{on: true}, "A          STATE  LAST\n" +
			"日本         \x1b[32mok\x1b[0m     two lines\n" +
			"long word  \x1b[31mfail\x1b[0m   <U+001B>[31mred\n"},
	} {
		var b strings.Builder
		if err := c.paint.Columns(&b, rows()); err != nil {
			t.Fatal(err)
		}
		if b.String() != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.name, &b, c.want)
		}
	}
}

func TestLines(t *testing.T) {
	const text = "fail  a chain\nok: 3 records\nexec: deny\nbook ok"
	want := "\x1b[31mfail\x1b[0m  a chain\n\x1b[32mok\x1b[0m: 3 records\nexec: \x1b[31mdeny\x1b[0m\nbook ok"
	if got := (Painter{true}).Lines(text); got != want {
		t.Errorf("got %q", got)
	}
	if got := (Painter{}).Lines(text); got != text {
		t.Errorf("without colours %q", got)
	}
}

func TestFilesGetNoColours(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, f := range []any{file, null, &strings.Builder{}, nil} {
		if IsTerminal(f) {
			t.Errorf("%v counts as a terminal", f)
		}
	}
	if got := ForReader(file, "\x1b[0m"); got != "\x1b[0m" {
		t.Errorf("a program gets %q", got)
	}
}

func TestColoursCanBeTurnedOff(t *testing.T) {
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		needtest.Lacking(t, "terminal", err.Error())
	}
	defer tty.Close()
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, true},
		{map[string]string{"NO_COLOR": "1"}, false},
		{map[string]string{"TERM": "dumb"}, false},
	} {
		if got := NewPainter(tty, func(name string) string { return c.env[name] }); got.on != c.want {
			t.Errorf("with %v colours are %v", c.env, got.on)
		}
	}
	if got := ForReader(tty, "a\x1b[0m\nb"); got != "a<U+001B>[0m\nb" {
		t.Errorf("a terminal gets %q", got)
	}
}
