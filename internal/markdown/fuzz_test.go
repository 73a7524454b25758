package markdown

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func seeds(f *testing.F) []string {
	f.Helper()
	files, err := filepath.Glob("testdata/*.md")
	if err != nil || len(files) == 0 {
		f.Fatal("no documents", err)
	}
	var all []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, string(text))
	}
	return append(all, "# a\n- b\n  ```\n> c\n    d\n|e|\n|-|\n<!--", "a\r\n===\r\n\x00\xff\ufeff\n~~~\n",
		"***\n1. [x](y)\n\n\t`z`\n")
}

// FuzzChunks checks that the chunks of any text have all of it once.
func FuzzChunks(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add(text, 64, 0)
		f.Add(text, 200, 200)
	}
	f.Fuzz(func(t *testing.T, text string, target, limit int) {
		o := Options{Target: target % 5000, Limit: limit % 5000}
		chunks := Chunks(text, o)
		covers(t, text, chunks, o.sensible().Limit)
		if diff := cmp.Diff(chunks, Chunks(text, o)); diff != "" {
			t.Fatalf("another time:\n%s", diff)
		}
		last := 0
		for _, c := range chunks {
			if c.From < last {
				t.Fatalf("lines %d-%d come after line %d", c.From, c.To, last)
			}
			last = c.To
		}
	})
}

// FuzzPlain checks that Plain and Headings return valid text.
func FuzzPlain(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add(text)
	}
	f.Add("[[a]](b) ![*c*](d) `` e ` <f> <!-- &#0; \\")
	f.Fuzz(func(t *testing.T, text string) {
		plain := Plain(text)
		if !utf8.ValidString(plain) {
			t.Fatalf("%q", plain)
		}
		for _, h := range Headings(text) {
			if !utf8.ValidString(h) {
				t.Fatalf("%q", h)
			}
		}
	})
}

// FuzzFrontMatter checks that bodies are returned as they are, and that errors name a line of the text.
func FuzzFrontMatter(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add(text)
	}
	f.Add("---\na: |+\n  b\n\nc: >2-\n    d\n\n   e\n---\n")
	f.Add("---\na: [x, {y: 'z', \"\\u00e9\": 1e5}, ]\nb:\n- - c: d\n    e: f\n---\nbody")
	f.Add("---\n{\"a\": [1, true, null], \"b\": \"\\ud83d\\ude00\"}\n---")
	f.Add("---\na: b\n  c\n\n  d # e\n'f': \"g\\\n  h\n\n  i\"\n...\n")
	f.Fuzz(func(t *testing.T, text string) {
		meta, body, line, err := FrontMatter(text)
		if !strings.HasSuffix(text, body) || line != 1+strings.Count(text[:len(text)-len(body)], "\n") && body != "" {
			t.Fatalf("body %q in line %d", body, line)
		}
		if err != nil {
			var wrong *SyntaxError
			if !errors.As(err, &wrong) || wrong.Line < 1 || wrong.Line > 1+strings.Count(text, "\n") || meta != nil {
				t.Fatalf("%v: %v", meta, err)
			}
			return
		}
	})
}

// TestTimeIsLinear has texts that make naive readers search again and
// again. What takes milliseconds would take minutes.
func TestTimeIsLinear(t *testing.T) {
	const size = 64 << 10
	soon := func(text string, do func()) {
		start := time.Now()
		if do(); time.Since(start) > time.Minute {
			t.Errorf("%.40q took %v", text, time.Since(start))
		}
	}
	for i, part := range []string{
		"\n", "a\n", "a\n\n", "#\n", "# a\n\n", "> ", ">\n", "- ", "- a\n", "1. ", "```\n", "```a`\n", "~~~\n~~~~\n",
		"`", "` `` ", "[", "]", "](", "[a](", "][",
		"[[", "![", "*", "* ", "*a", "**a ", "_a_", "<", "<a", "<a ", "<!--", "<!", "-->", "|", "|\n", "|-|\n",
		"a|\n-|\n", "\\", "&", "&amp", "(", ")", " ", "\t", " x", "    x\n",
		"x ", "\"\" ", ". ", "。", "\x00", "\xff", "\r", "\r\n", "---\n", "===\n", "a\n---\n", "---\na: b\n", "<pre>\n",
		"  - a\n", "> ```\n", "[a]: ", "# *[`\n", "``a", "``a`b", "[a](b \"", "[a](\\", "[a](b   ", "[a[b](c)", "<http://", "<a@",
		"<a@b ", "[a][", " [a b c d ", "([", "![[", "[[a", "~~a", "_a_ ", "[a](b(",
	} {
		text := strings.Repeat(part, size/len(part))
		text = []string{"", "- ", "> ", "x "}[i%4] + text
		soon(text, func() {
			covers(t, text, Chunks(text, Options{}), 2*DefaultTarget)
			Headings(text)
			Plain(text)
		})
	}
	for i, part := range []string{
		"a: b\n", "- ", "a:\n", "[", "{", "\"", "'", "\" ", "\\", "a ", " ", "\n", "#", "# \n", "a:\n - b\n", "  \n",
		"\"\n", "{a: ", "[a, ", "|\n", "\t", " #", ": ", "k: [\n", "''",
	} {
		for j, before := range []string{"", "a: ", "a: \"", "a: '", "a: [", "a: |\n", "a: >\n", "a:\n", "{", "\"",
			"a:\n  ", "a: x\n  ", "a: [\""} {
			if (i+j)%4 != 0 {
				continue // all pairs take minutes with the race detector
			}
			text := "---\n" + before + strings.Repeat(part, (maxMatter-100)/len(part)) + "\n---\n"
			soon(text, func() { _, _, _, _ = FrontMatter(text) })
		}
	}
}
