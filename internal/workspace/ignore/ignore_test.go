package ignore

import (
	"fmt"
	"strings"
	"testing"
)

func TestEmptyList(t *testing.T) {
	var none *List
	for _, l := range []*List{none, {}, Parse(nil), Parse([]byte("# nothing\n\n  \n"))} {
		ignored, decided := l.Match("a/b", false)
		if ignored || decided || !l.Empty() {
			t.Error("a list without patterns decides")
		}
		if _, decided := l.In("a").Match("b", true); decided {
			t.Error("a list without patterns decides in a directory")
		}
	}
}

func TestLastRuleDecides(t *testing.T) {
	for text, want := range map[string][2]bool{
		"*.o":                     {true, true},
		"*.o\n!a.o":               {false, true},
		"!a.o\n*.o":               {true, true},
		"*.o\n!x/*.o\nx/a.o":      {true, true},
		"x/a.o\n!**/a.*":          {false, true},
		"!**/[a-c].o\nx/*\n":      {true, true},
		"a.o/":                    {false, false},
		"*.o\n!a.o/":              {true, true}, // it is not a directory
		"?.o\n!*":                 {false, true},
		"a*\n!*o\n[a]*":           {true, true},
		"/a.o\ny/a.o\n**/y/**":    {false, false},
		"/**/x/*\n!*/a.o\n!b/a.o": {false, true},
	} {
		ignored, decided := Parse([]byte(text)).Match("x/a.o", false)
		if got := [2]bool{ignored, decided}; got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}

// TestBounds passes very large files to Parse.
func TestBounds(t *testing.T) {
	var many strings.Builder
	for i := range maxRules + 10 {
		fmt.Fprintf(&many, "n%d\n", i)
	}
	l := Parse([]byte(many.String()))
	if len(l.keep) > maxRules {
		t.Errorf("%d rules", len(l.keep))
	}
	if ignored, _ := l.Match("n7", false); !ignored {
		t.Error("the first rules do not count")
	}
	l = Parse([]byte(strings.Repeat("*a*b*\n", maxSlow+10) + "last\n"))
	if len(l.base.others) != maxSlow {
		t.Errorf("%d slow rules", len(l.base.others))
	}
	if ignored, _ := l.Match("last", false); !ignored {
		t.Error("quick rules after slow ones do not count")
	}
	long := strings.Repeat("a", maxLine+1)
	if ignored, _ := Parse([]byte(long)).Match(long, false); ignored {
		t.Error("a line of any length counts")
	}
	text := strings.Repeat("#\n", MaxText/2) + "a\n"
	if ignored, _ := Parse([]byte(text)).Match("a", false); ignored {
		t.Error("a file of any size counts")
	}
}
