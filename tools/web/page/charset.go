package page

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// inMeta finds the charset that a page says it has. A pattern, not a parser:
// what says it may stand in a broken head.
var inMeta = pattern(`(?i)<meta[^>]{0,200}charset\s*=\s*["']?\s*([a-z0-9_:.-]{2,40})|<\?xml[^>]{0,100}encoding\s*=\s*["']([a-z0-9_:.-]{2,40})`)

// Decode returns a page, or another text of the web, as valid UTF-8. What a mark
// at its beginning, the server or the text itself says holds, unless the bytes
// cannot be that.
func Decode(body []byte, contentType string) string {
	name := declared(body, contentType)
	isUTF8 := utf8.Valid(body)
	switch {
	case name == "utf-16le" || name == "utf-16be":
		return convert(body, name)
	case name == "" && bytes.Contains(body, []byte("\x1b$")):
		name = "iso-2022-jp"
	case isUTF8 && (name == "utf-8" || name == "" || !plainASCII(body) && !sevenBits(name)):
		return strings.TrimPrefix(string(body), "\ufeff")
	case name == "" || name == "utf-8" && badRunes(body):
		name = detect(body)
	}
	return convert(body, name)
}

// declared is the name of the charset that is said, or "".
func declared(body []byte, contentType string) string {
	for mark, name := range map[string]string{"\xef\xbb\xbf": "utf-8", "\xff\xfe": "utf-16le", "\xfe\xff": "utf-16be"} {
		if bytes.HasPrefix(body, []byte(mark)) {
			return name
		}
	}
	if name := wideZeros(body); name != "" {
		return name
	}
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		if _, name := charset.Lookup(params["charset"]); name != "" {
			return name
		}
	}
	if m := inMeta().FindSubmatch(body[:min(len(body), 8192)]); m != nil {
		_, name := charset.Lookup(string(m[1]) + string(m[2]))
		if strings.HasPrefix(name, "utf-16") { // or its own name could not have been read
			name = "utf-8"
		}
		return name
	}
	return ""
}

// wideZeros recognises UTF-16 by the zeros that markup in it has.
func wideZeros(body []byte) string {
	sample := body[:min(len(body), 400)]
	var zeros [2]int
	for i, b := range sample {
		if b == 0 {
			zeros[i%2]++
		}
	}
	switch third := len(sample) / 6; {
	case len(sample) < 8:
		return ""
	case zeros[1] > third && zeros[0] <= third/8:
		return "utf-16le"
	case zeros[0] > third && zeros[1] <= third/8:
		return "utf-16be"
	}
	return ""
}

// sevenBits are the charsets whose bytes are all those of ASCII.
func sevenBits(name string) bool { return name == "iso-2022-jp" }

func plainASCII(body []byte) bool {
	for _, b := range body {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// fewBytes are too few to guess from what they mean.
const fewBytes = 4

// badRunes reports whether most of what is not ASCII is wrong as UTF-8, so
// that it is something else, and not UTF-8 with a fault.
func badRunes(body []byte) bool {
	good, bad := 0, 0
	for i := 0; i < len(body); {
		if body[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(body[i:])
		if r == utf8.RuneError && size == 1 {
			bad++
		} else {
			good++
		}
		i += size
	}
	return bad >= fewBytes && bad > 2*good
}

// convert decodes a charset. What has no meaning in it becomes the replacement
// character, so no error is left.
func convert(body []byte, name string) string {
	var e encoding.Encoding = encoding.Nop
	if name != "utf-8" {
		if found, err := htmlindex.Get(name); err == nil {
			e = found
		}
	}
	text, err := e.NewDecoder().Bytes(body)
	if err != nil {
		text = body
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(text), "\ufffd"), "\ufeff")
}
