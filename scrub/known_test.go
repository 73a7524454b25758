package scrub

import (
	b64 "encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// writings returns ways to write a value, each in a separate text.
func writings(t testing.TB, v string) map[string]string {
	t.Helper()
	code, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := json.Marshal(string(code))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{
		"raw": v, "in a word": "aa" + v + "zz", "JSON": string(code), "JSON in JSON": string(twice),
		"query": url.QueryEscape(v),
		"path":  url.PathEscape(v), "hex": hex.EncodeToString([]byte(v)),
		"HEX": strings.ToUpper(hex.EncodeToString([]byte(v))),
	}
	var every strings.Builder
	for _, b := range []byte(v) {
		fmt.Fprintf(&every, "%%%02x", b)
	}
	out["every byte"] = every.String()
	for skip, head := range []string{"", "x", "xy", "user:"} {
		for name, enc := range map[string]*b64.Encoding{"std": b64.StdEncoding, "url": b64.URLEncoding,
			"raw": b64.RawStdEncoding} {
			s := enc.EncodeToString([]byte(head + v + "tail"))
			out[fmt.Sprintf("base64 %s after %d", name, skip)] = s
			if len(v) >= 8 {
				out[fmt.Sprintf("base64 %s after %d, wrapped", name, skip)] = s[:len(s)/2] + "\n" + s[len(s)/2:]
			}
		}
	}
	return out
}

// leaks says that v can be read from s, whichever way it is written.
func leaks(s, v string) bool {
	if strings.Contains(s, v) {
		return true
	}
	joined := strings.NewReplacer("\r", "", "\n", "", " ", "", `\n`, "").Replace(s)
	if strings.Contains(joined, v) || strings.Contains(strings.ToLower(joined), hex.EncodeToString([]byte(v))) {
		return true
	}
	if plain, err := url.QueryUnescape(s); err == nil && strings.Contains(plain, v) {
		return true
	}
	for skip := range min(4, len(joined)) {
		std := strings.NewReplacer("-", "+", "_", "/", "=", "").Replace(joined[skip:])
		plain, _ := b64.RawStdEncoding.DecodeString(std[:len(std)/4*4])
		if strings.Contains(string(plain), v) {
			return true
		}
	}
	return false
}

func TestValueInEveryWriting(t *testing.T) {
	r := dice(11)
	for _, v := range []string{
		"hunter22!", draw(r, alnums, 8), draw(r, alnums, 40), "p@ss w0rd/with=all&of\"them\\", "pässwörd-1",
		"ab<cd>&12", draw(r, tokens, 200),
		"203.0.113.77", "x=1;y=2", "correct horse battery", "ends-with-\\", "q1w2e3",
	} {
		s := new(Scrubber)
		if err := s.Set("it", v); err != nil {
			t.Fatal(err)
		}
		for name, w := range writings(t, v) {
			in := "before " + w + " after"
			got := s.Text(in)
			if leaks(got, v) || !strings.Contains(got, Mask) || !strings.HasPrefix(got, "before ") ||
				!strings.HasSuffix(got, " after") {
				t.Errorf("%q, %s: %q became %q", v, name, in, got)
			}
			if again := s.Text(got); again != got {
				t.Errorf("%q, %s: twice %q", v, name, again)
			}
		}
	}
}

func TestServerAddress(t *testing.T) {
	s := new(Scrubber)
	if err := s.SetMasked("address", ServerIP, "203.0.113.7", "2001:db8::7"); err != nil {
		t.Fatal(err)
	}
	in := "at 203.0.113.7:80, 203.0.113.77, 1203.0.113.7, [2001:db8::7] and cb007107"
	want := "at [SERVER_IP]:80, 203.0.113.77, 1203.0.113.7, [[SERVER_IP]] and cb007107"
	if got := s.Text(in); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := s.SetMasked("address", "(gone)", "203.0.113.7"); err == nil {
		t.Error("a mask that is none was taken")
	}
	if err := s.Set("address"); err != nil {
		t.Fatal(err)
	}
	if got := s.Text(in); got != in {
		t.Errorf("removed, and got %q", got)
	}
}

func TestRefusedValues(t *testing.T) {
	s := new(Scrubber)
	for _, v := range []string{"", "a", "12345", "localhost", "password", "PASSWORD", "aaaaaaaa", "access_token",
		"true", "hello", " pw ", Mask} {
		if err := s.Set("x", v); err == nil {
			t.Errorf("%q was taken", v)
		} else if len(v) > 5 && strings.Contains(err.Error(), v) {
			t.Errorf("the error tells the value: %v", err)
		}
	}
	if err := s.Set("x", "a", "long-enough-1"); err == nil || !strings.Contains(err.Error(), "value 1") {
		t.Errorf("got %v", err)
	}
	if got := s.Text("long-enough-1"); got != Mask {
		t.Error("the good value was not set")
	}
	if err := s.Set("x", "another-one-2"); err != nil || s.Text("long-enough-1") != "long-enough-1" {
		t.Errorf("the old value is still hidden, or %v", err)
	}
}

func TestValuesWhileScrubbing(t *testing.T) {
	s := mustNew(t, Options{})
	key := pre("gh", "p_", alnums, 36).draw(dice(12))
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for k := range 50 {
				if i == 0 {
					if err := s.Set("v", fmt.Sprintf("value-number-%d", k)); err != nil {
						t.Error(err)
					}
				}
				if got := s.Text("x " + key); got != "x "+Mask {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	all.Wait()
}
