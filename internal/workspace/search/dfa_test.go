package search

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestManyStates has patterns with more states than are kept, and with so many that the
// DFA is not used.
func TestManyStates(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	for range 5000 {
		for range random.IntN(80) {
			b.WriteByte("abc"[random.IntN(3)])
		}
		b.WriteByte('\n')
	}
	for pattern, gaveUp := range map[string]bool{`a[ab]{13}c`: false, `[ab]a.{20}b.{9}$`: true} {
		q := Query{Pattern: pattern, Limit: 1 << 20}
		check(t, q, []byte(b.String()))
		m, err := Compile(q)
		if err != nil {
			t.Fatal(err)
		}
		d := newDFA(m.prog)
		text := []byte(b.String())
		for from := 0; from < len(text) && !d.failed; {
			hit := d.find(text, from)
			if hit < 0 {
				break
			}
			from = hit + 1 + strings.IndexByte(b.String()[hit:], '\n')
		}
		if d.failed != gaveUp {
			t.Errorf("%s: gave up: %v after %d resets and %d states", pattern, d.failed, d.resets, len(d.states))
		}
		if d.memory > maxStates+64<<10 {
			t.Errorf("%s: %d bytes of states", pattern, d.memory)
		}
	}
}

func TestNeedles(t *testing.T) {
	for _, c := range []struct {
		pattern string
		fold    bool
		want    string // the needles
		sure    bool
	}{
		{`foo`, false, "foo", true},
		{`.*foo.*`, false, "foo", true},
		{`(foo)+`, false, "foo", true},
		{`foo|bar|quux`, false, "bar foo quux", true},
		{`fo(o|x)y`, false, "fooy foxy", true},
		{`\bfoo\b`, false, "foo", false},
		{`^foo`, false, "foo", false},
		{`func\s+\w+Timeout\(`, false, "Timeout(", false},
		{`\w+\s+\d+`, false, "", false},
		{`[A-Z]{3}-[0-9]+`, false, "-", false},
		{`a|x*`, false, "", false},
		{`foo|x*`, false, "", false},
		{`Foo`, true, "foo", true},
		{`kss`, true, "", false}, // each has a case that is not ASCII
		{`skit`, true, "skit", true},
		{`\x{FFFD}x`, false, "", false},
		{`12\s`, false, "12\t 12\n 12\f 12\r 12 ", false}, // the line end may match
	} {
		m, err := Compile(Query{Pattern: c.pattern, IgnoreCase: c.fold})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range m.prefilter.needles {
			text := string(n.text)
			if n.fold {
				text = strings.ToLower(string(n.before) + string(rune(n.rareByte)) + string(n.after))
			}
			got = append(got, text)
		}
		if text := strings.Join(got, " "); text != c.want || m.prefilter.certain != c.sure {
			t.Errorf("%s: %q sure %v, want %q sure %v", c.pattern, text, m.prefilter.certain, c.want, c.sure)
		}
	}
}

// TestApproximate checks which patterns need package regexp for lines that are not ASCII.
func TestApproximate(t *testing.T) {
	for pattern, loose := range map[string]bool{
		`foo`: false, `.*`: false, `"[^"]*"`: false, `é+`: false, `[äöü]x`: false, `\w+`: false, `(?i)k`: false, `foo.*bar`: false,
		`.x`: true, `a.b`: true, `\pL`: true, `[^a]b`: true, `\x{FFFD}`: true,
	} {
		m, err := Compile(Query{Pattern: pattern})
		if err != nil {
			t.Fatal(err)
		}
		if m.prog.approximate != loose {
			t.Errorf("%s: %v", pattern, m.prog.approximate)
		}
	}
}
