package markdown

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/golden"
)

func TestGoldenChunks(t *testing.T) {
	files, err := filepath.Glob("testdata/*.md")
	if err != nil || len(files) < 2 {
		t.Fatal("the documents are missing", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, h := range Headings(string(text)) {
			fmt.Fprintf(&b, "heading %s\n", h)
		}
		for _, c := range Chunks(string(text), Options{}) {
			fmt.Fprintf(&b, "\n== %d-%d, %d bytes, %q beneath %q", c.From, c.To, len(c.Text), c.Title, c.Headings)
			if c.Code {
				b.WriteString(", code")
			}
			if c.Meta {
				b.WriteString(", front matter")
			}
			fmt.Fprintf(&b, "\n%s\n", c.Text)
		}
		fmt.Fprintf(&b, "\n== plain\n%s\n", Plain(string(text)))
		golden.Check(t, strings.TrimSuffix(file, ".md")+".txt", []byte(b.String()))
	}
}

// lines shows chunks as "from-to title".
func lines(chunks []Chunk) []string {
	var all []string
	for _, c := range chunks {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%d-%d %s", c.From, c.To,
			strings.Join(append(c.Headings[:len(c.Headings):len(c.Headings)], c.Title), "/"))))
	}
	return all
}

func TestChunks(t *testing.T) {
	long := strings.Repeat("word ", 30) // 150 bytes
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"blank lines", " \n\t\n\r\n\u00a0\n", nil},
		{"byte order mark", "\ufeff# A\n", []string{"1-1 A"}},
		{"no newline at the end", "a", []string{"1-1"}},
		{"blank lines around", "\n\na\n\nb\n\n", []string{"3-5"}},
		{"headings begin chunks", "# A\na\n# B\nb", []string{"1-2 A", "3-4 B"}},
		{"a heading without text goes with those beneath it", "# A\n\n## B\n\ntext\n\n## C\ntext",
			[]string{"1-5 A/B", "7-8 A/C"}},
		{"but not with its neighbours", "## A\n## B\n# C\ntext", []string{"1-1 A", "2-2 B", "3-4 C"}},
		{"levels left out", "# A\ntext\n### B\ntext\n## C\ntext", []string{"1-2 A", "3-4 A/B", "5-6 A/C"}},
		{"a heading without title", "#\ntext\n## B\ntext", []string{"1-2", "3-4 B"}},
		{"hashes that are no heading", "#tag\n####### seven\n\\# escaped", []string{"1-3"}},
		{"underlined", "A\n=\ntext\n\nB\nc\n---\ntext", []string{"1-3 A", "5-8 A/B c"}},
		{"no underline", "text\n\n---\n\n- a\n---\n> b\n---\n===", []string{"1-9"}},
		{"a rule beneath a long paragraph", strings.Repeat("word\n", 100) + "---\n", []string{"1-101"}},
		{"fences", "```\n# a\n```\n~~~ x\n# b\n```\n~~~\n# C", []string{"1-7", "8-8 C"}},
		{"fence in fence", "````\n```\n# a\n```\n````\n# B", []string{"1-5", "6-6 B"}},
		{"fence without end", "```\n# a\n\n# b", []string{"1-4"}},
		{"backticks in a line are no fence", "```a```\n# B", []string{"1-1", "2-2 B"}},
		{"indented code", "    # a\n\n    # b\n# C", []string{"1-3", "4-4 C"}},
		{"indented in a paragraph", "a\n    # b", []string{"1-2"}},
		{"tab", "\t# a", []string{"1-1"}},
		{"comment", "<!-- a\n\n# b\n--> # c\n# D", []string{"1-4", "5-5 D"}},
		{"pre", "<pre>\n\n# a\n</pre>\n# B", []string{"1-4", "5-5 B"}},
		{"details", "<details>\n# a\n\n# B\n</details>", []string{"1-2", "4-5 B"}},
		{"address, not tag", "<https://a.example>\n# B", []string{"1-1", "2-2 B"}},
		{"quote", "> # a\n> ```\n# B", []string{"1-2", "3-3 B"}},
		{"item", "- # a\n\n  # b\n# C", []string{"1-3", "4-4 C"}},
		{"fence in item", "1. a\n   ```\n   # b\n\n   # c\n   ```\n# D", []string{"1-6", "7-7 D"}},
		{"fence in item left", "- ```\n  # a\n# B", []string{"1-2", "3-3 B"}},
		{"front matter alone", "---\na: 1\n---\ntext", []string{"1-3", "4-4"}},
		{"no front matter", "---\n\na: 1\n---\n# B", []string{"1-4 a: 1", "5-5 B"}},
		{"paragraphs fill up", long + "\n\n" + long + "\n\n" + long, []string{"1-3", "5-5"}},
		{"small ones stay", long + long + "\n\nsmall", []string{"1-3"}},
		{"a lead stays with its list", long + "\n\nlike this:\n\n- " + long + long, []string{"1-1", "3-5"}},
		{"items are whole", "- " + long + "\n- " + long + "\n\n  " + long + "\n- b", []string{"1-1", "2-5"}},
		{"invalid", "# a\xff\x00b\n\xfe", []string{"1-2 a��b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, text := range []string{test.text, strings.ReplaceAll(test.text, "\n", "\r\n")} {
				text = strings.ReplaceAll(text, "\r\r", "\r")
				got := Chunks(text, Options{Target: 360})
				if diff := cmp.Diff(test.want, lines(got)); diff != "" {
					t.Errorf("%q (-want +got):\n%s", text, diff)
				}
				covers(t, text, got, 720)
			}
		})
	}
}

func TestLargeBlocksAreCut(t *testing.T) {
	body := strings.Repeat("x := f(x)\n", 100)
	for _, test := range []struct {
		name, text string
		min, max   int // chunks
		code       bool
	}{
		{"code", "```go\n" + body + "```", 4, 6, true},
		{"indented code", strings.ReplaceAll(body, "x :=", "    x :="), 4, 8, true},
		{"table", "|a|b|\n|-|-|\n" + strings.ReplaceAll(body, "x :=", "| x |"), 4, 8, false},
		{"quote", strings.ReplaceAll(body, "x :=", "> x"), 4, 8, false},
		{"line of words", strings.ReplaceAll(body, "\n", " "), 4, 6, false},
		{"line without a space", strings.Repeat("界", 400), 4, 6, false},
		{"line of white space", "y" + strings.Repeat(" ", 5000) + "x" + strings.Repeat("\u00a0", 5000), 2, 2, false},
		{"heading", "# " + strings.Repeat("word ", 400), 6, 10, false},
		{"front matter", "---\na: |\n" + strings.Repeat("  some words\n", 100) + "---\n", 4, 8, false},
		{"gap", "a" + strings.Repeat("\n", 5000) + "b", 2, 2, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Chunks(test.text, Options{Target: 256})
			if len(got) < test.min || len(got) > test.max {
				t.Errorf("%d chunks: %q", len(got), lines(got))
			}
			for _, c := range got {
				if c.Code != test.code {
					t.Errorf("lines %d-%d: code %v", c.From, c.To, c.Code)
				}
			}
			covers(t, test.text, got, 512)
		})
	}
}

func TestLongParagraphsAreCutBetweenSentences(t *testing.T) {
	for _, sentence := range []string{"Here are some words that say a thing. ", "这里有一些话。"} {
		for _, c := range Chunks(strings.Repeat(sentence, 100), Options{Target: 256}) {
			if !strings.HasSuffix(c.Text, strings.TrimSpace(sentence)) {
				t.Errorf("torn: %q", c.Text)
			}
		}
	}
}

// TestTitlesAreBounded: every chunk carries its headings.
func TestTitlesAreBounded(t *testing.T) {
	chunks := Chunks("# "+strings.Repeat("é", 100_000)+"\n\ntext\n", Options{})
	for _, c := range chunks {
		if len(c.Title) > 210 || !utf8.ValidString(c.Title) {
			t.Fatalf("a title of %d bytes", len(c.Title))
		}
	}
}

// covers checks what holds for the chunks of any text.
func covers(t *testing.T, text string, chunks []Chunk, limit int) {
	t.Helper()
	all := strings.Split(normal(text), "\n")
	seen := make([]int, len(all)+2)
	var joined strings.Builder
	for i, c := range chunks {
		switch {
		case blank(c.Text) || len(c.Text) > limit || !utf8.ValidString(c.Text) || strings.Contains(c.Text, "\x00"):
			t.Fatalf("chunk %d has %d bytes: %q", i, len(c.Text), c.Text)
		case c.From < 1 || c.To < c.From || c.To > len(all):
			t.Fatalf("chunk %d has lines %d-%d of %d", i, c.From, c.To, len(all))
		case strings.Count(c.Text, "\n") != c.To-c.From:
			t.Fatalf("chunk %d, lines %d-%d, has %d lines", i, c.From, c.To, strings.Count(c.Text, "\n")+1)
		}
		for line := c.From; line <= c.To; line++ {
			seen[line]++
		}
		joined.WriteString(c.Text)
	}
	for i, line := range all {
		if seen[i+1] != 1 && !blank(line) && len(line) <= limit {
			t.Fatalf("line %d is in %d chunks: %q", i+1, seen[i+1], line)
		}
	}
	if squeeze(joined.String()) != squeeze(normal(text)) {
		t.Fatalf("the chunks have another text than %q", text)
	}
}

// squeeze returns a text without white space.
func squeeze(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}
