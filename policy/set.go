package policy

import "slices"

// A set holds registered tools by their index in the catalogue. Operations
// return new sets; the nil set is empty.
type set []uint64

func newSet(size int) set { return make(set, (size+63)/64) }

func (s set) has(i int) bool {
	return i/64 < len(s) && s[i/64]&(1<<(i%64)) != 0
}

func (s set) add(i int) { s[i/64] |= 1 << (i % 64) }

func (s set) and(o set) set {
	out := make(set, len(s))
	for w := range min(len(s), len(o)) {
		out[w] = s[w] & o[w]
	}
	return out
}

func (s set) or(o set) set {
	if len(s) < len(o) {
		s, o = o, s
	}
	out := slices.Clone(s)
	for w := range o {
		out[w] |= o[w]
	}
	return out
}

func (s set) minus(o set) set {
	out := slices.Clone(s)
	for w := range min(len(s), len(o)) {
		out[w] &^= o[w]
	}
	return out
}

func (s set) empty() bool {
	for _, word := range s {
		if word != 0 {
			return false
		}
	}
	return true
}

// within reports whether o has all tools of s.
func (s set) within(o set) bool { return s.minus(o).empty() }
