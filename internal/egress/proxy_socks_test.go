package egress

import (
	"bytes"
	"strings"
	"testing"
)

func FuzzSocks(f *testing.F) {
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x03\x0bexample.org\x00\x50"))
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50"))
	f.Add([]byte("\x05\x02\x02\x00\x05\x01\x00\x04" + strings.Repeat("\x00", 15) + "\x01\x00\x50"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		target, err := readSocks(bytes.NewReader(in), &out)
		if out.Len() > 12 {
			t.Fatalf("%q is answered with %q", in, out.Bytes())
		}
		if err == nil {
			if again, err := ParseTarget(target.String()); err != nil || again != target {
				t.Fatalf("%q: %+v, %v", in, target, err)
			}
		}
	})
}
