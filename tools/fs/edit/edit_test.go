package edit

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/fs/textfile"
)

func TestApply(t *testing.T) {
	for name, c := range map[string]struct {
		before, old, new string
		want             string
		rungs            []Rung
	}{
		"one word":                {"a b c", "b", "x", "a x c", nil},
		"removed":                 {"a b c", " b", "", "a c", nil},
		"literal $ and \\":        {"a b c", "b", `$& $1 \1 %s ${x}`, `a $& $1 \1 %s ${x} c`, nil},
		"no final newline":        {"a\nb", "b", "c", "a\nc", nil},
		"created in an empty one": {"", "", "text\n", "text\n", nil},
		"CRLF, one line":          {"a\r\nb\r\nc\r\n", "b", "x", "a\r\nx\r\nc\r\n", nil},
		"CRLF, a line more":       {"a\r\nb\r\nc\r\n", "b", "x\ny", "a\r\nx\r\ny\r\nc\r\n", nil},
		"CRLF, several lines":     {"a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\n", "a\r\nx\r\ny\r\nc\r\n", []Rung{LineEndings}},
		"LF, given as CRLF":       {"a\nb\nc\n", "a\r\nb", "a\r\nx", "a\nx\nc\n", []Rung{LineEndings}},
		"mixed endings":           {"a\r\nb\nc\r\nd\n", "a\nb\nc\n", "a\nB\nC\nnew\n", "a\r\nB\nC\r\nnew\r\nd\n", []Rung{LineEndings}},
		"mixed, the rest is kept": {"1\r\n2\na\nb\r\n3\n\r\n", "a\nb\n", "x\ny\n", "1\r\n2\nx\ny\r\n3\n\r\n", []Rung{LineEndings}},
		"a lone CR is text":       {"a\rb\r\nc\r\n", "a\rb\nc", "x", "x\r\n", []Rung{LineEndings}},
		"trailing blanks":         {"a  \nb\t\nc\n", "a\nb\n", "a\nx\n", "a  \nx\nc\n", []Rung{TrailingBlanks}},
		"given trailing blanks":   {"a\nb\nc\n", "a \nb  \n", "x\ny\n", "x\ny\nc\n", []Rung{TrailingBlanks}},
		"blanks mean a line end":  {"foobar\nfoo\n", "foo ", "x", "foobar\nx\n", []Rung{TrailingBlanks}},
		"an empty line of blanks": {"a\n   \nb\n", "a\n\nb", "a\n\nx", "a\n   \nx\n", []Rung{TrailingBlanks}},
		"indented more":           {"\tif x {\n\t\ty()\n\t}\n", "if x {\n\ty()\n}", "if x {\n\tz()\n\tw()\n}", "\tif x {\n\t\tz()\n\t\tw()\n\t}\n", []Rung{Indentation}},
		"indented less":           {"if x:\n  y()\n", "    if x:\n      y()\n", "    if x:\n      y()\n      z()\n", "if x:\n  y()\n  z()\n", []Rung{Indentation}},
		"blank lines stay blank":  {"  a\n\n  b\n", "a\n\nb\n", "a\n\nx\n\ny\n", "  a\n\n  x\n\n  y\n", []Rung{Indentation}},
		"tabs for 4 spaces":       {"\tif x {\n\t\ty()\n\t}\n", "    if x {\n        y()\n    }", "    if x {\n        y()\n            z()\n    }", "\tif x {\n\t\ty()\n\t\t\tz()\n\t}\n", []Rung{Indentation}},
		"tabs for 8 to 4 spaces":  {"\tx\n", "        x\n", "        y\n            z\n", "\ty\n\t\tz\n", []Rung{Indentation}},
		"spaces for tabs":         {"    if x:\n        y()\n", "\tif x:\n\t\ty()\n", "\tif x:\n\t\ty()\n\t\tz()\n", "    if x:\n        y()\n        z()\n", []Rung{Indentation}},
		"deeper, and with tabs":   {"\t\tif x {\n\t\t\ty()\n", "    if x {\n        y()\n", "    if x {\n        z()\n", "\t\tif x {\n\t\t\tz()\n", []Rung{Indentation}},
		"tabs, from the margin":   {"f {\n\ta\n}\n", "f {\n    a\n}", "f {\n    a\n    b {\n        c\n    }\n}", "f {\n\ta\n\tb {\n\t\tc\n\t}\n}\n", []Rung{Indentation}},
		"spaces, from the margin": {"f {\n  a\n}\n", "f {\n\ta\n}", "f {\n\tb\n}", "f {\n  b\n}\n", []Rung{Indentation}},
		"indented, CRLF":          {"  a\r\n  b\r\n", "a\nb\n", "a\nx\ny\n", "  a\r\n  x\r\n  y\r\n", []Rung{Indentation}},
		"curly quotes":            {"say(“hello”)\n", `say("hello")`, `say("hello!")`, "say(“hello!”)\n", []Rung{Punctuation}},
		"new quotes are literal":  {"it’s\n", "it's", `it's "new"`, "it’s \"new\"\n", []Rung{Punctuation}},
		"dashes and spaces":       {"1–2\u00a0km\n", "1-2 km", "1-3 km", "1–3\u00a0km\n", []Rung{Punctuation}},
		"given curly ones":        {"say(\"x\")\n", "say(“x”)", "say(“y”)", "say(\"y\")\n", []Rung{Punctuation}},
		"quotes in some lines":    {"a \"x\"\nb “y”\nc\n", "a \"x\"\nb \"y\"\nc", "a \"x\"\nb \"z\"\nd", "a \"x\"\nb “z”\nd\n", []Rung{Punctuation}},
		"quotes and indentation":  {"\tsay(“a”)\n\tok\n", "say(\"a\")\nok\n", "say(\"b\")\nok\n", "\tsay(“b”)\n\tok\n", []Rung{Indentation, Punctuation}},
		"Chinese is no dash":      {"中文——测试\n", "中文--测试", "中文--结果", "中文——结果\n", []Rung{Punctuation}},
		"bytes that are no UTF-8": {"\xffa b ééééééééééé\n", "b", "ü", "\xffa ü ééééééééééé\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Apply(t.Context(), c.before, []Edit{{Old: c.old, New: c.new}}, Hiding{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Content); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if !slices.Equal(got.Rungs, c.rungs) || got.Replaced != 1 {
				t.Errorf("%d places, rungs %v, want %v", got.Replaced, got.Rungs, c.rungs)
			}
		})
	}
}

func TestApplyInEncodings(t *testing.T) {
	asian := map[string]string{
		textfile.ShiftJIS: "これは日本語のテストです", textfile.EUCJP: "これは日本語のテストです",
		textfile.GB18030: "这是一个中文的测试文本", textfile.Big5: "這是一個中文的測試文字",
		textfile.EUCKR: "이것은 한국어 시험 문장입니다 그리고 다시 한 번",
	}
	for _, encoding := range textfile.Encodings() {
		doc, err := textfile.New(encoding)
		if err != nil {
			t.Fatal(err)
		}
		sample := map[string]string{textfile.Windows1252: "naïve “café”"}[encoding]
		if sample == "" {
			sample = "naïve café"
		}
		last := "é"
		if text := asian[encoding]; text != "" {
			sample, last = text, text
		}
		before := "first\r\n" + sample + "\nlast " + last
		data, err := doc.Encode(before)
		if err != nil {
			t.Fatal(encoding, err)
		}
		got, err := Apply(t.Context(), string(data), []Edit{{Old: "first\n" + sample, New: "first\nsecond"}}, Hiding{})
		if err != nil {
			t.Errorf("%s: %v", encoding, err)
			continue
		}
		want, _ := doc.Encode(strings.Replace(before, sample, "second", 1))
		if string(want) != got.Content {
			t.Errorf("%s: want %q, got %q", encoding, want, got.Content)
		}
	}
}

func TestSeveralEdits(t *testing.T) {
	for name, c := range map[string]struct {
		before string
		edits  []Edit
		want   string
		n      int
	}{
		"in order":         {"a b c", []Edit{{Old: "a", New: "b2"}, {Old: "b2 b", New: "x"}}, "x c", 2},
		"all":              {"a b a b", []Edit{{Old: "a", New: "xx", All: true}}, "xx b xx b", 2},
		"all, overlapping": {"aaa", []Edit{{Old: "aa", New: "b", All: true}}, "ba", 1},
		"all, in one line": {"010", []Edit{{Old: "0", All: true}}, "1", 2},
		"all, indented":    {"\ta\n\tb\n  a\n  b\n", []Edit{{Old: "a\nb\n", New: "a\nc\n", All: true}}, "\ta\n\tc\n  a\n  c\n", 2},
		"all, adjoining":   {"  a\n  a\n  a\n", []Edit{{Old: "\ta\n", New: "\tb\n", All: true}}, "  b\n  b\n  b\n", 3},
		"lines":            {"a\nb\nc\n", []Edit{{At: at("b", 2), New: "x\ny"}}, "a\nx\ny\nc\n", 1},
		"lines, CRLF":      {"a\r\nb\r\nc", []Edit{{At: at("b", 2) + "-" + at("c", 3), New: "x\ny\n"}}, "a\r\nx\r\ny", 1},
		"lines removed":    {"a\nb\nc\n", []Edit{{At: at("a", 1) + "-" + at("b", 2)}}, "c\n", 1},
		"lines, in order":  {"a\nb\nc\n", []Edit{{At: at("a", 1), New: "x\ny\n"}, {At: at("c", 3), New: "z"}, {At: at("b", 2)}}, "x\ny\nz\n", 3},
		"within a line":    {"a\na\na\n", []Edit{{At: at("a", 2), Old: "a", New: "x"}}, "a\nx\na\n", 1},
		"with the text":    {"a\nb\n", []Edit{{At: at("b", 2) + "|b", New: "c"}}, "a\nc\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Apply(t.Context(), c.before, c.edits, Hiding{})
			if err != nil {
				t.Fatal(err)
			}
			if got.Content != c.want || got.Replaced != c.n {
				t.Errorf("%d places: %q", got.Replaced, got.Content)
			}
			if after, err := applied(c.before, got.Diff(1, 1<<20)); !strings.Contains(c.before, "\r") &&
				(err != nil || after != c.want) {
				t.Errorf("its diff: %v", err)
			}
			checkSpans(t, c.before, got.Content, got.Spans)
		})
	}
}

// at is the anchor of the n-th line.
func at(line string, n int) string {
	return strconv.Itoa(n) + "#" + textfile.Anchor([]byte(line))
}

// checkSpans looks whether everything around the spans is the same.
func checkSpans(t *testing.T, before, after string, spans []Span) {
	t.Helper()
	start, from := 0, 0
	for _, s := range append(slices.Clone(spans), Span{len(before), len(before), len(after), len(after)}) {
		if before[start:s.Start] != after[from:s.From] {
			t.Fatalf("%q became %q outside of %v", before, after, spans)
		}
		start, from = s.End, s.To
	}
}

func TestApplyRefuses(t *testing.T) {
	long := strings.Repeat("the same line\n", 30)
	latin := "caf\xe9 cr\xe8me na\xefve d\xe9j\xe0"
	for name, c := range map[string]struct {
		before string
		edits  []Edit
		want   string // part of the error
	}{
		"nothing given":       {"a", []Edit{{New: "b"}}, "invalid: old_string is empty, but the file is not; "},
		"identical":           {"a", []Edit{{Old: "a", New: "a"}}, "invalid: old_string and new_string are identical"},
		"twice":               {"x a\nb\na c", []Edit{{Old: "a", New: "b"}}, "old_string occurs 2 times, in lines 1, 3; add lines around the occurrence you mean, or set replace_all"},
		"overlapping":         {"aaa", []Edit{{Old: "aa", New: "b"}}, "occurs 2 times, in line 1;"},
		"twice in a line":     {"aa\na", []Edit{{Old: "a", New: "b"}}, "occurs 3 times, in lines 1, 2;"},
		"overlapping loosely": {"a \na \na ", []Edit{{Old: "a\na", New: "b"}}, "occurs 2 times (matched ignoring blanks at line ends), in lines 1, 2"},
		"overlapping lines":   {"  a\n  a\n  a\n", []Edit{{Old: "\ta\n\ta\n", New: "b"}}, "occurs 2 times (matched ignoring indentation), in lines 1, 2"},
		"many times":          {long, []Edit{{Old: "the", New: "b"}}, "occurs 30 times, in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, …"},
		"not there":           {program, []Edit{{Old: "func great(name string)", New: "b"}}, "old_string is not in the file; copy it from the file. The most similar text:\nline 5, "},
		"nothing like it":     {"abc\n", []Edit{{Old: "zzz", New: "b"}}, "no similar text found"},
		"not uniform":         {"  a\n    b\n", []Edit{{Old: "a\nb\n", New: "b"}}, "old_string is not in the file; "},
		"too far left":        {"a\n  b\n", []Edit{{Old: "    a\n      b\n", New: "    a\n  c\n"}}, "old_string is not in the file; "},
		"a mask":              {"key = abc\n", []Edit{{Old: "key = [REDACTED]", New: "b"}}, "text such as [REDACTED] stands for a hidden secret"},
		"made before":         {"a\nreplacement text\n", []Edit{{Old: "original", New: "replacement text"}}, "but new_string is, in line 2; this edit may have been made already"},
		"changed on the way":  {"abc def", []Edit{{Old: "abc", New: "x"}, {Old: "abc def", New: "y"}}, "edits[1]: old_string is not in the file; none of the 2 edits was made; it was in the file before the earlier edits"},
		"only blanks":         {"a", []Edit{{Old: "\n\n", New: "y"}}, "only blanks"},
		"with line numbers":   {"a\nb\n", []Edit{{Old: "1|a\n2|b", New: "y"}}, "remove the line numbers"},
		"with anchors":        {"a\nb\n", []Edit{{Old: "1#aa|a\n2#bb|b", New: "y"}}, "remove the line numbers"},
		"no characters":       {"caf\xe9 é é é é é é é é é é é\n", []Edit{{Old: "caf\uFFFD", New: "y"}}, "choose text without them"},
		"no such character":   {latin, []Edit{{Old: "cr", New: "5 € cr"}}, `the file is in latin-1, which has no character '€' (U+20AC); nothing was changed`},
		"no change":           {"say 'x'\n", []Edit{{Old: "say ’x'", New: "say 'x'"}}, "nothing would change"},
		"no anchor":           {"a", []Edit{{At: "line 3"}}, `at is "line 3", which is not an anchor`},
		"backwards":           {"a\nb\n", []Edit{{At: at("b", 2) + "-" + at("a", 1)}}, "is not an anchor"},
		"another line":        {"a\nb\nc\n", []Edit{{At: at("x", 2), New: "y"}}, "conflict: line 2 does not have the anchor " + at("x", 2)[2:]},
		"no such line":        {"a\nb\n", []Edit{{At: at("x", 9), New: "y"}}, "conflict: there is no line 9; the file has 2"},
		"changed twice":       {"a\nb\n", []Edit{{At: at("a", 1), New: "y"}, {At: at("a", 1), New: "z"}}, "line 1 was already changed by an earlier edit"},
		"not in the line":     {"a\nb\n", []Edit{{At: at("a", 1), Old: "b", New: "y"}}, "old_string is not in line 1"},
		"grows too much":      {strings.Repeat("a", 1000), []Edit{{Old: "a", New: strings.Repeat("b", 100_000), All: true}}, "too_large: the text would become longer than 64 MB"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Apply(t.Context(), c.before, c.edits, Hiding{})
			var known *tool.Error
			if !errors.As(err, &known) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			if err != nil && len(err.Error()) > 3000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestMovedLinesAreShown(t *testing.T) {
	_, err := Apply(t.Context(), program, []Edit{{At: at("elsewhere", 6), New: "x"}}, Hiding{})
	lines := strings.Split(program, "\n")
	want := "use these anchors: 3#" + textfile.Anchor([]byte(lines[2])) + " 4#"
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "\n\tif name == \"\" {\n") {
		t.Errorf("got %v", err)
	}
}

func TestOutcomeShowsWhatChanged(t *testing.T) {
	got, err := Apply(t.Context(), "a\r\nb\r\nc\r\nd\r\n", []Edit{{Old: "b", New: "x"}}, Hiding{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n", got.Diff(1, 2000)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
