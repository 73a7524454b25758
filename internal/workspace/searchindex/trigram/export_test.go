package trigram

import "slices"

// Eval reports whether a text with the trigrams of has may match.
func (q Query) Eval(has func(T) bool) bool {
	lacks := func(t T) bool { return !has(t) }
	return !slices.ContainsFunc(q, func(c Clause) bool {
		return !slices.ContainsFunc(c, func(all []T) bool { return !slices.ContainsFunc(all, lacks) })
	})
}

func (q Query) size() (n int) {
	for _, c := range q {
		for _, all := range c {
			n += len(all)
		}
	}
	return n
}
