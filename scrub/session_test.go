package scrub

import (
	b64 "encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestSessionsRememberSecrets masks a secret by its name, then looks for it without its name in the forms into which a
// command turns it.
func TestSessionsRememberSecrets(t *testing.T) {
	r := dice(31)
	for name, secret := range map[string]string{
		"password": "hunTer2" + "xYz9qW", "signs": "p4$$-w0rd!Zx", "token": "ghp_" + draw(r, alnums, 36), "hex": draw(r, hexes, 40),
		"long": draw(r, alnums, 90),
	} {
		base := new(Scrubber)
		s := base.For(Session{ID: name})
		if got := s.Text("password = " + secret); strings.Contains(got, secret) {
			t.Fatalf("%s: %q", name, got)
		}
		line := "password=" + secret + "\nnext=1\n"
		for form, text := range map[string]string{
			"plain": "x " + secret + " y", "glued": "colour" + secret + "9", "base64": b64.StdEncoding.EncodeToString([]byte(line)),
			"base64url": b64.URLEncoding.EncodeToString([]byte("ab" + secret)), "hex": hex.EncodeToString([]byte(line)),
			"xxd": hexGroups(line, 2), "od -x1": hexGroups(line, 1), "upper": strings.ToUpper(hex.EncodeToString([]byte(secret))),
			"rev": reverse(line), "sed": strings.Join(strings.Split(line, ""), " "), "fold": strings.Join(strings.Split(line, ""), "\n"),
			"fold -w8": folded(line, 8), "fold -w11": folded(line, 11), "fold -w20": folded(line, 20), "od -c": "   " + strings.Join(strings.Split(line, ""), "   "), "cut": "=" + secret,
			"rev | sed": strings.Join(strings.Split(reverse(line), ""), " "), "json": fmt.Sprintf("%q", line),
		} {
			clean := s.Text(text)
			if clean == text || strings.Contains(clean, secret) || strings.Contains(strings.Join(strings.Fields(clean), ""), secret) {
				t.Errorf("%s, %s: %q became %q", name, form, text, clean)
			}
			if again := s.Text(clean); again != clean {
				t.Errorf("%s, %s: not idempotent: %q, %q", name, form, clean, again)
			}
			if got := stream(t, s, text, dice(1), 30); got != clean {
				t.Errorf("%s, %s: as a stream %q is %q, not %q", name, form, text, got, clean)
			}
		}
		for where, other := range map[string]*Scrubber{"another session": base.For(Session{ID: "x"}), "no session": base} {
			if text := "x " + reverse(secret) + " y"; other.Text(text) != text {
				t.Errorf("%s: %s masks %q", name, where, text)
			}
		}
	}
}

func hexGroups(s string, n int) string {
	var groups []string
	for part := range slices.Chunk([]byte(s), n) {
		groups = append(groups, hex.EncodeToString(part))
	}
	return strings.Join(groups, " ")
}

func folded(s string, n int) string {
	var lines []string
	for part := range slices.Chunk([]byte(s), n) {
		lines = append(lines, string(part))
	}
	return strings.Join(lines, "\n")
}

func reverse(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// TestSessionsLearnEverywhere learns from each way in which text is scrubbed.
func TestSessionsLearnEverywhere(t *testing.T) {
	secret := "hunTer2" + "xYz9qW"
	line := "password=" + secret + "\n"
	for name, use := range map[string]func(s *Scrubber){
		"text": func(s *Scrubber) { s.Text(line) }, "report": func(s *Scrubber) { s.Report(line) },
		"json":    func(s *Scrubber) { s.JSON([]byte(`{"password":"` + secret + `"}`)) },
		"value":   func(s *Scrubber) { s.Value(map[string]string{"x": line}) },
		"secrets": func(s *Scrubber) { s.Secrets(line, 0, len(line)) },
		"writer": func(s *Scrubber) {
			w := s.NewWriter(io.Discard)
			_, _ = io.WriteString(w, line)
			_ = w.Close()
		},
	} {
		s := new(Scrubber).For(Session{})
		use(s)
		if got := s.Text("x " + secret); got != "x "+Mask {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestSessionsForgetWords checks that words and names are masked only under their name: other text with them stays.
func TestSessionsForgetWords(t *testing.T) {
	s := new(Scrubber).For(Session{})
	for _, v := range []string{"postgres", "hunter22", "correcthorse", "mysecretpassword", "admin123", "app.example.com", "v1.2.3-rc4",
		"getUserName", "production", "Passwords9", "my-release-2", "2024-01-02", "/etc/app/key.pem", "DB_PASSWORD_2",
		"src/main_test9x.go", strings.Repeat("0a4a74a0d9c31f5e", 4)} {
		s.Text("DB_PASSWORD=" + v)
		if text := "the word " + v + " here"; s.Text(text) != text {
			t.Errorf("%s is masked everywhere: %q", v, s.Text(text))
		}
	}
}

// TestSessionsAreBounded checks that a session keeps the latest values only, and learns the vault's.
func TestSessionsAreBounded(t *testing.T) {
	base, r := new(Scrubber), dice(32)
	s := base.For(Session{})
	var all []string
	for range 3 * maxRemembered {
		all = append(all, draw(r, alnums, 20))
		s.Text("password=" + all[len(all)-1])
	}
	if n := len(s.memory.values); n != maxRemembered {
		t.Errorf("%d values are kept", n)
	}
	last, first := all[len(all)-1], all[0]
	if s.Text("x "+last) != "x "+Mask || s.Text("x "+first) != "x "+first {
		t.Error("not the latest values are kept")
	}
	if err := base.Set("vault", "correct-horse-9"); err != nil {
		t.Fatal(err)
	}
	if got := s.Text("correct-horse-9 " + last); got != Mask+" "+Mask {
		t.Errorf("with a new value of the vault: %q", got)
	}
	for i := range 2 * maxSessions {
		base.For(Session{ID: fmt.Sprint(i)}).Text("password=" + last)
	}
	if base.For(Session{ID: fmt.Sprint(2*maxSessions - 1)}).Text("x "+last) != "x "+Mask {
		t.Error("the last session was forgotten")
	}
	if got := base.For(Session{ID: "0"}).Text("x " + last); got != "x "+last {
		t.Errorf("the first session is still remembered: %q", got)
	}
}

// TestSessionsAreConcurrent scrubs in several sessions at once while values are set.
func TestSessionsAreConcurrent(t *testing.T) {
	base := new(Scrubber)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			r := dice(uint64(40 + i))
			for n := range 20 {
				secret := draw(r, alnums, 20)
				s := base.For(Session{ID: fmt.Sprint(i % 3)})
				s.Text("password=" + secret)
				if got := s.Text("x " + secret); got != "x "+Mask {
					t.Errorf("%s became %q", secret, got)
				}
				if i == 0 {
					if err := base.Set("one", "correct-horse-"+fmt.Sprint(n)); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
}

// TestSessionsRememberShortSecrets masks secrets of few characters, whose rarest ones are at each place, also at the end.
func TestSessionsRememberShortSecrets(t *testing.T) {
	r := dice(7)
	all := []string{"x86emu" + "_5", "abcdef" + "12", "9aBcDe" + "-z"}
	for n := minRemembered; n <= 16; n++ {
		for range 50 {
			all = append(all, draw(r, alnums+"_-!%.", n))
		}
	}
	for _, secret := range all {
		if !memorable(secret) {
			continue
		}
		s := new(Scrubber).For(Session{ID: secret})
		if s.Text("passwd: "+secret) == "passwd: "+secret {
			continue // it is no secret for the kinds of names
		}
		for _, text := range []string{"a " + secret + " b", strings.Join(strings.Split(secret, ""), " "), reverse(secret)} {
			if got := s.Text(text); got == text {
				t.Errorf("%q: %q is shown", secret, got)
			}
		}
	}
}
