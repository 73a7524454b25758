package ignore

import "slices"

// A bucket is rules about names in the same directories, indexed by what the
// name must be, begin with or end in. Places are of the latest rule that
// matches.
type bucket struct {
	exact  map[string]positions
	prefix affixes
	suffix affixes
	every  positions
	others []rule // the latest first
}

// positions are those of the latest rule that matches anything, and of the latest
// that matches directories; 0 for none.
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

// affixes are the rules for beginnings, or for ends, of names.
type affixes struct {
	lengths []int // that there are, in order
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

func (b *bucket) finish() { backwards(b.others) }

// match returns the place of the latest rule that matches a name, or last when
// that is later.
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

// latest tries rules, the latest first, that come after last.
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

func backwards(rules []rule) { slices.Reverse(rules) }
