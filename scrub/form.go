package scrub

// A form is one way to write a dynamic value.
type form struct {
	text    string
	mask    string
	folded  bool  // hexadecimal, in small or capital letters
	bounded bool  // an address: 10.0.0.1 is not part of 10.0.0.12
	edges   class // up to three of these on either side belong to it
}

// triggers are two windows of the form that do not overlap: a line break can
// cut only one. Of a short form every window that a break leaves whole is
// taken, and those that end in the break.
func (f form) triggers() []trigger {
	if len(f.text) >= 8 {
		first, second := rarestTwo(f.text[:min(len(f.text), farWindow)])
		return []trigger{f.at(first, f.text[first:]), f.at(second, f.text[second:])}
	}
	var out []trigger
	for i := 0; i+4 <= len(f.text); i++ {
		out = append(out, f.at(i, f.text[i:]))
	}
	for i := 3; i < len(f.text); i++ {
		for _, end := range []string{"\n", "\r", `\`} {
			out = append(out, f.at(i-3, f.text[i-3:i]+end))
		}
	}
	return out
}

// at has the form looked for where a window is that it has at offset.
func (f form) at(offset int, window string) trigger {
	find := func(t *text, at int) (span, bool) { return f.find(t, at, offset) }
	return trigger{windows: []uint32{windowOf(window)}, find: find}
}

// find compares what stands around at, where the byte of the form with that
// offset should be.
func (f form) find(t *text, at, offset int) (span, bool) {
	to, ok := f.forward(t, at, offset, false)
	if !ok {
		if to, ok = f.forward(t, at, offset, true); !ok {
			return span{}, false
		}
	}
	from, ok := f.backward(t, at, offset, false)
	if !ok {
		if from, ok = f.backward(t, at, offset, true); !ok {
			return span{}, false
		}
	}
	if f.bounded && (from > 0 && digit.has(t.s[from-1]) || digit.has(t.at(to))) {
		return span{}, false
	}
	if f.edges != 0 {
		from, to = t.back(from, f.edges, 3), t.runMost(to, f.edges, 3)
	}
	return span{from: from, to: to, kind: "value", mask: f.mask}, true
}

func (f form) same(a, b byte) bool { return a == b || f.folded && fold(a) == b }

// forward is where the form ends of which the byte k is at i. What looks like
// a line break can be part of the form or not; breaks says which to try first.
func (f form) forward(t *text, i, k int, breaks bool) (int, bool) {
	for ; k < len(f.text); k++ {
		if j := t.wrapAfter(i); j > i && k > 0 && (breaks || !f.same(t.s[i], f.text[k])) {
			switch i = j; {
			case !blank.has(f.text[k]):
			case t.s[j-1] == f.text[k]:
				i-- // one of the blanks is not of the wrap
			default:
				continue // the break is in the place of the blank
			}
		}
		if t.ends(i) || !f.same(t.s[i], f.text[k]) {
			return i, false
		}
		i++
	}
	return i, true
}

// backward is where the form begins of which the byte k is at i.
func (f form) backward(t *text, i, k int, breaks bool) (int, bool) {
	for ; k > 0; k-- {
		if j := t.wrapBefore(i); j < i && j > 0 && (breaks || !f.same(t.s[i-1], f.text[k-1])) {
			if f.same(t.s[j-1], f.text[k-1]) {
				i = j
			} else if blank.has(f.text[k-1]) && t.s[i-1] != f.text[k-1] {
				i = j
				continue
			}
		}
		if i == 0 || !f.same(t.s[i-1], f.text[k-1]) {
			return i, false
		}
		i--
	}
	return i, true
}

// wrapAfter is the end of the line break at i, with the blanks that indent
// what follows, or i when there is none.
func (t *text) wrapAfter(i int) int {
	j := i
	if t.has(j, "\r") {
		j++
	} else if t.has(j, `\r`) {
		j += 2
	}
	switch {
	case t.has(j, "\n"):
		j++
	case t.has(j, `\n`):
		j += 2
	default:
		return i
	}
	return t.runMost(j, blank, wrapMost)
}

// wrapBefore is the start of the line break that ends at i, or i.
func (t *text) wrapBefore(i int) int {
	j := t.back(i, blank, wrapMost)
	switch {
	case j >= 1 && t.s[j-1] == '\n':
		j--
	case j >= 2 && t.s[j-1] == 'n' && t.s[j-2] == '\\':
		j -= 2
	default:
		return i
	}
	switch {
	case j >= 1 && t.s[j-1] == '\r':
		j--
	case j >= 2 && t.s[j-1] == 'r' && t.s[j-2] == '\\':
		j -= 2
	}
	return j
}
