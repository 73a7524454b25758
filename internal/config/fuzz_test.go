package config

import (
	"strings"
	"testing"
	"unicode"
)

func FuzzLoad(f *testing.F) {
	f.Add("limits: {calls_per_minute: 600}\npolicy:\n  profiles: {clerk: {allow: [datetime]}}\n")
	f.Add("policy: &p\n  agents: {a: *p}\n<<: *p\n")
	f.Add("keep: {timeout: 9999999999h, calls_per_minute: !!binary aGk=, result: 1e3}\n---\n")
	f.Add("connections:\n  tokens:\n    \"\\u0000\": {hash: ~, profiles: [[]]}\n")
	f.Add("? [a]\n: &x {? b : *x}\n")
	r := samples()
	f.Fuzz(func(t *testing.T, text string) {
		l := &Loaded[sample]{reader: r, Config: r.Default(), Path: "config.yaml", Source: map[string]string{"limits.calls_per_minute": byDefault}}
		l.options.Getenv = FakeEnvironment()
		problems := l.take([]byte(text))
		for _, p := range append(problems, l.check()...) {
			if p.Text == "" || p.Line < 0 || p.Line > len(text)+1 || strings.ContainsFunc(
				p.String(), unicode.IsControl,
			) {
				t.Errorf("a bad problem: %#v", p)
			}
		}
		if len(problems) > 0 {
			return
		}
		if c := l.Config; c.Limits.CallsPerMinute < 1 || c.Keep.Timeout < 1 || c.Limits.Result > 10<<20 {
			t.Errorf("values out of bounds: %+v", c)
		}
	})
}
