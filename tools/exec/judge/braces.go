package judge

import (
	"strconv"

	"mvdan.cc/sh/v3/syntax"
)

// braces are the words that the braces in a word make of it.
func (j *judge) braces(w *syntax.Word) [][]syntax.WordPart {
	split := *w
	if !syntax.SplitBraces(&split) {
		return [][]syntax.WordPart{w.Parts}
	}
	all, ok := alternatives(split.Parts, maxFields)
	if !ok {
		return [][]syntax.WordPart{{&syntax.BraceExp{}}} // becomes unknown
	}
	return all
}

// alternatives are the words without braces that parts stand for: at most so
// many, or false.
func alternatives(parts []syntax.WordPart, most int) ([][]syntax.WordPart, bool) {
	all := [][]syntax.WordPart{nil}
	for _, part := range parts {
		options := [][]syntax.WordPart{{part}}
		if b, ok := part.(*syntax.BraceExp); ok {
			if options, ok = choices(b, most); !ok {
				return nil, false
			}
		}
		if len(all)*len(options) > most {
			return nil, false
		}
		var next [][]syntax.WordPart
		for _, before := range all {
			for _, o := range options {
				next = append(next, append(before[:len(before):len(before)], o...))
			}
		}
		all = next
	}
	return all, true
}

func choices(b *syntax.BraceExp, most int) ([][]syntax.WordPart, bool) {
	if b.Sequence {
		return sequence(b, most)
	}
	var all [][]syntax.WordPart
	for _, e := range b.Elems {
		some, ok := alternatives(e.Parts, most)
		if !ok || len(all)+len(some) > most {
			return nil, false
		}
		all = append(all, some...)
	}
	return all, true
}

// sequence is {1..9}, {a..f} or {1..9..2}.
func sequence(b *syntax.BraceExp, most int) ([][]syntax.WordPart, bool) {
	first, last, letters := b.Elems[0].Lit(), b.Elems[1].Lit(), false
	from, err1 := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	if err1 != nil || err2 != nil {
		if len(first) != 1 || len(last) != 1 {
			return nil, false
		}
		from, to, letters = int(first[0]), int(last[0]), true
	}
	by := 1
	if len(b.Elems) > 2 {
		n, err := strconv.Atoi(b.Elems[2].Lit())
		if err != nil || n > 1<<20 || n < -1<<20 {
			return nil, false
		}
		by = max(n, -n, 1)
	}
	if from > 1<<30 || to > 1<<30 || from < -1<<30 || to < -1<<30 || max(from-to, to-from)/by >= most {
		return nil, false
	}
	if to < from {
		by = -by
	}
	var all [][]syntax.WordPart
	for n := from; (by > 0 && n <= to) || (by < 0 && n >= to); n += by {
		text := strconv.Itoa(n)
		if letters {
			text = string(rune(n))
		}
		all = append(all, []syntax.WordPart{&syntax.SglQuoted{Value: text}})
	}
	return all, true
}
