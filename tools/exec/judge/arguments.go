package judge

import (
	"slices"
	"strings"
)

// arguments are the arguments of a call, divided into options and operands.
type arguments struct {
	all      []arg
	opts     []option
	operands []arg
	unknown  string // an option that is not known, or ""
	strict   bool   // all options of the program are known
}

// An option is one option with its value, if it has or may have one.
type option struct {
	name  string // with its dashes
	value arg
	given bool // the value stood behind a =
	part  bool // one letter of several
	// hasValue is true when value may be its value.
	hasValue bool
}

// values returns the values of the options of these names.
func (in arguments) values(names ...string) []arg {
	var all []arg
	for _, o := range in.opts {
		for _, n := range names {
			if o.name == n {
				all = append(all, o.value)
			}
		}
	}
	return all
}

// hasFlag reports whether one of the options is there, on its own.
func (in arguments) hasFlag(names ...string) bool {
	return slices.ContainsFunc(in.opts, func(o option) bool { return !o.part && slices.Contains(names, o.name) })
}

// matchesAny reports whether an argument matches one of several patterns.
func (in arguments) matchesAny(patterns ...string) bool {
	return slices.ContainsFunc(patterns, in.matches)
}

// matches reports whether an argument matches a pattern of the table.
func (in arguments) matches(pattern string) bool {
	switch {
	case pattern == "operands":
		return len(in.operands) > 0
	case pattern == "none":
		return len(in.operands) == 0
	case pattern == "unknown":
		for _, a := range in.all {
			if strings.HasPrefix(a.text, unknown) && a.wild {
				return true
			}
		}
		return false
	case strings.HasPrefix(pattern, "0:"):
		return len(in.all) > 0 && wildcard(pattern[2:], in.all[0].text)
	case strings.HasPrefix(pattern, "1:"):
		return len(in.operands) > 0 && wildcard(pattern[2:], in.operands[0].text)
	case strings.HasPrefix(pattern, "-") && !strings.Contains(pattern, "*"):
		for _, o := range in.opts {
			if o.matches(pattern) {
				return true
			}
		}
		return false
	}
	for _, a := range in.all {
		text := a.text
		if strings.HasPrefix(pattern, "~") {
			text = "~" + strings.ToLower(text)
		}
		if wildcard(pattern, text) {
			return true
		}
	}
	return false
}

// matches reports whether the option is meant by a pattern: by its name, by the
// beginning of a long name, or by a wildcard.
func (o option) matches(pattern string) bool {
	switch {
	case o.name == pattern:
		return true
	case strings.Contains(pattern, "*"):
		return wildcard(pattern, o.name)
	case strings.HasPrefix(pattern, "--"):
		return len(o.name) > 2 && strings.HasPrefix(pattern, o.name)
	}
	return len(pattern) > 2 && o.name == "-"+pattern // go takes --exec for -exec
}

// wildcard reports whether a text matches a pattern, in which each * stands for
// any text.
func wildcard(pattern, text string) bool {
	first, rest, more := strings.Cut(pattern, "*")
	if !more {
		return text == pattern
	}
	text, ok := strings.CutPrefix(text, first)
	for ok && strings.Contains(rest, "*") {
		first, rest, _ = strings.Cut(rest, "*")
		_, text, ok = strings.Cut(text, first)
	}
	return ok && strings.HasSuffix(text, rest)
}

// parse divides arguments as the table says.
func (p *program) parse(args []arg) arguments {
	spec, strict := p.words["options"]
	if !strict {
		return parseLoose(args, strings.Join(p.words["letters"], ""))
	}
	_, first := p.words["first"]
	if p.words["command"] != nil || p.words["shelltext"] != nil {
		first = true
	}
	return parseStrict(args, spec, first)
}

// parseLoose divides arguments of a program with options that are not all known:
// what begins with a dash is an option. letters are the short options that take
// a value. Values that stand alone count as operands too.
func parseLoose(args []arg, letters string) arguments {
	in := arguments{all: args}
	for i, a := range args {
		if a.is("--") {
			in.operands = append(in.operands, args[i+1:]...)
			return in
		}
		if len(a.text) < 2 || a.text[0] != '-' {
			in.operands = append(in.operands, a)
			continue
		}
		next := arg{}
		if i+1 < len(args) {
			next = args[i+1]
		}
		name, text, given := strings.Cut(a.text, "=")
		value := next
		if given {
			value = a
			value.text = text
		}
		in.opts = append(in.opts, option{name: name, value: value, given: given, hasValue: true})
		if a.text[1] == '-' || len(a.text) == 2 {
			continue
		}
		for n := 1; n < len(a.text); n++ {
			takes := strings.IndexByte(letters, a.text[n]) >= 0
			letter := option{name: "-" + a.text[n:n+1], part: true, hasValue: takes}
			if takes {
				letter.value = next
				if n+1 < len(a.text) {
					letter.value = a
					letter.value.text = a.text[n+1:]
				}
			}
			in.opts = append(in.opts, letter)
			if takes {
				break
			}
		}
	}
	return in
}

// parseStrict divides arguments of a program with known options only. spec
// is a line "options" of the table; first ends the options at the first operand.
func parseStrict(args []arg, spec []string, first bool) arguments {
	in := arguments{all: args, strict: true}
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a.is("--"):
			in.operands = append(in.operands, args[i+1:]...)
			return in
		case strings.HasPrefix(a.text, "--"):
			i = in.longOption(args, i, spec[1:])
		case len(a.text) > 1 && a.text[0] == '-':
			i = in.cluster(args, i, spec[0])
		default:
			in.operands = append(in.operands, a)
			if first {
				in.operands = append(in.operands, args[i+1:]...)
				return in
			}
		}
	}
	return in
}

// longOption reads --name, --name=value, --name value and --na. It returns the
// index of the last argument that it read.
func (in *arguments) longOption(args []arg, i int, names []string) int {
	name, text, given := strings.Cut(args[i].text[2:], "=")
	found, kind, several := "", byte(0), false
	for _, word := range names {
		full, k := strings.TrimRight(word, "=?"), byte(0)
		if full != word {
			k = word[len(word)-1]
		}
		if full == name {
			found, kind, several = full, k, false
			break
		}
		if name != "" && strings.HasPrefix(full, name) {
			several = found != ""
			found, kind = full, k
		}
	}
	if found == "" || several || kind == '=' && !given && i+1 >= len(args) {
		in.unknown = args[i].shown()
		return i
	}
	value := args[i]
	value.text = text
	if kind == '=' && !given {
		i++
		value = args[i]
	}
	in.opts = append(in.opts, option{name: "--" + found, value: value, given: given, hasValue: kind != 0})
	return i
}

// cluster reads -abc, -ofile and -o file. It returns the index of the last
// argument that it read.
func (in *arguments) cluster(args []arg, i int, letters string) int {
	text := args[i].text
	for n := 1; n < len(text); n++ {
		at := strings.IndexByte(letters, text[n])
		if at < 0 || text[n] == ':' || text[n] == '?' {
			in.unknown = args[i].shown()
			return i
		}
		o := option{name: "-" + text[n:n+1]}
		kind := byte(0)
		if at+1 < len(letters) {
			kind = letters[at+1]
		}
		if kind != ':' && kind != '?' {
			in.opts = append(in.opts, o)
			continue
		}
		o.hasValue = true
		if o.value = args[i]; n+1 < len(text) {
			o.value.text = text[n+1:]
		} else if kind == '?' {
			o.value.text = ""
		} else if i+1 < len(args) {
			i++
			o.value = args[i]
		} else {
			in.unknown = args[i].shown()
			return i
		}
		in.opts = append(in.opts, o)
		return i
	}
	return i
}
