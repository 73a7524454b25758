package judge

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// A Pattern is a command that the operator allows: its words, where * stands
// for one word and ** at the end for any number. Programs that can start others
// match only when nothing in the pattern is open.
type Pattern struct {
	words []string
	text  string
}

// ParsePattern reads a pattern as it stands in the configuration.
func ParsePattern(text string) (Pattern, error) {
	words, ok := splitWords(text)
	if !ok {
		return Pattern{}, fmt.Errorf("pattern %q is not plain words; quote characters that a shell would expand", text)
	}
	if len(words) == 0 {
		return Pattern{}, fmt.Errorf("an empty pattern allows nothing; write a command, such as %q", "go test **")
	}
	if strings.Contains(words[0], "*") {
		return Pattern{}, fmt.Errorf("pattern %q names no program; begin with one", text)
	}
	for i, w := range words {
		if w == "**" && i != len(words)-1 {
			return Pattern{}, fmt.Errorf("pattern %q has ** before its end; use * for a single word", text)
		}
		if w != "*" && w != "**" && strings.Contains(w, "**") {
			return Pattern{}, fmt.Errorf("pattern %q has ** within a word; let it stand alone", text)
		}
	}
	return Pattern{words: words, text: text}, nil
}

func (p Pattern) String() string { return p.text }

// Matches reports whether the pattern allows a static argv. roots are the directories that its
// words may name.
func (p Pattern) Matches(argv []string, roots []string) bool {
	if len(argv) == 0 || len(p.words) == 0 {
		return false
	}
	open := false
	for i, w := range p.words {
		if w == "**" {
			open = true
			for _, a := range argv[min(i, len(argv)):] {
				if !fits(a, roots) {
					return false
				}
			}
			return !StartsOthers(argv[0])
		}
		if i >= len(argv) {
			return false
		}
		if w == "*" {
			open = true
			if !fits(argv[i], roots) {
				return false
			}
			continue
		}
		if w != argv[i] {
			return false
		}
	}
	return len(argv) == len(p.words) && !(open && StartsOthers(argv[0]))
}

// fits reports whether a word may stand for a star: no path that leads out of
// the roots, not even in the value of an option.
func fits(word string, roots []string) bool {
	if _, after, ok := strings.Cut(word, "="); ok {
		if !fits(after, roots) {
			return false
		}
	}
	if strings.HasPrefix(word, "-") {
		return !strings.Contains(word, "/") || strings.Contains(word, "=")
	}
	if strings.HasPrefix(word, "~") {
		return false
	}
	clean := path.Clean(word)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return false
	}
	if !strings.HasPrefix(clean, "/") {
		return true
	}
	for _, r := range roots {
		if r = path.Clean(r); clean == r || below(clean, r) {
			return true
		}
	}
	return false
}

// StartsOthers reports whether an argument can make a program start another, so that
// it can be allowed with exact arguments only, and not for all times.
func StartsOthers(program string) bool {
	t, name := tables(), strings.TrimSuffix(path.Base(program), ".exe")
	if t.inList("programs that start others", name) {
		return true
	}
	short := strings.TrimRight(name, "0123456789.-")
	return short != name && t.inList("programs that start others", short)
}

// allowed reports whether the allow list has the argv. A call that starts another program by an
// option must be there word by word.
func (j *judge) allowed(argv []string, starts bool) bool {
	for _, p := range j.rules.Allow {
		if p.Matches(argv, j.req.Roots) && (!starts || slices.Equal(p.words, argv)) {
			return true
		}
	}
	return false
}
