package scrub

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// starts are texts from which the fuzzers start.
func starts() []string {
	return []string{
		"", "x", `{"password": 12345678, "API_KEY": -1.25e+12, "DSN": true}`,
		`{"password": "hunter22", "a": ["--token", "x1y2z3a4b5"]}`, `password='abc12345`,
		`{"a":"token=","b":"c12345678"}`,
		"https://u:p4ss@h/p?token=abc12345&x=1", "Authorization: Digest a=\"b\", c=\"d\"",
		`"Authorization": "Bearer abcdefgh12345678"`,
		"-----BEGIN RSA PRIVATE KEY-----\nabc\n", "mysql -u a -pabc123 db", "Cookie: a=b12345678; c=d",
		"key\nvalue: x1234567", "\\u0070assword=\\u0041bc12345",
		"[REDACTED] token=[REDACTED]", "password: |\n  abc12345\n", "<password>abc12345</password>",
		"é\xff\xfetoken=é12345678",
		"12:password = abc12345\n12-token: |\n13-  abc12345\n+pass",
		"9#a3|-----BEGIN RSA PRIVATE KEY-----\n10#a3|A: b\n11#a3|abcdefghijklmnopqrstuvwxyz\n",
	}
}

// FuzzText holds what is promised of any text at all.
func FuzzText(f *testing.F) {
	for _, s := range starts() {
		f.Add(s, uint64(1))
	}
	s := mustNew(f, Options{})
	if err := s.Set("v", "hunter22!", "pa/ss&word1"); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		clean := s.Text(text)
		if again := s.Text(clean); again != clean {
			t.Errorf("not idempotent: %q, %q, %q", text, clean, again)
		}
		if utf8.ValidString(text) && !utf8.ValidString(clean) {
			t.Errorf("no longer UTF-8: %q, %q", text, clean)
		}
		if json.Valid([]byte(text)) && !json.Valid([]byte(clean)) {
			t.Errorf("no longer JSON: %s, %s", text, clean)
		}
		if out := s.JSON([]byte(text)); json.Valid([]byte(text)) && !json.Valid(out) {
			t.Errorf("JSON is not JSON: %s, %s", text, out)
		}
		if got := stream(t, s, text, dice(seed), 20); got != clean {
			t.Errorf("as a stream %q is %q, not %q", text, got, clean)
		}
	})
}

// FuzzPlanted hides a secret of every kind in any text.
func FuzzPlanted(f *testing.F) {
	all := secretKinds()
	for i, s := range starts() {
		f.Add(s, s, uint64(i), i*11)
	}
	s := mustNew(f, Options{})
	f.Fuzz(func(t *testing.T, before, after string, seed uint64, kind int) {
		k := all[uint(kind)%uint(len(all))]
		secret := k.draw(dice(seed))
		text := before + " " + secret + " " + after
		if clean := s.Text(text); strings.Contains(clean, secret) {
			t.Errorf("%s survives in %q: %q", k.name, text, clean)
		}
		if clean := stream(t, s, text, dice(seed), 30); strings.Contains(clean, secret) {
			t.Errorf("%s survives as a stream in %q: %q", k.name, text, clean)
		}
		doc, err := json.Marshal(map[string]any{before: []string{after, text}})
		if err != nil {
			t.Fatal(err)
		}
		if clean := s.JSON(doc); strings.Contains(string(clean), secret) || !json.Valid(clean) {
			t.Errorf("%s survives in %s: %s", k.name, doc, clean)
		}
	})
}

// FuzzValue hides a dynamic value, written in every way, in any text.
func FuzzValue(f *testing.F) {
	for i, s := range starts() {
		f.Add(s, "hunter22!"+s, s, uint64(i))
	}
	f.Fuzz(func(t *testing.T, before, value, after string, seed uint64) {
		s := new(Scrubber)
		value = strings.TrimSpace(value)
		if !utf8.ValidString(value) || len(value) > 200 || s.Set("v", value) != nil {
			return
		}
		for name, w := range writings(t, value) {
			text := before + " " + w + " " + after
			if leaks(before+" \x00"+after, value) || leaks(Mask, value) {
				return
			}
			clean := s.Text(text)
			if strings.Contains(clean, w) {
				t.Errorf("%q, %s, survives in %q: %q", value, name, text, clean)
			}
			if got := stream(t, s, text, dice(seed), 30); got != clean {
				t.Errorf("%q, %s: as a stream %q is %q, not %q", value, name, text, got, clean)
			}
		}
	})
}
