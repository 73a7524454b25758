package index

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mark is a place in a snippet that has a term of the query: the bytes from From
// up to To.
type Mark struct{ From, To int }

// cutMark stands where text was left out.
const cutMark = "… "

// Snippet returns the part of text, of at most so many bytes and what marks the
// cuts, that has the most of terms, which are those of a Hit, and where in it
// they are. lang is the document's language, "" has it guessed. Blanks and line
// ends become single blanks. A text without any of the terms is shown from its
// beginning.
func Snippet(text, lang string, terms []string, most int) (string, []Mark) {
	text = strings.ToValidUTF8(cut(text, mostText), "\uFFFD")
	most = max(most, 16)
	places := find(text, lang, terms)
	w := window(places, most)
	from, to := widen(text, w, most)
	return show(text, from, to, places)
}

// place is where a term stands in a text.
type place struct {
	span
	term string
}

// find looks for terms in a text, in all ways in which they can have come about.
func find(text, lang string, terms []string) []place {
	wanted := map[string]bool{}
	for _, t := range terms {
		wanted[t] = true
	}
	if lang == "" {
		lang = Language(text)
	}
	a := newAnalyzer()
	var places []place
	split(text, whole, func(p piece) bool {
		term := a.term(p, lang)
		if !wanted[term] && p.word {
			term = a.term(p, "en")
		}
		last := len(places) - 1
		switch {
		case !wanted[term]:
		case last >= 0 && p.from < places[last].to: // a part of what is marked
			places[last].to = max(places[last].to, p.to)
		default:
			places = append(places, place{span{p.from, p.to}, term})
		}
		return len(places) < mostTerms
	})
	return places
}

// window is the range of places, at most so many bytes apart, with the most
// different terms, and of such, with the most places.
func window(places []place, most int) span {
	var best span
	bestTerms, bestPlaces := 0, 0
	count := map[string]int{}
	first := 0
	for i, p := range places {
		count[p.term]++
		for first < i && p.to-places[first].from > most {
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

// widen adds what is around a window, up to so many bytes, and ends at borders
// of words where there are any.
func widen(text string, w span, most int) (from, to int) {
	spare := max(most-(w.to-w.from), 0)
	from = max(w.from-spare/3, 0)
	to = min(from+most, len(text))
	from = max(min(from, to-most), 0)
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

// show copies a range of text with single blanks, and moves the marks along.
func show(text string, from, to int, places []place) (string, []Mark) {
	var out strings.Builder
	var marks []Mark
	if strings.TrimSpace(text[:from]) != "" {
		out.WriteString(cutMark)
	}
	start := out.Len()
	next := 0
	for next < len(places) && places[next].from < from {
		next++
	}
	open, blank := -1, false
	for i, r := range text[from:to] {
		at := from + i
		if open >= 0 && at >= places[open].to {
			marks[len(marks)-1].To = out.Len()
			open = -1
		}
		if unicode.IsSpace(r) {
			blank = out.Len() > start
			continue
		}
		if blank {
			out.WriteByte(' ')
			blank = false
		}
		if next < len(places) && at == places[next].from {
			marks = append(marks, Mark{From: out.Len()})
			open = next
			next++
		}
		out.WriteRune(r)
	}
	if open >= 0 {
		marks[len(marks)-1].To = out.Len()
	}
	if strings.TrimSpace(text[to:]) != "" {
		out.WriteString(" …")
	}
	return out.String(), marks
}
