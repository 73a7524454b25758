package tool

import (
	"strings"
	"testing"
)

func TestExtent(t *testing.T) {
	for text, want := range map[string][2]int{
		``:                        {0, 0},
		`1`:                       {0, 0},
		`[]`:                      {1, 1},
		`{"a":[1,2,{"b":"c"}]}`:   {3, 5},
		`{"a":"[{,\\\",,]"}`:      {1, 1},
		`]]][[`:                   {0, 2},
		strings.Repeat(`[`, 1000): {1000, 1000},
		`["` + "\\":               {1, 1},
	} {
		if depth, values := Extent([]byte(text)); depth != want[0] || values != want[1] {
			t.Errorf("%.40q: depth %d, %d values, want %v", text, depth, values, want)
		}
	}
}

// TestDecodedSizeIsBounded has JSON that takes many times its size when it is decoded.
func TestDecodedSizeIsBounded(t *testing.T) {
	wide := "[" + strings.Repeat("{},", MaxValues) + "1]"
	for what, text := range map[string]string{"a list": wide, "an object": `{"a":` + wide + `}`} {
		if value, err := decode([]byte(text)); err == nil {
			t.Errorf("%s became %T", what, value)
		}
		if value := parsed(text); value != nil {
			t.Errorf("%s in a string became %T", what, value)
		}
	}
}
