package index

import (
	"strings"
	"unicode/utf8"
)

// mostLooked is how many words a language is guessed from.
const mostLooked = 300

// Language guesses what language a text is in: by its script, and where many
// languages share one, by the small words that no text goes without. It is
// "en" where nothing speaks for another, which is right for code too.
func Language(text string) string { return languageAmong(text, nil) }

// languageAmong is like Language, with only some languages to choose from. No
// choice at all means all of them.
func languageAmong(text string, choice map[string]int) string {
	v := votes{by: map[string]int{}, different: map[string]int{}, scripts: map[script]int{}}
	seen := map[string]bool{}
	split(text, asked, func(p piece) bool {
		first, _ := utf8.DecodeRuneInString(p.text)
		v.scripts[scriptOf(first)]++
		for _, lang := range smallWords()[p.text] {
			if _, ok := choice[lang]; len(p.text) > 1 && (ok || choice == nil) {
				v.by[lang]++
				if !seen[p.text] {
					v.different[lang]++
				}
			}
		}
		seen[p.text] = true
		v.words++
		return v.words < mostLooked
	})
	if s := v.script(); s != latin {
		return languageOfScript(s, text, v.scripts)
	}
	return v.latin()
}

// votes is what the words of a text say about its language.
type votes struct {
	words     int
	by        map[string]int // small words of a language
	different map[string]int
	scripts   map[script]int // words in a script
}

func (v votes) script() script {
	most := latin
	for s, count := range v.scripts {
		if count > v.scripts[most] || count == v.scripts[most] && s < most {
			most = s
		}
	}
	return most
}

// latin is the language with the most votes. One that is not English has to
// have its small words often, and not one alone: code is full of names that are
// small words somewhere.
func (v votes) latin() string {
	best := "en"
	for _, lang := range latinLanguages {
		if v.by[lang] <= v.by[best] || 10*v.by[lang] < v.words {
			continue
		}
		if v.words > 12 && v.different[lang] < 3 {
			continue
		}
		best = lang
	}
	return best
}

func languageOfScript(s script, text string, scripts map[script]int) string {
	switch s {
	case cyrillic:
		if strings.ContainsAny(text, "іїєґІЇЄҐ") {
			return "uk"
		}
		return "ru"
	case arabicScript:
		if strings.ContainsAny(text, "پچژگکیےں") {
			return "fa"
		}
		return "ar"
	case tamilScript:
		return "ta"
	case kana:
		return "ja"
	case han:
		if scripts[kana] > 0 {
			return "ja"
		}
		return "zh"
	case hangul:
		return "ko"
	case spaceless:
		return "th"
	}
	return "el" // and all others whose words are taken as they are
}

// isSmall tells words that hold a sentence together from those it is about.
func isSmall(word, lang string) bool {
	for _, of := range smallWords()[word] {
		if of == lang {
			return true
		}
	}
	return false
}
