package trigram

import "slices"

// Eval reports whether a text with the trigrams of has may match.
func (q Query) Eval(has func(T) bool) bool {
	lacks := func(t T) bool { return !has(t) }
	matches := func(s Query) bool { return s.Eval(has) }
	fails := func(s Query) bool { return !s.Eval(has) }
	switch q.Op {
	case All:
		return true
	case And:
		return !slices.ContainsFunc(q.Trigrams, lacks) && !slices.ContainsFunc(q.Sub, fails)
	case Or:
		return slices.ContainsFunc(q.Trigrams, has) || slices.ContainsFunc(q.Sub, matches)
	}
	return false
}
