package index

import "unicode"

// script is a way to write, as far as it matters for what a word is.
type script int

const (
	other script = iota
	latin
	cyrillic
	arabicScript
	tamilScript
	han
	kana
	hangul
	spaceless // Thai and its neighbours, written without spaces
)

func scriptOf(r rune) script {
	switch {
	case r < 0x250:
		return latin
	case r < 0x370:
		return other
	case unicode.Is(unicode.Cyrillic, r):
		return cyrillic
	case unicode.Is(unicode.Arabic, r):
		return arabicScript
	case unicode.Is(unicode.Tamil, r):
		return tamilScript
	case unicode.Is(unicode.Han, r):
		return han
	case r == 'ー' || r == 'ｰ' || unicode.In(r, unicode.Hiragana, unicode.Katakana):
		return kana
	case unicode.Is(unicode.Hangul, r):
		return hangul
	case unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return spaceless
	case unicode.Is(unicode.Latin, r):
		return latin
	}
	return other
}

// paired tells scripts whose words are not told apart by spaces, or carry
// particles: they are found by pairs of characters.
func (s script) paired() bool { return s >= han }

func scriptOfLanguage(lang string) script {
	switch lang {
	case "ru", "uk", "bg", "sr":
		return cyrillic
	case "ar", "fa", "ur":
		return arabicScript
	case "ta":
		return tamilScript
	case "zh", "ja", "ko", "th", "el", "he", "hi":
		return other
	}
	return latin
}

// usual is the language that words of a script are taken for in a text that is
// in another one.
func usual(s script) string {
	switch s {
	case latin:
		return "en"
	case cyrillic:
		return "ru"
	case arabicScript:
		return "ar"
	case tamilScript:
		return "ta"
	}
	return ""
}
