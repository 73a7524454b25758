package scrub

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

// leads are the prefixes of the lines that tools show; each gets the number of
// the line.
var leads = map[string]func(n int) string{
	"removed":    func(int) string { return "-" },
	"added":      func(int) string { return "+" },
	"kept":       func(int) string { return " " },
	"merged":     func(int) string { return "++" },
	"indented":   func(int) string { return "-    " },
	"match":      func(n int) string { return fmt.Sprintf("%d:", n) },
	"spaced":     func(n int) string { return fmt.Sprintf("%d: ", n) },
	"around":     func(n int) string { return fmt.Sprintf("%d-", n) },
	"number":     func(n int) string { return fmt.Sprintf("%d|", n) },
	"anchor":     func(n int) string { return fmt.Sprintf("%d#a3|", n) },
	"tab":        func(n int) string { return fmt.Sprintf("%d\t", n) },
	"cat":        func(n int) string { return fmt.Sprintf("%6d\t", n) },
	"quoted":     func(int) string { return "> " },
	"twice":      func(int) string { return "> > " },
	"plain diff": func(int) string { return "< " },
	"place":      func(n int) string { return fmt.Sprintf("conf/my_app.ini:%d:", n) },
	"column":     func(n int) string { return fmt.Sprintf("app.ini:%d:%d: ", n, n) },
	"both":       func(n int) string { return fmt.Sprintf("%d:+", n) },
}

// behind puts a lead before each line of s.
func behind(lead func(int) string, s string) string {
	lines := strings.SplitAfter(s, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = lead(9+i) + line
		}
	}
	return strings.Join(lines, "")
}

// TestLeads has settings of every family that begins where a line does.
func TestLeads(t *testing.T) {
	families := map[string]string{
		"environment": "API=x\nDB_PASSWORD=«hunter22»\nexport API_KEY=«%s»\nVIRTUAL_HOST=«app.example.com»\n",
		"spaced":      "user = me\npassword = «correcthorse»\nclient_secret = «%s»\n",
		"YAML":        "db:\n  user: me\n  password: «correcthorse»\n  - password: «hunter22»\n",
		"YAML block":  "password: |\n  «hunter22xx»\nnext: 1\n",
		"YAML pair":   "- name: DB_PASSWORD\n  value: «hunter22»\n- name: X\n",
		"INI":         "[db]\nuser = me\npassword = «correcthorse»\ntoken = «abcdefghijklmnopq»\n",
		"properties":  "a.b=1\nspring.datasource.password: «correcthorse»\ndb.password = «hunterhunter»\n",
		".netrc":      "machine example.com\n  login me\n  password «hunter22»\n",
		"flat .netrc": "machine example.com\nlogin me\npassword «hunterhu»\n",
		"redis":       "port 6379\nrequirepass «hunterhu»\n",
		"npm":         "registry=x\n_auth=«%s»\n",
		"headers":     "Host: example.com\nx-api-key: «%s»\nAuthorization: Bearer «%s»\nCookie: «session=%s»\n",
		"JSON":        "{\n  \"name\": \"DB_PASSWORD\",\n  \"value\": \"«hunter22»\"\n}\n",
		"arguments":   "[\n  \"--token\",\n  \"«%s»\"\n]\n",
		"TOML":        "[db]\npassword = \"«hunter22»\"\n",
		"shell":       "set password = «correcthorse»\n",
		"tokens":      "«ghp_%s»\n«AKIAQWERTYUIOPASDFGH»\n",
	}
	for family, text := range families {
		for name, lead := range leads {
			t.Run(family+" "+name, func(t *testing.T) {
				checkMarked(t, new(Scrubber),
					[]string{behind(lead, text), text})
			})
		}
	}
}

// TestLeadsChangeNothing says that a line is judged as it would be without
// what stands before it.
func TestLeadsChangeNothing(t *testing.T) {
	s := new(Scrubber)
	for name, lead := range leads {
		for _, text := range harmlessFiles {
			in := behind(lead, text)
			if got := s.Text(in); got != in {
				t.Errorf("%s:\n in  %s\n got %s", name, in, got)
			}
		}
	}
}

var harmlessFiles = []string{
	"	password := os.Getenv(\"X\")\n	token = next()\n	secret, err := load(ctx)\n",
	"password: \"\"\ntoken: null\nsecret: ${SECRET}\napi_key:\nkey: |\n",
	"type Login struct {\n	password string\n	Token    *Token\n	key      []byte `json:\"key\"`\n}\n",
	"interface Login {\n  password: string;\n  token?: string;\n  apiKey: Key | null\n}\n",
	"@@ -1,4 +1,4 @@\n func f() {\n-	password = old\n+	password = p.Password\n+	key := \"user:\" + id\n }\n",
	"--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-	token := lexer.Next()\n+	token := lexer.Peek()\n",
	"--- PASS: TestThing (0.00s)\nPASS: TestOther\n",
	"  -password string\n    	the password of the user (default none)\n  -token value\n",
	"the password: it is secret\nPasswords must have 8 characters.\nYour token has expired.\n",
	"password=${DB_PASSWORD}\nTOKEN=$TOKEN\nAPI_KEY=your-api-key-here\nKEY_PATH=/etc/ssl/key.pem\nTOKEN_TYPE=bearer\n",
	"-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ2hhbmdlIG1lIHBsZWFzZSBJIGFtIGEgdGVzdDAKBggq\n-----END CERTIFICATE-----\n",
	"- name: TOKEN\n  valueFrom:\n    secretKeyRef: x\n", "1: one\n2: two\n12-34 tokens were used\n3:4 is the key\n",
	"A PEM file begins with -----BEGIN RSA PRIVATE KEY----- and has lines of base64.\n",
}

func TestPrivateKeysBehindLeads(t *testing.T) {
	r := dice(8)
	for _, label := range []string{"RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"} {
		key := drawPEM(r, label, 12)
		for name, lead := range leads {
			t.Run(label+" "+name, func(t *testing.T) {
				shown := behind(lead, "a: 1\n"+key+"\nb: 2\n")
				checkNoBody(t, shown, key)
				if got := new(Scrubber).Text(shown); !strings.HasSuffix(got, "\n"+lead(9+15)+"b: 2\n") ||
					strings.Count(got, "\n") > 4 {
					t.Errorf("got %q", got)
				}
				headed := strings.Replace(key, "-----\n",
					"-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0011\n\n", 1)
				for _, k := range []string{key, headed, strings.ReplaceAll(key, "\n", "\r\n")} {
					cut := k[:len(k)-90]
					checkNoBody(t, behind(lead, "a: 1\n"+cut), key)
					checkNoBody(t, behind(lead, cut)+"\n[12 more lines; go on with offset 12]", key)
				}
			})
		}
	}
}

func TestPuttyKeysBehindLeads(t *testing.T) {
	r := dice(9)
	key := "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 2\n" + draw(r, alnums, 64) + "\n" +
		draw(r, alnums, 64) + "\n"
	for name, lead := range leads {
		t.Run(name, func(t *testing.T) { checkNoBody(t, behind(lead, key+"Private-MAC: 00\n"), key) })
	}
}

// checkNoBody says that nothing is left of the long lines of key.
func checkNoBody(t *testing.T, shown, key string) {
	t.Helper()
	got := new(Scrubber).Text(shown)
	for line := range strings.Lines(key) {
		if line = strings.TrimSpace(line); len(line) == 64 && strings.Contains(got, line[20:40]) {
			t.Errorf("\n in  %s\n got %s", shown, got)
			return
		}
	}
}

// TestRandomLeads mixes what the other tests have.
func TestRandomLeads(t *testing.T) {
	r := dice(10)
	for range 300 {
		for _, lead := range leads {
			k := secretKinds()[r.IntN(len(secretKinds()))]
			secret := k.draw(r)
			shown := behind(lead, "x: 1\n"+secret+"\ny: 2\n")
			if got := new(Scrubber).Text(shown); strings.Contains(got, secret) {
				t.Errorf("%s survives in %q", k.name, got)
			}
		}
	}
}

// TestGOROOTBehindLeads checks that numbers before the lines of much code do not
// add findings.
func TestGOROOTBehindLeads(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the sources of Go")
	}
	plain, led, files := 0, 0, 0
	r := rand.New(rand.NewPCG(1, 1))
	err := filepath.WalkDir(filepath.Join(needtest.GoRoot(t), "src"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || r.IntN(16) > 0 {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		text := strings.ReplaceAll(string(raw), "\r", "")
		was := len(builtin().find(text))
		plain += was
		for _, name := range []string{"match", "around", "anchor", "added", "removed", "place"} {
			is := builtin().find(behind(leads[name], text))
			if led += len(is); len(is) > was {
				t.Logf("%s %s: %d, not %d", path, name, len(is), was)
			}
		}
		return nil
	})
	if err != nil {
		t.Skip(err)
	}
	t.Logf("%d files: %d secrets, %d behind six leads", files, plain, led)
	if led > 6*plain+files/100 {
		t.Errorf("%d secrets in %d files became %d behind six leads", plain, files, led)
	}
}
