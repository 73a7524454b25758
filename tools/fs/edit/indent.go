package edit

import "strings"

// Indents convert the indentation of an edit to the indentation of the file. The zero Indents change
// nothing.
type Indents struct {
	pairs map[string]string // indentation in the file, by that in the edit
	// Deeper indentation than the known pairs is converted with from, a tab or some blanks in the edit, and to,
	// its form in the file.
	from, to string
}

// NewIndents compares lines of an edit with the same lines of the file. ok is false if no rule leads from one to the
// other, or if the rule does not cover the lines to be converted, wanted.
func NewIndents(given, have, wanted []string) (in Indents, ok bool) {
	in.pairs, ok = map[string]string{}, true
	common := 0 // greatest common divisor of all numbers of blanks
	for i := range min(len(given), len(have)) {
		if strings.TrimSpace(given[i]) == "" || strings.TrimSpace(have[i]) == "" {
			continue
		}
		from, to := indent(given[i]), indent(have[i])
		common = divisor(common, len(from))
		if known, seen := in.pairs[from]; seen {
			ok = ok && known == to
			continue
		}
		in.pairs[from] = to
	}
	if len(in.pairs) == 0 {
		return in, false
	}
	for _, line := range wanted {
		if strings.TrimSpace(line) != "" {
			common = divisor(common, len(indent(line)))
		}
	}
	in.setUnit(common)
	for _, line := range wanted {
		_, known := in.of(indent(line))
		ok = ok && (known || strings.TrimSpace(line) == "")
	}
	return in, ok
}

// setUnit finds the number of blanks on one side for a tab on the other: all pairs must agree about it.
func (in *Indents) setUnit(common int) {
	for _, toTabs := range []bool{true, false} {
		for _, n := range []int{8, 4, 3, 2} {
			deeper, ok := in.offset(n, toTabs)
			if !ok || toTabs && common%n != 0 || in.from != "" && deeper != 0 {
				continue
			}
			in.from, in.to = "\t", strings.Repeat(" ", n)
			if toTabs {
				in.from, in.to = in.to, in.from
			}
		}
		if in.from != "" {
			return
		}
	}
}

// offset returns by how much the file is deeper than the edit if a tab is n blanks. ok is false if that differs.
func (in *Indents) offset(n int, toTabs bool) (deeper int, ok bool) {
	first := true
	for from, to := range in.pairs {
		by := len(to) - n*len(from)
		kinds := strings.Trim(from, "\t") + strings.Trim(to, " ")
		if toTabs {
			by = len(to) - len(from)/n
			kinds = strings.Trim(from, " ") + strings.Trim(to, "\t")
		}
		if kinds != "" || !first && by != deeper {
			return 0, false
		}
		deeper, first = by, false
		ok = ok || from != "" && to != ""
	}
	return deeper, ok
}

func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func indent(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// of converts an indentation. ok is false if it is less than all that are known and cannot be derived from them.
func (in Indents) of(indent string) (converted string, ok bool) {
	for n := len(indent); n >= 0; n-- {
		if to, known := in.pairs[indent[:n]]; known {
			return to + in.convert(indent[n:]), true
		}
	}
	deeper := ""
	for from := range in.pairs {
		if strings.HasPrefix(from, indent) && (deeper == "" || len(from) < len(deeper)) {
			deeper = from
		}
	}
	if deeper == "" {
		return "", false
	}
	return strings.CutSuffix(in.pairs[deeper], in.convert(deeper[len(indent):]))
}

func (in Indents) convert(blanks string) string {
	if in.from == "" {
		return blanks
	}
	return strings.ReplaceAll(blanks, in.from, in.to)
}

// Line returns a line of the edit with the indentation of the file.
func (in Indents) Line(line string) string {
	have := indent(line)
	to, ok := in.of(have)
	if !ok || strings.TrimSpace(line) == "" {
		return line
	}
	return to + line[len(have):]
}
