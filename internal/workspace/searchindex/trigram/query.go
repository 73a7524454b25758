package trigram

import (
	"regexp/syntax"
	"slices"
)

// Op says how the parts of a query belong together.
type Op byte

// The operations. The zero query asks for nothing: every text may match.
const (
	All  Op = iota // every text
	None           // no text
	And            // texts with all parts
	Or             // texts with one of the parts
)

// A Query asks for texts by their trigrams.
type Query struct {
	Op   Op
	Have []T // sorted
	Sub  []Query
}

// Limits of a query. What goes beyond is left out, and more texts may match.
const (
	mostNodes = 2000 // of an expression
	mostParts = 256  // of an Or
	mostConds = 128  // of an And
	mostSize  = 4096 // trigrams in all
)

// Of returns what a text must have for re to match somewhere in it.
func Of(re *syntax.Regexp) Query {
	a := analyzer{left: mostNodes}
	q := a.part(re).query()
	if q.Op == And {
		slices.SortStableFunc(q.Sub, func(a, b Query) int { return a.size() - b.size() })
		for len(q.Sub) > 0 && q.size() > mostSize {
			q.Sub = q.Sub[:len(q.Sub)-1]
		}
	}
	if q.size() > mostSize || q.Op == And && len(q.Have)+len(q.Sub) == 0 {
		return Query{}
	}
	return q
}

// Eval reports whether a text may match that has just the trigrams has says.
func (q Query) Eval(has func(T) bool) bool {
	switch q.Op {
	case All:
		return true
	case And:
		return !slices.ContainsFunc(q.Have, func(t T) bool { return !has(t) }) &&
			!slices.ContainsFunc(q.Sub, func(s Query) bool { return !s.Eval(has) })
	case Or:
		return slices.ContainsFunc(q.Have, has) ||
			slices.ContainsFunc(q.Sub, func(s Query) bool { return s.Eval(has) })
	}
	return false
}

func (q Query) size() int {
	n := len(q.Have)
	for _, s := range q.Sub {
		n += s.size()
	}
	return n
}

func (q Query) equal(p Query) bool {
	return q.Op == p.Op && slices.Equal(q.Have, p.Have) && slices.EqualFunc(q.Sub, p.Sub, Query.equal)
}

// and asks for both.
func (q Query) and(p Query) Query { return join(And, q, p) }

// or asks for one of both.
func (q Query) or(p Query) Query { return join(Or, q, p) }

// join makes one query of two, flat where that is possible.
func join(op Op, q, p Query) Query {
	empty, full := All, None // what changes nothing, what decides alone
	if op == Or {
		empty, full = None, All
	}
	switch {
	case q.Op == full || p.Op == full:
		return Query{Op: full}
	case q.Op == empty:
		return p
	case p.Op == empty || q.equal(p):
		return q
	}
	out := Query{Op: op}
	for _, part := range []Query{q, p} {
		if part.Op != op && len(part.Have)+len(part.Sub) > 1 {
			part = Query{Sub: []Query{part}}
		}
		out.Have = append(out.Have, part.Have...)
		for _, sub := range part.Sub {
			if !slices.ContainsFunc(out.Sub, sub.equal) {
				out.Sub = append(out.Sub, sub)
			}
		}
	}
	return out.cut()
}

// cut keeps a query within its limits.
func (q Query) cut() Query {
	slices.Sort(q.Have)
	q.Have = slices.Compact(q.Have)
	if q.Op == Or && len(q.Have)+len(q.Sub) > mostParts {
		return Query{}
	}
	if q.Op == And {
		q.Have = q.Have[:min(len(q.Have), mostConds)]
		q.Sub = q.Sub[:min(len(q.Sub), mostConds)]
	}
	return q
}

// whole asks for texts that contain s. Most of a long s is as good as all.
func whole(s string) Query {
	q := Query{Op: And}
	for i := 0; i+3 <= len(s) && len(q.Have) < mostConds; i++ {
		q.Have = append(q.Have, T(s[i])<<16|T(s[i+1])<<8|T(s[i+2]))
	}
	if len(q.Have) == 0 {
		return Query{}
	}
	slices.Sort(q.Have)
	q.Have = slices.Compact(q.Have)
	return q
}

// oneOf asks for texts that contain one of the strings.
func oneOf(set []string) Query {
	switch len(set) {
	case 0:
		return Query{Op: None}
	case 1:
		return whole(set[0])
	}
	q := Query{Op: Or}
	for _, s := range set {
		switch p := whole(s); {
		case p.Op == All:
			return p
		case len(p.Have) == 1:
			q.Have = append(q.Have, p.Have[0])
		default:
			q.Sub = append(q.Sub, p)
		}
	}
	return q.cut()
}
