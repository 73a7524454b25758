package judge

import (
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// An interpreter says how a language is given its code.
type interpreter struct {
	language string
	inline   string // letters of options whose value is code
	values   string // letters of options with another value
	harmless string // other letters
	long     string // long options whose value is code
	plain    string // long options that do no harm
	module   bool   // -m runs a module
}

// call judges a call of an interpreter.
func (in interpreter) call(j *judge, s *scope, c call) stream {
	j.always = false
	args := c.rest()
	for len(args) > 0 {
		a := args[0]
		switch {
		case strings.HasPrefix(a.text, unknown) && a.wild:
			j.opaque("arguments of " + c.name())
			return stream{}
		case a.is("-") || a.is("/dev/stdin"):
			return in.stdin(j, s)
		case len(a.text) < 2 || a.text[0] != '-':
			return in.script(j, s, a)
		}
		if a.is("--test") || a.is("--watch") {
			j.develops("runs " + c.name() + " " + a.text)
		}
		n, ended := in.option(j, s, args)
		if ended {
			return stream{}
		}
		args = args[min(n, len(args)):]
	}
	return in.stdin(j, s)
}

// stdin judges an interpreter that reads its code.
func (in interpreter) stdin(j *judge, s *scope) stream {
	switch s.in.from {
	case nothing:
	case aFile:
		j.runsCode(s, arg{text: s.in.text, taint: s.in.taint})
	case exactly:
		j.inlineCode(in.language, arg{text: s.in.text, taint: s.in.taint})
	case anyText:
		j.inlineCode(in.language, arg{text: unknown, taint: s.in.taint})
	}
	return stream{}
}

// option judges the first of args, and returns how many it took. The second
// result says that nothing else matters.
func (in interpreter) option(j *judge, s *scope, args []arg) (int, bool) {
	a := args[0]
	if a.is("--version") || a.is("--help") || a.is("-V") || (a.is("-v") && in.language != "python" && in.language != "perl") || a.is("-h") {
		return 1, true
	}
	if strings.HasPrefix(a.text, "--") {
		name, code, given := strings.Cut(a.text, "=")
		switch {
		case a.is("--"):
			return 1, false
		case among(in.plain, name):
			return 1, false
		case among(in.long, name):
			if given {
				j.inlineCode(in.language, arg{text: code, taint: a.taint})
			} else if len(args) > 1 {
				j.inlineCode(in.language, args[1])
			}
			return 2, true
		}
		j.opaque("option " + a.shown() + " of " + in.language)
		return 1, true
	}
	for i := 1; i < len(a.text); i++ {
		letter, rest := a.text[i], arg{text: a.text[i+1:], taint: a.taint}
		if rest.text == "" && len(args) > 1 {
			rest = args[1]
		}
		switch {
		case in.module && letter == 'm':
			return len(args), in.runModule(j, s, rest, args)
		case strings.IndexByte(in.inline, letter) >= 0:
			j.inlineCode(in.language, rest)
			return len(args), true
		case strings.IndexByte(in.values, letter) >= 0:
			if i+1 == len(a.text) {
				return 2, false
			}
			return 1, false
		case strings.IndexByte(in.harmless, letter) < 0:
			j.opaque("option " + a.shown() + " of " + in.language)
			return 1, true
		}
	}
	return 1, false
}

// runModule judges python -m.
func (in interpreter) runModule(j *judge, s *scope, module arg, args []arg) bool {
	rest := args[min(2, len(args)):]
	if args[0].text != "-m" {
		rest = args[1:]
	}
	switch name, _, _ := strings.Cut(module.text, "."); name {
	case "pip", "ensurepip", "pipx", "poetry", "pipenv", "uv", "virtualenv", "pytest":
		j.call(s, call{args: append([]arg{literal(name)}, rest...), plain: true})
	case "timeit", "code", "pdb", "cProfile", "profile", "runpy", "smtpd":
		j.raise(tool.Runs, "runs the module "+module.shown())
	case "json", "this", "calendar", "sysconfig", "site", "tokenize", "ast", "dis":
		j.raise(tool.Reads, "")
	default:
		j.develops("runs the module " + module.shown())
	}
	if !module.static() {
		j.opaque("which module it runs")
	}
	return true
}

// script judges running a script file.
func (in interpreter) script(j *judge, s *scope, file arg) stream {
	if file.input != nil {
		j.inlineCode(in.language, arg{text: unknown, taint: file.input.taint})
		return stream{}
	}
	for _, p := range s.resolve(file.text) {
		for _, content := range j.files[p] {
			j.inlineCode(in.language, arg{text: content.text, taint: content.taint})
		}
	}
	j.runsCode(s, file)
	return stream{}
}

// develops notes that the workspace's own code runs, which the walls hold.
func (j *judge) develops(what string) {
	if j.req.Sealed {
		j.raise(tool.Writes, what)
		return
	}
	j.raise(tool.Runs, what+", with nothing around it")
}
