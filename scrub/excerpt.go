package scrub

import (
	"bytes"
	"strings"
)

// The functions in this file are for callers that return an excerpt of a text.
// Patterns find only whole credentials, and half of one is still a secret. So
// an excerpt begins and ends between words, and its caller masks the lines of a
// private key if the first line of the key is not part of the excerpt.

// longestWord is the longest run of bytes that counts as a word, in bytes.
const longestWord = 256

// WordStart returns where the word at position at begins, or at itself if at is
// not within a word.
func WordStart[T string | []byte](s T, at int) int {
	for i := at; i >= 0 && at-i <= longestWord; i-- {
		if i == 0 || !inWord(s[i-1]) {
			return i
		}
	}
	return at
}

// WordEnd returns where the word at position at ends, or at itself if at is not
// within a word.
func WordEnd[T string | []byte](s T, at int) int {
	for i := at; i <= len(s) && i-at <= longestWord; i++ {
		if i == len(s) || !inWord(s[i]) {
			return i
		}
	}
	return at
}

// inWord reports whether credentials, and addresses that contain them, may
// contain c.
func inWord(c byte) bool {
	switch c {
	case '"', '\'', '`', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', '&', '|', '\\':
		return false
	}
	return c > ' '
}

// LongestKey is the max distance in bytes between the beginning of a private
// key and an excerpt with a part of it.
const LongestKey = 16 << 10

// OpenKey reports whether a private key begins in before and does not end
// there, so that the text that follows is a part of the key.
func OpenKey(before []byte) bool {
	const longestLabel = 64
	at := bytes.LastIndex(before, []byte("-----BEGIN "))
	if at < 0 {
		return false
	}
	label := before[at:min(at+longestLabel, len(before))]
	return bytes.Contains(label, []byte("PRIVATE KEY")) && !bytes.Contains(before[at:], []byte("-----END "))
}

// KeyBody returns the part of a line that may be key material: the line without
// the quotes of source code and the marks of a diff. It returns "" if the line
// has any character that is not in the base64 alphabet.
func KeyBody(line string) string {
	body := strings.TrimLeft(line, " \t+-\"'`")
	body = strings.TrimRight(body, " \t\r\n\"'`+,;")
	body = strings.TrimSuffix(body, `\n`)
	for _, c := range []byte(body) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '+', c == '/', c == '=':
		default:
			return ""
		}
	}
	return body
}
