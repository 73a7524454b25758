package scrub

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJSON(t *testing.T) {
	key := pre("gh", "p_", alnums, 36).draw(dice(8))
	escaped := strings.Replace(key, "p_", `\u0070_`, 1)
	for name, c := range map[string][2]string{
		"nothing":     {`{"a": 1.50, "b": [true, null, "x"]}`, `{"a": 1.50, "b": [true, null, "x"]}`},
		"token":       {`{"a":  "x ` + key + `"}`, `{"a":  "x [REDACTED]"}`},
		"escaped":     {`{"a": "` + escaped + `"}`, `{"a": "[REDACTED]"}`},
		"key":         {`{"` + key + `": 1}`, `{"[REDACTED]": 1}`},
		"whole value": {`{"password": "it is a b c", "n": 1e3}`, `{"password": "[REDACTED]", "n": 1e3}`},
		"placeholder": {`{"password": "${PW}", "token": "", "secret": "true"}`,
			`{"password": "${PW}", "token": "", "secret": "true"}`},
		"no string": {`{"password": 12, "token": {"type": "string"}}`,
			`{"password": 12, "token": {"type": "string"}}`},
		"list under key": {`{"password": ["hunter22"]}`, `{"password": ["[REDACTED]"]}`},
		"scheme":         {`{"Authorization": "Bearer abcdef"}`, `{"Authorization": "Bearer [REDACTED]"}`},
		"pair": {`[{"name": "DB_PASSWORD", "value": "abcdef"}]`,
			`[{"name": "DB_PASSWORD", "value": "[REDACTED]"}]`},
		"flag":            {`["tool", "--token", "abcdef", "x"]`, `["tool", "--token", "[REDACTED]", "x"]`},
		"header pair":     {`[["X-Api-Key", "abcdef"]]`, `[["X-Api-Key", "[REDACTED]"]]`},
		"schema":          {`{"required": ["password", "username"]}`, `{"required": ["password", "username"]}`},
		"progress":        {`{"_meta": {"progressToken": "abc-123"}}`, `{"_meta": {"progressToken": "abc-123"}}`},
		"page":            {`{"nextPageToken": "abc123abc123"}`, `{"nextPageToken": "abc123abc123"}`},
		"JSON in JSON":    {`{"a": "{\"password\": \"hunter22\"}"}`, `{"a": "{\"password\": \"[REDACTED]\"}"}`},
		"no JSON":         {`{"a": "` + key, `{"a": "[REDACTED]`},
		"unbalanced":      {`{"a": "` + key + `"]`, `{"a": "[REDACTED]"]`},
		"bare string":     {`"` + key + `"`, `"[REDACTED]"`},
		"token endpoint":  {`{"token_endpoint": "https://x/token"}`, `{"token_endpoint": "https://x/token"}`},
		"html in strings": {`{"a": "<b>` + key + `</b>"}`, `{"a": "\u003cb\u003e[REDACTED]\u003c/b\u003e"}`},
	} {
		if got := string(new(Scrubber).JSON([]byte(c[0]))); got != c[1] {
			t.Errorf("%s: got %s, want %s", name, got, c[1])
		}
	}
}

func TestJSONIsItselfWhenClean(t *testing.T) {
	raw := []byte(`{"a": "b"}`)
	if got := new(Scrubber).JSON(raw); &got[0] != &raw[0] {
		t.Error("a clean document was copied")
	}
}

func TestDeepJSON(t *testing.T) {
	deep := strings.Repeat("[", 1<<20) + `"` + pre("gh", "p_", alnums, 36).draw(dice(9)) + `"` +
		strings.Repeat("]", 1<<20)
	if got := new(Scrubber).JSON([]byte(deep)); !strings.Contains(string(got), `["[REDACTED]"]`) {
		t.Error("not scrubbed")
	}
}

func TestValue(t *testing.T) {
	key := pre("gh", "p_", alnums, 36).draw(dice(10))
	type pair struct {
		User     string `json:"user"`
		Password string `json:"password"`
	}
	in := map[string]any{
		"text": "a " + key, key: true, "list": []any{"x", key, 2.5, nil}, "password": "abcd", "names": []string{key},
		"env":    []any{map[string]any{"name": "API_TOKEN", "value": "abcdef"}},
		"struct": pair{"me", "hunter22"}, "map": map[string]string{"secret": "abcdef"},
	}
	want := map[string]any{
		"text": "a " + Mask, Mask: true, "list": []any{"x", Mask, json.Number("2.5"), nil}, "password": Mask,
		"names": []any{Mask}, "env": []any{map[string]any{"name": "API_TOKEN", "value": Mask}},
		"struct": map[string]any{"user": "me", "password": Mask}, "map": map[string]any{"secret": Mask},
	}
	if diff := cmp.Diff(want, new(Scrubber).Value(in)); diff != "" {
		t.Error(diff)
	}
	if in["password"] != "abcd" {
		t.Error("the caller's map was changed")
	}
	if got := new(Scrubber).Value(func() {}); got != nil {
		t.Errorf("a function became %v", got)
	}
}
