package patch

import "strings"

// indents turn the indentation of a hunk into that of the file, learnt from the
// lines that both have.
type indents struct {
	pairs map[string]string // indentation in the patch, to that in the file
	tab   int               // blanks of the patch that are a tab of the file; 0 for none
}

// newIndents learns from the place of a hunk. A hunk whose indentation matched
// gives nothing to learn, and its lines stay as they are.
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

// of is an added line with the indentation of the file.
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

// line is an added line as it is written: with the ending of the lines around
// it, unless the patch is meant to the letter or it is to have none.
func (in indents) line(l Line, literal, bare bool, ending string) string {
	switch {
	case literal && l.NoEnd:
		return l.Text
	case literal:
		return l.Text + "\n"
	case l.NoEnd || bare && withoutEnding(l.Text) != "": // an empty line is nothing but its end
		ending = ""
	}
	return in.of(withoutEnding(l.Text)) + ending
}
