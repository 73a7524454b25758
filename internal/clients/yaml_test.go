package clients

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestYAML edits files between other settings.
func TestYAML(t *testing.T) {
	f := yamlFile{"s"}
	want := fields{{"cmd", "x"}, {"args", []string{"a"}}, {"enabled", true}}
	const made = "  m:\n    cmd: x\n    args:\n      - a\n    enabled: true\n"
	for _, tc := range []struct{ name, before, after, removed string }{
		{"empty file", "", "s:\n" + made, ""},
		{"comments only", "# mine\n", "# mine\ns:\n" + made, "# mine\n"},
		{"no line end", "a: 1", "a: 1\ns:\n" + made, "a: 1\n"},
		{"next to others", "s:\n  git: # git\n    cmd: git\n\n# other\nb: 2\n",
			"s:\n  git: # git\n    cmd: git\n" + made + "\n# other\nb: 2\n",
			"s:\n  git: # git\n    cmd: git\n\n# other\nb: 2\n"},
		{"empty mapping", "a: 1\ns: {}\nb: 2\n", "a: 1\ns:\n" + made + "b: 2\n", "a: 1\nb: 2\n"},
		{"no value", "s:\nb: 2\n", "s:\n" + made + "b: 2\n", "b: 2\n"},
		{"own indentation", "s:\n    git:\n        cmd: git\n",
			"s:\n    git:\n        cmd: git\n    m:\n      cmd: x\n      args:\n        - a\n      enabled: true\n",
			"s:\n    git:\n        cmd: git\n"},
		{"an older entry", "s:\n  m:\n    cmd: y # old\n    timeout: 5 # mine\n    enabled: false\n  z:\n    cmd: z\n",
			"s:\n  m:\n    cmd: x\n    timeout: 5 # mine\n    enabled: false\n    args:\n      - a\n  z:\n    cmd: z\n",
			"s:\n  z:\n    cmd: z\n"},
		{"CRLF", "a: 1\r\n", "a: 1\r\ns:\r\n  m:\r\n    cmd: x\r\n    args:\r\n      - a\r\n    enabled: true\r\n",
			"a: 1\r\n"},
	} {
		got, err := f.set([]byte(tc.before), "m", want, stdioServer().owned)
		if diff := cmp.Diff(tc.after, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v %s", tc.name, err, diff)
		}
		if again, err := f.set(got, "m", want, stdioServer().owned); err != nil || string(again) != string(got) {
			t.Errorf("%s: the second time it became %q, %v", tc.name, again, err)
		}
		if _, err := (Client{syntax: f}).verify([]byte(tc.before), got, "m"); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		gone, err := f.remove(got, "m")
		if diff := cmp.Diff(tc.removed, string(gone)); diff != "" || err != nil {
			t.Errorf("%s: removed: %v %s", tc.name, err, diff)
		}
	}
}

func TestYAMLThatIsNotEdited(t *testing.T) {
	for _, src := range []string{
		"a: [", "- a\n", "s: [1]\n", "s: {a: 1}\n", "s: &x\n  a: 1\n", "a: 1\n---\nb: 2\n", "s:\n  a: 1\ns:\n  b: 1\n",
		"s:\n  m: 1\n  m: 2\n",
	} {
		if got, err := (yamlFile{"s"}).set([]byte(src), "m", fields{{"cmd", "x"}}, stdioServer().owned); err == nil {
			t.Errorf("%q became %q", src, got)
		}
	}
}

// FuzzYAML checks that an edit either changes our entry alone or is refused before the file is written.
func FuzzYAML(f *testing.F) {
	for _, src := range []string{
		"", "s:\n  git:\n    cmd: git\n# c\nb: |\n  # text\n  x\n", "s:\n  m:\n    cmd: y\n    args: [1]\n", "a: *b\n",
		"? s\n: a: 1\n", "%YAML 1.2\n---\ns:\n  a: 1\n...\n", "\"s\": {\n}\n", "s: # c\n",
	} {
		f.Add([]byte(src))
	}
	c := Client{Name: "test", syntax: yamlFile{"s"}}
	want := fields{{"cmd", "x"}, {"args", []string{"a: b"}}}
	f.Fuzz(func(t *testing.T, src []byte) {
		made, err := c.syntax.set(src, "m", want, stdioServer().owned)
		if err != nil {
			return
		}
		if entry, err := c.verify(src, made, "m"); err != nil || entry == "" {
			return
		}
		if again, err := c.syntax.set(made, "m", want, stdioServer().owned); err != nil ||
			string(again) != string(made) {
			t.Fatalf("the second time %q became %q, %v", made, again, err)
		}
		gone, err := c.syntax.remove(made, "m")
		if err != nil {
			t.Fatal(err)
		}
		if entry, err := c.syntax.entry(gone, "m"); err != nil || entry != "" {
			t.Fatalf("after remove %q has %q, %v", gone, entry, err)
		}
	})
}
