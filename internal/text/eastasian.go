package text

import "strings"

// EastAsian returns the name of the double-byte encoding of a text, as the index of HTML has it,
// or "" if the bytes do not show one. It looks at how characters are made of bytes, so that a few
// words are enough: in shift_jis, gb18030, euc-jp and big5 nearly all characters are of the first
// level, and stand beside others. The characters of euc-kr are valid gb18030, too; the most common
// syllables tell them apart.
func EastAsian(data []byte) string {
	if len(data) > maxEastAsian {
		data = data[:maxEastAsian]
	}
	kana := false
	japanese := func(a, _ byte) bool {
		kana = kana || a == 0xA4 || a == 0xA5
		return a == 0xA4 || a == 0xA5 || a >= 0xB0 && a <= 0xCF
	}
	switch {
	case isPairs(data, japanese) && kana:
		return "euc-jp"
	case isKorean(data):
		return "euc-kr"
	case isPairs(data, func(a, _ byte) bool { return a == 0xA1 || a == 0xA3 || a >= 0xB0 && a <= 0xD7 }):
		return "gb18030"
	case inCode(data, isShiftJIS):
		return "shift_jis"
	case inCode(data, isBig5):
		return "big5"
	}
	return ""
}

// maxEastAsian is how much of a text is looked at, in bytes.
const maxEastAsian = 64 << 10

// isPairs reports whether all bytes beyond ASCII are pairs of such bytes, and nearly all pairs are
// common characters.
func isPairs(data []byte, common func(first, second byte) bool) bool {
	pairs, rare := 0, 0
	for i := 0; i < len(data); i++ {
		if data[i] < 0x80 {
			continue
		}
		if i+1 == len(data) {
			break // cut off
		}
		if data[i] < 0xA1 || data[i+1] < 0xA1 {
			return false
		}
		pairs++
		if !common(data[i], data[i+1]) {
			rare++
		}
		i++
	}
	return pairs > 1 && rare*10 <= pairs
}

// isKorean reports whether a text is in euc-kr: nearly all pairs are Hangul, and one of twelve is a syllable
// that is common in Korean. As gb18030 these are rare characters.
func isKorean(data []byte) bool {
	pairs, often := 0, 0
	hangul := func(a, b byte) bool {
		pairs++
		if strings.Contains(commonHangul, " "+string([]byte{a, b})) {
			often++
		}
		return a == 0xA1 || a == 0xA3 || a >= 0xB0 && a <= 0xC8
	}
	return isPairs(data, hangul) && pairs >= 4 && often*12 >= pairs
}

// commonHangul has 이 다 는 의 에 을 가 고 하 사 한 로 기 도 서 시 in euc-kr.
const commonHangul = " \xC0\xCC \xB4\xD9 \xB4\xC2 \xC0\xC7 \xBF\xA1 \xC0\xBB \xB0\xA1 \xB0\xED \xC7\xCF \xBB\xE7" +
	" \xC7\xD1 \xB7\xCE \xB1\xE2 \xB5\xB5 \xBC\xAD \xBD\xC3"

// inCode reports whether a text can be in a code: read returns the length of the character at the
// beginning of the bytes, 0 for an invalid one, and whether it is common. Characters of two bytes
// stand beside each other: a single one among ASCII letters is a letter with an accent or a quote.
func inCode(data []byte, read func([]byte) (size int, common bool)) bool {
	chars, rare, runs := 0, 0, 0
	within := false
	for i := 0; i < len(data); {
		if data[i] < 0x80 {
			within = false
			i++
			continue
		}
		size, common := read(data[i:])
		if size == 0 && i+1 == len(data) {
			break // cut off
		}
		if size == 0 {
			return false
		}
		if !within {
			runs++
		}
		within = true
		if chars++; !common {
			rare++
		}
		i += size
	}
	return chars > 1 && rare*10 <= chars && chars >= 2*runs
}

func isShiftJIS(data []byte) (size int, common bool) {
	first := data[0]
	if first >= 0xA1 && first <= 0xDF {
		return 1, false // half-width Katakana
	}
	if len(data) < 2 || first == 0x80 || first == 0xA0 || first > 0xEF {
		return 0, false
	}
	second := data[1]
	if second < 0x40 || second == 0x7F || second > 0xFC {
		return 0, false
	}
	return 2, first >= 0x81 && first <= 0x83 || first >= 0x88 && first <= 0x98
}

func isBig5(data []byte) (size int, common bool) {
	if len(data) < 2 || data[0] < 0xA1 || data[0] > 0xF9 {
		return 0, false
	}
	second := data[1]
	if second < 0x40 || second > 0x7E && second < 0xA1 || second == 0xFF {
		return 0, false
	}
	return 2, data[0] <= 0xC6
}
