package jsonrpc

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestFrames(t *testing.T) {
	stream := string(Frame([]byte(`{"a":1}`))) + "content-type: x\r\nCONTENT-LENGTH: 2\r\n\r\n{}" + string(Frame([]byte(`{"b":2}`)))
	for size := 1; size <= len(stream); size++ { // however the bytes arrive
		var got []string
		f := Frames{Max: 100}
		for part := range slices.Chunk([]byte(stream), size) {
			if err := f.Take(part, func(m []byte) { got = append(got, string(m)) }); err != nil {
				t.Fatal(err)
			}
		}
		if want := `{"a":1} {} {"b":2}`; strings.Join(got, " ") != want {
			t.Errorf("in parts of %d bytes: %q", size, got)
		}
	}
}

func TestFramesRefuse(t *testing.T) {
	for name, stream := range map[string]string{
		"no length":        "X: 1\r\n\r\n{}",
		"a negative one":   "Content-Length: -1\r\n\r\n{}",
		"nothing":          "Content-Length: 0\r\n\r\n",
		"a huge one":       "Content-Length: 1073741824\r\n\r\n{}",
		"an overflow":      "Content-Length: 99999999999999999999\r\n\r\n{}",
		"an endless title": strings.Repeat("x", 1<<20),
	} {
		f := Frames{Max: 100}
		err := f.Take([]byte(stream), func(m []byte) { t.Errorf("%s: got %q", name, m) })
		if err == nil || cap(f.header) > 2*maxHeader || cap(f.body) > 0 {
			t.Errorf("%s: %v, %d and %d bytes held", name, err, cap(f.header), cap(f.body))
		}
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("Content-Length: 2\r\n\r\n{}"), 3)
	f.Add([]byte("\r\n\r\n"), 1)
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		var whole, parts [][]byte
		a, b := Frames{Max: 64}, Frames{Max: 64}
		errA := a.Take(stream, func(m []byte) { whole = append(whole, m) })
		var errB error
		for part := range slices.Chunk(stream, max(1, size%97)) {
			if errB = b.Take(part, func(m []byte) { parts = append(parts, m) }); errB != nil {
				break
			}
		}
		if (errA == nil) != (errB == nil) || !slices.EqualFunc(whole, parts, bytes.Equal) {
			t.Errorf("%q and %v as a whole, %q and %v in parts", whole, errA, parts, errB)
		}
	})
}
