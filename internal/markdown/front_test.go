package markdown

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// n is a number of front matter.
type n = json.Number

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
			Fields{{Key: "a", Value: n("1")}, {Key: "b", Value: n("-1.50e3")}, {Key: "c", Value: true}, {Key: "d"}, {Key: "e"}, {Key: "f"}, {Key: "g", Value: false}}},
		{"text that is like something else", "a: yes\nb: 007\nc: 0x1F\nd: .5\ne: 1_000\nf: 2024-01-02\ng: 1.2.3\ni: '1'",
			Fields{{Key: "a", Value: "yes"}, {Key: "b", Value: "007"}, {Key: "c", Value: "0x1F"}, {Key: "d", Value: ".5"}, {Key: "e", Value: "1_000"},
				{Key: "f", Value: "2024-01-02"}, {Key: "g", Value: "1.2.3"}, {Key: "i", Value: "1"}}},
		{"colons and hashes", "a: http://x:80/#y\nb: use it: always\nc: a#b", Fields{{Key: "a", Value: "http://x:80/#y"}, {Key: "b", Value: "use it: always"}, {Key: "c", Value: "a#b"}}},
		{"quotes", `a: "x \"y\" \\ \u00e9\ud83d\ude00\n"` + "\nb: 'it''s: # so'\n\"c d\": 'e' # f\n'g' : h",
			Fields{{Key: "a", Value: "x \"y\" \\ é😀\n"}, {Key: "b", Value: "it's: # so"}, {Key: "c d", Value: "e"}, {Key: "g", Value: "h"}}},
		{"over lines", "a: one\n  two\n\n  three\nb: \"one  \n  two\n\n\n  three\\\n  four\"\nc: 'x\n y'\ne: \"x\\\n\n y\"\nd:\n  five\n  six",
			Fields{{Key: "a", Value: "one two\nthree"}, {Key: "b", Value: "one two\n\nthreefour"}, {Key: "c", Value: "x y"}, {Key: "e", Value: "x\ny"}, {Key: "d", Value: "five six"}}},
		{"blocks", "a: |\n  x\n    y\n\n  # z\nb: >-\n  one\n  two\n\n  three\n    deep\n  four\nc: |+\n  x\n\nd: |2-\n    x\ne: >\n\nf: |\n  end",
			Fields{{Key: "a", Value: "x\n  y\n\n# z\n"}, {Key: "b", Value: "one two\nthree\n  deep\nfour"}, {Key: "c", Value: "x\n\n"}, {Key: "d", Value: "  x"}, {Key: "e", Value: ""}, {Key: "f", Value: "end\n"}}},
		{"lists", "a: [x, 'y, z', 1,]\nb:\n- x\n- - y\n  - z\nc:\n  - k: v\n    l: w\n  - k: u\n  -\nd: []\ne:\n  - \"a: b\"\n  - http://x",
			Fields{{Key: "a", Value: []any{"x", "y, z", n("1")}}, {Key: "b", Value: []any{"x", []any{"y", "z"}}},
				{Key: "c", Value: []any{Fields{{Key: "k", Value: "v"}, {Key: "l", Value: "w"}}, Fields{{Key: "k", Value: "u"}}, nil}},
				{Key: "d", Value: []any{}}, {Key: "e", Value: []any{"a: b", "http://x"}}}},
		{"maps", "a:\n  b: 1\n  c:\n    d: 2\ne: {f: 1, \"g\":2, h: {}, i: }\nj:\n  {\n    k: [1,\n    2] # l\n  }",
			Fields{{Key: "a", Value: Fields{{Key: "b", Value: n("1")}, {Key: "c", Value: Fields{{Key: "d", Value: n("2")}}}}},
				{Key: "e", Value: Fields{{Key: "f", Value: n("1")}, {Key: "g", Value: n("2")}, {Key: "h", Value: Fields{}}, {Key: "i"}}},
				{Key: "j", Value: Fields{{Key: "k", Value: []any{n("1"), n("2")}}}}}},
		{"JSON", "{\n  \"name\": \"x\\/y\",\n  \"tags\": [\"a\", null, true],\n  \"deep\": {\"n\": 1e5}\n}",
			Fields{{Key: "name", Value: "x/y"}, {Key: "tags", Value: []any{"a", nil, true}}, {Key: "deep", Value: Fields{{Key: "n", Value: n("1e5")}}}}},
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
			rewritten(t, test.want, body)
		})
	}
}

func rewritten(t *testing.T, meta Fields, body string) {
	t.Helper()
	text, err := Write(meta, body)
	if err != nil {
		t.Fatal(err)
	}
	got, rest, _, err := FrontMatter(text)
	if err != nil || rest != body {
		t.Fatalf("%q: body %q, %v", text, rest, err)
	}
	if diff := same(meta, got); diff != "" {
		t.Errorf("%q (-want +got):\n%s", text, diff)
	}
}

func TestNoFrontMatter(t *testing.T) {
	for _, text := range []string{
		"", "text", "---", "---\n", "--- a: 1\n---\n", "---\n\na: 1\n---\n", "---\n# A\n\nb: c\n---\n", "---\n- a\n---\n",
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
		line       int // of the text
		say        string
	}{
		{"twice", "a: 1\nb: 2\na: 3", 4, `"a" is in line 2`},
		{"twice in brackets", "a: {b: 1,\n b: 2}", 3, `"b" is in line 2`},
		{"twice beneath", "a:\n  b: 1\n  'b': 2", 4, "line 3"},
		{"anchor", "a: &x 1", 2, "anchors"},
		{"alias", "a: 1\nb: *x", 3, "aliases"},
		{"alias in brackets", "a: [*x]", 2, "aliases"},
		{"tag", "a: !!python/object x", 2, "tags"},
		{"merge", "a: 1\n<<: x", 3, "<<"},
		{"tab", "a:\n\tb: 1", 3, "tab"},
		{"deeper", "a: 1\n   b: 2", 3, "beneath a value"},
		{"crooked", "a:\n    b: 1\n  c: 2", 4, "key"},
		{"no key", "a: 1\nwords", 3, "key with a colon"},
		{"item for key", "a: 1\n- b", 3, "item of a list"},
		{"quote open", "a: \"x\nb: 1", 2, "not closed"},
		{"bracket open", "a: 1\nb: [x,\n  y", 3, "not closed"},
		{"after the quote", `a: "x" y`, 2, "nothing but a comment"},
		{"after JSON", "{}\na: 1", 3, "closing }"},
		{"escape", `a: "\q"`, 2, `no escape \q`},
		{"colon in brackets", "a: [:3]", 2, "in quotes"},
		{"colon beneath", "a: b\n  :", 3, "beneath a value"},
		{"half a character", `a: "\ud800"`, 2, "no character"},
		{"NUL escape", `a: "\0"`, 2, "no escape"},
		{"NUL code", `a: "\u0000"`, 2, "no character"},
		{"NUL", "a: 1\nb: \x00", 3, "U+0000"},
		{"not UTF-8", "a: 1\n\n# \xff", 4, "UTF-8"},
		{"reserved", "a: @x", 2, "in quotes"},
		{"question", "a: ? x", 2, "in quotes"},
		{"dash", "a: - x", 2, "in quotes"},
		{"header", "a: |x", 2, "after |"},
		{"comma", "a: [1 2, , 3]", 2, "expected"},
		{"brackets crossed", "a: [1}", 2, "comma or ]"},
		{"no colon", "a: {b}", 2, "colon"},
		{"deep", "a: " + strings.Repeat("[", 5000), 2, "nested"},
		{"deep dashes", "a:\n" + strings.Repeat("- ", 5000), 3, "nested"},
		{"long key", strings.Repeat("k", 300) + ": 1", 2, "200 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			meta, body, line, err := FrontMatter("---\n" + test.yaml + "\n---\nbody")
			var wrong *SyntaxError
			if !errors.As(err, &wrong) || wrong.Line != test.line || !strings.Contains(err.Error(), test.say) {
				t.Errorf("%v, want line %d and %q", err, test.line, test.say)
			}
			if meta != nil || body != "body" || line != 4+strings.Count(test.yaml, "\n") {
				t.Errorf("%v, %q, %d", meta, body, line)
			}
		})
	}
	for _, text := range []string{"---\na: 1\n", "---\na: " + strings.Repeat("x", maxMatter) + "\n---\n"} {
		if _, body, _, err := FrontMatter(text); err == nil || body != text || !strings.Contains(err.Error(), "not closed") {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

func TestFieldsAsText(t *testing.T) {
	meta, _, _, err := FrontMatter("---\nversion: 1.10\non: true\ntags: [a, 2, '', [x]]\none: b\nnone:\n---\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1.10", "true", "", "", ""}, []string{meta.Text("version"), meta.Text("on"), meta.Text("tags"), meta.Text("none"), meta.Text("absent")}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{{"a", "2"}, {"b"}, nil, nil}, [][]string{meta.Texts("tags"), meta.Texts("one"), meta.Texts("none"), meta.Texts("absent")}); diff != "" {
		t.Error(diff)
	}
	if meta[2].Line != 4 {
		t.Errorf("tags are in line %d", meta[2].Line)
	}
}

func TestWrite(t *testing.T) {
	meta := Fields{
		{Key: "name", Value: "a skill"}, {Key: "description", Value: "Use it: always.\nThen stop.\n"}, {Key: "tags", Value: []string{"a", "b: c"}},
		{Key: "version", Value: n("1.10")}, {Key: "on", Value: true}, {Key: "text", Value: "true"}, {Key: "no", Value: nil},
		{Key: "meta", Value: map[string]any{"b": 1, "a": []any{Fields{{Key: "x", Value: 1.5}}}}}, {Key: "empty", Value: []any{}},
	}
	got, err := Write(meta, "# Body\n")
	if err != nil {
		t.Fatal(err)
	}
	want := `---
name: a skill
description: |
  Use it: always.
  Then stop.
tags:
  - a
  - "b: c"
version: 1.10
on: true
text: "true"
no: null
meta:
  a:
    - {"x": 1.5}
  b: 1
empty: []
---
# Body
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, body := range []string{"", "text", "---\na: 1\n---\n", "---\n---\n", "---\na: 1", "\ufeff---\na: 1\n---\n", "\r\n", "---\n\ntext"} {
		rewritten(t, nil, body)
		rewritten(t, Fields{{Key: "a", Value: " "}}, body)
	}
}

func TestWriteRefuses(t *testing.T) {
	deep := any("x")
	for range 12 {
		deep = []any{deep}
	}
	for name, meta := range map[string]Fields{
		"twice":     {{Key: "a"}, {Key: "a"}},
		"type":      {{Key: "a", Value: struct{}{}}},
		"infinite":  {{Key: "a", Value: math.Inf(1)}},
		"number":    {{Key: "a", Value: n("007")}},
		"not UTF-8": {{Key: "a", Value: "\xff"}},
		"NUL":       {{Key: "a", Value: []any{"\x00"}}},
		"deep":      {{Key: "a", Value: deep}},
		"large":     {{Key: "a", Value: strings.Repeat("x", maxMatter)}},
		"merge":     {{Key: "<<", Value: "x"}},
		"inside":    {{Key: "a", Value: map[string]any{"b": make(chan int)}}},
	} {
		if text, err := Write(meta, ""); err == nil || text != "" {
			t.Errorf("%s: %.80q", name, text)
		}
	}
}
