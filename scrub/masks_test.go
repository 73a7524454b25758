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
	doc := "secrets show as [REDACTED]"
	for _, c := range []struct {
		before, after string
		ok            bool
	}{
		{"", "x", true}, {"", doc, false}, {doc, doc + " here", true}, {"k: abc", "k: [REDACTED]", false},
		{doc, "", true},
		{doc + "\nk: abc", doc + "\nk: [REDACTED:token]", false}, {"ip: 1", "ip: [SERVER_IP]", false},
	} {
		err := CheckNoMask(c.before, c.after)
		if (err == nil) != c.ok || NewMasks(c.before, c.after) == c.ok {
			t.Errorf("%q to %q: %v", c.before, c.after, err)
		}
	}
	if err := CheckNoMask("", "a [REDACTED:jwt] b"); !strings.Contains(err.Error(), `"[REDACTED:jwt]"`) {
		t.Errorf("the error does not name the mask: %v", err)
	}
}
