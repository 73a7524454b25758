package scrub

import (
	b32 "encoding/base32"
	b64 "encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// writings are ways to write a value, each in a text of its own.
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
		"raw": v, "in a word": "aa" + v + "zz", "JSON": string(code), "JSON in JSON": string(twice), "query": url.QueryEscape(v),
		"path": url.PathEscape(v), "hex": hex.EncodeToString([]byte(v)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(v))),
		"broken": v[:len(v)/2] + "\n" + v[len(v)/2:], "broken and indented": v[:len(v)/2] + "\r\n    " + v[len(v)/2:],
		"broken in JSON": v[:len(v)/2] + `\n` + v[len(v)/2:],
	}
	var every strings.Builder
	for _, b := range []byte(v) {
		fmt.Fprintf(&every, "%%%02x", b)
	}
	out["every byte"] = every.String()
	for skip, head := range []string{"", "x", "xy", "user:"} {
		for name, enc := range map[string]*b64.Encoding{"std": b64.StdEncoding, "url": b64.URLEncoding, "raw": b64.RawStdEncoding} {
			s := enc.EncodeToString([]byte(head + v + "tail"))
			out[fmt.Sprintf("base64 %s after %d", name, skip)] = s
			out[fmt.Sprintf("base64 %s after %d, wrapped", name, skip)] = s[:len(s)/2] + "\n" + s[len(s)/2:]
		}
	}
	if i := strings.LastIndex(v, " "); i > 0 && (letter | blank).all(v) && !strings.Contains(v, "  ") {
		out["broken at a blank"] = v[:i] + "\n" + v[i+1:]
		out["broken at a blank and indented"] = v[:i] + "\r\n\t" + v[i+1:]
		out["broken at a blank in JSON"] = v[:i] + `\n` + v[i+1:]
	}
	if back := reversed(v); worth(back) == nil { // of some values an ordinary word
		out["reversed"] = back
	}
	for skip := range 5 {
		s := b32.StdEncoding.EncodeToString([]byte("user:"[:skip] + v + "tail"))
		out[fmt.Sprintf("base32 after %d", skip)] = s
		out[fmt.Sprintf("base32 after %d, small and wrapped", skip)] = strings.ToLower(s[:len(s)/2] + "\n" + s[len(s)/2:])
	}
	maps.Copy(out, apart(v))
	return out
}

// apart are the ways to write the bytes of v with something between them.
func apart(v string) map[string]string {
	out := make(map[string]string)
	for name, f := range map[string]struct{ pair, third string }{ // two of them, and then one that ends a line
		"spaced": {"%02x ", "%02x "}, "colons": {"%02X:", "%02X:"}, "dashes": {"%02x-", "%02x-"}, "escapes": {`\x%02x`, `\x%02x`}, "escapes in JSON": {`\\x%02X`, `\\x%02X`},
		"literals": {"0x%02x, ", "0x%02x, "}, "Literals": {"0X%02X,", "0X%02X,"}, "a wider gap": {"%02x ", "%02x  "}, "lines": {"%02x ", "%02x\n"},
		"lines in JSON": {"%02x:", `%02x:\n   `}, "lines of literals": {"0x%02x, ", "0x%02x,\r\n\t\t"}, "words": {"%02x ", "%02x"},
		"literals without commas": {"0x%02x ", "0x%02x "}, "lines of literals without commas": {"0x%02x ", "0x%02x\n"},
	} {
		var b strings.Builder
		for i, c := range []byte(v) {
			form := f.pair
			if i%3 == 2 {
				form = f.third
			}
			fmt.Fprintf(&b, form, c)
		}
		out[name] = strings.TrimRight(b.String(), ":-, \t\r\n")
	}
	code := hex.EncodeToString([]byte(v))
	for _, size := range []int{4, 8, 16} { // xxd, and others
		for first := 2; first <= size; first += 2 {
			b := []byte(code[:min(first, len(code))])
			for i := first; i < len(code); i += size {
				b = append(append(b, ' '), code[i:min(i+size, len(code))]...)
			}
			out[fmt.Sprintf("groups of %d after %d", size, first)] = string(b)
		}
	}
	return out
}

// leaks says that v can be read from s, whichever way it is written.
func leaks(s, v string) bool {
	if strings.Contains(s, v) {
		return true
	}
	if back := reversed(v); worth(back) == nil && strings.Contains(s, back) {
		return true
	}
	joined := strings.NewReplacer("\r", "", "\n", "", " ", "", `\n`, "").Replace(s)
	if strings.Contains(joined, v) || strings.Contains(strings.ToLower(joined), hex.EncodeToString([]byte(v))) {
		return true
	}
	digits := strings.NewReplacer("0x", "", `\x`, "", `\`, "", ":", "", "-", "", ",", "", "\t", "").Replace(strings.ToLower(joined))
	if strings.Contains(digits, hex.EncodeToString([]byte(v))) {
		return true
	}
	for skip := range min(8, len(joined)) {
		code := strings.TrimRight(strings.ToUpper(joined[skip:]), "=")
		plain, _ := b32.StdEncoding.WithPadding(b32.NoPadding).DecodeString(code[:len(code)/8*8])
		if strings.Contains(string(plain), v) {
			return true
		}
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
		"hunter22!", draw(r, alnums, 8), draw(r, alnums, 40), "p@ss w0rd/with=all&of\"them\\", "pässwörd-1", "ab<cd>&12", draw(r, tokens, 200),
		"203.0.113.77", "x=1;y=2", "correct horse battery", "ends-with-\\", "q1w2e3",
	} {
		s := new(Scrubber)
		if err := s.Set("it", v); err != nil {
			t.Fatal(err)
		}
		for name, w := range writings(t, v) {
			in := "before " + w + " after"
			got := s.Text(in)
			if leaks(got, v) || !strings.Contains(got, Mask) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
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
	s.Remove("address")
	if got := s.Text(in); got != in {
		t.Errorf("removed, and got %q", got)
	}
}

func TestRefusedValues(t *testing.T) {
	s := new(Scrubber)
	for _, v := range []string{"", "a", "12345", "localhost", "password", "PASSWORD", "aaaaaaaa", "access_token", "true", "hello", " pw ", Mask} {
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
