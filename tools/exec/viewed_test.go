package exec

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/view"
)

func TestViewHasColors(t *testing.T) {
	for _, c := range []struct {
		raw, text string
		colors    []string // style and text
	}{
		{"plain\n", "plain\n", nil},
		{"\x1b[32mok\x1b[0m  \x1b[1;31mFAIL\x1b[m end\n", "ok  FAIL end\n", []string{"10 ok", "25 FAIL"}},
		{"\x1b[4;96m𝄞ü\x1b[24mb\x1b[39mc\n", "𝄞übc\n", []string{"46 𝄞ü", "14 b"}},
		{"\x1b[38;5;196mred\x1b[38;2;1;2;3mtrue\x1b[33mx\x1b[22my\n", "redtruexy\n", []string{"11 x", "11 y\n"}},
		{"10%\r\x1b[32mdone\x1b[0m\n", "done\n", []string{"10 done"}},
		{"\x1b[31m", "", nil},
		{"\U00050009forged\x1b[999;;:mx\xff\n", "\uFFFDforgedx\uFFFD\n", nil},
		{"\x1b[" + strings.Repeat("1;", 100) + "mx\n", "x\n", nil},
		{"\x1b[31m\u202eabc\x1b[0m\n", "<U+202E>abc\n", []string{"9 <U+202E>abc"}},
	} {
		out := &paper{}
		out.write(c.raw)
		r := &runner{Options: Options{Scrub: scrubber(t)}, places: newPlaces()}
		got, err := r.colored(t.Context(), whole(pair{&actor{}, out, &paper{}}, sandbox.Stdout))
		if err != nil || got.Text != c.text {
			t.Errorf("%q: %q, %v", c.raw, got.Text, err)
		}
		if colors := spans(t, got); !slices.Equal(colors, c.colors) {
			t.Errorf("%q: %q, want %q", c.raw, colors, c.colors)
		}
	}
}

// spans returns the coloured parts of a text.
func spans(t *testing.T, of view.Text) (all []string) {
	t.Helper()
	all16 := utf16.Encode([]rune(of.Text))
	at := 0
	for _, c := range of.Colors {
		if c[0] < at || c[1] <= c[0] || c[1] > len(all16) {
			t.Fatalf("%v of %d", of.Colors, len(all16))
		}
		at = c[1]
		all = append(all, strings.Join([]string{strconv.Itoa(c[2]), string(utf16.Decode(all16[c[0]:c[1]]))}, " "))
	}
	return all
}

// TestViewHidesSecrets divides keys by colours, and cuts the output within one.
func TestViewHidesSecrets(t *testing.T) {
	key := "ghp" + "_" + strings.Repeat("A1b2", 9)
	for name, raw := range map[string]string{
		"whole":   "key " + key + "\n",
		"divided": "key " + key[:9] + "\x1b[31m" + key[9:20] + "\x1b[1m\x1b[0m" + key[20:] + "\x1b[0m\n",
		"cut":     strings.Repeat("x\n", 100) + key + "\n" + strings.Repeat("y", viewMost-20) + "\n",
		"far":     key + "\n" + strings.Repeat("line\n", viewMost),
	} {
		out := &paper{}
		out.write(raw)
		r := &runner{Options: Options{Scrub: scrubber(t)}, places: newPlaces()}
		got, err := r.colored(t.Context(), whole(pair{&actor{}, out, &paper{}}, sandbox.Stdout))
		if err != nil || got.Text == "" || strings.Contains(got.Text, key[20:]) || len(got.Text) > viewMost {
			t.Errorf("%s: %.200q, %v", name, got.Text, err)
		}
		spans(t, got)
	}
}

func TestViewIsForAppsOnly(t *testing.T) {
	out := &paper{}
	out.write("hello\n")
	r := &runner{Options: Options{Scrub: scrubber(t)}, places: newPlaces()}
	p := pair{&actor{}, out, &paper{}}
	if got := r.view(t.Context(), p, sandbox.Status{}); got != nil {
		t.Errorf("a client without apps gets %+v", got)
	}
	ctx := tool.With(t.Context(), &tool.Running{Apps: true})
	got, _ := r.view(ctx, p, sandbox.Status{ID: "p1", Text: "echo hello", State: sandbox.Running}).(view.Output)
	if got.Kind != "output" || got.Command != "echo hello" || got.Process != "p1" || len(got.Streams) != 2 ||
		got.Streams[0].Text != "hello\n" {
		t.Errorf("the view is %+v", got)
	}
}
