package page

import (
	"bytes"
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// declaredCharset finds the charset that a page declares. It is a pattern and not
// a parser because the declaration may be in a broken head.
var declaredCharset = pattern(`(?i)<meta[^>]{0,200}charset\s*=\s*["']?\s*([a-z0-9_:.-]{2,40})` +
	`|<\?xml[^>]{0,100}encoding\s*=\s*["']([a-z0-9_:.-]{2,40})`)

// Decode converts a page, or another text from the web, to valid UTF-8. It uses the
// charset given by a byte order mark, the server or the text itself, in this order,
// unless the bytes contradict it.
func Decode(body []byte, contentType string) string {
	name := charsetOf(body, contentType)
	isUTF8 := utf8.Valid(body)
	switch {
	case name == "utf-16le" || name == "utf-16be":
		return decodeAs(body, name)
	case name == "" && bytes.Contains(body, []byte("\x1b$")):
		name = "iso-2022-jp"
	case isUTF8 && (name == "utf-8" || name == "" || !isASCII(string(body)) && name != "iso-2022-jp"):
		return strings.TrimPrefix(string(body), "\ufeff")
	case name == "" || name == "utf-8" && mostlyInvalidUTF8(body):
		name = guessCharset(body)
	}
	return decodeAs(body, name)
}

// charsetOf returns the name of the declared charset, or "".
func charsetOf(body []byte, contentType string) string {
	boms := map[string]string{"\xef\xbb\xbf": "utf-8", "\xff\xfe": "utf-16le", "\xfe\xff": "utf-16be"}
	for bom, name := range boms {
		if bytes.HasPrefix(body, []byte(bom)) {
			return name
		}
	}
	if name := guessUTF16(body); name != "" {
		return name
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

// guessUTF16 recognises UTF-16 by the zero bytes of its markup.
func guessUTF16(body []byte) string {
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

// decodeAs decodes a charset. Bytes that are invalid in it become the replacement
// character, so there is no error.
func decodeAs(body []byte, name string) string {
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

// guesses are the charsets that pages use without declaring them. score rates how
// likely a character is in texts of that charset; the charset with the highest
// average wins, and of equals the first.
var guesses = []struct {
	name  string
	score func(rune) int
}{
	{"windows-1252", scoreWestern},
	{"shift_jis", scoreJapanese},
	{"euc-jp", scoreJapanese},
	{"euc-kr", scoreKorean},
	{"gb18030", scoreChinese},
	{"big5", scoreChinese},
	{"windows-1251", scoreRussian},
	{"koi8-r", scoreRussian},
}

// guessCharset guesses the charset of a page that declares none, or a wrong one.
func guessCharset(body []byte) string {
	sample := nonASCIISample(body)
	best, highest := "windows-1252", 0
	for _, guess := range guesses {
		e, err := htmlindex.Get(guess.name)
		if err != nil {
			continue
		}
		text, err := e.NewDecoder().Bytes(sample)
		if err != nil {
			continue
		}
		sum, count := 0, 0
		for _, r := range string(text) {
			if r == unicode.ReplacementChar {
				sum -= 40
			} else if r >= 0x80 {
				sum += guess.score(r)
			}
			count++
		}
		if average := sum * 1000 / max(count, 1); average > highest {
			best, highest = guess.name, average
		}
	}
	return best
}

// sampleSize is the number of bytes of a page from which its charset is
// guessed.
const sampleSize = 32 << 10

// nonASCIISample returns the non-ASCII parts of a text, separated by spaces. A byte
// that may be the second one of a character is included.
func nonASCIISample(body []byte) []byte {
	sample := make([]byte, 0, sampleSize)
	for i := 0; i < len(body) && len(sample) < sampleSize-2; i++ {
		if body[i] < 0x80 {
			continue
		}
		for i < len(body) && len(sample) < sampleSize-2 && body[i] >= 0x80 {
			sample = append(sample, body[i])
			if i++; i < len(body) && body[i] >= 0x40 && body[i] < 0x80 && i+1 < len(body) && body[i+1] >= 0x80 {
				sample = append(sample, body[i])
				i++
			}
		}
		if i < len(body) && body[i] > ' ' {
			sample = append(sample, body[i])
		}
		sample = append(sample, ' ')
	}
	return sample
}

func scoreWestern(r rune) int {
	switch {
	case strings.ContainsRune("éèêëàâäáãåæçîïíìñöôóòõøœùûüúßÿ", r):
		return 6
	case strings.ContainsRune("ÉÈÀÄÖÜÅØÇÑÁÍÓÚ’‘“”–—…€«» ©®°·¿¡´", r):
		return 4
	case unicode.IsLetter(r):
		return -1
	}
	return -2
}

func scoreJapanese(r rune) int {
	switch {
	case r >= 0x3041 && r <= 0x3096: // hiragana
		return 14
	case r >= 0x30a1 && r <= 0x30fc: // katakana
		return 10
	case r >= 0xff61 && r <= 0xff9f: // half-width katakana are rare
		return -6
	case unicode.Is(unicode.Han, r):
		return 3
	case r >= 0x3000 && r <= 0x3011 || r >= 0xff01 && r <= 0xff5e:
		return 8
	}
	return -6
}

func scoreKorean(r rune) int {
	if r >= 0xac00 && r <= 0xd7a3 {
		return 9
	}
	return -6
}

// frequentHan are the most frequent characters of Chinese, simplified and traditional.
const frequentHan = "的一是不了在人有我他这這个個上们們来來到时時大地为為子中你说說生国國年着就那和要她出也得里后後自以会會家可下而过過天去能对對小多然于於心學学" +
	"么之都好看起发發当當没沒成只如事把还還用第样樣道想作种種开開本经經新公司文章日月网網站首页頁信息市场場服务務产產品"

func scoreChinese(r rune) int {
	switch {
	case strings.ContainsRune(frequentHan, r):
		return 22
	case strings.ContainsRune("，。、：；「」《》（）！？“”", r):
		return 16
	case unicode.Is(unicode.Han, r):
		return 4
	}
	return -6
}

func scoreRussian(r rune) int {
	switch {
	case strings.ContainsRune("оеаинтсрвлкм", r):
		return 8
	case r >= 'а' && r <= 'я':
		return 4
	case r >= 'А' && r <= 'Я':
		return 1
	case r == '«' || r == '»' || r == '—' || r == '№' || r == 'ё':
		return 2
	}
	return -6
}
