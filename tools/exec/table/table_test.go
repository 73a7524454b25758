package table

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	got, err := Parse("# what it is\n\none two\nthree\n\t# a text\n\tkey and  rest\n\tlet both\n\t\ta|b\n\t\tc\n\tlist\n" +
		"\t\t$both --x=$both\n\t\td\nfour\n\tkey\n")
	want := []Block{
		{"one two three", []Line{{Text: "# a text"}, {Text: "key and  rest"},
			{"list", []string{"a|b|c --x=$both", "d"}}}},
		{"four", []Line{{Text: "key"}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if keyword, rest := want[0].Lines[1].Keyword(); keyword != "key" || rest != "and  rest" {
		t.Errorf("%q, %q", keyword, rest)
	}
	for text, why := range map[string]string{
		"\tkey\n": "line 1", "a\n\t\tentry\n": "line 2", "a\n\tb\n\t\t\tdeep": "3 tabs", "a\n\tb\n\t\t$no\n": "called no",
		"a\n\tlet x\n\t\ty\nb\n\tc\n\t\t$x\n": "called x", "a\n\tlet x\n": "lacks",
	} {
		if all, err := Parse(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %q, %v", text, all, err)
		}
	}
}

// FuzzParse checks that a table is what it is printed as.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "a\nb\n\tc d\n\t\te\n", "#\na\n\tlet b\n\t\tc\n\td\n\t\t$b $b\n", "\t", "a\n\t\tb", "a\r\n\t\v\n", "0\n\tlet \n0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := Parse(text)
		if err != nil {
			return
		}
		var printed strings.Builder
		for _, b := range all {
			if len(b.Lines) == 0 {
				return // it had only names, without which it would be one with the next
			}
			printed.WriteString(b.Heading + "\n")
			for _, l := range b.Lines {
				printed.WriteString("\t" + l.Text + "\n")
				for _, e := range l.Entries {
					if strings.Contains(e, "$") {
						return // it would be replaced again
					}
					printed.WriteString("\t\t" + e + "\n")
				}
			}
		}
		if again, err := Parse(printed.String()); err != nil || !reflect.DeepEqual(again, all) {
			t.Errorf("%q is %q, and then %q, %v", text, all, again, err)
		}
	})
}
