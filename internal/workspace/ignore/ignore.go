// Package ignore matches file names against patterns: patterns of .gitignore files, an
// operator's patterns of denied or protected names, and the globs of a search. It never opens a
// file; it works on names only.
//
// All three kinds use one matcher. Begin with [Parse] for the text of an ignore
// file, [NewNames] for an operator's list, and [CompileGlob] for a glob. A pattern
// is split at its last slash: the last step matches the name in a directory, the
// steps before it the directory. So one lookup for each directory leaves few
// patterns to try on its names. No pattern makes matching slow: the work for a name
// is at most the product of the lengths of the name and the pattern.
//
// Names are relative and use slashes; "." is the directory itself.
package ignore

import (
	"slices"
	"strings"
)

// Limits of an ignore file. The rest of a larger file is ignored, so that more files
// are visible, not fewer.
const (
	// MaxText is the maximum number of bytes of an ignore file.
	MaxText  = 1 << 20
	maxLine  = 4 << 10
	maxRules = 50_000
	maxSlow  = 2_000 // patterns that have to be tried one by one
)

// A List is the patterns of one ignore file. The zero List and nil match nothing.
// It is safe for concurrent use after it was built.
type List struct {
	keep      []bool             // by position of a rule: it began with "!"
	base      bucket             // rules for names in any directory
	byDir     map[string]*bucket // rules for names in one directory
	wildcards []rule             // rules for directories with wildcards, the last one first
	slow      int
}

// Parse parses an ignore file as git does. Invalid lines match nothing.
func Parse(text []byte) *List {
	l := &List{}
	text = text[:min(len(text), MaxText)]
	rest := strings.TrimPrefix(string(text), "\ufeff")
	for more := true; more && len(l.keep) < maxRules; {
		var line string
		line, rest, more = strings.Cut(rest, "\n")
		if line = trimLine(line); line != "" && len(line) <= maxLine {
			if r, err := parseRule(line, false); err == nil {
				l.add(r)
			}
		}
	}
	l.finish()
	return l
}

// trimLine removes comments, the line end, and trailing spaces that are not escaped.
func trimLine(line string) string {
	if strings.HasPrefix(line, "#") {
		return ""
	}
	line, _, _ = strings.Cut(strings.TrimSuffix(line, "\r"), "\x00")
	end := 0 // of the part to keep
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
		case '\\':
			if i++; i == len(line) {
				return line
			}
			end = i + 1
		default:
			end = i + 1
		}
	}
	return line[:end]
}

// Empty reports whether the list has no patterns.
func (l *List) Empty() bool { return l == nil || len(l.keep) == 0 }

// Match reports whether the list ignores a name. The name is relative to the directory of the
// file. The last pattern that matches decides; if none does, decided is false. A name in an
// ignored directory is ignored, too, but Match does not check that: callers match the directory
// first.
func (l *List) Match(name string, dir bool) (ignored, decided bool) {
	if l.Empty() {
		return false, false
	}
	in, base := split(name)
	last := l.base.match(base, dir, 0)
	if here := l.byDir[in]; here != nil {
		last = here.match(base, dir, last)
	}
	for i := range l.wildcards {
		r := &l.wildcards[i]
		if r.position > last && (dir || !r.dirs) && r.last.match(base) && r.within(in) {
			last = r.position
			break
		}
	}
	return l.decision(last)
}

// decision returns the result for the position of the deciding rule.
func (l *List) decision(place int) (ignored, decided bool) {
	if place == 0 {
		return false, false
	}
	return !l.keep[place-1], true
}

// A Scope is the part of a list that applies to the names in one directory.
type Scope struct {
	list      *List
	here      *bucket
	wildcards []rule
}

// In returns the Scope of a directory.
func (l *List) In(dir string) Scope {
	if l.Empty() {
		return Scope{}
	}
	if dir == "." {
		dir = ""
	}
	s := Scope{list: l, here: l.byDir[dir]}
	for i := range l.wildcards {
		if l.wildcards[i].within(dir) {
			s.wildcards = append(s.wildcards, l.wildcards[i])
		}
	}
	return s
}

// Match is like [List.Match] for a name without slashes.
func (s Scope) Match(base string, dir bool) (ignored, decided bool) {
	if s.list == nil {
		return false, false
	}
	last := s.list.base.match(base, dir, 0)
	if s.here != nil {
		last = s.here.match(base, dir, last)
	}
	return s.list.decision(latest(s.wildcards, base, dir, last))
}

// add appends a rule. The number of rules that are not indexed is limited.
func (l *List) add(r rule) {
	if r.slow() {
		if l.slow++; l.slow > maxSlow {
			return
		}
	}
	l.keep = append(l.keep, r.keep)
	r.position = len(l.keep)
	switch head, literal := r.literalHead(); {
	case r.anywhere():
		l.base.add(r)
	case literal:
		if l.byDir == nil {
			l.byDir = map[string]*bucket{}
		}
		if l.byDir[head] == nil {
			l.byDir[head] = &bucket{}
		}
		l.byDir[head].add(r)
	default:
		l.wildcards = append(l.wildcards, r)
	}
}

// finish completes the list after the last add.
func (l *List) finish() {
	slices.Reverse(l.wildcards)
	l.base.finish()
	for _, b := range l.byDir {
		b.finish()
	}
}

// split splits a name into its directory and its last step.
func split(name string) (dir, base string) {
	i := strings.LastIndexByte(name, '/')
	return name[:max(i, 0)], name[i+1:]
}

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
