package ignore

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

const maxNames = 10_000

// Names are an operator's patterns of files, in the syntax of ignore files. They ignore case
// and Unicode composition, since on some systems such names mean the same file. The nil Names
// cover nothing.
type Names struct {
	list *List
	// hasDirException reports whether there is an exception for directories only, so
	// that a file may be covered if a directory of that name is not.
	hasDirException bool
}

// NewNames parses a list of patterns. It returns an error for a pattern that can
// never match, since an operator relies on it.
func NewNames(patterns []string) (*Names, error) {
	if len(patterns) > maxNames {
		return nil, fmt.Errorf("%d patterns are too many, the maximum is %d", len(patterns), maxNames)
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
		return rule{}, fmt.Errorf(`a # at the start makes it a comment; write \# to match the character`)
	}
	if len(pattern) > maxLine {
		return rule{}, fmt.Errorf("it is longer than %d bytes", maxLine)
	}
	if strings.ContainsAny(pattern, "\x00\n") {
		return rule{}, fmt.Errorf("it has more than one line, or a NUL character")
	}
	return parseRule(trimLine(pattern), true)
}

// Covers reports whether the patterns match a file, or a directory that contains it.
// A pattern for directories covers a file of that name as well, because it may
// become a directory. An exception with "!" does not apply within a covered
// directory.
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

// CoversInDir is Covers for a name in a directory that is known not to be covered.
// Walks of a tree use it.
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

// fold returns a form of name that is equal for names that differ only in case or in
// Unicode composition.
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
