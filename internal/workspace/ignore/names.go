package ignore

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

const maxNames = 10_000

// Names are files that an operator names by patterns, in the syntax of ignore
// files. Upper and lower case, and the ways to write one character, count as
// the same: on some systems they are the same file. The nil Names cover none.
type Names struct {
	list *List
	// hasDirException says that there is an exception for directories only, so that a
	// file may be covered where a directory of its name is not.
	hasDirException bool
}

// NewNames reads patterns, one each. A pattern that could never match is an
// error, since somebody relies on it.
func NewNames(patterns []string) (*Names, error) {
	if len(patterns) > maxNames {
		return nil, fmt.Errorf("%d patterns are more than %d", len(patterns), maxNames)
	}
	n := &Names{list: &List{}}
	for _, pattern := range patterns {
		r, err := nameRule(pattern)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
		n.list.add(r)
		n.hasDirException = n.hasDirException || r.keep && r.dirs
	}
	if n.list.slow > maxSlow {
		return nil, fmt.Errorf("more than %d patterns with wildcards in the middle", maxSlow)
	}
	n.list.finish()
	return n, nil
}

func nameRule(pattern string) (rule, error) {
	if strings.HasPrefix(pattern, "#") {
		return rule{}, fmt.Errorf(`a # at the beginning makes it a comment; write \# for the character`)
	}
	if len(pattern) > maxLine {
		return rule{}, fmt.Errorf("it is longer than %d bytes", maxLine)
	}
	if strings.ContainsAny(pattern, "\x00\n") {
		return rule{}, fmt.Errorf("it is more than one line, or holds a NUL")
	}
	return parseRule(trimLine(pattern), dialect{runes: true, fold: true})
}

// Covers reports whether the patterns name a file, or a directory that it is
// in. A pattern for directories covers a file of that name too: it may become
// one. An exception, with "!", does not reach into a directory that is covered.
func (n *Names) Covers(name string) bool {
	if n == nil || n.list.Empty() || name == "." {
		return false
	}
	name = fold(name)
	for i := 0; i < len(name); i++ {
		if name[i] == '/' && n.matches(name[:i], true) {
			return true
		}
	}
	return n.covers(name)
}

// CoversInDir is Covers for a name in a directory that is known not to be
// covered. It is what to ask on the way down a tree.
func (n *Names) CoversInDir(name string) bool {
	return n != nil && !n.list.Empty() && name != "." && n.covers(fold(name))
}

func (n *Names) covers(folded string) bool {
	return n.matches(folded, true) || n.hasDirException && n.matches(folded, false)
}

func (n *Names) matches(folded string, dir bool) bool {
	ignored, _ := n.list.Match(folded, dir)
	return ignored
}

// fold makes names that differ in case, or in how characters are composed, the
// same.
func fold(name string) string {
	upper := false
	for i := 0; i < len(name); i++ {
		if name[i] >= utf8.RuneSelf {
			return norm.NFC.String(cases.Fold().String(norm.NFD.String(name)))
		}
		upper = upper || 'A' <= name[i] && name[i] <= 'Z'
	}
	if upper {
		return strings.ToLower(name)
	}
	return name
}
