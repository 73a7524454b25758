package cli

import (
	"slices"
	"strings"
)

// A grammar has the facts about a program that tell its words from its flags and their values.
// Unknown cases count as the worse one.
type grammar struct {
	values  string // flags that take a value, wherever they are
	plain   string // flags that take none, and may come before the command
	others  string // flags that begin like one that is refused, and are another
	single  bool   // -flag is the same as --flag, and there are no short ones
	dashes  bool   // a value may begin with a dash
	prelude string // words before the command that change nothing, such as beta
	texts   string // flags with a text for people as their value
	flags   string // other flags of commands that read; "" for any
}

// knows reports whether a command that reads may have a flag without being asked
// about.
func (g grammar) knows(name string) bool {
	return g.flags == "" || slices.ContainsFunc(strings.Fields(g.values+" "+g.plain+" "+g.texts+" "+g.flags),
		func(pattern string) bool { return glob(pattern, name) })
}

// A word is an argument that is not a flag.
type word struct {
	text string
	sure bool // it is the next word of the command, not the value of some flag
}

// A flag may have a value: the one that is attached, or the argument after it.
type flag struct {
	name   string // --long or -s
	values []string
	text   bool // the value is for people to read
}

// A line is a command, taken apart.
type line struct {
	words []word
	flags []flag
}

func has(list, name string) bool {
	return name != "" && strings.Contains(" "+list+" ", " "+name+" ")
}

// read takes apart the arguments after the program.
func (g grammar) read(args []string) line {
	l := line{}
	sure := true
	for i := 0; i < len(args); i++ {
		a := args[i]
		next := args[i+1:]
		switch {
		case a == "--":
			for _, w := range next {
				l.words = append(l.words, word{w, false})
			}
			return l
		case len(a) < 2 || a[0] != '-':
			if !(sure && len(l.words) == 0 && has(g.prelude, a)) {
				l.words = append(l.words, word{a, sure})
			}
		case g.single || strings.HasPrefix(a, "--"):
			skip, known := g.long(&l, a, next)
			i += skip
			sure = sure && known
		default:
			skip, known := g.short(&l, a[1:], next)
			i += skip
			sure = sure && known
		}
	}
	return l
}

// long reads one long flag. It returns how many arguments after it belong to
// it, and whether that is known.
func (g grammar) long(l *line, a string, next []string) (skip int, known bool) {
	name, value, attached := strings.Cut("--"+strings.TrimLeft(a, "-"), "=")
	name = strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	f := flag{name: name, text: has(g.texts, name)}
	defer func() { l.flags = append(l.flags, f) }()
	switch {
	case attached:
		f.values = []string{value}
		return 0, true
	case has(g.plain, name):
		return 0, true
	}
	if len(next) > 0 {
		f.values = next[:1]
	}
	if has(g.values, name) && g.takes(next) {
		return 1, true
	}
	return 0, has(g.values, name)
}

// takes reports whether the next argument can be a value.
func (g grammar) takes(next []string) bool {
	return len(next) > 0 && (g.dashes || !strings.HasPrefix(next[0], "-"))
}

// short reads flags of one letter that are written together. After one that is
// not known, the rest may be its value or more flags: it is taken for both.
func (g grammar) short(l *line, letters string, next []string) (skip int, known bool) {
	known = true
	for i := range len(letters) {
		name, rest := "-"+letters[i:i+1], letters[i+1:]
		if has(g.plain, name) {
			l.flags = append(l.flags, flag{name: name})
			continue
		}
		f := flag{name: name, text: has(g.texts, name)}
		if rest != "" {
			f.values = []string{strings.TrimPrefix(rest, "=")}
		} else if len(next) > 0 {
			f.values = next[:1]
		}
		l.flags = append(l.flags, f)
		if !has(g.values, name) {
			known = known && strings.HasPrefix(rest, "=")
			if strings.HasPrefix(rest, "=") {
				return 0, known
			}
			continue
		}
		if rest == "" && g.takes(next) {
			return 1, known
		}
		return 0, known
	}
	return 0, known
}

// word returns the text of one word that is surely there.
func (l line) word(i int) string {
	if i < len(l.words) && l.words[i].sure {
		return l.words[i].text
	}
	return ""
}

// valuesOf returns all values that flags of these names may have.
func (l line) valuesOf(names string) []string {
	var values []string
	for _, f := range l.flags {
		if has(names, f.name) {
			values = append(values, f.values...)
		}
	}
	return values
}

func (l line) has(names string) bool {
	for _, f := range l.flags {
		if has(names, f.name) {
			return true
		}
	}
	return false
}
