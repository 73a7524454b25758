package page

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// declaredCharset finds the charset that a page declares. It is a pattern and not
// a parser because the declaration may be in a broken head.
var declaredCharset = text.Pattern(`(?i)<meta[^>]{0,200}charset\s*=\s*["']?\s*([a-z0-9_:.-]{2,40})` +
	`|<\?xml[^>]{0,100}encoding\s*=\s*["']([a-z0-9_:.-]{2,40})`)

// Decode converts a page, or another text from the web, to valid UTF-8. Bytes that are
// invalid in its charset become the replacement character.
func Decode(body []byte, contentType string) string {
	return decodeAs(body, Charset(body, contentType))
}

// Charset returns the name of the charset of a text, or of its beginning: the one given by
// a byte order mark, the server or the text itself, in this order, unless the bytes
// contradict it, and else a guess.
func Charset(body []byte, contentType string) string {
	name := charsetOf(body, contentType)
	is16 := name == "utf-16le" || name == "utf-16be"
	is2022 := bytes.Contains(body, []byte("\x1b$")) && name != "utf-8"
	switch {
	case !is16 && !is2022 && utf8.Valid(body) && (name == "" || !isASCII(string(body))):
		name = "utf-8"
	case name == "" || name == "utf-8" && mostlyInvalidUTF8(body):
		name = guessCharset(body)
	}
	return name
}

// charsetOf returns the name of the declared charset, or "".
func charsetOf(body []byte, contentType string) string {
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return "utf-8"
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return "utf-16le"
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return "utf-16be"
	}
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		if _, name := charset.Lookup(params["charset"]); name != "" {
			return name
		}
	}
	if m := declaredCharset().FindSubmatch(body[:min(len(body), 8192)]); m != nil {
		_, name := charset.Lookup(string(m[1]) + string(m[2]))
		if strings.HasPrefix(name, "utf-16") { // the declaration itself would not have been readable
			name = "utf-8"
		}
		return name
	}
	return ""
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// mostlyInvalidUTF8 reports whether most non-ASCII bytes are invalid UTF-8: then
// the text has another charset, and is not UTF-8 with a few errors. Less than four
// invalid bytes are too few to decide.
func mostlyInvalidUTF8(body []byte) bool {
	valid, invalid := 0, 0
	for i := 0; i < len(body); {
		if body[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(body[i:])
		if r == utf8.RuneError && size == 1 {
			invalid++
		} else {
			valid++
		}
		i += size
	}
	return invalid >= 4 && invalid > 2*valid
}

// guesses are the charsets that pages use without declaring them, with the characters
// that are most frequent in such pages.
var guesses = []struct{ name, frequent string }{
	{"windows-1252", "éèêëàâäáãåæçîïíìñöôóòõøœùûüúßÉÀÄÖÜ’“”–—…"},
	{"shift_jis", "のにはをたがでてとしれさあるいすもまなかくらっょりん、。アイウスクトラリルレン年日"},
	{"euc-jp", "のにはをたがでてとしれさあるいすもまなかくらっょりん、。アイウスクトラリルレン年日"},
	{"euc-kr", "이다는의에을를은가고하지로한도사서기시자어들리인대스해나"},
	{"gb18030", "的一是不了在人有我他这个们来到时大地为子中你说生国年着就那和要她出也得里后自以会，。、家可下而过天去能对小多然于心学公司新闻文章网站"},
	{"big5", "的一是不了在人有我他這個們來到時大地為子中你說生國年著就那和要她出也得裡後自以會，。、家可下而過天去能對小多然於心學公司新聞文章網站"},
	{"windows-1251", "оеаинтсрвлкмдпуяыь"},
	{"koi8-r", "оеаинтсрвлкмдпуяыь"},
}

// guessCharset guesses the charset of a page that declares none, or a wrong one: the
// one with the largest share of frequent characters.
func guessCharset(body []byte) string {
	if bytes.Contains(body, []byte("\x1b$")) {
		return "iso-2022-jp"
	}
	best, highest := "windows-1252", 0
	for _, guess := range guesses {
		sample := decodeAs(body[:min(len(body), 32<<10)], guess.name)
		frequent, count := 0, 0
		for _, r := range sample {
			if r < utf8.RuneSelf {
				continue
			}
			if count++; strings.ContainsRune(guess.frequent, r) {
				frequent++
			}
		}
		if share := frequent * 1000 / max(count, 1); share > highest {
			best, highest = guess.name, share
		}
	}
	switch best { // a few words in a double-byte encoding look like nonsense in these
	case "windows-1252", "windows-1251", "koi8-r":
		if name := text.EastAsian(body); name != "" {
			return name
		}
	}
	return best
}

func decodeAs(body []byte, name string) string {
	if e, err := htmlindex.Get(name); err == nil && name != "utf-8" {
		if text, err := e.NewDecoder().Bytes(body); err == nil {
			body = text
		}
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(body), "\ufffd"), "\ufeff")
}
