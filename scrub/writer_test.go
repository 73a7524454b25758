package scrub

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// stream returns the output of a Writer for s in pieces of at most most bytes.
func stream(t testing.TB, sc *Scrubber, s string, r *rand.Rand, most int) string {
	t.Helper()
	var out strings.Builder
	w := sc.NewWriter(&out)
	for len(s) > 0 {
		n := min(len(s), 1+r.IntN(most))
		if k, err := w.Write([]byte(s[:n])); err != nil || k != n {
			t.Fatalf("wrote %d of %d: %v", k, n, err)
		}
		s = s[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// mixture is a text of ordinary lines and secrets of every kind.
func mixture(r *rand.Rand) string {
	var b strings.Builder
	for _, k := range secretKinds() {
		secret := k.draw(r)
		for _, line := range []string{"ordinary words on a line", "token := next()", "value " + secret + " here",
			`{"password": "hunter2` + secret[:4] + `"}`} {
			b.WriteString(line + "\n")
		}
	}
	b.WriteString(drawPEM(r, "PRIVATE KEY", 30) + "\nhttps://u:pass12@host/x\nAuthorization: Bearer " +
		draw(r, alnums, 30) + "\n")
	return b.String()
}

func TestWriterEqualsText(t *testing.T) {
	r := dice(13)
	plain := mustNew(t, Options{})
	ruled := mustNew(t, Options{Extra: []Rule{{Name: "rule", Pattern: `ordinary \w+`}}})
	valued := mustNew(t, Options{})
	if err := valued.Set("v", "words on a li"); err != nil {
		t.Fatal(err)
	}
	for round := range 20 {
		text := mixture(r)
		for _, sc := range []*Scrubber{plain, ruled, valued} {
			want := sc.Text(text)
			for _, most := range []int{1, 7, 64, 1000, 40000} {
				if got := stream(t, sc, text, r, most); got != want {
					i := 0
					for i < min(len(got), len(want)) && got[i] == want[i] {
						i++
					}
					t.Fatalf("round %d, pieces of %d: at %d got %.120q, want %.120q", round, most, i,
						got[max(0, i-40):], want[max(0, i-40):])
				}
			}
		}
	}
}

func TestWriterPassesLinesOn(t *testing.T) {
	var out strings.Builder
	w := new(Scrubber).NewWriter(&out)
	for _, line := range []string{"one line\n", "progress 50% ", "done\n"} {
		before := out.Len()
		if _, err := io.WriteString(w, line); err != nil {
			t.Fatal(err)
		}
		if out.Len() != before+len(line) {
			t.Errorf("%q is held back", line)
		}
	}
}

// TestWriterIsBounded feeds secrets longer than what is held: none of them
// may show, and memory must not grow with them.
func TestWriterIsBounded(t *testing.T) {
	r := dice(14)
	for name, head := range map[string]string{
		"token": "gh" + "p_", "key": "-----BEGIN " + "PRIVATE KEY-----\n", "password": `password = "`, "jwt": "ey" +
			"JhbGciOiJIUzI1NiJ9.",
	} {
		body := draw(r, alnums, 100)
		var out strings.Builder
		w := new(Scrubber).NewWriter(&out)
		text := head + strings.Repeat(body, 5000)
		if name == "jwt" {
			text = head + body + "." + strings.Repeat(body, 5000)
		}
		for len(text) > 0 {
			n := min(len(text), 3000)
			if _, err := io.WriteString(w, text[:n]); err != nil {
				t.Fatal(err)
			}
			if cap(w.buf) > 4*maxHeld {
				t.Fatalf("%s: %d bytes are held", name, cap(w.buf))
			}
			text = text[n:]
		}
		if _, err := io.WriteString(w, "\n\" and then\n"); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), body[:20]) {
			t.Errorf("%s: %.200q", name, out.String())
		}
		if !strings.Contains(out.String(), "and then") || strings.Count(out.String(), Mask) != 1 {
			t.Errorf("%s: %.200q", name, out.String())
		}
	}
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestWriterFails(t *testing.T) {
	w := new(Scrubber).NewWriter(brokenWriter{})
	if _, err := io.WriteString(w, "a line\n"); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	if err := w.Close(); !errors.Is(err, errBroken) {
		t.Errorf("got %v from Close", err)
	}
	w = new(Scrubber).NewWriter(io.Discard)
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if _, err := io.WriteString(w, "x"); err == nil {
		t.Error("wrote after Close")
	}
}
