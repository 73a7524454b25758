// Package ignore knows patterns for file names: those of .gitignore files, those
// that an operator denies or protects names with, and the globs of a search. It
// does not know files: it is given names and says what the patterns say of them.
//
// All three are one matcher. Begin with [Parse] for the text of an ignore file,
// [NewNames] for an operator's list, and [CompileGlob] for a glob. A pattern is
// split at its slashes: the last part is about the name in a directory, the
// parts before it about the directory, so that one look for each directory
// leaves few patterns to try on the names in it. No pattern makes matching slow:
// the work for a name is at most its length times the pattern's.
//
// Names are relative and have slashes; "." is the directory itself.
package ignore

import "strings"

// What a file of patterns may hold. The rest of a larger one counts for nothing,
// so more files are seen rather than less.
const (
	// MaxText is the most bytes of an ignore file that are looked at.
	MaxText  = 1 << 20
	maxLine  = 4 << 10
	maxRules = 50_000
	maxSlow  = 2_000 // patterns that have to be tried one by one
)

// A List is the patterns of one ignore file. The zero List, and nil, decide
// nothing. It may be used by many goroutines.
type List struct {
	keep      []bool             // by the place of a rule: it began with "!"
	base      bucket             // rules about names in any directory
	byDir     map[string]*bucket // rules about names in one directory
	wildcards []rule             // rules about names in directories that match, the latest first
	slow      int
}

// Parse reads an ignore file as git does. Lines that git can make nothing of
// match nothing.
func Parse(text []byte) *List {
	l := &List{}
	text = text[:min(len(text), MaxText)]
	rest := strings.TrimPrefix(string(text), "\ufeff")
	for more := true; more && len(l.keep) < maxRules; {
		var line string
		line, rest, more = strings.Cut(rest, "\n")
		if line = trimLine(line); line != "" && len(line) <= maxLine {
			if r, err := parseRule(line, dialect{}); err == nil {
				l.add(r)
			}
		}
	}
	l.finish()
	return l
}

// trimLine takes from a line what is not pattern: a comment, the end of the line,
// blanks before it that are not escaped.
func trimLine(line string) string {
	if strings.HasPrefix(line, "#") {
		return ""
	}
	line, _, _ = strings.Cut(strings.TrimSuffix(line, "\r"), "\x00")
	end := 0 // of what is kept
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

// Empty reports whether there is no pattern at all.
func (l *List) Empty() bool { return l == nil || len(l.keep) == 0 }

// Match tells what the list says of a name, relative to the directory of the
// file. The last pattern that matches decides. A name in a directory that is
// ignored is ignored too; asking for the directory is the caller's business.
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

// decision turns the place of the rule that decides into what it decides.
func (l *List) decision(place int) (ignored, decided bool) {
	if place == 0 {
		return false, false
	}
	return !l.keep[place-1], true
}

// A Scope is what a list says of the names in one directory.
type Scope struct {
	list      *List
	here      *bucket
	wildcards []rule
}

// In prepares a list for the names in one directory.
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

// add appends a rule. Rules that no index helps with are bounded.
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

// finish ends the adding.
func (l *List) finish() {
	backwards(l.wildcards)
	l.base.finish()
	for _, b := range l.byDir {
		b.finish()
	}
}

// split takes the last step off a name.
func split(name string) (dir, base string) {
	i := strings.LastIndexByte(name, '/')
	return name[:max(i, 0)], name[i+1:]
}
