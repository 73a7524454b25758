package markdown

import (
	"encoding/json"
	"testing"
)

func TestVerbatim(t *testing.T) {
	for matter, want := range map[string]string{
		"a: 1":                                 `{"a":1}`,
		"a: -0x1":                              `{"a":"-0x1"}`,
		"a: 0x1F\nb: 0o17\nc: 017":             `{"a":31,"b":15,"c":17}`,
		"a: 1.0\nb: 1.5e3\nc: .5\nd: 1.":       `{"a":1,"b":1500,"c":0.5,"d":1}`,
		"a: '1'\nb: \"true\"\nc: |\n  2":       `{"a":"1","b":"true","c":"2\n"}`,
		"a: true\nb: yes\nc: False\nd: ~\ne:":  `{"a":true,"b":"yes","c":false,"d":null,"e":null}`,
		"a: 2026-01-31\nb: 1.2.3\nc: 12:30":    `{"a":"2026-01-31","b":"1.2.3","c":"12:30"}`,
		"a: [1, x, {b: 2}]\nm:\n  n: o":        `{"a":[1,"x",{"b":2}],"m":{"n":"o"}}`,
		"a: 123456789012345678901234567890":    `{"a":1.2345678901234568e+29}`,
		"a: .inf":                              "error",
		"a: .NaN":                              "error",
		"a: 1e999":                             "error",
		"a: use it: now":                       "error",
		"a: &x 1":                              "error",
		"a: !!str 1":                           "error",
		"a: 1\na: 2":                           "error",
		"- a":                                  "error",
		"a: [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]": "error",
		"<<: {a: 1}":                           "error",
		"a: \"\\u202e <b>\"\n\"k \\\" <\": '\\n'": `{"a":"` + "\u202e" + ` \u003cb\u003e","k \" \u003c":"\\n"}`,
	} {
		got := "error"
		if values, err := Verbatim("---\n" + matter + "\n---\nbody"); err == nil {
			written, err := json.Marshal(values)
			if err != nil {
				t.Errorf("%q: %v", matter, err)
			}
			got = string(written)
		}
		if got != want {
			t.Errorf("%q is %s, want %s", matter, got, want)
		}
	}
	for _, text := range []string{"", "no front matter", "---\na: 1\n"} {
		if values, err := Verbatim(text); err == nil {
			t.Errorf("%q is %v", text, values)
		}
	}
}
