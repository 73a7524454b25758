package index

// Limits of an analysis.
const (
	maxText  = 1 << 20 // analyzed bytes of one field
	maxTerm  = 64      // bytes of one term
	maxTerms = 100_000 // terms of one field
)

// A Token is a term and the bytes of the text that it stands for, from From up
// to To. Tokens can overlap: readConfig gives readconfig, read and config.
type Token struct {
	Term     string
	From, To int
}

// Analyze returns the terms of a text: lower case, without accents, words reduced to their
// stems, identifiers as a whole and in parts, scripts without spaces as pairs of characters.
// lang is a code such as "en"; if it is empty, the language is guessed from the text.
func Analyze(text, lang string) []Token {
	a := newAnalyzer()
	if lang == "" {
		lang = Language(text)
	}
	var tokens []Token
	a.tokens(text, lang, func(t Token) { tokens = append(tokens, t) })
	return tokens
}

// An analyzer caches the stems of words. It is for one goroutine.
type analyzer struct {
	stems map[stemKey]string
}

type stemKey struct{ lang, word string }

// maxStems is the max number of cached words; a full cache is cleared.
const maxStems = 1 << 15

func newAnalyzer() *analyzer {
	return &analyzer{stems: map[stemKey]string{}}
}

// tokens calls yield with the tokens of text, in order.
func (a *analyzer) tokens(text, lang string, yield func(Token)) {
	n := 0
	split(text, forIndex, func(p piece) bool {
		yield(Token{Term: a.term(p, lang), From: p.from, To: p.to})
		n++
		return n < maxTerms
	})
}

// term returns the term of a piece in a text of the language lang.
func (a *analyzer) term(p piece, lang string) string {
	if !p.word {
		return p.text
	}
	key := stemKey{stemmerFor(p.text, lang), p.text}
	if known, ok := a.stems[key]; ok {
		return known
	}
	if len(a.stems) >= maxStems {
		clear(a.stems)
	}
	// A copy, so that the cache does not keep the whole text in memory.
	key.word = string([]byte(key.word))
	term := cut(fold(stem(key.word, key.lang)), maxTerm)
	if term == "" { // the word consists of accents
		term = cut(key.word, maxTerm)
	}
	a.stems[key] = term
	return term
}
