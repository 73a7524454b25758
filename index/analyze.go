package index

// What an analysis is bounded by, whatever it is given.
const (
	mostText  = 1 << 20 // bytes of one field that are looked at
	mostTerm  = 64      // bytes of one term
	mostTerms = 100_000 // of one field
)

// Token is a term and the place in a text that it stands for: the bytes from
// From up to To. Several tokens can stand for one place, or for places that
// overlap: readConfig is readconfig, read, and config.
type Token struct {
	Term     string
	From, To int
}

// Analyze turns text into the terms that it is found by: in lower case, without
// accents, words reduced to their stems, names of code both whole and in parts,
// scripts without spaces as pairs of characters. lang is a code such as "en";
// "" has it guessed from the text.
func Analyze(text, lang string) []Token {
	a := newAnalyzer()
	if lang == "" {
		lang = Language(text)
	}
	var tokens []Token
	a.tokens(text, lang, func(t Token) { tokens = append(tokens, t) })
	return tokens
}

// An analyzer keeps what it has worked out about words, because words come
// again. It is for one goroutine.
type analyzer struct {
	stems map[stemKey]string
}

type stemKey struct{ lang, word string }

// mostStems is how many words an analyzer keeps before it begins anew.
const mostStems = 1 << 15

func newAnalyzer() *analyzer {
	return &analyzer{stems: map[stemKey]string{}}
}

// tokens calls yield with the tokens of text, in order.
func (a *analyzer) tokens(text, lang string, yield func(Token)) {
	n := 0
	split(text, whole, func(p piece) bool {
		yield(Token{Term: a.term(p, lang), From: p.from, To: p.to})
		n++
		return n < mostTerms
	})
}

// term is what a piece is found by in a text of the language lang.
func (a *analyzer) term(p piece, lang string) string {
	if !p.word {
		return p.text
	}
	key := stemKey{stemmerFor(p.text, lang), p.text}
	if known, ok := a.stems[key]; ok {
		return known
	}
	if len(a.stems) >= mostStems {
		clear(a.stems)
	}
	// What is kept must not keep the text alive that it was cut from.
	key.word = string([]byte(key.word))
	term := cut(fold(stem(key.word, key.lang)), mostTerm)
	if term == "" { // nothing but accents
		term = cut(key.word, mostTerm)
	}
	a.stems[key] = term
	return term
}
