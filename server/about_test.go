package server

import (
	"strings"
	"testing"
)

// TestAuditSaysWhatCallsAreAbout checks the argument that the audit log has of a call: one that names what it works
// on, scrubbed as a whole and then cut, and no contents.
func TestAuditSaysWhatCallsAreAbout(t *testing.T) {
	key := plantedKey()
	for args, want := range map[string]string{
		`{"command":"git status\nls"}`:                                   "git status",
		`{"cmd":"  \n make test"}`:                                       "make test",
		`{"argv":["ls","-la"],"cwd":"x"}`:                                "ls -la",
		`{"path":"a.txt","content":"private"}`:                           "a.txt",
		`{"paths":["a","b"]}`:                                            "a b",
		`{"method":"POST","url":"https://example.com/x","body":"b"}`:     "POST https://example.com/x",
		`{"action":"open","url":"https://example.com"}`:                  "open https://example.com",
		`{"query":"weather","count":3}`:                                  "weather",
		`{"to":"ann","text":"private"}`:                                  "ann",
		`{"patch":"*** Begin Patch\n*** Update File: a.go\n@@"}`:         "*** Update File: a.go",
		`{"action":"list"}`:                                              "list",
		`{"text":"private"}`:                                             "",
		`{}`:                                                             "",
		`{"path":""}`:                                                    "",
		`{"command":"echo ` + key + `"}`:                                 "echo [REDACTED]",
		`{"command":"` + strings.Repeat("x", 190) + ` ` + key + ` end"}`: strings.Repeat("x", 190) + " [REDACTE…",
	} {
		b := newTestServer(t, func(c *Config) { c.Settings.AuditAbout = true })
		callTool(t, b, "echo", args)
		all := b.audit.all()
		if got := all[len(all)-1].About; got != want && !(len(want) > 190 && strings.HasPrefix(got, want[:190]) &&
			!strings.Contains(got, key[:8])) {
			t.Errorf("%s: recorded as about %q, want %q", args, got, want)
		}
	}
	b := newTestServer(t)
	callTool(t, b, "echo", `{"path":"a.txt"}`)
	if got := b.audit.all()[0].About; got != "" {
		t.Errorf("without the setting %q is recorded", got)
	}
}

// TestRecordedResults has the beginning of results in the audit log, scrubbed, if the operator wants it.
func TestRecordedResults(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		b := newTestServer(t, func(c *Config) { c.Settings.AuditResults = wanted })
		callTool(t, b, "long", `{"n":200}`)
		callTool(t, b, "leaks", `{}`)
		for _, e := range b.audit.all() {
			if (e.Head != "") != wanted || len(e.Head) > maxAuditHead+8 || strings.Contains(e.Head, plantedKey()) {
				t.Errorf("wanted %t: %q", wanted, e.Head)
			}
		}
	}
}
