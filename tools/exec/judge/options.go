package judge

import "strings"

// options say which options a program takes.
type options struct {
	short string // letters; one that takes a value has : behind it
	long  string // names; one that takes a value has = behind it, one that may has ?
	// first ends the options at the first operand, which is a command or the
	// like, instead of looking for more behind it.
	first bool
}

// parsed are arguments that were told apart.
type parsed struct {
	opts     []option
	operands []arg
	unknown  string // an option that is not known, or ""
	loose    bool   // something may be an option that cannot be told
}

type option struct {
	name  string // without dashes
	value arg
}

// has reports whether one of the options is there.
func (p parsed) has(names ...string) bool {
	for _, o := range p.opts {
		for _, n := range names {
			if o.name == n {
				return true
			}
		}
	}
	return false
}

// values are what the options of these names were given.
func (p parsed) values(names ...string) []arg {
	var all []arg
	for _, o := range p.opts {
		for _, n := range names {
			if o.name == n {
				all = append(all, o.value)
			}
		}
	}
	return all
}

// parse tells options and operands apart.
func (o options) parse(args []arg) parsed {
	var p parsed
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a.text == "--":
			p.operands = append(p.operands, args[i+1:]...)
			return p
		case strings.HasPrefix(a.text, "--"):
			i = o.longOption(&p, args, i)
		case len(a.text) > 1 && a.text[0] == '-':
			i = o.cluster(&p, args, i)
		default:
			p.loose = p.loose || strings.HasPrefix(a.text, unknown)
			p.operands = append(p.operands, a)
			if o.first {
				p.operands = append(p.operands, args[i+1:]...)
				return p
			}
		}
	}
	return p
}

// longOption reads --name, --name=value, --name value and --na.
func (o options) longOption(p *parsed, args []arg, i int) int {
	name, value, given := strings.Cut(args[i].text[2:], "=")
	found, kind := o.match(name)
	if found == "" {
		p.unknown = args[i].shown()
		return i
	}
	v := args[i]
	v.text = value
	if kind == '=' && !given {
		if i+1 >= len(args) {
			p.unknown = args[i].shown()
			return i
		}
		i++
		v = args[i]
	}
	p.opts = append(p.opts, option{found, v})
	return i
}

// match finds a long option by its name or by the beginning of it.
func (o options) match(name string) (string, byte) {
	found, kind, several := "", byte(0), false
	for rest := o.long; rest != ""; {
		var word string
		word, rest, _ = strings.Cut(rest, " ")
		full, k := strings.TrimRight(word, "=?"), byte(0)
		if full != word {
			k = word[len(word)-1]
		}
		if full == name {
			return full, k
		}
		if name != "" && strings.HasPrefix(full, name) {
			several = found != ""
			found, kind = full, k
		}
	}
	if several {
		return "", 0
	}
	return found, kind
}

// cluster reads -abc, -ofile and -o file.
func (o options) cluster(p *parsed, args []arg, i int) int {
	text := args[i].text
	for n := 1; n < len(text); n++ {
		at := strings.IndexByte(o.short, text[n])
		if at < 0 || text[n] == ':' {
			p.unknown = args[i].shown()
			return i
		}
		name := text[n : n+1]
		if at+1 >= len(o.short) || o.short[at+1] != ':' {
			p.opts = append(p.opts, option{name: name})
			continue
		}
		v := args[i]
		if v.text = text[n+1:]; v.text == "" {
			if i+1 >= len(args) {
				p.unknown = args[i].shown()
				return i
			}
			i++
			v = args[i]
		}
		p.opts = append(p.opts, option{name, v})
		return i
	}
	return i
}

// flags splits arguments roughly for programs whose options do not matter:
// what begins with a dash, and the rest.
func flags(args []arg) (opts, operands []arg) {
	for i, a := range args {
		if a.text == "--" {
			return opts, append(operands, args[i+1:]...)
		}
		if len(a.text) > 1 && a.text[0] == '-' {
			opts = append(opts, a)
		} else {
			operands = append(operands, a)
		}
	}
	return opts, operands
}

// hasFlag reports whether one of the words is there, also with a value behind =.
func hasFlag(args []arg, names ...string) bool {
	for _, a := range args {
		name, _, _ := strings.Cut(a.text, "=")
		for _, n := range names {
			if name == n {
				return true
			}
		}
	}
	return false
}

// hasLetter reports whether a letter is among short options.
func hasLetter(args []arg, letter string) bool {
	for _, a := range args {
		if len(a.text) > 1 && a.text[0] == '-' && a.text[1] != '-' && strings.Contains(a.text, letter) {
			return true
		}
	}
	return false
}
