package page

import (
	"strings"
	"unicode"

	"golang.org/x/text/encoding/htmlindex"
)

// sampleSize is how much of a page its charset is guessed from.
const sampleSize = 32 << 10

// guesses are the charsets that pages have without saying so, and how much like
// writing in it a text looks: the sum over its characters, of which common ones
// count most. The first of equals wins.
var guesses = []struct {
	name  string
	worth func(rune) int
}{
	{"windows-1252", western},
	{"shift_jis", japanese},
	{"euc-jp", japanese},
	{"euc-kr", korean},
	{"gb18030", chinese},
	{"big5", chinese},
	{"windows-1251", russian},
	{"koi8-r", russian},
}

// detect guesses the charset of a page that says none, or a wrong one.
func detect(body []byte) string {
	sample := highBytes(body)
	best, most := "windows-1252", 0
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
				sum += guess.worth(r)
			}
			count++
		}
		if worth := sum * 1000 / max(count, 1); worth > most {
			best, most = guess.name, worth
		}
	}
	return best
}

// highBytes are the parts of a text that are not ASCII, with what may be the
// second byte of a character behind each, and one space between them.
func highBytes(body []byte) []byte {
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

func western(r rune) int {
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

func japanese(r rune) int {
	switch {
	case r >= 0x3041 && r <= 0x3096: // hiragana
		return 14
	case r >= 0x30a1 && r <= 0x30fc: // katakana
		return 10
	case r >= 0xff61 && r <= 0xff9f: // halves of katakana: hardly ever
		return -6
	case unicode.Is(unicode.Han, r):
		return 3
	case r >= 0x3000 && r <= 0x3011 || r >= 0xff01 && r <= 0xff5e:
		return 8
	}
	return -6
}

func korean(r rune) int {
	if r >= 0xac00 && r <= 0xd7a3 {
		return 9
	}
	return -6
}

// frequentHan are the commonest characters of Chinese, in both scripts.
const frequentHan = "的一是不了在人有我他这这個个上们們来來到时時大地为為子中你说說生国國年着就那和要她出也得里后後自以会會家可下而过過天去能对對小多然于於心学學么之都好看起发發当當没沒成只如事把还還用第样樣道想作种種开開本经經新公司文章日月网網站首页頁信息市场場服务務产產品"

func chinese(r rune) int {
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

func russian(r rune) int {
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
