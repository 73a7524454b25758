package markdown

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func same(want, got any) string {
	return cmp.Diff(want, got, cmpopts.IgnoreFields(Field{}, "Line"), cmpopts.EquateEmpty())
}

func TestFrontMatter(t *testing.T) {
	for _, test := range []struct {
		name, yaml string
		want       Fields
	}{
		{"empty", "# nothing", nil},
		{"comment", "# a\nkey: v # b\n\n  # c", Fields{{Key: "key", Value: "v"}}},
		{"scalars", "a: 1\nb: -1.50e3\nc: true\nd: null\ne:\nf: ~\ng: False",
			Fields{{Key: "a", Value: "1"}, {Key: "b", Value: "-1.50e3"}, {Key: "c", Value: true}, {Key: "d"},
				{Key: "e"}, {Key: "f"}, {Key: "g", Value: false}}},
		{"text that is like something else",
			"a: yes\nb: 007\nc: 0x1F\nd: .5\ne: 1_000\nf: 2024-01-02\ng: 1.2.3\ni: '1'",
			Fields{{Key: "a", Value: "yes"}, {Key: "b", Value: "007"}, {Key: "c", Value: "0x1F"},
				{Key: "d", Value: ".5"}, {Key: "e", Value: "1_000"},
				{Key: "f", Value: "2024-01-02"}, {Key: "g", Value: "1.2.3"}, {Key: "i", Value: "1"}}},
		{"colons and hashes", "a: http://x:80/#y\nb: use it: always\nc: a#b",
			Fields{{Key: "a", Value: "http://x:80/#y"}, {Key: "b", Value: "use it: always"}, {Key: "c", Value: "a#b"}}},
		{"quotes", `a: "x \"y\" \\ \u00e9\U0001f600\n"` + "\nb: 'it''s: # so'\n\"c d\": 'e' # f\n'g' : h",
			Fields{{Key: "a", Value: "x \"y\" \\ é😀\n"}, {Key: "b", Value: "it's: # so"}, {Key: "c d", Value: "e"},
				{Key: "g", Value: "h"}}},
		{"over lines",
			"a: one\n  two\n\n  three\nb: \"one  \n  two\n\n\n  three\\\n  four\"\nc: 'x\n y'\ne: \"x\\\n\n y\"\nd:\n  five\n  six",
			Fields{{Key: "a", Value: "one two\nthree"}, {Key: "b", Value: "one two\n\nthreefour"},
				{Key: "c", Value: "x y"}, {Key: "e", Value: "x\ny"}, {Key: "d", Value: "five six"}}},
		{"blocks",
			"a: |\n  x\n    y\n\n  # z\nb: >-\n  one\n  two\n\n  three\n    deep\n  four\nc: |+\n  x\n\nd: |2-\n    x\ne: >\n\nf: |\n  end",
			Fields{{Key: "a", Value: "x\n  y\n\n# z\n"}, {Key: "b", Value: "one two\nthree\n  deep\nfour"},
				{Key: "c", Value: "x\n\n"}, {Key: "d", Value: "  x"}, {Key: "e", Value: ""},
				{Key: "f", Value: "end\n"}}},
		{"lists",
			"a: [x, 'y, z', 1,]\nb:\n- x\n- - y\n  - z\nc:\n  - k: v\n    l: w\n  - k: u\n  -\nd: []\ne:\n  - \"a: b\"\n  - http://x",
			Fields{{Key: "a", Value: []any{"x", "y, z", "1"}}, {Key: "b", Value: []any{"x", []any{"y", "z"}}},
				{Key: "c", Value: []any{Fields{{Key: "k", Value: "v"}, {Key: "l", Value: "w"}},
					Fields{{Key: "k", Value: "u"}}, nil}},
				{Key: "d", Value: []any{}}, {Key: "e", Value: []any{"a: b", "http://x"}}}},
		{"maps", "a:\n  b: 1\n  c:\n    d: 2\ne: {f: 1, \"g\":2, h: {}, i: }\nj:\n  {\n    k: [1,\n    2] # l\n  }",
			Fields{{Key: "a", Value: Fields{{Key: "b", Value: "1"}, {Key: "c", Value: Fields{{Key: "d", Value: "2"}}}}},
				{Key: "e", Value: Fields{{Key: "f", Value: "1"}, {Key: "g", Value: "2"}, {Key: "h", Value: Fields{}},
					{Key: "i"}}},
				{Key: "j", Value: Fields{{Key: "k", Value: []any{"1", "2"}}}}}},
		{"JSON", "{\n  \"name\": \"x/y\",\n  \"tags\": [\"a\", null, true],\n  \"deep\": {\"n\": 1e5}\n}",
			Fields{{Key: "name", Value: "x/y"}, {Key: "tags", Value: []any{"a", nil, true}},
				{Key: "deep", Value: Fields{{Key: "n", Value: "1e5"}}}}},
		{"values with colons",
			"a: use: it's # x\nb: one: two\n  three's\n\nc: |\n  d: e: f\nlist:\n  - k: l: m\n  - n: o: p",
			Fields{{Key: "a", Value: "use: it's"}, {Key: "b", Value: "one: two three's"},
				{Key: "c", Value: "d: e: f\n"},
				{Key: "list", Value: []any{Fields{{Key: "k", Value: "l: m"}}, Fields{{Key: "n", Value: "o: p"}}}}}},
		{"other scripts", "名前: 値", Fields{{Key: "名前", Value: "値"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			const body = "\r\nbody\x00\xff\n---\n"
			for _, end := range []string{"\n", "\r\n"} {
				text := strings.ReplaceAll("---\n"+test.yaml+"\n--- \n", "\n", end) + body
				got, rest, line, err := FrontMatter(text)
				if err != nil {
					t.Fatalf("%q: %v", text, err)
				}
				if diff := same(test.want, got); diff != "" {
					t.Errorf("%q (-want +got):\n%s", text, diff)
				}
				if want := 4 + strings.Count(test.yaml, "\n"); rest != body || line != want {
					t.Errorf("body %q in line %d, want %d", rest, line, want)
				}
			}
		})
	}
}

func TestNoFrontMatter(t *testing.T) {
	for _, text := range []string{
		"", "text", "---", "---\n", "--- a: 1\n---\n", "---\n\na: 1\n---\n", "---\n# A\n\nb: c\n---\n",
		"---\n- a\n---\n",
		"a\n---\nb: 1\n---\n", " ---\na: 1\n---\n", "----\na: 1\n----\n", "---\nsome words\n---\n", "---\n# A\n",
	} {
		meta, body, line, err := FrontMatter(text)
		if meta != nil || body != text || line != 1 || err != nil {
			t.Errorf("%q: %v, %q, %d, %v", text, meta, body, line, err)
		}
	}
}

func TestFrontMatterErrors(t *testing.T) {
	for _, test := range []struct {
		name, yaml string
		line       int    // of the text; 0: any
		say        string // in the error; the library chooses the other words
	}{
		{"twice", "a: 1\nb: 2\na: 3", 4, `"a" is in line 2`},
		{"twice in brackets", "a: {b: 1,\n b: 2}", 3, `"b" is in line 2`},
		{"twice beneath", "a:\n  b: 1\n  'b': 2", 4, "line 3"},
		{"anchor", "a: &x 1", 2, "anchors"},
		{"alias", "a: &x 1\nb: *x", 2, "aliases"},
		{"alias without anchor", "a: 1\nb: *x", 0, "unknown anchor"},
		{"tag", "a: !!python/object x", 2, "tags"},
		{"merge", "a: 1\n<<: x", 3, "<<"},
		{"tab", "a:\n\tb: 1", 3, ""},
		{"deeper", "a: 1\n   b: 2", 3, "mapping values"},
		{"crooked", "a:\n    b: 1\n  c: 2", 0, "key"},
		{"no key", "a: 1\nwords", 3, "expected ':'"},
		{"item for key", "a: 1\n- b", 0, "key"},
		{"quote open", "a: \"x\nb: 1", 2, "unexpected end"},
		{"bracket open", "a: 1\nb: [x,\n  y", 0, "',' or ']'"},
		{"after the quote", `a: "x" y`, 0, "key"},
		{"after JSON", "{}\na: 1", 0, "after the end"},
		{"escape", `a: "\q"`, 2, "escape"},
		{"colon in brackets", "a: [:3", 0, ""},
		{"colon beneath", "a: b\n  :", 0, ""},
		{"half a character", `a: "\ud800"`, 2, "character"},
		{"NUL escape", `a: "\0"`, 2, "U+0000"},
		{"NUL code", `a: "\u0000"`, 2, "U+0000"},
		{"NUL", "a: 1\nb: \x00", 0, "control characters"},
		{"not UTF-8", "a: 1\n\n# \xff", 0, "UTF-8"},
		{"reserved", "a: @x", 2, ""},
		{"question", "a: ? x", 2, ""},
		{"dash", "a: - x", 2, ""},
		{"header", "a: |x", 2, ""},
		{"comma", "a: [1 2, , 3]", 0, ""},
		{"brackets crossed", "a: [1}", 0, "',' or ']'"},
		{"deep", "a: " + strings.Repeat("[", 50) + strings.Repeat("]", 50), 2, "nested"},
		{"deep and open", "a: " + strings.Repeat("[", 5000), 0, ""},
		{"deep dashes", "a:\n" + strings.Repeat("- ", 5000), 3, "nested"},
		{"long key", strings.Repeat("k", 300) + ": 1", 2, "200 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			meta, body, line, err := FrontMatter("---\n" + test.yaml + "\n---\nbody")
			var wrong *SyntaxError
			if !errors.As(err, &wrong) || test.line > 0 && wrong.Line != test.line ||
				!strings.Contains(err.Error(), test.say) {
				t.Errorf("%v, want line %d and %q", err, test.line, test.say)
			}
			if meta != nil || body != "body" || line != 4+strings.Count(test.yaml, "\n") {
				t.Errorf("%v, %q, %d", meta, body, line)
			}
		})
	}
	for _, text := range []string{"---\na: 1\n", "---\na: " + strings.Repeat("x", maxMatter) + "\n---\n"} {
		if _, body, _, err := FrontMatter(text); err == nil || body != text ||
			!strings.Contains(err.Error(), "not closed") {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

func TestFieldsAsText(t *testing.T) {
	meta, _, _, err := FrontMatter("---\nversion: 1.10\non: true\ntags: [a, 2, '', [x]]\none: b\nnone:\n---\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1.10", "true", "", "", ""},
		[]string{meta.Text("version"), meta.Text("on"), meta.Text("tags"), meta.Text("none"),
			meta.Text("absent")}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{{"a", "2"}, {"b"}, nil, nil},
		[][]string{meta.Texts("tags"), meta.Texts("one"), meta.Texts("none"), meta.Texts("absent")}); diff != "" {
		t.Error(diff)
	}
	if meta[2].Line != 4 {
		t.Errorf("tags are in line %d", meta[2].Line)
	}
}

func TestWithFrontMatter(t *testing.T) {
	for _, name := range []string{
		"a skill", "true", "01", "null", "~", "a: b", "- x", " x ", "é \"'\\", "line\n\nline\n", "\n x",
		"\u2028\U0001f600\u0085\x7f", "x #y",
	} {
		want := Fields{{Key: "memory", Value: Fields{{Key: "name", Value: name},
			{Key: "tags", Value: []any{name, "b: c", true, nil}}}}}
		text, err := WithFrontMatter(want, "---\nbody")
		if err != nil {
			t.Fatal(err)
		}
		meta, body, _, err := FrontMatter(text)
		if diff := same(want, meta); diff != "" || body != "---\nbody" || err != nil {
			t.Errorf("%q: %q, %v (-want +got):\n%s", text, body, err, diff)
		}
	}
	if _, err := WithFrontMatter(Fields{{Key: "a", Value: strings.Repeat("x", maxMatter)}}, ""); err == nil {
		t.Error("front matter that cannot be read back is written")
	}
}
