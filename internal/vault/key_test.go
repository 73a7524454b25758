package vault

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

func hexKey() string { return hex.EncodeToString(newKey()[:]) }

func TestParseKey(t *testing.T) {
	k := newKey()
	k[0], k[1], k[2] = 0xfb, 0xff, 0xfe // + and / in one alphabet, - and _ in the other
	for name, text := range map[string]string{
		"hex":             hex.EncodeToString(k[:]),
		"capitals":        strings.ToUpper(hex.EncodeToString(k[:])),
		"base64":          base64.StdEncoding.EncodeToString(k[:]),
		"without padding": base64.RawStdEncoding.EncodeToString(k[:]),
		"for URLs":        base64.URLEncoding.EncodeToString(k[:]),
		"a line":          " " + hex.EncodeToString(k[:]) + "\r\n",
	} {
		if got, err := parseKey([]byte(text)); err != nil || *got != *k {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"nothing":      "",
		"short":        hex.EncodeToString(k[:31]),
		"long":         hex.EncodeToString(append(k[:], 1)),
		"short base64": base64.StdEncoding.EncodeToString(k[:31]),
		"long base64":  base64.StdEncoding.EncodeToString(append(k[:], 1)),
		"not hex":      "g" + hex.EncodeToString(k[:])[1:],
		"two":          hex.EncodeToString(k[:]) + "\n" + hex.EncodeToString(k[:]),
		"loose bits":   base64.RawStdEncoding.EncodeToString(make([]byte, 32))[:42] + "B",
		"words":        "correct horse battery staple",
	} {
		_, err := parseKey([]byte(text))
		if !errors.Is(err, errBadKey) || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if k.id() == newKey().id() || !validKeyID(k.id()) || strings.Contains(hex.EncodeToString(k[:]), k.id()) {
		t.Errorf("the id of a key is %s", k.id())
	}
	k.clear()
	if *k != (key{}) {
		t.Error("the key is still there")
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add([]byte(hexKey()))
	f.Add([]byte(base64.StdEncoding.EncodeToString(newKey()[:])))
	f.Add([]byte(base64.RawURLEncoding.EncodeToString(newKey()[:])))
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := parseKey(text)
		if err != nil {
			return
		}
		if back, err := parseKey([]byte(hex.EncodeToString(k[:]))); err != nil || *back != *k {
			t.Errorf("%q is %x, and written as that %v", text, *k, err)
		}
	})
}
