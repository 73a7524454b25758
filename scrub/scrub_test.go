package scrub

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

// surroundings are places where a token turns up without a name that says
// what it is.
var surroundings = map[string]string{
	"plain":    "the build printed %s and went on",
	"sentence": "It was %s.",
	"JSON":     `{"a": 1, "note": "got %s back", "b": [true]}`,
	"escaped":  `{"log": "line one\n%s\nline three"}`,
	"quotes":   `{"log": "said \"%s\" twice"}`,
	"env":      "PATH=/bin\nTHING=%s\nHOME=/root\n",
	"YAML":     "thing: %s\nother: 1\n",
	"curl":     `curl -H 'X-Thing: %s' https://example.com/a`,
	"query":    "GET https://example.com/p?x=%s&y=1 200",
	"code":     `client := New("%s", 30)`,
	"XML":      "<thing>%s</thing>",
	"markdown": "use `%s` here",
	"equals":   "--thing=%s --verbose",
	"unicode":  "é%sé",
	"encoded":  "a%%3D%s%%26b",
}

func TestEveryFamilyInEveryContext(t *testing.T) {
	s := mustNew(t, Options{})
	for _, k := range secretKinds() {
		r := dice(1)
		for place, format := range surroundings {
			for range 20 {
				secret := k.draw(r)
				in := fmt.Sprintf(format, secret)
				if got, want := s.Text(in), fmt.Sprintf(format, Mask); got != want {
					t.Errorf("%s in %s:\n in   %s\n got  %s\n want %s", k.name, place, in, got, want)
					break
				}
			}
		}
	}
}

func TestPrivateKeys(t *testing.T) {
	r := dice(2)
	for _, label := range []string{"RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY",
		"ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK"} {
		key := drawPEM(r, label, 20)
		for _, format := range []string{"%s\n", "a\n%s\nb", "key: |\n  %s\nnext: 1", `const k = ` + "`%s`"} {
			in := fmt.Sprintf(format, key)
			want := fmt.Sprintf(format, Mask)
			if got := new(Scrubber).Text(in); got != want {
				t.Errorf("%s: got %q, want %q", label, got, want)
			}
		}
		oneLine := strings.ReplaceAll(key, "\n", `\n`)
		in := `{"type": "service_account", "private_key": "` + oneLine + `\n", "client_email": "a@b"}`
		want := `{"type": "service_account", "private_key": "` + Mask + `", "client_email": "a@b"}`
		if got := new(Scrubber).Text(in); strings.ReplaceAll(got, Mask+`\n`, Mask) != want {
			t.Errorf("%s in JSON: got %q", label, got)
		}
		cut := key[:len(key)/2]
		if got := new(Scrubber).Text("a " + cut); strings.Contains(got, cut[40:60]) {
			t.Errorf("%s cut off: got %q", label, got)
		}
	}
	prose := "A PEM file begins with -----BEGIN RSA PRIVATE KEY----- and has lines of base64."
	if got := new(Scrubber).Text(prose); got != prose {
		t.Errorf("prose became %q", got)
	}
	public := strings.ReplaceAll(drawPEM(r, "PUBLIC KEY", 4), "PRIVATE", "PUBLIC")
	if got := new(Scrubber).Text(public); got != public {
		t.Errorf("a public key became %q", got)
	}
}

// TestGOROOT reads much code that holds few secrets, nearly all of them the
// passwords and private keys of tests.
func TestGOROOT(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the sources of Go")
	}
	files, touched := 0, 0
	p := builtin()
	err := filepath.WalkDir(filepath.Join(needtest.GoRoot(t), "src"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		if found := p.find(string(raw)); len(found) > 0 {
			touched++
			f := found[0]
			t.Logf("%s: %s %.40q", path, f.kind, raw[f.from:f.to])
		}
		return nil
	})
	if err != nil {
		t.Skip(err)
	}
	t.Logf("%d of %d files", touched, files)
	if touched*200 > files {
		t.Errorf("%d of %d files touched: more than 0.5 %%", touched, files)
	}
}

func TestOptions(t *testing.T) {
	r := dice(3)
	key := pre("gh", "p_", alnums, 36).draw(r)
	hexKey := draw(r, hexes, 64)
	for _, c := range []struct {
		name     string
		options  Options
		in, want string
	}{
		{"allowed", Options{Allow: []string{key}}, "a " + key, "a " + key},
		{"allowed by pattern", Options{Allow: []string{"re:ghp_.*"}}, "a " + key, "a " + key},
		{"a pattern is of the whole", Options{Allow: []string{"re:ghp"}}, "a " + key, "a " + Mask},
		{"rule", Options{Extra: []Rule{{Name: "badge", Pattern: `badge-\d{4}`}}}, "x badge-1234 y", "x " + Mask + " y"},
		{"rule of a line", Options{Extra: []Rule{{Name: "badge", Pattern: `^badge \d{4}`}}},
			"12:badge 1234\n+badge 1234\na badge 1234", "12:[REDACTED]\n+[REDACTED]\na badge 1234"},
		{"group", Options{Extra: []Rule{{Name: "badge", Pattern: `badge-(\d{4})`}}}, "x badge-1234 y", "x badge-" +
			Mask + " y"},
		{"rule and token", Options{Extra: []Rule{{Name: "tail", Pattern: `p_\w+ \w+`}}}, "a " + key + " b c", "a " +
			Mask + " c"},
		{"hex by line", Options{}, "encryption key is " + hexKey, "encryption key is " + Mask},
		{"hex of no key", Options{}, "file " + hexKey, "file " + hexKey},

		{"digest", Options{}, "secret sha256:" + hexKey, "secret sha256:" + hexKey},
	} {
		if got := mustNew(t, c.options).Text(c.in); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestBadOptions(t *testing.T) {
	for want, o := range map[string]Options{

		"allowed":  {Allow: []string{"re:("}},
		"a[":       {Extra: []Rule{{Name: "a[", Pattern: "x"}}},
		"missing":  {Extra: []Rule{{Name: "r", Pattern: "(missing"}}},
		"one byte": {Extra: []Rule{{Name: "r", Pattern: "x*"}}},
		`rule ""`:  {Extra: []Rule{{Pattern: "x"}}},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

func TestZeroAndNil(t *testing.T) {
	key := pre("gh", "p_", alnums, 36).draw(dice(4))
	var none *Scrubber
	if got := none.Text(key); got != Mask {
		t.Errorf("nil: %q", got)
	}
	var zero Scrubber
	if got := zero.Text(key); got != Mask {
		t.Errorf("zero: %q", got)
	}
	if err := zero.Set("x", "correct-horse-9"); err != nil {
		t.Fatal(err)
	}
	if got := zero.Text("a correct-horse-9 " + key); got != "a "+Mask+" "+Mask {
		t.Errorf("zero with a value: %q", got)
	}
}

func TestReport(t *testing.T) {
	r := dice(5)
	text := "x " + pre("gh", "p_", alnums, 36).draw(r) + " y " + pre("gh", "o_", alnums, 36).draw(r) + " " + drawJWT(r)
	clean, found := new(Scrubber).Report(text)
	if found["github_token"] != 2 || found["jwt"] != 1 || len(found) != 2 {
		t.Errorf("found %v in %q", found, clean)
	}
	if _, n := new(Scrubber).Count(text); n != 3 {
		t.Errorf("counted %d", n)
	}
	if _, found := new(Scrubber).Report("nothing"); found != nil {
		t.Errorf("found %v in nothing", found)
	}
}

func mustNew(t testing.TB, o Options) *Scrubber {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestColouredKeys expects that a colour of a terminal, however it is written, hides
// no token.
func TestColouredKeys(t *testing.T) {
	s := mustNew(t, Options{})
	r := dice(21)
	for _, k := range secretKinds() {
		for _, format := range []string{"\x1b[32m%s\x1b[0m", "\x1b[1;33m%s\x1b[m", "<U+001B>[32m%s<U+001B>[0m",
			`"\u001b[32m%s\u001b[0m"`} {
			if in := fmt.Sprintf(format, k.draw(r)); s.Text(in) != fmt.Sprintf(format, Mask) {
				t.Errorf("%s: %q became %q", k.name, in, s.Text(in))
			}
		}
	}
	checkMarked(t, s, []string{"\x1b[32mDB_PASSWORD\x1b[0m=«hunter22»", "\x1b[1;33mAPI_TOKEN=«%s»\x1b[0m",
		"\x1b[33mpassword: «hunter22»\x1b[0m"})
}

// TestMarkdownEscapedKeys expects that ghp\_... is masked as a whole.
func TestMarkdownEscapedKeys(t *testing.T) {
	s := mustNew(t, Options{})
	r := dice(22)
	for _, k := range secretKinds() {
		secret := k.draw(r)
		if strings.ContainsAny(secret, "$+") || k.name == "maxmind" || k.name == "discord" || k.name == "airtable" {
			continue // are found by their length
		}
		in := "![tok " + strings.ReplaceAll(secret, "_", `\_`) + "](https://example.com/x.png)"
		if got := s.Text(in); got != "![tok "+Mask+"](https://example.com/x.png)" {
			t.Errorf("%s: %q became %q", k.name, in, got)
		}
	}
	checkMarked(t, s, []string{"[password=«hunter22»](https://example.com/path)", "![password=«hunter22»](http://h/)"})
}

// TestOwnTokens masks the tokens of this program: those of the token command, and those of logins.
func TestOwnTokens(t *testing.T) {
	r := dice(7)
	text := "a " + pre("mcp", "t_", alnums, 49).draw(r) + " b " + pre("mcp", "r_", alnums, 64).draw(r) + " mcpt_ mcpr_short"
	clean, found := new(Scrubber).Report(text)
	if found["mcp_tools_token"] != 2 || len(found) != 1 {
		t.Errorf("found %v in %q", found, clean)
	}
}
