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
)

// longestWord is the length in bytes from which on something is no word that
// has endings.
const longestWord = 48

// stem takes the ending from a word in lower case.
func stem(word, lang string) string {
	reduce := stemmer(lang)
	if reduce == nil || len(word) < 3 || len(word) > longestWord {
		return word
	}
	for _, r := range word {
		if !unicode.IsLetter(r) && !unicode.Is(unicode.Mn, r) && !unicode.Is(unicode.Mc, r) {
			return word
		}
	}
	if lang == "ru" {
		word = strings.ReplaceAll(word, "ё", "е") // a vowel that the rules do not know
	}
	env := snowball.NewEnv(word)
	reduce(env)
	if short := env.Current(); short != "" {
		return short
	}
	return word
}

func stemmer(lang string) func(*snowball.Env) bool {
	switch lang {
	case "en":
		return english.Stem
	case "de":
		return german.Stem
	case "fr":
		return french.Stem
	case "es":
		return spanish.Stem
	case "it":
		return italian.Stem
	case "pt":
		return portuguese.Stem
	case "nl":
		return dutch.Stem
	case "sv":
		return swedish.Stem
	case "no":
		return norwegian.Stem
	case "da":
		return danish.Stem
	case "fi":
		return finnish.Stem
	case "hu":
		return hungarian.Stem
	case "ro":
		return romanian.Stem
	case "tr":
		return turkish.Stem
	case "ru":
		return russian.Stem
	case "ar":
		return arabic.Stem
	case "ta":
		return tamil.Stem
	}
	return nil
}

// stemmerFor is the language whose endings a word has: that of its text, or,
// where the word is in another script, the one that is likely there.
func stemmerFor(word, lang string) string {
	first, _ := utf8.DecodeRuneInString(word)
	script := scriptOf(first)
	if script == scriptOfLanguage(lang) {
		return lang
	}
	return usual(script)
}
