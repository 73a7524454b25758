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
	name     string // with its dashes
	value    arg
	given    bool // the value stood behind a =
	part     bool // one letter of several
	hasValue bool // value may be its value
}

// values returns the values of the options of these names.
func (in arguments) values(names ...string) []arg {
	var all []arg
	for _, o := range in.opts {
		if slices.Contains(names, o.name) {
			all = append(all, o.value)
		}
	}
	return all
}

// hasFlag reports whether one of the options is there, on its own.
func (in arguments) hasFlag(names ...string) bool {
	return slices.ContainsFunc(in.opts, func(o option) bool { return !o.part && slices.Contains(names, o.name) })
}

// matches reports whether an argument matches one of several patterns of the
// table.
func (in arguments) matches(patterns ...string) bool {
	return slices.ContainsFunc(patterns, in.matchesOne)
}

func (in arguments) matchesOne(pattern string) bool {
	first, at1 := strings.CutPrefix(pattern, "0:")
	operand, at2 := strings.CutPrefix(pattern, "1:")
	joined, all := strings.CutPrefix(pattern, "~")
	switch {
	case pattern == "operands":
		return len(in.operands) > 0
	case pattern == "none":
		return len(in.operands) == 0
	case pattern == "unknown":
		return slices.ContainsFunc(in.all, arg.hidden)
	case at1:
		return len(in.all) > 0 && wildcard(first, in.all[0].text)
	case at2:
		return len(in.operands) > 0 && wildcard(operand, in.operands[0].text)
	case all:
		return wildcard(joined, strings.ToLower(joinArgs(in.all).text))
	case strings.HasPrefix(pattern, "-") && !strings.Contains(pattern, "*"):
		return slices.ContainsFunc(in.opts, func(o option) bool { return o.matches(pattern) })
	}
	return slices.ContainsFunc(in.all, func(a arg) bool { return wildcard(pattern, a.text) })
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

// wildcard reports whether a text matches a pattern. Each * stands for any text.
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
	if p.lines("bundled") && len(args) > 0 && !args[0].starts("-") {
		args = append([]arg{args[0].with("-" + args[0].text)}, args[1:]...)
	}
	spec, strict := p.words["options"]
	if !strict {
		return parseLoose(args, strings.Join(p.words["letters"], ""))
	}
	in := arguments{all: args, strict: true}
	ends := p.lines("first", "last", "command", "shelltext") // the options, at the first operand
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a.is("--"):
			in.operands = append(in.operands, args[i+1:]...)
			return in
		case a.starts("--"):
			i = in.longOption(args, i, spec[1:])
		case len(a.text) > 1 && a.starts("-"):
			i = in.letters(args, i, spec[0])
		default:
			in.operands = append(in.operands, a)
			if ends {
				in.operands = append(in.operands, args[i+1:]...)
				return in
			}
		}
		if n := len(in.opts); n > 0 && p.has("last", in.opts[n-1].name) {
			in.operands = append(in.operands, args[min(i+1, len(args)):]...)
			return in
		}
	}
	return in
}

// parseLoose divides arguments of a program with options that are not all known: a word that
// begins with a dash is an option. letters are the short options that take a value. Values that
// stand alone count as operands too.
func parseLoose(args []arg, letters string) arguments {
	in := arguments{all: args}
	for i, a := range args {
		if a.is("--") {
			in.operands = append(in.operands, args[i+1:]...)
			return in
		}
		if len(a.text) < 2 || !a.starts("-") {
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
			value = a.with(text)
		}
		in.opts = append(in.opts, option{name: name, value: value, given: given, hasValue: true})
		for n := 1; n < len(a.text) && a.text[1] != '-' && len(a.text) > 2; n++ {
			o := option{name: "-" + a.text[n:n+1], part: true, hasValue: strings.IndexByte(letters, a.text[n]) >= 0}
			if o.hasValue {
				o.value = next
				if n+1 < len(a.text) {
					o.value = a.with(a.text[n+1:])
				}
			}
			in.opts = append(in.opts, o)
			if o.hasValue {
				break
			}
		}
	}
	return in
}

// longOption reads --name, --name=value, --name value and --na. It returns the
// index of the last argument that it read.
func (in *arguments) longOption(args []arg, i int, names []string) int {
	a := args[i]
	name, text, given := strings.Cut(a.text[2:], "=")
	var fits []string
	for _, word := range names {
		full := strings.TrimRight(word, "=?")
		if full == name {
			fits = []string{word}
			break
		}
		if name != "" && strings.HasPrefix(full, name) {
			fits = append(fits, word)
		}
	}
	if len(fits) != 1 {
		in.unknown = a.shown()
		return i
	}
	full := strings.TrimRight(fits[0], "=?")
	value := a.with(text)
	if strings.HasSuffix(fits[0], "=") && !given {
		if i++; i == len(args) {
			in.unknown = a.shown()
			return i
		}
		value = args[i]
	}
	in.opts = append(in.opts, option{name: "--" + full, value: value, given: given, hasValue: full != fits[0]})
	return i
}

// letters reads -abc, -ofile and -o file. It returns the index of the last
// argument that it read.
func (in *arguments) letters(args []arg, i int, spec string) int {
	a := args[i]
	for n := 1; n < len(a.text); n++ {
		_, after, ok := strings.Cut(spec, a.text[n:n+1])
		if !ok || strings.IndexByte(":?", a.text[n]) >= 0 {
			break
		}
		o := option{name: "-" + a.text[n:n+1]}
		takes, may := strings.HasPrefix(after, ":"), strings.HasPrefix(after, "?")
		if !takes && !may {
			if in.opts = append(in.opts, o); n+1 == len(a.text) {
				return i
			}
			continue
		}
		o.hasValue, o.value = true, a.with(a.text[n+1:])
		if takes && n+1 == len(a.text) {
			if i++; i == len(args) {
				break
			}
			o.value = args[i]
		}
		in.opts = append(in.opts, o)
		return i
	}
	in.unknown = a.shown()
	return i
}
