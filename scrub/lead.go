package scrub

// Tools show files line by line with marks before each line: a number, as in 12:
// 12- 12| 12#a3| or before a tab, a position, as in a.go:12:, the + and - of a
// diff, the > of a quotation. The content of the line begins after them.

const (
	maxDigits = 9
	maxPath   = 160
	inPath    = word | dash | dot | plus
)

// skipLineMarks returns the end of the marks before the line that begins at i, or i.
func (t *text) skipLineMarks(i int) int {
	for n := 0; n < 3 && (t.has(i, "> ") || t.has(i, "< ")); n++ {
		i += 2
	}
	i = t.skipNumber(i)
	for n := 0; n < 2 && (t.at(i) == '+' || t.at(i) == '-'); n++ {
		i++
	}
	return i
}

// skipNumber returns the end of the number before the line that begins at i.
func (t *text) skipNumber(i int) int {
	from := t.runMax(i, blank, 8)
	to := t.runMax(from, digit, maxDigits)
	switch b := t.at(to); {
	case to == from && from == i:
		return t.skipPosition(i)
	case to == from:
	case b == '\t':
		return to + 1
	case from > i: // right-aligned numbers are followed by a tab
	case b == ':':
		return t.skipColumn(to + 1)
	case b == '-', b == '|':
		return to + 1
	case b == '#':
		if end := t.runMax(to+1, alnum, 8); end > to+1 && t.at(end) == '|' {
			return end + 1
		}
	}
	return i
}

// skipPosition returns the end of a.go:12: or a.go:12:5: at i.
func (t *text) skipPosition(i int) int {
	colonAt := t.runMax(i, inPath, maxPath)
	to := t.runMax(colonAt+1, digit, maxDigits)
	if colonAt == i || t.at(colonAt) != ':' || to == colonAt+1 || t.at(to) != ':' {
		return i
	}
	return t.skipColumn(to + 1)
}

// skipColumn returns the end of a second number and a colon, if they are at i.
func (t *text) skipColumn(i int) int {
	if to := t.runMax(i, digit, maxDigits); to > i && t.at(to) == ':' {
		return to + 1
	}
	return i
}

// skipLines skips blanks, line breaks, and the marks before lines.
func (t *text) skipLines(i int) int {
	for {
		to := t.run(i, white)
		line := to
		for line > i && !eol.has(t.s[line-1]) {
			line--
		}
		if line == i {
			return to
		}
		if i = t.skipLineMarks(line); i <= to {
			return to
		}
		if to = t.run(i, blank); !eol.has(t.at(to)) {
			return to
		}
	}
}

// startsLine reports whether a line begins at i.
func (t *text) startsLine(i int) bool {
	if i <= 0 || eol.has(t.s[i-1]) {
		return true
	}
	return i >= 2 && t.s[i-1] == 'n' && t.s[i-2] == '\\' && t.backslashes(i-1)%2 == 1
}

// skipLineNumber moves the start of a name after a line number. Its dash could
// be part of the name: 12-name.
func (t *text) skipLineNumber(from, at int) int {
	i := from
	if i+1 < at && t.s[i] == 'n' {
		i++
	}
	if i >= at || !digit.has(t.s[i]) || !t.startsLine(i) {
		return from
	}
	if to := t.runMax(i, digit, maxDigits); to < at && t.s[to] == '-' {
		return to + 1
	}
	return from
}

// skipDiffMark moves the start of a name after the - of a diff. It could be the - of a flag.
func (t *text) skipDiffMark(from int) int {
	if t.at(from) == '-' && t.at(from+1) != '-' && t.startsLine(from) {
		return from + 1
	}
	return from
}
