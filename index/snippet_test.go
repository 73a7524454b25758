package index

import (
	"strings"
	"testing"
)

func TestSnippet(t *testing.T) {
	filler := strings.Repeat("Nothing of this matters here. ", 20)
	for _, test := range []struct {
		text, query string
		most        int
		want        string
	}{
		{"A short text.", "text", 100, "A short text."},
		{"A short text.", "absent", 100, "A short text."},
		{"", "x", 100, ""},
		{"line one\n\n\tline  two", "two", 100, "line one line two"},
		{"The cats run.", "cat running", 100, "The cats run."},
		{"calls readConfig first", "read_config", 100, "calls readConfig first"},
		{"calls readConfig first", "config", 100, "calls readConfig first"},
		{"我们在北京开会", "北京", 100, "我们在北京开会"},
		{filler + "The boiler loses pressure. " + filler, "boiler pressure", 50, "… The boiler loses pressure. Nothing of this …"},
		{"boiler " + filler + "a boiler under pressure", "boiler pressure", 40, "… matters here. a boiler under pressure"},
		{"Die Häuser sind neu.", "Haus", 100, "Die Häuser sind neu."},
	} {
		var terms []string
		for _, w := range queryWords(test.query, map[string]int{"en": 1, "de": 1}) {
			terms = append(terms, w.alternatives...)
		}
		if got := Snippet(test.text, terms, test.most); got != test.want {
			t.Errorf("%q in %.40q: %q, want %q", test.query, test.text, got, test.want)
		}
	}
}
