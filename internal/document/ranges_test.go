package document

import "testing"

func TestRanges(t *testing.T) {
	for _, test := range []struct {
		text     string
		has, not []int
		bad      bool
	}{
		{text: "", has: []int{1, 1000}},
		{text: "1-3, 7", has: []int{1, 3, 7}, not: []int{4, 6, 8}},
		{text: "5-", has: []int{5, 1 << 40}, not: []int{4}},
		{text: "0", bad: true},
		{text: "3-1", bad: true},
		{text: "-3", bad: true},
		{text: "a", bad: true},
		{text: "99999999999999999999", bad: true},
	} {
		r, err := ParseRanges(test.text)
		if (err != nil) != test.bad {
			t.Errorf("%q: %v", test.text, err)
		}
		for _, n := range test.has {
			if !r.Has(n) {
				t.Errorf("%q has no %d", test.text, n)
			}
		}
		for _, n := range test.not {
			if r.Has(n) {
				t.Errorf("%q has %d", test.text, n)
			}
		}
	}
	if r, _ := ParseRanges("2-4,3"); r.Last(3) != 3 || r.Last(9) != 4 || Ranges(nil).Last(9) != 9 {
		t.Error("the last part is wrong")
	}
}
