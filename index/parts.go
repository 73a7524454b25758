package index

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a range of bytes.
type span struct{ from, to int }

// parts are the words that a name is put together from: by signs, as in
// read_config or main.go, or by capitals, as in readConfig and HTTPServer. An
// apostrophe parts nothing.
func parts(name string) []span {
	var all []span
	from := -1
	end := func(at int) {
		if from >= 0 && at > from {
			all = append(all, span{from, at})
		}
		from = -1
	}
	var before, now rune
	for at, next := range name {
		switch {
		case parting(next):
			end(at)
			before, now = 0, 0
			continue
		case from < 0:
			from = at
		case unicode.IsUpper(next) && (unicode.IsLower(now) || unicode.IsDigit(now)):
			end(at)
			from = at
		case unicode.IsLower(next) && unicode.IsUpper(now) && unicode.IsUpper(before) && !plural(name[at:]):
			last := at - utf8.RuneLen(now) // HTTPServer: the S belongs to what follows
			end(last)
			from = last
		}
		before, now = now, next
	}
	end(len(name))
	if len(all) == 0 {
		return []span{{0, len(name)}}
	}
	return all
}

// plural tells the s of URLs from the first letter of a word.
func plural(rest string) bool {
	after, ok := strings.CutPrefix(rest, "s")
	r, _ := utf8.DecodeRuneInString(after)
	return ok && !unicode.IsLower(r)
}

func parting(r rune) bool {
	return joins(r) && r != '\'' && r != '’' && r != '\u00ad' && r != '\u200d' && r != '\u200c'
}
