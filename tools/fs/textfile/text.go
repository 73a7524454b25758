// Package textfile reads text as files have it: it detects encodings, converts text to UTF-8 and back without changing
// other bytes, finds lines, and recognizes binary files. It reads from an io.ReaderAt or from bytes, and knows neither
// files nor tools.
//
// Begin with [Decode] for a whole text, with [Read] for some lines of a long one, and with [Sniff] for binary files.
package textfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// The encodings. A byte order mark of UTF-16 is kept, but has no separate name.
const (
	UTF8        = "utf-8"
	UTF8BOM     = "utf-8-bom"
	UTF16LE     = "utf-16le"
	UTF16BE     = "utf-16be"
	Latin1      = "latin-1"
	Windows1252 = "windows-1252" // Latin-1 with € and curly quotes
	ShiftJIS    = "shift_jis"
	EUCJP       = "euc-jp"
	GB18030     = "gb18030" // with GBK
	Big5        = "big5"
	EUCKR       = "euc-kr" // with Windows-949
)

// Encodings returns the names of all encodings.
func Encodings() []string {
	return []string{UTF8, UTF8BOM, UTF16LE, UTF16BE, Latin1, Windows1252, ShiftJIS, EUCJP, GB18030, Big5, EUCKR}
}

// ErrEncoding is the error about an unknown name of an encoding.
var ErrEncoding = errors.New("no such encoding")

// A CharError is the error about a character that an encoding does not have.
type CharError struct {
	Char     rune
	Encoding string
}

func (e *CharError) Error() string {
	return fmt.Sprintf("%s has no character %q (%U)", e.Encoding, e.Char, e.Char)
}

// A Doc is a decoded text.
type Doc struct {
	Text     string // in UTF-8, without a byte order mark
	Encoding string // the encoding of the file
	// Lossless is set if encoding Text gives the original bytes. Otherwise Text has U+FFFD in place of invalid
	// characters.
	Lossless bool

	bom bool
}

// Decode converts data to UTF-8. The encoding is one of [Encodings] or another common name; "" or "auto" detects it.
func Decode(data []byte, encoding string) (Doc, error) {
	name, err := Name(encoding)
	if err != nil {
		return Doc{}, err
	}
	if name == "" {
		name = Detect(data, true)
	}
	if name == UTF8 && bytes.HasPrefix(data, markOf(UTF8BOM)) {
		name = UTF8BOM
	}
	d := Doc{Encoding: name}
	mark := markOf(name)
	d.bom = len(mark) > 0 && bytes.HasPrefix(data, mark)
	body := data
	if d.bom {
		body = data[len(mark):]
	}
	d.Text = decode(body, name)
	switch {
	case name == UTF8 || name == UTF8BOM:
		d.Lossless = (name == UTF8 || d.bom) && utf8.Valid(body)
	default:
		again, err := d.Encode(d.Text)
		d.Lossless = err == nil && bytes.Equal(again, data)
	}
	return d, nil
}

// New returns an empty text in an encoding, with the byte order mark that such files usually have. "" means UTF-8.
func New(encoding string) (Doc, error) {
	name, err := Name(encoding)
	if err != nil {
		return Doc{}, err
	}
	if name == "" {
		name = UTF8
	}
	return Doc{Encoding: name, Lossless: true, bom: markOf(name) != nil}, nil
}

// Encode converts text to the encoding of d, with a byte order mark if d has one. The error about a character that the
// encoding does not have is a [CharError].
func (d Doc) Encode(text string) ([]byte, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("the text is not valid UTF-8")
	}
	var out []byte
	if d.bom {
		out = markOf(d.Encoding)
	}
	return encode(out, text, d.Encoding)
}

// Name returns the canonical name of an encoding, "" for "" and "auto".
func Name(encoding string) (string, error) {
	folded := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(encoding))
	switch folded {
	case "", "auto":
		return "", nil
	case "utf8", "ascii", "usascii":
		return UTF8, nil
	case "utf8bom", "utf8sig":
		return UTF8BOM, nil
	case "utf16le", "utf16", "unicode", "ucs2":
		return UTF16LE, nil
	case "utf16be":
		return UTF16BE, nil
	case "latin1", "iso88591":
		return Latin1, nil
	case "windows1252", "cp1252", "ansi":
		return Windows1252, nil
	case "shiftjis", "sjis", "cp932":
		return ShiftJIS, nil
	case "eucjp":
		return EUCJP, nil
	case "gb18030", "gbk", "gb2312", "cp936":
		return GB18030, nil
	case "big5", "cp950":
		return Big5, nil
	case "euckr", "cp949", "uhc", "ksc56011987":
		return EUCKR, nil
	}
	return "", fmt.Errorf("%w: %q", ErrEncoding, encoding)
}

// markOf returns the byte order mark of an encoding, or nil. The caller may append to it.
func markOf(encoding string) []byte {
	switch encoding {
	case UTF8BOM:
		return []byte("\xEF\xBB\xBF")
	case UTF16LE:
		return []byte("\xFF\xFE")
	case UTF16BE:
		return []byte("\xFE\xFF")
	}
	return nil
}

const missing = string(utf8.RuneError)

// decode converts data without a byte order mark to UTF-8, with U+FFFD for invalid characters.
func decode(data []byte, encoding string) string {
	switch encoding {
	case UTF16LE, UTF16BE:
		units := make([]uint16, len(data)/2)
		for i := range units {
			units[i] = order(encoding).Uint16(data[2*i:])
		}
		return string(utf16.Decode(units)) + strings.Repeat(missing, len(data)%2)
	case Latin1, Windows1252:
		var b strings.Builder
		b.Grow(len(data) + len(data)/8)
		for _, c := range data {
			b.WriteRune(table(encoding).DecodeByte(c))
		}
		return b.String()
	case ShiftJIS, EUCJP, GB18030, Big5, EUCKR:
		utf, err := eastAsian(encoding).NewDecoder().Bytes(data)
		if err != nil { // these decoders have no errors
			return strings.Repeat(missing, len(data))
		}
		return string(utf)
	}
	return strings.ToValidUTF8(string(data), missing)
}

// eastAsian returns a double-byte encoding.
func eastAsian(name string) encoding.Encoding {
	switch name {
	case ShiftJIS:
		return japanese.ShiftJIS
	case EUCJP:
		return japanese.EUCJP
	case Big5:
		return traditionalchinese.Big5
	case EUCKR:
		return korean.EUCKR
	}
	return simplifiedchinese.GB18030
}

// isUTF reports whether an encoding is one of Unicode; "" is UTF-8.
func isUTF(name string) bool {
	switch name {
	case Latin1, Windows1252, ShiftJIS, EUCJP, GB18030, Big5, EUCKR:
		return false
	}
	return true
}

func order(encoding string) binary.ByteOrder {
	if encoding == UTF16BE {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func table(encoding string) *charmap.Charmap {
	if encoding == Latin1 {
		return charmap.ISO8859_1
	}
	return charmap.Windows1252
}

// encode appends text to out in another encoding. text is valid UTF-8.
func encode(out []byte, text, encoding string) ([]byte, error) {
	switch encoding {
	case UTF16LE, UTF16BE:
		var unit [2]byte
		for _, n := range utf16.Encode([]rune(text)) {
			order(encoding).PutUint16(unit[:], n)
			out = append(out, unit[:]...)
		}
		return out, nil
	case Latin1, Windows1252:
		for _, r := range text {
			c, ok := table(encoding).EncodeRune(r)
			if !ok {
				return nil, &CharError{r, encoding}
			}
			out = append(out, c)
		}
		return out, nil
	case ShiftJIS, EUCJP, GB18030, Big5, EUCKR:
		encoder := eastAsian(encoding).NewEncoder()
		for _, r := range text {
			c, err := encoder.Bytes([]byte(string(r)))
			if err != nil {
				return nil, &CharError{r, encoding}
			}
			out = append(out, c...)
		}
		return out, nil
	}
	return append(out, text...), nil
}

// maxSample is how much of a text is read to detect its encoding.
const maxSample = 1 << 20

// Detect detects the encoding of a text from its head. The head may end within a character unless it is the whole
// text. UTF-16 has a byte order mark. Plain ASCII counts as UTF-8. A text that could be in any encoding counts as
// Latin-1, where every byte is a character.
func Detect(head []byte, whole bool) string {
	for _, name := range []string{UTF8BOM, UTF16LE, UTF16BE} {
		if bytes.HasPrefix(head, markOf(name)) {
			return name
		}
	}
	if len(head) > maxSample {
		head, whole = head[:maxSample], false
	}
	valid, invalid := 0, 0
	quotes, unassigned := false, false // bytes that are characters in Windows-1252 only, or not even there
	for i := 0; i < len(head); {
		if head[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(head[i:])
		switch {
		case r != utf8.RuneError || n > 1:
			valid++
		case !whole && !utf8.FullRune(head[i:]): // cut off
		default:
			invalid++
		}
		for _, c := range head[i : i+n] {
			quotes = quotes || c <= 0x9F
			unassigned = unassigned || charmap.Windows1252.DecodeByte(c) == utf8.RuneError
		}
		i += n
	}
	switch {
	case invalid*10 <= valid:
		return UTF8 // damaged UTF-8, if anything is invalid at all
	case text.EastAsian(head) != "":
		return text.EastAsian(head)
	case quotes && !unassigned:
		return Windows1252
	}
	return Latin1
}

// Anchor returns two characters that identify a line. They are the same with and without the line ending, and whether
// invalid UTF-8 was replaced or not. Lines in other encodings are decoded first.
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
