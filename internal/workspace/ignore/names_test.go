package ignore

import (
	"strings"
	"testing"
)

func TestNamesCover(t *testing.T) {
	names, err := NewNames([]string{
		".env", ".env.*", "!.env.example", "*.pem", ".ssh/", "/data", "conf/*.key", "**/cache/**", "id_rsa*", "!*.pub", "caf\u00e9", "[A-C]x?z",
		"STRASSE", "mixed*", "!mixed.d/",
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		".":                   false,
		".env":                true,
		"a/b/.env":            true,
		".ENV":                true,
		".Env.Local":          true,
		".env.example":        false,
		".env/x":              true,
		".env/.env.example":   true, // an exception does not apply in a covered directory
		"k.pem":               true,
		"K.PEM":               true,
		"k.pem.txt":           false,
		".ssh":                true, // it may become a directory
		".ssh/config":         true,
		"a/.SSH/x/y":          true,
		"data":                true,
		"data/x":              true,
		"a/data":              false,
		"conf/a.key":          true,
		"conf/a/b.key":        false,
		"x/conf/a.key":        false,
		"a/cache":             false,
		"a/cache/b":           true,
		"a/cache/b/c":         true,
		"id_rsa":              true,
		"id_rsa.pub":          false,
		"cafe\u0301":          true,
		"CAFE\u0301/menu.txt": true,
		"CAF\u00c9":           true,
		"cafe":                false,
		"axyz":                true,
		"BX\u00c4Z":           true,
		"dxyz":                false,
		"stra\u00dfe":         true,
		"main.go":             false,
		"mixed.d":             true, // it may be a file
		"mixed.d/x":           false,
	} {
		if got := names.Covers(name); got != want {
			t.Errorf("Covers(%q) = %t, want %t", name, got, want)
		}
	}
}

// TestCoversInDir compares checking each step with checking the whole name.
func TestCoversInDir(t *testing.T) {
	names, err := NewNames([]string{"secret", "!secret/open", "a/*/c", "*.key", "!b/ok.key"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"secret/open", "a/b/c/d", "x.key/y", "b/ok.key", "b/bad.key", "a/b/d", "b/secret/open/x"} {
		step, down := "", false
		for part := range strings.SplitSeq(name, "/") {
			step = strings.TrimPrefix(step+"/"+part, "/")
			if down = names.CoversInDir(step); down {
				break
			}
		}
		if got := names.Covers(name); got != down {
			t.Errorf("Covers(%q) = %t, on the way down %t", name, got, down)
		}
	}
}

func TestNamesRefuse(t *testing.T) {
	for _, pattern := range []string{"", "!", "/", "# x", "a[", "a\\", "a//b", "a\nb", "a\x00", "[[:nope:]]", strings.Repeat("a", maxLine+1)} {
		if _, err := NewNames([]string{pattern}); err == nil {
			t.Errorf("%.20q was taken", pattern)
		}
	}
	if _, err := NewNames(make([]string, maxNames+1)); err == nil {
		t.Error("any number of patterns was taken")
	}
}

func TestNilNames(t *testing.T) {
	var none *Names
	empty, err := NewNames(nil)
	if err != nil || none.Covers("x") || empty.Covers("x") || none.CoversInDir("x") {
		t.Errorf("no patterns cover something, or %v", err)
	}
}
