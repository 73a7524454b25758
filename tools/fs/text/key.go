package text

import (
	"bytes"
	"strings"
)

// LongestKey is how far to look back for the beginning of a private key.
const LongestKey = 16 << 10

// OpenKey reports whether a private key begins in before and does not end
// there: then what follows is the key.
func OpenKey(before []byte) bool {
	const longestLabel = 64
	at := bytes.LastIndex(before, []byte("-----BEGIN "))
	if at < 0 {
		return false
	}
	label := before[at:min(at+longestLabel, len(before))]
	return bytes.Contains(label, []byte("PRIVATE KEY")) && !bytes.Contains(before[at:], []byte("-----END "))
}

// KeyBody is what a line has of a key, in the quotes of a program and behind
// the marks of a diff or not; "" when it has anything else.
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
