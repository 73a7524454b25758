package edit

import "strings"

// A shift converts the indentation of the edit into that of the file. The zero shift changes nothing.
type shift struct {
	add, cut string // prefixes to add or to remove
	unit     int    // number of spaces for a tab; 0 if tabs and spaces are not converted
	tabs     bool   // convert spaces to tabs instead of tabs to spaces
	by       int    // tabs or spaces to add after the conversion
}

const maxColumns = 1000 // maximum columns of a converted indentation

// solve finds a shift that converts the given lines into those of the file, and that also works for the new lines.
func solve(given, have, wanted []string) (shift, bool) {
	given, have = indents(given, have)
	if len(given) == 0 {
		return shift{}, false
	}
	wanted, _ = indents(wanted, wanted)
	for _, s := range shifts(given, have, wanted) {
		if s.leads(given, have) && s.leads(wanted, nil) {
			return s, true
		}
	}
	return shift{}, false
}

// indents returns the indentations of a and b for the lines that are blank in neither.
func indents(a, b []string) (ofA, ofB []string) {
	for i := range min(len(a), len(b)) {
		if strings.TrimSpace(a[i]) != "" && strings.TrimSpace(b[i]) != "" {
			ofA, ofB = append(ofA, indent(a[i])), append(ofB, indent(b[i]))
		}
	}
	return ofA, ofB
}

func indent(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// leads reports whether s converts given into have. If have is nil, it reports whether s can convert given.
func (s shift) leads(given, have []string) bool {
	for i, g := range given {
		h, ok := s.of(g)
		if !ok || have != nil && h != have[i] {
			return false
		}
	}
	return true
}

// of converts an indentation. ok is false if that is not possible.
func (s shift) of(indent string) (string, bool) {
	if s.unit == 0 {
		rest, ok := strings.CutPrefix(indent, s.cut)
		return s.add + rest, ok
	}
	rest := strings.TrimLeft(indent, "\t")
	tabs := len(indent) - len(rest)
	switch {
	case strings.Trim(rest, " ") != "", s.tabs && tabs > 0:
		return "", false
	case s.tabs:
		n := len(rest)/s.unit + s.by
		if n < 0 || n > maxColumns {
			return "", false
		}
		return strings.Repeat("\t", n) + rest[:len(rest)%s.unit], true
	}
	n := tabs*s.unit + s.by
	if n < 0 || n > maxColumns {
		return "", false
	}
	return strings.Repeat(" ", n) + rest, true
}

// shifts returns possible shifts, the likeliest first.
func shifts(given, have, wanted []string) (all []shift) {
	if add, ok := strings.CutSuffix(have[0], given[0]); ok {
		all = append(all, shift{add: add})
	}
	if cut, ok := strings.CutSuffix(given[0], have[0]); ok {
		all = append(all, shift{cut: cut})
	}
	for i, g := range given {
		if g == "" {
			continue
		}
		if strings.Contains(have[i], "\t") {
			return append(all, intoTabs(given, g, have[i], wanted)...)
		}
		return append(all, intoSpaces(given[i:], have[i:])...)
	}
	return all
}

// intoTabs returns the possible numbers of spaces for a tab, if the file has have where the edit has one: all
// indentations must be multiples.
func intoTabs(given []string, one, have string, wanted []string) (all []shift) {
	common := 0
	for _, list := range [][]string{given, wanted} {
		for _, indent := range list {
			common = divisor(common, len(indent))
		}
	}
	for _, unit := range []int{8, 4, 3, 2} {
		if common%unit != 0 {
			continue
		}
		s := shift{unit: unit, tabs: true, by: len(have) - len(one)/unit}
		if s.by == 0 {
			return append([]shift{s}, all...)
		}
		all = append(all, s)
	}
	return all
}

func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// intoSpaces returns the number of spaces that the file has for a tab, from two depths, or from one if it is usual.
func intoSpaces(given, have []string) []shift {
	tabs := len(given[0])
	for i, g := range given {
		if deeper := len(g) - tabs; deeper != 0 && strings.Trim(g, "\t") == "" {
			unit := (len(have[i]) - len(have[0])) / deeper
			if unit <= 0 || unit > maxColumns {
				return nil
			}
			return []shift{{unit: unit, by: len(have[0]) - unit*tabs}}
		}
	}
	if tabs == 0 || len(have[0])%tabs != 0 {
		return nil
	}
	switch unit := len(have[0]) / tabs; unit {
	case 2, 3, 4, 8:
		return []shift{{unit: unit}}
	}
	return nil
}
