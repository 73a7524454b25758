package fs_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/scrub"
)

// keyText is a key as files and programs contain it.
func keyText(before, after string) (file string, body []string) {
	for i := range 20 {
		body = append(body, strings.Repeat(fmt.Sprintf("MII%cKe%dy/", 'A'+i, i%10), 8)[:64])
	}
	body = append(body, "bGFzdCBvbmU=")
	lines := []string{"one", "-----BEGIN RSA PRIVATE KEY-----"}
	lines = append(append(lines, body...), "-----END RSA PRIVATE KEY-----", "after the key", "and more", "")
	for i := 1; i < len(lines)-3; i++ {
		lines[i] = before + lines[i] + after
	}
	return strings.Join(lines, "\n"), body
}

func checkKeyless(t *testing.T, shown string, body []string, hides bool) {
	t.Helper()
	for _, line := range body {
		if strings.Contains(shown, line) {
			t.Fatalf("a line of the key is shown:\n%s", shown)
		}
	}
	if strings.Contains(shown, scrub.Mask) != hides {
		t.Errorf("got\n%s", shown)
	}
}

func TestDiffsWithinAKey(t *testing.T) {
	for name, around := range map[string][2]string{"a file": {"", ""}, "a program": {"\t\"", `\n" +`}, "YAML": {"    ", ""}, "CRLF": {"", "\r"}} {
		file, body := keyText(around[0], around[1])
		for edited, with := range map[string]string{body[9]: "gone", body[0]: "gone", body[19]: body[3], "after the key": "after it", "and more": "less"} {
			t.Run(name+" "+edited[:5], func(t *testing.T) {
				e := newEditor(t)
				e.put("a.txt", file)
				shown, err := e.edit(map[string]any{"path": "a.txt", "old_string": edited, "new_string": with, "dry_run": true})
				if err != nil {
					t.Fatal(err)
				}
				clean := new(scrub.Scrubber).Text(shown)
				checkKeyless(t, clean, body, edited != "and more")
				if strings.Contains(edited, "key") && !strings.Contains(clean, "-after the key\n+after it\n and more") {
					t.Errorf("got\n%s", clean)
				}
			})
		}
	}
}

func TestDiffsThatOnlyLookLikeAKey(t *testing.T) {
	file, body := keyText("", "")
	file = strings.ReplaceAll(file, "PRIVATE KEY", "CERTIFICATE")
	e := newEditor(t)
	e.put("a.txt", file)
	shown, err := e.edit(map[string]any{"path": "a.txt", "old_string": body[9], "new_string": "gone"})
	if err != nil || !strings.Contains(shown, "-"+body[9]) || !strings.Contains(shown, " "+body[8]) {
		t.Errorf("%v\n%s", err, shown)
	}
}

func TestErrorsWithinAKey(t *testing.T) {
	file, body := keyText("", "")
	e := newEditor(t)
	e.put("a.txt", file)
	wrong := strings.Replace(body[9], "Ke9", "xxx", 1)
	_, err := e.edit(map[string]any{"path": "a.txt", "old_string": wrong + "\n" + body[10][:50], "new_string": "x"})
	if err == nil {
		t.Fatal("it was made")
	}
	checkKeyless(t, err.Error(), body, false)
	do, dir := changing(t)
	put(t, filepath.Join(dir, "a.txt"), file)
	_, err = do("apply_patch", map[string]any{"path": "a.txt", "patch": "@@ -11,2 +11,1 @@\n-" + wrong + "\n-" + body[10][:50] + "\n+x\n"})
	if err == nil {
		t.Fatal("it was made")
	}
	checkKeyless(t, err.Error(), body, false)
}
