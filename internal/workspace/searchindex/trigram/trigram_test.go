package trigram

import (
	"cmp"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
)

// show returns a query as text.
func show(q Query) string {
	var clauses []string
	for _, c := range q {
		var texts []string
		for _, all := range c {
			var parts []string
			for _, t := range all {
				parts = append(parts, string([]byte{byte(t >> 16), byte(t >> 8), byte(t)}))
			}
			texts = append(texts, strings.Join(parts, " "))
		}
		clauses = append(clauses, cmp.Or(strings.Join(texts, "|"), "none"))
	}
	return cmp.Or(strings.Join(clauses, " & "), "all")
}

func parse(t testing.TB, pattern string) *syntax.Regexp {
	t.Helper()
	re, err := syntax.Parse(pattern, syntax.Perl|syntax.UnicodeGroups)
	if err != nil {
		t.Skip(err)
	}
	return re
}

func TestOf(t *testing.T) {
	for pattern, want := range map[string]string{
		`hello`:                    "ell hel llo",
		`HeLLo`:                    "ell hel llo",
		`(?i)hello`:                "ell hel llo",
		`(?i)task`:                 "ask tas",
		`(?i)größe`:                "all",
		`(?i)zeitgrößen`:           "eit itg tgr zei",
		`größe`:                    "gr\xc3 r\xc3\xb6 \xb6\xc3\x9f \xc3\x9fe \xc3\xb6\xc3",
		`ab`:                       "all",
		`.*`:                       "all",
		`\w+\s+\d+`:                "all",
		`foo.*bar`:                 "foo & bar",
		`foo|bar|baz`:              "bar|baz|foo",
		`foo(bar|baz)`:             "bar foo oba oob|baz foo oba oob",
		`foo[0-2]`:                 "foo oo0|foo oo1|foo oo2",
		`a[bc]d`:                   "abd|acd",
		`a(b|)c`:                   "all",
		`xa(b|)cy`:                 "acy xac|abc bcy xab",
		`(abc)+`:                   "abc",
		`(abc){3}`:                 "abc bca cab",
		`(abc){2,}x`:               "abc & abc",
		`(abc)*`:                   "all",
		`(abc)?def`:                "def|abc bcd cde def",
		`^func (T|Bench)`:          " be ben c b enc fun nc  nch unc|c t fun nc  unc",
		`one\ntwo`:                 "one two",
		`one\x{FFFD}two`:           "one & two",
		`[^\x00-\x{10FFFF}]`:       "none",
		`(foo|[^\x00-\x{10FFFF}])`: "foo",
		`abc.|def.`:                "abc|def",
	} {
		if got := show(Of(parse(t, pattern))); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
}

func bagOf(b *Bag, text string) (func(T) bool, bool) {
	found, odd := b.Add([]byte(text))
	set := map[T]bool{}
	for _, t := range found {
		set[t] = true
	}
	return func(t T) bool { return set[t] }, odd
}

// holds checks that a text that matches always satisfies the query.
func holds(t *testing.T, b *Bag, pattern, text string) (matched, accepted bool) {
	t.Helper()
	re, err := regexp.Compile(pattern)
	if err != nil {
		return false, false
	}
	has, odd := bagOf(b, text)
	matched, accepted = re.MatchString(text), odd || Of(parse(t, pattern)).Eval(has)
	if simple := odd || Of(parse(t, pattern).Simplify()).Eval(has); matched && !(accepted && simple) {
		t.Errorf("%q matches %q, and the query %s leaves it out", pattern, text, show(Of(parse(t, pattern))))
	}
	return matched, accepted
}

// randomPattern returns an expression with few letters, so that many texts match.
func randomPattern(r *rand.Rand, depth int) string {
	atoms := []string{"a", "b", "ab", "abc", "k", "S", "K", "ſ", "\u212a", "é", "É", "ß", ".", "[ab]", "[^a]", "[a-k]", `\d`, `\w`, `\n`, "^", "$", `\b`,
		"1", "\ufffd", `\x{FFFD}`, "[\u212ax]", "[éè]", "[\na]", "", "cab", "世界", " "}
	if depth == 0 || r.IntN(4) == 0 {
		return atoms[r.IntN(len(atoms))]
	}
	sub := func() string { return randomPattern(r, depth-1) }
	switch r.IntN(8) {
	case 0:
		return "(" + sub() + "|" + sub() + ")"
	case 1:
		return "(?:" + sub() + ")" + []string{"*", "+", "?", "{2}", "{1,3}", "{3,}", "{0,2}", "{5}", "*?"}[r.IntN(9)]
	case 2:
		return "(?i:" + sub() + ")"
	case 3:
		return "(?s:" + sub() + ")"
	}
	return sub() + sub()
}

func randomText(r *rand.Rand) string {
	atoms := []string{"a", "b", "ab", "abc", "A", "K", "k", "s", "ſ", "\u212a", "é", "É", "\n", "\r\n", "1", "\xff", "\xe2", "世界", "cab", " ", "\ufffd", "x", "ß", "ẞ"}
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteString(atoms[r.IntN(len(atoms))])
	}
	return b.String()
}

func TestMatchesSatisfyQuery(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var b Bag
	matches, refused := 0, 0
	for range 60000 {
		matched, accepted := holds(t, &b, "(?m)"+randomPattern(r, 4), randomText(r))
		if matched {
			matches++
		}
		if !accepted {
			refused++
		}
	}
	if matches < 5000 || refused < 3000 {
		t.Errorf("%d matches and %d refusals: the test shows little", matches, refused)
	}
}

func FuzzOf(f *testing.F) {
	for _, seed := range [][2]string{
		{"foo.*bar", "foo and bar"}, {"(?i)task", "TASK"}, {"(?i)task", "TA\u017f\u212a"}, {"a{3,5}b|c", "aaaab"}, {"[a-c]{2}x", "abx"},
		{"é+", "\xc3\xa9"}, {"\ufffd", "\xff"}, {"(ab|cd)(ef|gh)(ij|kl)(mn|op)(qr|st)(uv|wx)", "abghijopqrwx"},
	} {
		f.Add(seed[0], seed[1])
	}
	var b Bag
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 300 || len(text) > 3000 {
			return
		}
		holds(t, &b, pattern, text)
	})
}

// TestLargePatterns checks that the work for large patterns is bounded; otherwise the test
// exceeds its time limit.
func TestLargePatterns(t *testing.T) {
	for _, pattern := range []string{
		strings.Repeat("[ab]", 1000), strings.Repeat("(a|b|cd)", 500), "(ab|cd){1000}", strings.Repeat("[0-9]{5}x?", 300),
		"(" + strings.Repeat("alpha|beta|", 300) + "x{900})", strings.Repeat("(?i)k", 1300), strings.Repeat("abcdefgh", 500),
		strings.Repeat("(", 900) + "a" + strings.Repeat(")", 900), "(((a{10}){10}){10})",
	} {
		for _, re := range []*syntax.Regexp{parse(t, pattern), parse(t, pattern).Simplify()} {
			if q := Of(re); q.size() > maxTrigrams {
				t.Errorf("%.20s...: %d trigrams", pattern, q.size())
			}
		}
	}
}

func TestBag(t *testing.T) {
	var b Bag
	for _, c := range []struct {
		text string
		want string
		odd  bool
	}{
		{"aBCd\r\nEf\ngHi", "abc bcd ghi", false},
		{"aaaaaaa", "aaa", false},
		{"ab", "", false},
		{"a long \u017f", "", true},
		{"abc", "abc", false},
	} {
		found, odd := b.Add([]byte(c.text))
		slices.Sort(found)
		if got := strings.TrimSuffix(show(Query{Clause{found}}), "none"); got != c.want || odd != c.odd {
			t.Errorf("%q: %q %v, want %q %v", c.text, got, odd, c.want, c.odd)
		}
	}
	long := strings.Repeat("x", 1<<16-1) + "edge" + strings.Repeat("y", 1<<16)
	found, _ := b.Add([]byte(long))
	has := func(s string) bool { return slices.Contains(found, T(s[0])<<16|T(s[1])<<8|T(s[2])) }
	if !has("xed") || !has("edg") || !has("dge") || !has("gey") {
		t.Error("what spans two parts of a long text is missing")
	}
	r := rand.New(rand.NewPCG(3, 4))
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	if _, odd := b.Add(noise); !odd {
		t.Error("noise is worth an index")
	}
	if found, odd := b.Add([]byte("abcd")); odd || len(found) != 2 {
		t.Errorf("after noise: %d %v", len(found), odd)
	}
}
