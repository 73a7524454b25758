package search

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// The oracle is slow but certainly correct: package regexp, line by line.

func splitLines(text []byte) [][]byte {
	if len(text) == 0 {
		return nil
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

func oracle(t testing.TB, q Query, keep bool, text []byte) []int {
	t.Helper()
	text = bytes.TrimPrefix(text, []byte("\xEF\xBB\xBF"))
	flags, pattern := syntax.Perl, q.Pattern
	if q.Literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	if q.IgnoreCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(pattern, flags)
	if err != nil {
		t.Fatal(err)
	}
	pattern = tree.String()
	if q.Word {
		no := `[^\pL\pM\pN\p{Pc}]`
		pattern = `(?:\A|` + no + `)(?:` + pattern + `)(?:` + no + `|\z)`
	}
	re := regexp.MustCompile(pattern)
	var numbers []int
	for i, line := range splitLines(text) {
		if !keep {
			line = bytes.TrimSuffix(line, []byte("\r"))
		}
		if re.Match(line) {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

func numbersOf(found FileMatches) []int {
	var numbers []int
	for _, line := range found.Lines {
		if line.Match {
			numbers = append(numbers, line.Number)
		}
	}
	return numbers
}

func check(t testing.TB, q Query, text []byte) {
	t.Helper()
	q.Limit = 1 << 20
	m, err := Compile(q)
	if err != nil {
		return
	}
	want := oracle(t, q, m.keepCR, text)
	found, ok := m.Bytes("x", text)
	if got := numbersOf(found); !slices.Equal(got, want) || ok != (len(want) > 0) || found.Matches != len(want) {
		t.Fatalf("%+v\nin %q\nfinds %v, want %v\nneedles %v sure %v", q, text, got, want, m.prefilter.needles, m.prefilter.certain)
	}
	for _, line := range found.Lines {
		if !utf8.ValidString(line.Text) {
			t.Fatalf("not UTF-8: %q", line.Text)
		}
	}
}

func FuzzMatcher(f *testing.F) {
	texts := []string{"foo bar\nFOO-12\r\n\r\nx = 12 \n", "a\nb", "", "\n", "\n\n", "é É ſ K k s\xff\xfe foo_bar\n日本語 test\n", "foo\rbar\r\n\r", "\xEF\xBB\xBFfoo\nx"}
	patterns := []string{
		"foo", "FOO-12", `\w+\s+\d+`, `[A-Z]{3}-[0-9]+`, `^$`, `^`, `$`, `\bfoo\b`, `\Bo`, `foo|bar|12`, `x*`, `.`, `..`, `[^a]$`, `a|`, `é`, `[é-ž]`, `\pL+`,
		`(?i)ks`, `o.b`, `[^f]oo`, `f.{2,3}r`, `^.*foo`, `foo.*$`, `\r`, `\x{FFFD}`, `(?:a|b)*c?`, `o{2}\s`, `\Afoo`, `12\z`, `(^|x)b`, `o\b.`, `s`, `[sk]`, `(foo|f)oo?`, `^\s*$`, `\s$`,
	}
	for i, p := range patterns {
		f.Add(p, texts[i%len(texts)], uint8(i))
		f.Add(p, texts[(i+1)%len(texts)], uint8(0))
		f.Add(p, texts[(i+5)%len(texts)], uint8(1))
	}
	f.Fuzz(func(t *testing.T, pattern, text string, flags uint8) {
		if len(text) > 7<<10 || bytes.IndexByte([]byte(text), 0) >= 0 || len(pattern) > 60 ||
			isUTF16([]byte(text)) {
			return
		}
		q := Query{Pattern: pattern, IgnoreCase: flags&1 != 0, Word: flags&2 != 0, Literal: flags&4 != 0}
		check(t, q, []byte(text))
	})
}

// touched returns the lines that contain a part of a match in the whole text.
func touched(re *regexp.Regexp, text string) (numbers []int) {
	for _, loc := range re.FindAllStringIndex(text, -1) {
		if loc[0] == len(text) && (text == "" || text[len(text)-1] == '\n') {
			continue
		}
		first := 1 + strings.Count(text[:loc[0]], "\n")
		last := max(first, 1+strings.Count(text[:max(loc[1]-1, 0)], "\n"))
		for n := first; n <= last; n++ {
			if len(numbers) == 0 || n > numbers[len(numbers)-1] {
				numbers = append(numbers, n)
			}
		}
	}
	return numbers
}

func FuzzMultiline(f *testing.F) {
	for _, p := range []string{`b\nc`, `a.*d`, `(?U)a.*b`, `^$`, `$`, `\Aa`, `b\z`, `\s+`, `[^a]+`, `\n`, `é.`, `a\b`, `c|\nb`, `x*b`, `(?i)B\s*^C`, `^a`, `.`} {
		for _, text := range []string{"a\nb\nc\nd\n", "a\n\n\nb", "xaébé\n\nb c", "", "\n", "b\xff\nc"} {
			f.Add(p, text)
		}
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(text) > 7<<10 || strings.ContainsAny(text, "\r\x00\uFEFF") || len(pattern) > 60 ||
			isUTF16([]byte(text)) {
			return
		}
		m, err := Compile(Query{Pattern: pattern, Multiline: true, Limit: 1 << 20})
		if err != nil {
			return
		}
		tree, err := syntax.Parse(pattern, syntax.Perl&^syntax.OneLine|syntax.DotNL)
		if err != nil {
			t.Fatal(err)
		}
		want := touched(regexp.MustCompile(tree.String()), text)
		found, _ := m.Bytes("x", []byte(text))
		got := numbersOf(found)
		if least(tree) == 0 { // package regexp does not report an empty match just after another match
			got = slices.DeleteFunc(got, func(n int) bool { return !slices.Contains(want, n) })
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q in %q: %v, want %v", pattern, text, got, want)
		}
	})
}

// least returns the minimum number of runes of a match, at most 1.
func least(re *syntax.Regexp) int {
	n := 0
	switch re.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpNoMatch:
		return 1
	case syntax.OpCapture, syntax.OpPlus:
		return least(re.Sub[0])
	case syntax.OpRepeat:
		return min(re.Min, least(re.Sub[0]))
	case syntax.OpAlternate:
		n = 1
		for _, sub := range re.Sub {
			n = min(n, least(sub))
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			n = max(n, least(sub))
		}
	}
	return n
}

func TestPatterns(t *testing.T) {
	text := []byte("foo bar\nFOO-12\r\n\r\nx = 12 \na\n\nfoobar foo_bar barfoo\né É ſ K k s ß ẞ\n日本語 test caf\u00e9 cafe\nbad \xff\xfe\xe9 foo\nABC-99\n\tfunc main() {\nerr != nil\nkilo Ski SKI \u017fki\nfoo\rbar\r\r\nlast foo")
	for _, p := range []string{
		"foo", "FOO", "foo|bar", "foo|bar|12|nil", `\w+\s+\d+`, `[A-Z]{3}-[0-9]+`, `^$`, `^`, `$`, `^\s*$`, `\bfoo\b`, `\Bfoo`, `foo\B`, `o$`, `^f`, `x*`, `.`,
		`.{8}`, `.{8}$`, `[^a]`, `[^a-z \t]+`, `a|`, `é`, `É`, `ß`, `[é-ž]`, `\pL{3}`, `\p{Han}`, `k`, `s`, `ski`, `SKI`, `ks|sk`, `o.b`, `func\s+\w+\(`, `err\s*!=\s*nil`,
		`\r`, `o\r`, `\r$`, `bar\r`, `\x{FFFD}`, `[\x{FFFD}]`, `(foo|f)oo?b`, `(?:fo|ba){1,3}r`, `12\s`, `\s$`, `[^x]$`, `\S+\s\S+`, `^(foo|last)`, `(?:^|x)b`, `foo$|^ABC`, `caf`, `cafe`, `café`,
		`..test`, `. .`, `[日本]`, `\w`, `\W\w\W`, `\d\d$`, `(?s).`, `(?-s:.)`, `(?i)FoO`, `f(?i)OO`, `(?U)a+`, `[[:upper:]]{3}`, `\QABC-\E`, `a{0}`, `(a{0}b)?`, `\b`, `\B`, `\b$`, `^\b`,
	} {
		for flags := range 5 {
			q := Query{Pattern: p, IgnoreCase: flags&1 != 0, Word: flags&2 != 0, Literal: flags&4 != 0}
			check(t, q, text)
			if flags == 0 {
				check(t, q, append(slices.Clone(text), '\n'))
			}
		}
	}
}

// TestWordRunes compares the two definitions of a word character.
func TestWordRunes(t *testing.T) {
	re := regexp.MustCompile(`^` + noWordRune + `$`)
	for r := range rune(unicode.MaxRune) {
		if r >= 0x3000 && r%17 != 0 {
			continue
		}
		if wordRune(r) == re.MatchString(string(r)) && utf8.ValidRune(r) && r != '\n' {
			t.Fatalf("%q: %v", r, wordRune(r))
		}
	}
}
