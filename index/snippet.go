package index

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// cutMark replaces omitted text.
const cutMark = "…"

// Snippet returns the part of text with the most of the terms, at most limit bytes and the
// marks of omitted text. terms are the terms of a Hit. White space becomes single blanks.
// Without any of the terms the beginning is returned.
func Snippet(text string, terms []string, limit int) string {
	text = strings.ToValidUTF8(cut(text, maxText), "\uFFFD")
	limit = max(limit, 16)
	from, to := expand(text, bestWindow(findTerms(text, terms), limit), limit)
	words := strings.Fields(text[from:to])
	if strings.TrimSpace(text[:from]) != "" {
		words = append([]string{cutMark}, words...)
	}
	if strings.TrimSpace(text[to:]) != "" {
		words = append(words, cutMark)
	}
	return strings.Join(words, " ")
}

// An occurrence is a place where a term stands in a text.
type occurrence struct {
	span
	term string
}

// findTerms finds all places of the terms in a text.
func findTerms(text string, terms []string) []occurrence {
	wanted := map[string]bool{}
	for _, t := range terms {
		wanted[t] = true
	}
	lang := Language(text)
	a := newAnalyzer()
	var places []occurrence
	split(text, forIndex, func(p piece) bool {
		term := a.term(p, lang)
		if !wanted[term] && p.word {
			term = a.term(p, "en")
		}
		last := len(places) - 1
		switch {
		case !wanted[term]:
		case last >= 0 && p.from < places[last].to: // a part of the last occurrence
			places[last].to = max(places[last].to, p.to)
		default:
			places = append(places, occurrence{span{p.from, p.to}, term})
		}
		return len(places) < maxTerms
	})
	return places
}

// bestWindow returns the range of at most so many bytes with the most different
// terms, and among equals the most places.
func bestWindow(places []occurrence, limit int) span {
	var best span
	bestTerms, bestPlaces := 0, 0
	count := map[string]int{}
	first := 0
	for i, p := range places {
		count[p.term]++
		for first < i && p.to-places[first].from > limit {
			if count[places[first].term]--; count[places[first].term] == 0 {
				delete(count, places[first].term)
			}
			first++
		}
		if n := i - first + 1; len(count) > bestTerms || len(count) == bestTerms && n > bestPlaces {
			best, bestTerms, bestPlaces = span{places[first].from, p.to}, len(count), n
		}
	}
	return best
}

// expand widens a window to at most so many bytes, up to word boundaries.
func expand(text string, w span, limit int) (from, to int) {
	spare := max(limit-(w.to-w.from), 0)
	from = max(w.from-spare/3, 0)
	to = min(from+limit, len(text))
	from = max(min(from, to-limit), 0)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from++
	}
	for to < len(text) && to > 0 && !utf8.RuneStart(text[to]) {
		to--
	}
	if from > 0 && !blankBefore(text, from) {
		if i := strings.IndexFunc(text[from:to], unicode.IsSpace); i >= 0 && from+i < w.from {
			from += i
		}
	}
	if to < len(text) && !blankBefore(text, to) {
		if i := strings.LastIndexFunc(text[from:to], unicode.IsSpace); i > 0 && from+i >= w.to {
			to = from + i
		}
	}
	return from, to
}

func blankBefore(text string, at int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[:at])
	return unicode.IsSpace(r)
}
