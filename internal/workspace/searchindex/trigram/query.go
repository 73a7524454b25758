package trigram

import (
	"regexp/syntax"
	"slices"
)

// Op is the operator that combines the parts of a query.
type Op byte

// The operations. The zero query matches every text.
const (
	All  Op = iota // every text
	None           // no text
	And            // texts with all of the parts
	Or             // texts with one of the parts
)

// A Query selects texts by their trigrams.
type Query struct {
	Op       Op
	Trigrams []T // sorted
	Sub      []Query
}

// Limits of a query. Parts beyond the limits are left out, so that more texts may match.
const (
	maxNodes = 2000 // of an expression
	maxParts = 256  // of an Or
	maxConds = 128  // of an And
	maxSize  = 4096 // trigrams in all
)

// Of returns the query for texts in which re may match.
func Of(re *syntax.Regexp) Query {
	a := analyzer{left: maxNodes}
	q := a.part(re).query()
	if q.Op == And {
		slices.SortStableFunc(q.Sub, func(a, b Query) int { return a.size() - b.size() })
		for len(q.Sub) > 0 && q.size() > maxSize {
			q.Sub = q.Sub[:len(q.Sub)-1]
		}
	}
	if q.size() > maxSize || q.Op == And && len(q.Trigrams)+len(q.Sub) == 0 {
		return Query{}
	}
	return q
}

func (q Query) size() int {
	n := len(q.Trigrams)
	for _, s := range q.Sub {
		n += s.size()
	}
	return n
}

func (q Query) equal(p Query) bool {
	return q.Op == p.Op && slices.Equal(q.Trigrams, p.Trigrams) && slices.EqualFunc(q.Sub, p.Sub, Query.equal)
}

// and returns the query for texts that match both.
func (q Query) and(p Query) Query { return join(And, q, p) }

// or returns the query for texts that match one of both.
func (q Query) or(p Query) Query { return join(Or, q, p) }

// join combines two queries, and flattens the result if possible.
func join(op Op, q, p Query) Query {
	empty, full := All, None // the neutral element, and the absorbing one
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
		if part.Op != op && len(part.Trigrams)+len(part.Sub) > 1 {
			part = Query{Sub: []Query{part}}
		}
		out.Trigrams = append(out.Trigrams, part.Trigrams...)
		for _, sub := range part.Sub {
			if !slices.ContainsFunc(out.Sub, sub.equal) {
				out.Sub = append(out.Sub, sub)
			}
		}
	}
	return out.limit()
}

// limit keeps a query within its limits.
func (q Query) limit() Query {
	slices.Sort(q.Trigrams)
	q.Trigrams = slices.Compact(q.Trigrams)
	if q.Op == Or && len(q.Trigrams)+len(q.Sub) > maxParts {
		return Query{}
	}
	if q.Op == And {
		q.Trigrams = q.Trigrams[:min(len(q.Trigrams), maxConds)]
		q.Sub = q.Sub[:min(len(q.Sub), maxConds)]
	}
	return q
}

// allOf returns the query for texts that contain s. Some trigrams of a long s are enough.
func allOf(s string) Query {
	q := Query{Op: And}
	for i := 0; i+3 <= len(s) && len(q.Trigrams) < maxConds; i++ {
		q.Trigrams = append(q.Trigrams, T(s[i])<<16|T(s[i+1])<<8|T(s[i+2]))
	}
	if len(q.Trigrams) == 0 {
		return Query{}
	}
	slices.Sort(q.Trigrams)
	q.Trigrams = slices.Compact(q.Trigrams)
	return q
}

// oneOf returns the query for texts that contain one of the strings.
func oneOf(set []string) Query {
	switch len(set) {
	case 0:
		return Query{Op: None}
	case 1:
		return allOf(set[0])
	}
	q := Query{Op: Or}
	for _, s := range set {
		switch p := allOf(s); {
		case p.Op == All:
			return p
		case len(p.Trigrams) == 1:
			q.Trigrams = append(q.Trigrams, p.Trigrams[0])
		default:
			q.Sub = append(q.Sub, p)
		}
	}
	return q.limit()
}
