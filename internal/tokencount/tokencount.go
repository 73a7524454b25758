// Package tokencount estimates how many tokens a model reads in a text. Begin with
// Text.
package tokencount

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// pieces matches the first piece of a text, as the encoding o200k_base cuts it:
// a word with the character before it, up to three digits, punctuation, line
// breaks, or other white space.
var pieces = sync.OnceValue(func() *regexp.Regexp {
	const upper, lower = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`, `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
	const before, after = `[^\r\n\p{L}\p{N}]?`, `(?:'(?i:s|t|re|ve|m|ll|d))?`
	return regexp.MustCompile(`^(?:` +
		before + upper + `*` + lower + `+` + after + `|` + before + upper + `+` + lower + `*` + after +
		`|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+)`)
})

// Text estimates the number of tokens of a text in the encoding o200k_base,
// without its vocabulary of 200,000 pieces.
//
// It cuts the text as that encoding does before it looks up pieces: words, each
// with the space or punctuation before it and a new one at a capital letter; digits
// in groups of three; runs of punctuation; line breaks; other white space. The
// number of tokens of a piece is an estimate. A Latin word of usual length is one
// token, and so is a run of up to four punctuation characters. Ideographs and kana
// count one each, letters of other scripts four to a token, and one is added for each 20,
// for the words that are rarer. For English prose and JSON the result is within a tenth;
// random strings take more.
func Text(text string) (tokens int) {
	for text != "" {
		piece := pieces().FindString(text)
		rest := text[len(piece):]
		blank := strings.TrimSpace(piece) == ""
		if blank && len(piece) > 1 && rest != "" && !strings.ContainsAny(piece, "\r\n") {
			piece = piece[:len(piece)-1] // the last space belongs to the next word
		}
		switch {
		case strings.ContainsFunc(piece, func(r rune) bool { return unicode.In(r, unicode.L, unicode.M) }):
			tokens += wordTokens(piece)
		case blank || strings.ContainsFunc(piece, unicode.IsNumber):
			tokens++
		default:
			tokens += (len(strings.TrimRight(piece, "\r\n/")) + 3) / 4
		}
		text = text[len(piece):]
	}
	return tokens + tokens/20
}

// Tool estimates the tokens of a tool for a model, from its description in
// tools/list: clients pass on its name, description and schema, and keep title,
// annotations and _meta.
func Tool(described []byte) int {
	var read struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	if json.Unmarshal(described, &read) != nil {
		return Text(string(described))
	}
	text, err := json.Marshal(read)
	if err != nil {
		return Text(string(described))
	}
	return Text(string(text))
}

// A word is one token up to usualWord bytes, then one more for every few.
const (
	usualWord = 13
	fewMore   = 3
)

func wordTokens(text string) int {
	latin, other, ideographs := 0, 0, 0
	for _, r := range text {
		switch {
		case r < 0x250: // Latin, with its accents
			latin++
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			ideographs++
		default:
			other++
		}
	}
	tokens := ideographs + (other+3)/4
	if long := latin - usualWord; long > 0 {
		tokens += (long + fewMore - 1) / fewMore
	}
	if latin > 1 || tokens == 0 { // a single one is the mark before the word
		tokens++
	}
	return tokens
}
