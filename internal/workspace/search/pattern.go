package search

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// instCount estimates the number of instructions of a pattern.
func instCount(re *syntax.Regexp) int {
	total := 1
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune) + 1
	case syntax.OpRepeat:
		return min(max(re.Min, re.Max, 1)*instCount(re.Sub[0]), maxProgram+1)
	}
	for _, sub := range re.Sub {
		total = min(total+instCount(sub), maxProgram+1)
	}
	return total
}

// mentions reports whether the pattern contains r itself, or a class of line ends only with r.
// \s and [^x] do not count, although they match r.
func mentions(re *syntax.Regexp, r rune) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return slices.Contains(re.Rune, r)
	case syntax.OpCharClass:
		takes := false
		for i := 0; i < len(re.Rune); i += 2 {
			for c := re.Rune[i]; c <= re.Rune[i+1]; c++ {
				if c != '\r' && c != '\n' {
					return false
				}
				takes = takes || c == r
			}
		}
		return takes
	}
	return slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return mentions(sub, r) })
}

// eitherLineEnd makes line ends of the pattern match "\r\n" as well as "\n".
func eitherLineEnd(re *syntax.Regexp) *syntax.Regexp {
	cr := &syntax.Regexp{Op: syntax.OpQuest, Sub: []*syntax.Regexp{literalNode([]rune{'\r'}, 0)}}
	switch re.Op {
	case syntax.OpEndLine:
		return concat(cr, re)
	case syntax.OpLiteral:
		if !slices.Contains(re.Rune, '\n') {
			return re
		}
		var parts []*syntax.Regexp
		rest := re.Rune
		for {
			i := slices.Index(rest, '\n')
			if i < 0 {
				break
			}
			if i > 0 {
				parts = append(parts, literalNode(rest[:i], re.Flags))
			}
			parts = append(parts, cr, literalNode(rest[i:i+1], 0))
			rest = rest[i+1:]
		}
		if len(rest) > 0 {
			parts = append(parts, literalNode(rest, re.Flags))
		}
		return concat(parts...)
	}
	if len(re.Sub) == 0 {
		return re
	}
	out := *re
	out.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		out.Sub[i] = eitherLineEnd(sub)
	}
	return &out
}

func literalNode(runes []rune, flags syntax.Flags) *syntax.Regexp {
	return &syntax.Regexp{Op: syntax.OpLiteral, Rune: runes, Flags: flags}
}

func concat(parts ...*syntax.Regexp) *syntax.Regexp {
	return &syntax.Regexp{Op: syntax.OpConcat, Sub: parts}
}

// trim removes from both ends of a pattern the parts that do not decide whether it matches: x*
// and x? are removed, x+ becomes x.
func trim(re *syntax.Regexp) *syntax.Regexp { return trimEnd(trimEnd(re, true), false) }

func trimEnd(re *syntax.Regexp, front bool) *syntax.Regexp {
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return trimEnd(re.Sub[0], front)
	case syntax.OpStar, syntax.OpQuest:
		return &syntax.Regexp{Op: syntax.OpEmptyMatch}
	case syntax.OpAlternate:
		out := *re
		out.Sub = make([]*syntax.Regexp, len(re.Sub))
		for i, sub := range re.Sub {
			out.Sub[i] = trimEnd(sub, front)
		}
		return &out
	case syntax.OpConcat:
		parts := slices.Clone(re.Sub)
		for len(parts) > 0 {
			at := 0
			if !front {
				at = len(parts) - 1
			}
			parts[at] = trimEnd(parts[at], front)
			if parts[at].Op != syntax.OpEmptyMatch {
				break
			}
			parts = slices.Delete(parts, at, at+1)
		}
		switch len(parts) {
		case 0:
			return &syntax.Regexp{Op: syntax.OpEmptyMatch}
		case 1:
			return trimEnd(parts[0], front)
		}
		return concat(parts...)
	}
	return re
}

// singleRune returns the runes of a node that matches exactly one rune, as pairs of
// first and last. ok is false for other nodes.
func singleRune(re *syntax.Regexp) (pairs []rune, ok bool) {
	switch re.Op {
	case syntax.OpCapture:
		return singleRune(re.Sub[0])
	case syntax.OpCharClass:
		return re.Rune, true
	case syntax.OpAnyChar:
		return []rune{0, unicode.MaxRune}, true
	case syntax.OpAnyCharNotNL:
		return []rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}, true
	case syntax.OpLiteral:
		if len(re.Rune) == 1 {
			return pairsOf(caseVariants(re.Rune[0], re.Flags&syntax.FoldCase != 0)), true
		}
	}
	return nil, false
}

func pairsOf(runes []rune) []rune {
	var pairs []rune
	for _, r := range runes {
		pairs = append(pairs, r, r)
	}
	return pairs
}

// caseVariants returns the runes that match r.
func caseVariants(r rune, fold bool) []rune {
	all := []rune{r}
	if fold {
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			all = append(all, other)
		}
	}
	return all
}

// expandRunes lists the runes of pairs. ok is false if there are more than most.
func expandRunes(pairs []rune, most int) (runes []rune, ok bool) {
	for i := 0; i < len(pairs); i += 2 {
		for r := pairs[i]; r <= pairs[i+1]; r++ {
			if len(runes) == most {
				return nil, false
			}
			runes = append(runes, r)
		}
	}
	return runes, true
}

// coversNonASCII reports whether pairs contain every rune that is not ASCII.
func coversNonASCII(pairs []rune) bool {
	n := len(pairs)
	return n > 0 && pairs[n-2] <= utf8.RuneSelf && pairs[n-1] == unicode.MaxRune
}
