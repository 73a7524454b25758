package ignore

import "slices"

// A bucket is a set of rules for names in the same directories. Maps index them by
// the whole name, its prefix or its suffix. They hold the position of the last
// rule that matches.
type bucket struct {
	exact  map[string]positions
	prefix affixes
	suffix affixes
	every  positions
	others []rule // rules that have to be tried one by one, the last one first
}

// positions hold the position of the last rule that matches any name, and of the
// last that matches directories only; 0 means none.
type positions struct{ any, dir int }

func (p positions) of(dir bool) int {
	if dir {
		return max(p.any, p.dir)
	}
	return p.any
}

func (p positions) with(r rule) positions {
	if r.dirs {
		p.dir = r.position
	} else {
		p.any = r.position
	}
	return p
}

// affixes index rules by prefixes, or by suffixes, of names.
type affixes struct {
	lengths []int // the lengths of all keys, sorted
	of      map[string]positions
}

func (a *affixes) add(text string, r rule) {
	if a.of == nil {
		a.of = map[string]positions{}
	}
	a.of[text] = a.of[text].with(r)
	if i, found := slices.BinarySearch(a.lengths, len(text)); !found {
		a.lengths = slices.Insert(a.lengths, i, len(text))
	}
}

func (b *bucket) add(r rule) {
	switch r.last.kind {
	case exact:
		if b.exact == nil {
			b.exact = map[string]positions{}
		}
		b.exact[r.last.text] = b.exact[r.last.text].with(r)
	case prefix:
		b.prefix.add(r.last.text, r)
	case suffix:
		b.suffix.add(r.last.text, r)
	case every:
		b.every = b.every.with(r)
	default:
		b.others = append(b.others, r)
	}
}

func (b *bucket) finish() { slices.Reverse(b.others) }

// match returns the position of the last rule that matches a name, or last if that
// is greater.
func (b *bucket) match(base string, dir bool, last int) int {
	last = max(last, b.every.of(dir))
	if b.exact != nil {
		last = max(last, b.exact[base].of(dir))
	}
	for _, n := range b.suffix.lengths {
		if n > len(base) {
			break
		}
		last = max(last, b.suffix.of[base[len(base)-n:]].of(dir))
	}
	for _, n := range b.prefix.lengths {
		if n > len(base) {
			break
		}
		last = max(last, b.prefix.of[base[:n]].of(dir))
	}
	return latest(b.others, base, dir, last)
}

// latest tries the rules after position last; rules has the last one first.
func latest(rules []rule, base string, dir bool, last int) int {
	for i := range rules {
		r := &rules[i]
		if r.position <= last {
			break
		}
		if (dir || !r.dirs) && r.last.match(base) {
			return r.position
		}
	}
	return last
}
