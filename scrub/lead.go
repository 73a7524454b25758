package scrub

// Tools show files line by line, with marks of their own before each line: a
// number as in 12: 12- 12| 12#a3| or before a tab, the place as in a.go:12:,
// the + and - of a diff, the > of a quotation. To whoever wrote the line it
// begins behind them.

const (
	digitsMost = 9
	pathMost   = 160
	inPath     = word | dash | dot | plus
)

// lead is the end of the marks before the line that begins at i; i when there
// are none.
func (t *text) lead(i int) int {
	for n := 0; n < 3 && (t.has(i, "> ") || t.has(i, "< ")); n++ {
		i += 2
	}
	i = t.number(i)
	for n := 0; n < 2 && (t.at(i) == '+' || t.at(i) == '-'); n++ {
		i++
	}
	return i
}

// number is the end of the number before the line that begins at i.
func (t *text) number(i int) int {
	from := t.runMost(i, blank, 8)
	to := t.runMost(from, digit, digitsMost)
	switch b := t.at(to); {
	case to == from && from == i:
		return t.position(i)
	case to == from:
	case b == '\t':
		return to + 1
	case from > i: // only tabs follow numbers that stand to the right
	case b == ':':
		return t.column(to + 1)
	case b == '-', b == '|':
		return to + 1
	case b == '#':
		if end := t.runMost(to+1, alnum, 8); end > to+1 && t.at(end) == '|' {
			return end + 1
		}
	}
	return i
}

// position is the end of a.go:12: or a.go:12:5: at i.
func (t *text) position(i int) int {
	colonAt := t.runMost(i, inPath, pathMost)
	to := t.runMost(colonAt+1, digit, digitsMost)
	if colonAt == i || t.at(colonAt) != ':' || to == colonAt+1 || t.at(to) != ':' {
		return i
	}
	return t.column(to + 1)
}

// column is the end of a second number and a colon, if they are at i.
func (t *text) column(i int) int {
	if to := t.runMost(i, digit, digitsMost); to > i && t.at(to) == ':' {
		return to + 1
	}
	return i
}

// over passes blanks and line breaks, and the marks before the lines.
func (t *text) over(i int) int {
	for {
		to := t.run(i, white)
		line := to
		for line > i && !eol.has(t.s[line-1]) {
			line--
		}
		if line == i {
			return to
		}
		if i = t.lead(line); i <= to {
			return to
		}
		if to = t.run(i, blank); !eol.has(t.at(to)) {
			return to
		}
	}
}

// startsLine says that a line begins at i.
func (t *text) startsLine(i int) bool {
	if i <= 0 || eol.has(t.s[i-1]) {
		return true
	}
	return i >= 2 && t.s[i-1] == 'n' && t.s[i-2] == '\\' && t.sloshes(i-1)%2 == 1
}

// unnumbered moves the start of a name behind the number of its line, whose
// dash could be part of the name: 12-name.
func (t *text) unnumbered(from, at int) int {
	i := from
	if i+1 < at && t.s[i] == 'n' {
		i++
	}
	if i >= at || !digit.has(t.s[i]) || !t.startsLine(i) {
		return from
	}
	if to := t.runMost(i, digit, digitsMost); to < at && t.s[to] == '-' {
		return to + 1
	}
	return from
}

// undiffed moves the start of a name behind the - of a diff, which could be
// that of a flag.
func (t *text) undiffed(from int) int {
	if t.at(from) == '-' && t.at(from+1) != '-' && t.startsLine(from) {
		return from + 1
	}
	return from
}
