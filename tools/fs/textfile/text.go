// Package textfile reads text as files have it: it detects encodings, converts text to UTF-8 and back without changing
// other bytes, finds lines, and recognizes binary files. It reads from an io.ReaderAt or from bytes, and knows neither
// files nor tools.
//
// Begin with [Decode] for a whole text, with [Read] for some lines of a long one, and with [Sniff] for binary files.
package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The encodings. A byte order mark of UTF-16 is kept, but has no separate name.
const (
	UTF8        = "utf-8"
	UTF8BOM     = "utf-8-bom"
	UTF16LE     = "utf-16le"
	UTF16BE     = "utf-16be"
	GBK         = "gbk"
	GB18030     = "gb18030" // GBK with additional characters of four bytes
	Latin1      = "latin-1"
	Windows1252 = "windows-1252" // Latin-1 with € and curly quotes
)

// Encodings returns the names of all encodings.
func Encodings() []string {
	return []string{UTF8, UTF8BOM, UTF16LE, UTF16BE, GBK, GB18030, Latin1, Windows1252}
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
	case "gbk", "gb2312", "cp936":
		return GBK, nil
	case "gb18030":
		return GB18030, nil
	case "latin1", "iso88591":
		return Latin1, nil
	case "windows1252", "cp1252", "ansi":
		return Windows1252, nil
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
