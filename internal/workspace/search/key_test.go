package search

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/scrub"
)

func TestLinesOfKeysAreMasked(t *testing.T) {
	var body []string
	for i := range 30 {
		body = append(body, strings.Repeat(fmt.Sprintf("MII%cKey%d/+", 'A'+i%26, i%10), 7)[:64])
	}
	head, foot := "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
	dir := t.TempDir()
	write(t, dir, "key", "one\n"+head+"\n"+strings.Join(body, "\n")+"\n"+foot+"\nafter\n")
	write(t, dir, "line", `{"key":"`+head+`\n`+strings.Join(body, `\n`)+`\n`+foot+`\n","name":"needle"}`)
	write(t, dir, "words", strings.Join(body, "\n"))
	for _, q := range []Query{
		{Pattern: "PRIVATE KEY", Context: 3}, {Pattern: "after", Context: 4}, {Pattern: "(?s)BEGIN.*END", Multiline: true},
		{Pattern: "needle|one", Context: 3},
	} {
		for _, name := range []string{"key", "line"} {
			if q.Pattern == "after" && name == "line" {
				continue
			}
			hidden := false
			for _, line := range lookup(t, dir, q, name).Files[0].Lines {
				for _, part := range body {
					if strings.Contains(line.Text, part) {
						t.Fatalf("%+v in %s: %+v", q, name, line)
					}
				}
				hidden = hidden || strings.Contains(line.Text, scrub.Mask)
			}
			if !hidden {
				t.Errorf("%+v in %s: nothing is masked", q, name)
			}
		}
	}
	for _, q := range []Query{{Pattern: "KeyK?[0-9]"}, {Pattern: "MIIHKey7"}, {Pattern: "(?s)MIIC.*MIIF", Multiline: true}} {
		for _, name := range []string{"key", "line"} {
			if found := lookup(t, dir, q, name); len(found.Files) > 0 {
				t.Errorf("%+v matches within the key: %+v", q, found.Files)
			}
		}
	}
	for _, line := range lookup(t, dir, Query{Pattern: "Key"}, "words").Files[0].Lines {
		if line.Text == scrub.Mask {
			t.Fatalf("no key, and hidden: %+v", line)
		}
	}
}

func TestLongLinesAreCutBetweenWords(t *testing.T) {
	dir := t.TempDir()
	token := "ghp_" + strings.Repeat("a1B2c3", 6)
	for gap := range 60 {
		before := strings.Repeat("q ", 400) + token + strings.Repeat(" ", gap+80)
		after := strings.Repeat(" ", gap+120) + token + strings.Repeat(" q", 400)
		write(t, dir, "x", before+"needle"+after)
		text := lookup(t, dir, Query{Pattern: "needle"}, "x").Files[0].Lines[0].Text
		if strings.Count(text, "a1B2c3")%6 != 0 || strings.Count(text, "ghp_")*6 != strings.Count(text, "a1B2c3") {
			t.Fatalf("half of a token is shown: %q", text)
		}
	}
}
