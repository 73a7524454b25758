package patch

import "strings"

// indents converts the indentation of added lines into that of the file, by the lines that both have.
type indents struct {
	pairs map[string]string // indentation in the file, by that in the patch
	tab   int               // blanks in the patch for a tab in the file; 0 for none
}

// newIndents compares a hunk with the file. If the indentation matches, added lines stay unchanged.
func newIndents(have []string, p place) indents {
	in := indents{}
	if p.look < lookAround {
		return in
	}
	in.pairs = make(map[string]string)
	for i, l := range old(p.lines) {
		from, to := indent(l.Text), indent(have[i])
		if strings.TrimSpace(l.Text) == "" {
			continue
		}
		if _, known := in.pairs[from]; !known {
			in.pairs[from] = to
		}
	}
	for from, to := range in.pairs {
		if from == "" && to == "" {
			continue
		}
		width := 0
		if strings.Trim(from, " ") == "" && strings.Trim(to, "\t") == "" && len(to) > 0 && len(from)%len(to) == 0 {
			width = len(from) / len(to)
		}
		if width < 2 || in.tab != 0 && in.tab != width {
			in.tab = 0
			return in
		}
		in.tab = width
	}
	return in
}

func indent(line string) string {
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// of returns an added line with the indentation of the file.
func (in indents) of(line string) string {
	if len(in.pairs) == 0 || strings.TrimSpace(line) == "" {
		return line
	}
	have := indent(line)
	for n := len(have); n >= 0; n-- {
		to, known := in.pairs[have[:n]]
		if !known {
			continue
		}
		more := have[n:]
		if in.tab > 0 {
			more = strings.ReplaceAll(more, strings.Repeat(" ", in.tab), "\t")
		}
		return to + more + line[len(have):]
	}
	return line
}

// line returns an added line as it is written: with the ending of the lines around it, unless literal or bare is set.
func (in indents) line(l Line, literal, bare bool, ending string) string {
	switch {
	case literal && l.NoEnd:
		return l.Text
	case literal:
		return l.Text + "\n"
	case l.NoEnd || bare && withoutEnding(l.Text) != "": // an empty line is only its ending
		ending = ""
	}
	return in.of(withoutEnding(l.Text)) + ending
}
