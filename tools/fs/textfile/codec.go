package textfile

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"
)

const missing = string(utf8.RuneError)

// decode converts data without a byte order mark to UTF-8, with U+FFFD for invalid characters.
func decode(data []byte, encoding string) string {
	switch encoding {
	case UTF16LE:
		return decode16(data, binary.LittleEndian)
	case UTF16BE:
		return decode16(data, binary.BigEndian)
	case Latin1:
		return decodeBytes(data, func(c byte) rune { return rune(c) })
	case Windows1252:
		return decodeBytes(data, from1252)
	case GBK, GB18030:
		// GB18030 is a superset of GBK.
		out, err := simplifiedchinese.GB18030.NewDecoder().Bytes(data)
		if err != nil {
			return missing
		}
		return string(out)
	}
	return strings.ToValidUTF8(string(data), missing)
}

// encode appends text, which is valid UTF-8, to out in another encoding.
func encode(out []byte, text, encoding string) ([]byte, error) {
	switch encoding {
	case UTF16LE:
		return encode16(out, text, binary.LittleEndian), nil
	case UTF16BE:
		return encode16(out, text, binary.BigEndian), nil
	case Latin1:
		return encodeBytes(out, text, encoding, func(r rune) (byte, bool) { return byte(r), r <= 0xFF })
	case Windows1252:
		return encodeBytes(out, text, encoding, to1252)
	case GBK, GB18030:
		return encodeGB(out, text, encoding)
	}
	return append(out, text...), nil
}

func decode16(data []byte, order binary.ByteOrder) string {
	var b strings.Builder
	b.Grow(len(data))
	for len(data) >= 2 {
		r := rune(order.Uint16(data))
		data = data[2:]
		if utf16.IsSurrogate(r) {
			second := rune(0)
			if len(data) >= 2 {
				second = rune(order.Uint16(data))
			}
			if r = utf16.DecodeRune(r, second); r != utf8.RuneError {
				data = data[2:]
			}
		}
		b.WriteRune(r)
	}
	if len(data) > 0 {
		b.WriteString(missing)
	}
	return b.String()
}

func encode16(out []byte, text string, order binary.AppendByteOrder) []byte {
	for _, r := range text {
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			out = order.AppendUint16(order.AppendUint16(out, uint16(high)), uint16(low))
		} else {
			out = order.AppendUint16(out, uint16(r))
		}
	}
	return out
}

func decodeBytes(data []byte, char func(byte) rune) string {
	var b strings.Builder
	b.Grow(len(data) + len(data)/8)
	for _, c := range data {
		if c < utf8.RuneSelf {
			b.WriteByte(c)
		} else {
			b.WriteRune(char(c))
		}
	}
	return b.String()
}

func encodeBytes(out []byte, text, encoding string, char func(rune) (byte, bool)) ([]byte, error) {
	for _, r := range text {
		c, ok := byte(r), true
		if r >= utf8.RuneSelf {
			c, ok = char(r)
		}
		if !ok {
			return nil, &CharError{r, encoding}
		}
		out = append(out, c)
	}
	return out, nil
}

// upper1252 has the characters 0x80 to 0x9F of Windows-1252. Five are not assigned and stand for the control characters
// of these numbers.
const upper1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"

func from1252(c byte) rune {
	if c < 0x80 || c > 0x9F {
		return rune(c)
	}
	for _, r := range upper1252 {
		if c == 0x80 {
			return r
		}
		c--
	}
	return utf8.RuneError
}

func to1252(r rune) (byte, bool) {
	if r < 0x80 || r > 0x9F && r <= 0xFF {
		return byte(r), true
	}
	c := byte(0x80)
	for _, known := range upper1252 {
		if known == r {
			return c, true
		}
		c++
	}
	return 0, false
}

func encodeGB(out []byte, text, encoding string) ([]byte, error) {
	coder := simplifiedchinese.GB18030
	if encoding == GBK {
		coder = simplifiedchinese.GBK
	}
	body, err := coder.NewEncoder().String(text)
	if err == nil {
		return append(out, body...), nil
	}
	for _, r := range text {
		if _, err := coder.NewEncoder().String(string(r)); err != nil {
			return nil, &CharError{r, encoding}
		}
	}
	return nil, err
}
