package textfile

import (
	"bytes"
	"encoding/binary"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// maxSample is how much of a text is read to detect its encoding.
const maxSample = 1 << 20

// Detect detects the encoding of a text from its head, which may end within a character unless it is the whole text.
// Plain ASCII counts as UTF-8. A text that could be in any encoding counts as Latin-1, in which every byte is a
// character.
func Detect(head []byte, whole bool) string {
	for _, name := range []string{UTF8BOM, UTF16LE, UTF16BE} {
		if bytes.HasPrefix(head, markOf(name)) {
			return name
		}
	}
	if len(head) > maxSample {
		head, whole = head[:maxSample], false
	}
	if name := detect16(head); name != "" {
		return name
	}
	valid, invalid, cut := sequences(head)
	if whole {
		invalid += cut
	}
	if invalid*10 <= valid {
		return UTF8 // damaged UTF-8, if anything is invalid at all
	}
	if name := detectGB(head); name != "" {
		return name
	}
	for _, c := range head {
		if c >= 0x80 && c <= 0x9F {
			return Windows1252
		}
	}
	return Latin1
}

// sequences counts the characters of several bytes, the bytes that belong to none, and those of a character that the
// end cuts off.
func sequences(head []byte) (valid, invalid, cut int) {
	for len(head) > 0 {
		if head[0] < utf8.RuneSelf {
			head = head[1:]
			continue
		}
		r, n := utf8.DecodeRune(head)
		switch {
		case r != utf8.RuneError || n > 1:
			valid++
		case !utf8.FullRune(head):
			return valid, invalid, len(head)
		default:
			invalid++
		}
		head = head[n:]
	}
	return valid, invalid, 0
}

// detect16 detects UTF-16 without a byte order mark by zeros: in most languages punctuation has one in every other
// byte.
func detect16(head []byte) string {
	even, odd := 0, 0
	if len(head)&1 == 1 {
		return ""
	}
	for i, c := range head {
		if c == 0 {
			even += 1 - i&1
			odd += i & 1
		}
	}
	switch units := len(head) / 2; {
	case odd*3 >= units && odd > 20*even && readable16(head, binary.LittleEndian):
		return UTF16LE
	case even*3 >= units && even > 20*odd && readable16(head, binary.BigEndian):
		return UTF16BE
	}
	return ""
}

// readable16 reports whether head is readable text if decoded as UTF-16. Tables of small numbers are not.
func readable16(head []byte, order binary.ByteOrder) bool {
	odd := 0
	units := make([]uint16, len(head)/2)
	for i := range units {
		units[i] = order.Uint16(head[2*i:])
	}
	for _, r := range utf16.Decode(units) {
		if r == utf8.RuneError || !unicode.IsGraphic(r) && r != '\n' && r != '\r' && r != '\t' {
			odd++
		}
	}
	return odd*50 <= len(units)
}

// detectGB detects GBK and GB18030. In them nearly any two bytes are a character, so it looks for punctuation and the
// characters of the first level of GB 2312, of which Chinese texts consist.
func detectGB(head []byte) string {
	name, pairs, common := GBK, 0, 0
	for i := 0; i < len(head); {
		n := lengthGB(head[i:])
		switch {
		case n == 0:
			return ""
		case i+n > len(head): // cut off
			i = len(head)
			continue
		case n == 4:
			name = GB18030
			pairs++
			common++
		case n == 2:
			pairs++
			if lead := head[i]; head[i+1] >= 0xA1 && (lead >= 0xA1 && lead <= 0xA3 || lead >= 0xB0 && lead <= 0xD7) {
				common++
			}
		}
		i += n
	}
	if pairs == 0 || common*10 < pairs*7 {
		return ""
	}
	return name
}

// lengthGB returns the length of the first character of data in GB18030, which may exceed data, or 0 if it is invalid.
func lengthGB(data []byte) int {
	lead := data[0]
	switch {
	case lead < 0x80:
		return 1
	case lead == 0x80 || lead == 0xFF:
		return 0
	case len(data) == 1:
		return 2
	case data[1] >= 0x40 && data[1] != 0x7F && data[1] != 0xFF:
		return 2
	case data[1] < 0x30 || data[1] > 0x39:
		return 0
	case len(data) >= 3 && (data[2] < 0x81 || data[2] > 0xFE):
		return 0
	case len(data) >= 4 && (data[3] < 0x30 || data[3] > 0x39):
		return 0
	}
	return 4
}
