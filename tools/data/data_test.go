package data

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestData(t *testing.T) {
	for args, want := range map[string]string{
		`{"action":"json","text":"{\"a\":[{\"b\":1},{\"b\":12345678901234567890}]}","query":"a[*].b"}`:   "[\n  1,\n  12345678901234567890\n]",
		`{"action":"json","text":"{\"a\":\"x\"}","query":"$.a"}`:                                         "x",
		`{"action":"json","text":"[1,2,3]","query":"[-1]"}`:                                              "3",
		`{"action":"json","text":"{\"a b\":{\"c\":1.50}}","query":"['a b'].c"}`:                          "1.50",
		`{"action":"json","text":"{\"b\":1,\"a\":[true,\"x\"]}","to":"yaml"}`:                            "a:\n    - true\n    - x\nb: 1\n",
		`{"action":"json","text":"[{\"b\":1,\"a\":\"x,y\"},{\"c\":null}]","to":"csv"}`:                   "a,b,c\n\"x,y\",1,\n,,\n",
		`{"action":"json","text":"{\"a\":1}","query":"b"}`:                                               `not_found: there is no "b"; it has a`,
		`{"action":"json","text":"{\"a\":1}","query":"a.b"}`:                                             "not_found",
		`{"action":"json","text":"{a:1}"}`:                                                               "invalid: text is not json: line 1, column 2: ",
		`{"action":"json","text":"{\"a\": 1,\n  é: 2}"}`:                                                 "line 2, column 3: ",
		`{"action":"json","text":"{\"a\": 1,}"}`:                                                         "keys are in double quotes, and no comma follows the last one",
		`{"action":"json","text":"1 2"}`:                                                                 "more than one value",
		`{"action":"json","text":"1","to":"xml"}`:                                                        "invalid: there is no format",
		`{"action":"json","text":"1","to":"csv"}`:                                                        "only a list of objects",
		`{"action":"yaml","text":"a: [1, 2]\n1: x"}`:                                                     "{\n  \"1\": \"x\",\n  \"a\": [\n    1,\n    2\n  ]\n}",
		`{"action":"yaml","text":"a: &a [1]\nb: *a"}`:                                                    "aliases",
		`{"action":"csv","text":"n;v\na;1\nb;2","query":"[*].v","to":"json"}`:                            "[\n  \"1\",\n  \"2\"\n]",
		`{"action":"json","text":"{\"a\":\"<b> & c\"}"}`:                                                 "{\n  \"a\": \"<b> & c\"\n}",
		`{"action":"csv","text":""}`:                                                                     "[]",
		`{"action":"regex","text":"a1 b22","query":"([a-z])(\\d+)"}`:                                     `[["a1","a","1"],["b22","b","22"]]`,
		`{"action":"regex","text":"a1 b22","query":"(\\d+)","replace":"<$1>"}`:                           "a<1> b<22>",
		`{"action":"regex","text":"a1","query":"\\d","replace":""}`:                                      "a",
		`{"action":"regex","text":"a","query":"(a)\\1"}`:                                                 "RE2",
		`{"action":"regex","text":"a","query":"b"}`:                                                      "no match",
		`{"action":"hash","text":"abc"}`:                                                                 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		`{"action":"hash","text":"abc","to":"MD5"}`:                                                      "900150983cd24fb0d6963f7d28e17f72",
		`{"action":"hash","text":"abc","to":"SHA-1"}`:                                                    "a9993e364706816aba3e25717850c26c9cd0d89d",
		`{"action":"hash","text":"abc","to":"crc"}`:                                                      "there is no hash",
		`{"action":"base64","text":"ä?>"}`:                                                               "w6Q/Pg==",
		`{"action":"base64","text":"w6Q_Pg","to":"text"}`:                                                "ä?>",
		`{"action":"base64","text":"%","to":"text"}`:                                                     "not Base64",
		`{"action":"diff","text":"a\nb\nc\nd","other":"a\nx\nc\nd\ne"}`:                                  "-2: b\n+2: x\n+5: e",
		`{"action":"diff","text":"a\n","other":"a\n"}`:                                                   "the texts are equal",
		`{"action":"diff","other":"a"}`:                                                                  "+1: a",
		`{"action":"template","text":"{{ a.b }} {{n}}{{l}}","values":{"a":{"b":"{{n}}"},"n":2,"l":[1]}}`: "{{n}} 2[1]",
		`{"action":"template","text":"{{a}}","values":{}}`:                                               "not_found",
	} {
		call, err := Tools()[0].Bind(json.RawMessage(args), tool.DefaultLimits())
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		res, err := call.Run(t.Context())
		if got := res.Text(); got != want && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %q, %v, want %q", args, got, err, want)
		}
	}
}

func TestUUIDs(t *testing.T) {
	for to, want := range map[string]string{
		"":   `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
		"v7": `^01[0-9a-f]{6}-[0-9a-f]{4}-7`,
	} {
		if id, err := newID(dataArgs{To: to}); err != nil || !regexp.MustCompile(want).MatchString(id) {
			t.Errorf("got %s, %v", id, err)
		}
	}
}

// TestLargeResultsAreRefused has a template that grows.
func TestLargeResultsAreRefused(t *testing.T) {
	a := dataArgs{Action: "template", Text: strings.Repeat("{{a}}", 1000),
		Values: map[string]any{"a": strings.Repeat("x", 10_000)}}
	if _, err := (data{}).Do(t.Context(), a); tool.AsError(err) == nil || tool.AsError(err).Kind != tool.TooLarge {
		t.Errorf("got %v", err)
	}
	a = dataArgs{Action: "diff", Text: strings.Repeat("a\n", 4000), Other: strings.Repeat("b\n", 4000)}
	if _, err := (data{}).Do(t.Context(), a); tool.AsError(err) == nil || tool.AsError(err).Kind != tool.TooLarge {
		t.Errorf("got %v", err)
	}
}
