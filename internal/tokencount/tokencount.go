// Package tokencount estimates how many tokens a model reads in a text. Begin with
// Text.
package tokencount

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text estimates the number of tokens of a text in the encoding o200k_base,
// without its vocabulary of 200,000 pieces.
//
// It cuts the text as that encoding does before it looks up pieces: words, each
// with the space or punctuation before it and a new one at a capital letter; digits
// in groups of three; runs of punctuation; line breaks; other white space. The
// number of tokens of a piece is an estimate. A Latin word of usual length is one
// token, and so is a run of up to four punctuation characters. Ideographs and kana
// count one each, letters of other scripts four to a token. For English prose and
// JSON the result is within a tenth; rare words and random strings take more.
func Text(text string) int {
	n := 0
	for text != "" {
		size, tokens := piece(text)
		text = text[size:]
		n += tokens
	}
	return n
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

// piece returns the length in bytes and the tokens of the first piece of text,
// which must not be empty.
func piece(text string) (size, tokens int) {
	first, width := utf8.DecodeRuneInString(text)
	switch {
	case isLetter(first):
		size = word(text)
		return size, wordTokens(text[:size])
	case unicode.IsNumber(first):
		return span(text, 3, unicode.IsNumber), 1
	}
	if size = word(text[width:]); size > 0 && first != '\r' && first != '\n' {
		return width + size, wordTokens(text[:width+size])
	}
	if unicode.IsSpace(first) && !startsMarks(text) {
		return blank(text), 1
	}
	size = width + span(text[width:], len(text), isMark)
	marks := size
	size += span(text[size:], len(text), func(r rune) bool { return r == '\r' || r == '\n' || r == '/' })
	return size, (marks + 3) / 4
}

// startsMarks reports whether text is a space followed by punctuation.
func startsMarks(text string) bool {
	next, _ := utf8.DecodeRuneInString(text[1:])
	return text[0] == ' ' && len(text) > 1 && isMark(next)
}

// blank returns the length of the white space at the start of text, without the
// last character if it belongs to a word.
func blank(text string) int {
	size := span(text, len(text), unicode.IsSpace)
	if last := strings.LastIndexAny(text[:size], "\r\n"); last >= 0 {
		return last + 1
	}
	if _, width := utf8.DecodeLastRuneInString(text[:size]); size > width && size < len(text) {
		return size - width
	}
	return size
}

// word returns the length of the word at the start of text: capitals, then small
// letters, then perhaps the end of a contraction. It returns 0 if there is none.
func word(text string) int {
	size := span(text, len(text), func(r rune) bool { return isLetter(r) && !unicode.IsLower(r) })
	size += span(text[size:], len(text), func(r rune) bool {
		return isLetter(r) && !unicode.IsUpper(r) && !unicode.IsTitle(r)
	})
	if size == 0 {
		return 0
	}
	for _, end := range []string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"} {
		if rest := text[size:]; len(rest) >= len(end) && strings.EqualFold(rest[:len(end)], end) {
			return size + len(end)
		}
	}
	return size
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

// span returns the length in bytes of the first characters that fit, at most most.
func span(text string, most int, fits func(rune) bool) int {
	n := 0
	for i, r := range text {
		if n == most || !fits(r) {
			return i
		}
		n++
	}
	return len(text)
}

func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }

func isMark(r rune) bool { return !unicode.IsSpace(r) && !isLetter(r) && !unicode.IsNumber(r) }
