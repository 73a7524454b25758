package fs

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/scrub"
)

// keyFile is text, a private key of 30 lines from line 3, and text again.
func keyFile() (file string, body []string) {
	for i := range 30 {
		body = append(body, strings.Repeat(fmt.Sprintf("MII%cKey%d/+", 'A'+i%26, i%10), 7)[:64])
	}
	head, foot := "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
	return "one\ntwo\n" + head + "\n" + strings.Join(body, "\n") + "\n" + foot + "\nafter the key\n" + numbered(50), body
}

// shownAs is what a model gets: the server scrubs all results.
func shownAs(res tool.Result) string {
	var usual *scrub.Scrubber
	return usual.Text(res.Parts[0].Text)
}

func TestReadFromWithinAKey(t *testing.T) {
	file, body := keyFile()
	one := fakeReader(map[string]string{"notes.txt": file, "words.txt": strings.Repeat(body[0]+"\n", 40)})
	for _, args := range []string{`"offset":4`, `"offset":10,"limit":1`, `"offset":20,"limit":5,"numbers":true`, `"offset":33,"limit":1`, `"offset":12,"anchors":true`, `"offset":-60`} {
		res, err := ask(t, one, inSession(t), `{"path":"notes.txt",`+args+`}`)
		if err != nil {
			t.Fatal(args, err)
		}
		text := shownAs(res)
		for _, line := range body {
			if strings.Contains(text, line) {
				t.Fatalf("%s: a line of the key is shown: %s", args, text)
			}
		}
		if strings.Count(text, "[REDACTED:") != 1 || !strings.Contains(args, "limit") && !strings.Contains(text, "after the key") {
			t.Errorf("%s: %s", args, text)
		}
	}
	for path, args := range map[string]string{"words.txt": `"offset":20,"limit":3`, "notes.txt": `"offset":36`} {
		res, err := ask(t, one, inSession(t), `{"path":"`+path+`",`+args+`}`)
		if err != nil || strings.Contains(res.Parts[0].Text, "[REDACTED") {
			t.Errorf("%s is no key: %+v, %v", path, res, err)
		}
	}
}

func TestReadCutsBesideSecrets(t *testing.T) {
	const token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
	one := fakeReader(map[string]string{"long": strings.Repeat("k="+token+";", 400) + "\nnext\n"})
	for most := 600; most < 645; most++ {
		res, err := ask(t, one, inSession(t), fmt.Sprintf(`{"path":"long","max_bytes":%d}`, most))
		if err != nil {
			t.Fatal(err)
		}
		if text := shownAs(res); strings.Contains(text, token[:8]) || strings.Count(text, "[REDACTED:") < 10 {
			t.Fatalf("max_bytes %d: %s", most, text)
		}
	}
}

func TestBase64ShowsNoSecret(t *testing.T) {
	const token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
	secret := strings.Repeat("text ", 20) + "token = " + token + "\n"
	var wide strings.Builder
	for _, unit := range utf16.Encode([]rune(secret)) {
		wide.Write([]byte{byte(unit), byte(unit >> 8)})
	}
	key, _ := keyFile()
	one := fakeReader(map[string]string{"plain": secret, "wide": wide.String(), "key": key, "none": strings.Repeat("text\x00", 50)})
	for _, args := range []string{`"plain"`, `"plain","offset":112,"limit":8`, `"wide"`, `"key","offset":900,"limit":100`} {
		if res, err := ask(t, one, inSession(t), `{"encoding":"base64","path":`+args+`}`); err == nil || tool.AsError(err).Kind != tool.Refused {
			t.Errorf("%s: %+v, %v", args, res, err)
		}
	}
	res, err := ask(t, one, inSession(t), `{"encoding":"base64","path":"none"}`)
	if want := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("text\x00", 50))); err != nil ||
		!strings.Contains(res.Parts[0].Text, want) {
		t.Errorf("%+v, %v", res, err)
	}
}
