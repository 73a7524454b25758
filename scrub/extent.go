package scrub

import "strings"

// endQuoted is the end of a value in quotes: the next quote of the same kind
// with no more backslashes before it than the first one had. A " that closes
// a string of JSON ends every value, so that JSON stays JSON.
func (v place) endQuoted(t *text) int {
	for i := v.from; i < t.end(); i++ {
		switch b := t.s[i]; {
		case b == v.quote:
			n := t.sloshes(i)
			if n <= v.sloshes || n%2 == 0 && v.sloshes == 0 {
				return max(v.from, i-min(n, v.sloshes))
			}
		case b == '\n' && v.quote != '`':
			return v.from // not a quote, but an apostrophe
		case b == '"' && t.sloshes(i)%2 == 0 && t.closes(i):
			return i
		}
	}
	return t.reached(max(v.from, t.end()))
}

// closes says that the quote at i ends a string of JSON: what follows can
// stand behind one.
func (t *text) closes(i int) bool {
	b := t.at(t.run(i+1, white))
	return b == 0 || b == ',' || b == ':' || b == ']' || b == '}'
}

// bare is the end of a value without quotes. In the environment only a
// blank, a quote or an escaped line break ends it; elsewhere , ; ) and & do.
func (t *text) bare(i int, loud, query bool) int {
	from := i
	for i < t.end() {
		switch b := t.s[i]; {
		case white.has(b), quote.has(b), b == '<', b == '>', b == 0:
			return t.trim(from, i)
		case b == '\\':
			if n := t.at(i + 1); n == 0 || strings.IndexByte("nrt\"'`\\", n) >= 0 {
				return t.trim(from, i)
			}
			i += escapeLength(t.s[i:])
			continue
		case b == '&', b == '#' && query, !loud && (b == ',' || b == ';'), !loud && !query && (b == ')' || b == '}'):
			return t.trim(from, i)
		}
		i++
	}
	return t.trim(from, min(t.reached(i), len(t.s)))
}

// trim leaves out the signs that end a sentence or an expression.
func (t *text) trim(from, i int) int {
	for i > from && strings.IndexByte(".,;:)]}|", t.s[i-1]) >= 0 {
		if open := strings.IndexByte(")]}", t.s[i-1]); open >= 0 && strings.IndexByte(t.s[from:i], "([{"[open]) >= 0 {
			break
		}
		i--
	}
	return i
}

// headerLine says that a name and its colon look like an HTTP header's.
func (t *text) headerLine(from, to, colonAt int) bool {
	return to == colonAt && (t.at(to+1) == ' ' || letter.has(t.at(to+1)) || digit.has(t.at(to+1))) && t.headerName(from)
}

// headerName says that the name at i looks like an HTTP header's: X-Api-Key.
func (t *text) headerName(i int) bool {
	for i < len(t.s) && !word.has(t.s[i]) {
		i++
	}
	end := t.runMost(i, token, nameMost)
	name := t.s[min(i, end):end]
	return strings.Contains(name, "-") && !strings.Contains(name, "_") && (upper.has(name[0]) || hasFold(name, "x-"))
}

// inNetrc says that machine or login stands shortly before i.
func (t *text) inNetrc(i int) bool {
	near := t.s[max(0, i-100):max(0, i)]
	return strings.Contains(near, "login ") && hasFold(t.s[i:], "password")
}
