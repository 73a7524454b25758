package textfile

import (
	"bytes"
	"unicode/utf8"
)

// Anchor returns two characters by which a line can be recognized. They are the same with and without the line ending,
// and whether invalid UTF-8 was replaced or not. Lines in other encodings are decoded first.
func Anchor(line []byte) string {
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte(missing))
	}
	sum := uint32(2166136261) // FNV-1a
	for _, c := range line {
		sum = (sum ^ uint32(c)) * 16777619
	}
	sum ^= sum>>10 ^ sum>>20 ^ sum>>30
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	return string([]byte{letters[sum>>5&31], letters[sum&31]})
}
