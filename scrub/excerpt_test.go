package scrub

import (
	"strings"
	"testing"
)

func TestWordStartAndWordEnd(t *testing.T) {
	long := strings.Repeat("x", longestWord+1)
	for _, c := range []struct {
		text            string
		at, start, stop int
	}{
		{"", 0, 0, 0},
		{"one two", 5, 4, 7},
		{"one two", 4, 4, 7},
		{"one two", 3, 0, 3},
		{"one two", 7, 4, 7},
		{"a,b=c://d@e;f", 6, 2, 11},
		{"é, ü", 1, 0, 2},
		{" " + long + long, longestWord + 9, longestWord + 9, 2*longestWord + 3},
		{long + long, 3, 0, 3},
	} {
		if start, stop := WordStart(c.text, c.at), WordEnd([]byte(c.text), c.at); start != c.start || stop != c.stop {
			t.Errorf("%.20q at %d: %d to %d, want %d to %d", c.text, c.at, start, stop, c.start, c.stop)
		}
	}
}
