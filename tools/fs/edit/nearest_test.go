package edit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const program = `package main

import "fmt"

func greet(name string) string {
	if name == "" {
		name = "world"
	}
	return "hello, " + name
}

func main() {
	for i := 0; i < 10; i++ {
		fmt.Println(greet(""))
	}
}
`

func TestCandidates(t *testing.T) {
	for name, c := range map[string]struct {
		content, wanted string
		want            string // of the best
	}{
		"a word is wrong": {program, "\treturn \"hallo, \" + name\n}", "lines 9-10, 92% alike:\n\treturn \"hello, \" + name\n}\n" +
			"(line 9, column 11: your text differs there:)\n\treturn \"hallo, \" + name"},
		"blanks": {program, "    if name  == \"\" {", "line 6, 73% alike:\n\tif name == \"\" {\n" +
			"(line 6, column 1: the file has «→» where your text has «····»)"},
		"within a line": {program, "greet(\"\"));", "line 14, 90% alike:\n\t\tfmt.Println(greet(\"\"))\n" +
			"(line 14, column 25: your text differs there:)\ngreet(\"\"));"},
		"no indentation": {program, "return \"hallo, \"", "line 9, 86% alike:\n\treturn \"hello, \" + name\n" +
			"(line 9, column 11: your text differs there:)\nreturn \"hallo, \""},
		"no indentation, short": {"    x = 4\n", "x = 5", "line 1, 75% alike:\n    x = 4\n(line 1, column 9: your text differs there:)\nx = 5"},
		"CRLF": {"one\r\ntwo\r\nthree\r\n", "one\ntwo\nfour", "lines 1-3, 63% alike:\none\ntwo\nthree\n" +
			"(line 1, column 4: the file has «␍␊» where your text has «␊»)"},
		"a line is missing": {program, "func main() {\n\tsetup()\n\tfor i := 0; i < 10; i++ {\n", "lines 12-14, 87% alike:\nfunc main() {\n\tfor i := 0; i < 10; i++ {\n\t\tfmt.Println(greet(\"\"))\n" +
			"(line 13, column 2: your text differs there:)\n\tsetup()"},
		"not UTF-8":       {"caf\xe9 au lait\n", "café au lait", "line 1, 75% alike:\ncaf\uFFFD au lait\n(line 1, column 4: your text differs there:)\ncafé au lait"},
		"beyond the end":  {"alpha\nbeta\n", "alpha\nbeta\ngamma\n", "lines 1-2, 66% alike:\nalpha\nbeta\n(line 3, column 1: the file has no such line; your text continues)"},
		"nothing alike":   {program, "zzzzzz", ""},
		"only blanks":     {program, " \n\t", ""},
		"an empty file":   {"", "text", ""},
		"a nothing for n": {program, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if found := Candidates(c.content, c.wanted, 1); len(found) > 0 {
				got = found[0].String()
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCandidatesInOrder(t *testing.T) {
	content := strings.Repeat("filler\n", 500) + "func a(x int) {\n" + strings.Repeat("filler\n", 500) + "func ab(x int) error {\n"
	found := Candidates(content, "func ab(x int32) error {", 2)
	if len(found) != 2 || found[0].First != 1002 || found[1].First != 501 {
		t.Errorf("found %+v", found)
	}
}

func TestCandidateInALongLine(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "{\"id\": %d, \"name\": \"person %d\"},", i, i*7)
	}
	found := Candidates(b.String(), `"name": "person 70007 "`, 2)
	if len(found) == 0 || found[0].First != 1 || len(found[0].String()) > 800 {
		t.Fatalf("found %d: %.800v", len(found), found)
	}
}

func TestCandidatesOfHostileTexts(t *testing.T) {
	for _, content := range []string{
		strings.Repeat("\n", 1<<20), strings.Repeat("a", 1<<20), strings.Repeat("a\n", 1<<19), strings.Repeat("\r",
			1<<20), strings.Repeat("\x00\xff", 1<<19),
	} {
		for _, wanted := range []string{content, content[:len(content)/2] + "b", "a", "aaa", "a\n\n\na"} {
			for _, c := range Candidates(content, wanted, 2) {
				if text := c.String(); len(text) > 4000 {
					t.Errorf("%.10q in %.10q: %d bytes", wanted, content, len(text))
				}
			}
		}
	}
}

func BenchmarkCandidates5MB(b *testing.B) {
	var text strings.Builder
	for i := range 125_000 {
		fmt.Fprintf(&text, "line %d of some forty characters.....\n", i)
	}
	content := text.String()
	wanted := "line 100003 of sume forty characters.....\nline 100004 of some forty characters...\nline 10005 of\n"
	b.ReportAllocs()
	for b.Loop() {
		if len(Candidates(content, wanted, 2)) == 0 {
			b.Fatal("none")
		}
	}
}

// TestCandidatesDiffer checks that one place is not shown twice.
func TestCandidatesDiffer(t *testing.T) {
	program := "package p\n\n// Price1 returns the price.\nfunc Price1(n int) int {\n\treturn n * 42\n}\n\n// Show prints it.\nfunc Show() { fmt.Println(Price1(1)) }\n"
	for _, wanted := range []string{"return n * 999", "\treturn n  * 42", "func Price1(n int) int {\n\treturn n * 43\n}"} {
		seen := map[int]bool{}
		for _, c := range Candidates(program, wanted, 3) {
			if seen[c.First] {
				t.Errorf("%q: line %d is shown twice", wanted, c.First)
			}
			seen[c.First] = true
		}
		if len(seen) == 0 {
			t.Errorf("%q: nothing is similar", wanted)
		}
	}
}
