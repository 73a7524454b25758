package index

import (
	"strings"
	"unicode"
	"unicode/utf8"

	snowball "github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
	"golang.org/x/text/unicode/norm"
)

// maxWord is the maximum length in bytes of a word that is stemmed.
const maxWord = 48

// stem removes the ending of a word in lower case.
func stem(word, lang string) string {
	reduce := stemmers[lang]
	if reduce == nil || len(word) < 3 || len(word) > maxWord {
		return word
	}
	for _, r := range word {
		if !unicode.IsLetter(r) && !unicode.Is(unicode.Mn, r) && !unicode.Is(unicode.Mc, r) {
			return word
		}
	}
	if lang == "ru" {
		word = strings.ReplaceAll(word, "ё", "е") // the Russian rules do not know ё
	}
	env := snowball.NewEnv(word)
	reduce(env)
	if short := env.Current(); short != "" {
		return short
	}
	return word
}

// stemmers remove the endings of words, by language.
var stemmers = map[string]func(*snowball.Env) bool{
	"ar": arabic.Stem, "da": danish.Stem, "de": german.Stem, "en": english.Stem, "es": spanish.Stem,
	"fi": finnish.Stem, "fr": french.Stem, "hu": hungarian.Stem, "it": italian.Stem, "nl": dutch.Stem,
	"no": norwegian.Stem, "pt": portuguese.Stem, "ro": romanian.Stem, "ru": russian.Stem, "sv": swedish.Stem,
	"ta": tamil.Stem, "tr": turkish.Stem,
}

// stemmerFor returns the language of the rules for a word: the language of its text, or the
// default of the word's script if that is another one.
func stemmerFor(word, lang string) string {
	first, _ := utf8.DecodeRuneInString(word)
	script := scriptOf(first)
	if script == scriptOfLanguage(lang) {
		return lang
	}
	return defaultLanguage(script)
}

// lower returns text in lower case and in Unicode normalization form KC.
func lower(text string) string {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return strings.ToLower(norm.NFKC.String(text))
		}
	}
	return strings.ToLower(text)
}

// fold removes accents that people omit when they type. Vowel marks, as in Hindi,
// and marks that make another letter, as in the Russian short i, stay.
func fold(word string) string {
	plain := true
	for i := 0; i < len(word) && plain; i++ {
		plain = word[i] < utf8.RuneSelf
	}
	if plain {
		return word
	}
	var b strings.Builder
	base := rune(0)
	for _, r := range norm.NFD.String(word) {
		if s := plainLetters[r]; s != "" {
			b.WriteString(s)
			base = 'a'
			continue
		}
		if unicode.Is(unicode.Mn, r) {
			if isOptionalMark(base, r) {
				continue
			}
		} else {
			base = r
		}
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}

// plainLetters maps letters that many keyboards lack to the usual replacements, such as ø to
// o.
var plainLetters = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ı': "i", 'ς': "σ",
	'أ': "ا", 'إ': "ا", 'آ': "ا", 'ٱ': "ا", 'ى': "ي",
}

// isOptionalMark reports whether a mark is often omitted on a base letter.
func isOptionalMark(base, mark rune) bool {
	switch {
	case base < 0x250, unicode.Is(unicode.Latin, base), unicode.Is(unicode.Greek, base):
		return true
	case unicode.Is(unicode.Cyrillic, base):
		return mark == 0x308 && (base == 'е' || base == 'Е') || mark == 0x301
	}
	return unicode.In(base, unicode.Arabic, unicode.Hebrew)
}

// cut shortens a term to at most so many bytes, at a character boundary.
func cut(term string, limit int) string {
	if len(term) <= limit {
		return term
	}
	for limit > 0 && !utf8.RuneStart(term[limit]) {
		limit--
	}
	return term[:limit]
}
