package scrub

import (
	"strings"
	"testing"
)

func TestMasks(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "REDACTED": 0, "[redacted]": 0, "[REDACTED": 0, "[REDACTED:]": 0, "[REDACTED:a b]": 0, "[SERVER_]": 0,
		"a [REDACTED] b": 1, "[REDACTED:github_token]": 1, "[SERVER_IP]": 1, "[[REDACTED]][SERVER_NAME]": 2,
		"[REDACTED][REDACTED:x]":                      2,
		"[REDACTED:" + strings.Repeat("x", 100) + "]": 0,
	} {
		if got := countMasks(s); got != want {
			t.Errorf("%q: %d masks, want %d", s, got, want)
		}
		if HasMask(s) != (want > 0) {
			t.Errorf("%q: HasMask is %v", s, HasMask(s))
		}
	}
}

func TestCheckNoMask(t *testing.T) {
	s := new(Scrubber)
	if err := s.SetMasked("address", ServerIP, "203.0.113.7"); err != nil {
		t.Fatal(err)
	}
	doc, secret := "secrets show as [REDACTED]", "password: hunter22\n"
	for _, c := range []struct {
		before, after string
		ok            bool
	}{
		{"", "x", true}, {"", doc, true}, {doc, doc + " here", true}, {doc, "", true},
		{"k: abc", "k: [REDACTED]", true}, // there was no secret
		{secret, "password: [REDACTED]\n", false}, {secret, secret + "# shown as [REDACTED]\n", true},
		{secret, "password: other\n", true}, {secret, "password: [REDACTED:0a1b2c]\n", false},
		{"ip: 203.0.113.7", "ip: [SERVER_IP]", false},
	} {
		if err := s.CheckNoMask(c.before, c.after); (err == nil) != c.ok {
			t.Errorf("%q to %q: %v", c.before, c.after, err)
		}
	}
	if err := s.CheckNoMask(secret, "a [REDACTED:jwt] b"); !strings.Contains(err.Error(), `"[REDACTED:jwt]"`) {
		t.Errorf("the error does not name the mask: %v", err)
	}
}

// TestUnmask writes secrets back where their marks stand, in the same file only.
func TestUnmask(t *testing.T) {
	s := new(Scrubber)
	r := dice(31)
	key := drawPEM(r, "RSA PRIVATE KEY", 5)
	content := "password: hunter22\nTOKEN=" + pre("gh", "p_", alnums, 36).draw(r) + "\n" + key + "\nname: x\n"
	shown := s.Secrets(content, 0, len(content)).Marked("a.env").Show(0, len(content))
	if strings.Contains(shown, "hunter22") || countMarked(shown) != 3 || s.Text(shown) != shown {
		t.Fatalf("shown as %q", shown)
	}
	edited := strings.Replace(shown, "name: x", "name: y", 1)
	if got, want := s.Unmask("a.env", content, edited), strings.Replace(content, "x\n", "y\n", 1); got != want {
		t.Errorf("%q became %q, want %q", edited, got, want)
	}
	if got := s.Unmask("b.env", content, edited); got != edited {
		t.Errorf("in another file it became %q", got)
	}
	if got := s.Unmask("a.env", "password: hunter23\n", edited); got != edited {
		t.Errorf("with another secret it became %q", got)
	}
	if _, found := s.Report(shown); found["secret"] != 3 {
		t.Errorf("counted %v", found)
	}
}
