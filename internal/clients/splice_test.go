package clients

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
)

// TestAddedEntry checks that an added entry follows the style of the file.
func TestAddedEntry(t *testing.T) {
	want := fields{{"command", "x"}, {"args", []string{"a"}}}
	for _, tc := range []struct{ name, before, after string }{
		{"next to others, comments stay with their lines", `{
  "s": {
    "git": {} // git
    // last
  }
}`, `{
  "s": {
    "git": {}, // git
    "m": {
      "command": "x",
      "args": ["a"]
    }
    // last
  }
}`},
		{"a new object in the file's own steps", "{\n\t\"a\": 1\n}\n",
			"{\n\t\"a\": 1,\n\t\"s\": {\n\t\t\"m\": {\n\t\t\t\"command\": \"x\",\n\t\t\t\"args\": [\"a\"]\n\t\t}\n\t}\n}\n"},
		{"a comma at the end as the others have it", "{\n  \"s\": {\n    \"git\": {},\n  },\n}\n",
			"{\n  \"s\": {\n    \"git\": {},\n    \"m\": {\n      \"command\": \"x\",\n      \"args\": [\"a\"]\n    },\n  },\n}\n"},
		{"all on one line", `{"s": {"git": {}}}`, `{"s": {"git": {}, "m": {"command": "x", "args": ["a"]}}}`},
		{"under the comments of a file without settings", "// mine\n",
			"// mine\n{\n  \"s\": {\n    \"m\": {\n      \"command\": \"x\",\n      \"args\": [\"a\"]\n    }\n  }\n}\n"},
		{"in an object that holds a comment", "{\n  \"s\": {\n    // none\n  }\n}",
			"{\n  \"s\": {\n    // none\n    \"m\": {\n      \"command\": \"x\",\n      \"args\": [\"a\"]\n    }\n  }\n}"},
	} {
		got, err := jsonFile{"s"}.set([]byte(tc.before), "m", want, stdioServer().owned)
		if diff := cmp.Diff(tc.after, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v %s", tc.name, err, diff)
		}
	}
}

// TestCutEntry checks files after our entry was removed from them.
func TestCutEntry(t *testing.T) {
	for _, tc := range []struct{ name, before, after string }{
		{"first", "{\"s\": {\n  \"m\": {},\n  \"a\": 1\n}}", "{\"s\": {\n  \"a\": 1\n}}"},
		{"middle", "{\"s\": {\n  \"a\": 1,\n  \"m\": {},\n  \"b\": 1\n}}", "{\"s\": {\n  \"a\": 1,\n  \"b\": 1\n}}"},
		{"last", "{\"s\": {\n  \"a\": 1, // a\n  \"m\": {}\n}}", "{\"s\": {\n  \"a\": 1 // a\n}}"},
		{"last with a comma", "{\"s\": {\n  \"a\": 1,\n  \"m\": {},\n}}", "{\"s\": {\n  \"a\": 1,\n}}"},
		{"alone", "{\"s\": {\n  \"m\": {}\n}}", "{\"s\": {}}"},
		{"on one line", `{"s": {"a": 1, "m": {}, "b": 2}}`, `{"s": {"a": 1, "b": 2}}`},
		{"between comments", "{\"s\": {\n  // a\n  \"m\": {} /* b */, // c\n}}", "{\"s\": {\n  // a\n /* b */ // c\n}}"},
		{"CRLF", "{\"s\": {\r\n  \"a\": 1,\r\n  \"m\": {}\r\n}}", "{\"s\": {\r\n  \"a\": 1\r\n}}"},
	} {
		got, err := jsonFile{"s"}.remove([]byte(tc.before), "m")
		if diff := cmp.Diff(tc.after, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v %s", tc.name, err, diff)
		}
	}
	for _, tc := range []struct{ name, before, after string }{
		{"between", "a = 1\n\n[s.m]\nb = 1\n\n[c]\n", "a = 1\n\n[c]\n"},
		{"at the end", "[c]\n\n[s.m] # m\nb = 1 # b", "[c]\n"},
		{"in pieces", "[s.m]\na = 1\n\n[s.m.env]\nb = 1\n", ""},
		{"apart", "[s.m.env]\nb = 1\n# c\n[c]\n\n[s.m]\n", "# c\n[c]\n"},
		{"CRLF", "[c]\r\n\r\n[s.m]\r\na = 1\r\n\r\n[d]\r\n", "[c]\r\n\r\n[d]\r\n"},
	} {
		got, err := tomlFile{"s"}.remove([]byte(tc.before), "m")
		if diff := cmp.Diff(tc.after, string(got)); diff != "" || err != nil {
			t.Errorf("TOML %s: %v %s", tc.name, err, diff)
		}
	}
}

func TestTOMLText(t *testing.T) {
	for _, text := range []string{"", `C:\new "x"`, "a\x00\t\n\r\x1b\x7f", "ä€😀", "\u0085\u2028"} {
		var got map[string]string
		if err := toml.Unmarshal([]byte("a = "+tomlQuote(text)), &got); err != nil || got["a"] != text {
			t.Errorf("%q became %s, %v", text, tomlQuote(text), err)
		}
	}
}

// everything checks what must hold for any file that parses.
func everything(t *testing.T, f syntax, src []byte) {
	t.Helper()
	before, err := f.rest(src, "m")
	if err != nil {
		return // a file that we refuse
	}
	kept := bytes.Clone(src)
	defer func() {
		if !bytes.Equal(src, kept) {
			t.Errorf("the input %q was changed to %q", kept, src)
		}
	}()
	want := fields{{"command", "x\\\"\n"}, {"args", []string{"a"}}, {"env", fields{{"K", "v"}}}}
	all := func(string) bool { return true }
	made, err := f.set(src, "m", want, all)
	if err != nil {
		t.Fatalf("set: %v", err)
	}
	same(t, f, "set", before, made)
	if again, err := f.set(made, "m", want, all); err != nil || !bytes.Equal(again, made) {
		t.Fatalf("set twice: %v\n%q\n%q", err, made, again)
	}
	gone, err := f.remove(made, "m")
	if err != nil {
		t.Fatalf("remove: %v", err)
	}
	same(t, f, "remove", before, gone)
	if text, err := f.entry(gone, "m"); text != "" || err != nil {
		t.Fatalf("after remove there is %q, %v", text, err)
	}
}

func same(t *testing.T, f syntax, what string, before []string, file []byte) {
	t.Helper()
	after, err := f.rest(file, "m")
	if diff := cmp.Diff(before, after); diff != "" || err != nil {
		t.Fatalf("%s changed more than the entry of %q: %v %s", what, file, err, diff)
	}
}

func FuzzJSON(f *testing.F) {
	for _, text := range jsonFiles {
		f.Add([]byte(strings.ReplaceAll(text, "SERVERS", "s")))
	}
	f.Add([]byte(`{"s": {"a": 1, "m": {"x": [1, {}]}, "b": 2}}`))
	f.Add([]byte("\f"))
	f.Add([]byte("// ends with a space \n"))
	f.Add([]byte("{\"s\": {\"m\" : 1 /* x */ , // y\n}}"))
	f.Fuzz(func(t *testing.T, src []byte) {
		file := jsonFile{"s"}
		everything(t, file, src)
		if !json.Valid(src) || bytes.Contains(src, bom) {
			return
		}
		// Strict JSON stays strict, and means the same apart from our entry.
		made, err := file.set(src, "m", fields{{"command", "x"}}, stdioServer().owned)
		if err != nil {
			return
		}
		if diff := cmp.Diff(without(t, src), without(t, made)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// without is a JSON file as encoding/json reads it, less our entry.
func without(t *testing.T, src []byte) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(src, &out); err != nil {
		t.Fatalf("%q: %v", src, err)
	}
	if servers, ok := out["s"].(map[string]any); ok {
		if delete(servers, "m"); len(servers) == 0 {
			delete(out, "s")
		}
	}
	return out
}

func FuzzTOML(f *testing.F) {
	for _, text := range tomlFiles {
		f.Add([]byte(strings.ReplaceAll(text, "SERVERS", "s")))
	}
	f.Add([]byte("[s.m]\na = 1\n\n[s.m.env]\nb = 1\n"))
	f.Add([]byte("[c]\n[s.m.env]\nb.'c' = 1\n\n\n[s.m]# x"))
	f.Fuzz(func(t *testing.T, src []byte) { everything(t, tomlFile{"s"}, src) })
}
