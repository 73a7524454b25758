package judge

import (
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A handler judges a call of a program that the table cannot describe, and returns its output.
type handler func(j *judge, s *scope, p *program, c call, in arguments) stream

// handlers returns the handlers by the names that the table has for them.
var handlers = sync.OnceValue(func() map[string]handler {
	return map[string]handler{
		"echo": echo, "printf": printf, "cat": cat, "filter": filter, "tr": tr,
		"read": readVariables, "cd": cd, "unset": unset, "set": set,
		"alias": alias, "declare": declare, "eval": eval, "source": sourceFile,
		"shell": shell, "interpreter": interpreter, "develop": develop,
		"chmod": chmod, "dd": dd, "find": find, "fd": fd, "sed": sed, "awk": awk,
		"env": env, "flock": flock, "script": script, "xargs": xargs, "parallel": parallel, "npx": npx,
		"gitconfig": gitConfig, "kill": kill,
	}
})

// shell judges sh, bash and similar shells.
func shell(j *judge, s *scope, _ *program, _ call, in arguments) stream {
	j.always = false
	args := in.operands
	for len(args) > 0 && (args[0].starts("+") || args[0].is("-")) {
		args = args[1:]
	}
	inner := s.clone()
	switch {
	case in.unknown != "" || in.hasFlag("--version", "--help"):
		return stream{}
	case len(args) > 0 && args[0].hidden():
		j.tainted(args[0].taint(), args[0].shown())
		j.opaque("arguments of a shell")
		return stream{}
	case in.matches("-c") && len(args) == 0:
		return stream{}
	case in.matches("-c"):
		inner.params = argTexts(args[min(2, len(args)):])
		if len(args) > 1 {
			inner.zero = args[1].text
		}
		return j.runText(inner, args[0])
	case in.matches("-s") || len(args) == 0:
		inner.params = argTexts(args)
		return j.runStream(inner, s.in)
	}
	j.runFile(s, args[0], args[1:])
	return stream{}
}

// runText judges shell text that is an argument.
func (j *judge) runText(s *scope, text arg) stream {
	j.always = false
	if text.static() {
		return j.text(s.clone(), text.text)
	}
	j.tainted(text.taint(), text.shown())
	j.opaque(shorten(text.shown()))
	if strings.Trim(text.shown(), "… \n") != "" {
		j.text(s.clone(), strings.ReplaceAll(text.shown(), "…", "$MCP_UNKNOWN"))
	}
	return stream{}
}

// runStream judges the commands that a shell reads.
func (j *judge) runStream(s *scope, in stream) stream {
	j.always = false
	switch {
	case in.file != "":
		j.runFile(s, literal(in.file), nil)
	case in.given:
		inner := s.clone()
		inner.in = stream{}
		return j.runText(inner, literal(in.text))
	}
	return stream{}
}

// runFile judges running a file: a script, or a program by its path.
func (j *judge) runFile(s *scope, file arg, params []arg) {
	inner := s.clone()
	inner.params = argTexts(params)
	if file.any("/dev/stdin", "-", "/dev/fd/0", "/proc/self/fd/0") {
		j.runStream(inner, s.in)
		return
	}
	for _, p := range s.resolve(file.text) {
		for _, content := range j.files[p] {
			j.runStream(inner, content)
		}
	}
	j.runsCode(s, file)
}

// runsCode judges running a file with unknown contents.
func (j *judge) runsCode(s *scope, file arg) {
	j.tainted(file.taint(), file.shown())
	switch where := j.locate(s, file); {
	case where == unknownPath:
		j.opaque("which file it runs: " + file.shown())
	case where == harmlessPath && file.starts("/dev/fd/"): // a substitution, whose contents were judged
	case j.req.Isolated && (where == insidePath || where == tempPath):
		j.raise(tool.Writes, "runs "+file.shown())
	default:
		j.raise(tool.Runs, "runs "+file.shown())
	}
}

// inlineCode judges code of another language that is given inline.
func (j *judge) inlineCode(language string, code arg) {
	j.always = false
	j.tainted(code.taint(), language+" code")
	j.raise(tool.Runs, "runs "+language+" code given inline")
	text := code.text
	if containsAny(text, "socket", "Socket", "/inet/", "fsockopen", "net.connect") &&
		containsAny(text, "dup2", "pty.spawn", "subprocess", "system(", "exec", "/bin/sh", "/bin/bash",
			"child_process", "popen", "spawn") {
		j.hit("reverse_shell", text)
	}
	if containsAny(text, "system", "popen", "exec", "spawn", "subprocess", "`", "%x", "rmtree", "getline", "|") {
		quoted := quotedTexts(text)
		for _, q := range append(quoted, strings.Join(quoted, " ")) {
			j.glimpse(q)
		}
	}
}

// glimpse looks for refused commands in text that may be a command. It ignores everything else.
func (j *judge) glimpse(text string) {
	if j.denied != nil || j.depth > maxDepth/2 || len(text) < 2 || !strings.ContainsAny(text, " \t") {
		return
	}
	probe := &judge{req: j.req, rules: j.rules, knowledge: j.knowledge, handlers: j.handlers,
		depth: j.depth + 10, steps: j.steps, parsed: j.parsed}
	probe.text(probe.newScope(), literal(text).shown())
	j.steps, j.parsed, j.denied = probe.steps, probe.parsed, probe.denied
}

// glimpseAll looks for commands in arguments, in strings and values of options
// in them, and in the words from an operand on.
func (j *judge) glimpseAll(args []arg) {
	for i, a := range args {
		_, value, _ := strings.Cut(a.text, "=")
		_, command, _ := strings.Cut(a.text, "!")
		for _, text := range append(quotedTexts(a.text), a.text, value, command) {
			text = strings.TrimLeft(text, "+!")
			for _, prefix := range []string{"ext::", "exec=", "shell "} {
				text = strings.TrimPrefix(text, prefix)
			}
			j.glimpse(text)
		}
		switch {
		case a.starts("-"):
			j.glimpse(a.text[min(2, len(a.text)):])
		case i > 0 && i < 10:
			j.glimpse(joinArgs(args[i:]).text)
		}
	}
}

// quotedTexts returns the strings in source code of any language.
func quotedTexts(code string) []string {
	var all []string
	for len(all) < 50 {
		i := strings.IndexAny(code, "'\"`")
		if i < 0 {
			break
		}
		text, rest, closed := strings.Cut(code[i+1:], code[i:i+1])
		if !closed {
			break
		}
		all, code = append(all, text), rest
	}
	return all
}

// eval judges the builtin.
func eval(j *judge, s *scope, _ *program, c call, _ arguments) stream {
	j.always = false
	text := joinArgs(c.rest())
	text.text = strings.TrimPrefix(text.text, "-- ")
	if text.static() {
		return j.text(s, text.text)
	}
	j.hit("eval", text.shown())
	return j.runText(s, text)
}

// sourceFile judges . and source.
func sourceFile(j *judge, s *scope, _ *program, c call, _ arguments) stream {
	j.always = false
	if args := c.rest(); len(args) > 0 {
		j.runFile(s, args[0], args[1:])
		for name := range s.vars { // it may have changed any
			s.vars[name] = known(unknownFrom(taintOf(whole(s.vars[name]))))
		}
	}
	return stream{}
}

// alias keeps an alias: plain POSIX shells use it from the next line on.
func alias(j *judge, s *scope, _ *program, c call, _ arguments) stream {
	for _, a := range c.rest() {
		if name, text, ok := strings.Cut(a.text, "="); ok {
			j.always = false
			if !isKnown(text) {
				j.opaque("the alias " + name)
			}
			s.aliases[name] = text
		}
	}
	return silent()
}

// interpreter judges interpreters of other languages. Code that an option holds was
// judged by the table.
func interpreter(j *judge, s *scope, p *program, c call, in arguments) stream {
	j.always = false
	switch {
	case in.unknown != "" || in.matches(p.words["last"]...):
	case len(in.operands) == 0 || in.operands[0].any("-", "/dev/stdin"):
		if s.in.file != "" {
			j.runsCode(s, literal(s.in.file))
		} else if s.in.given {
			j.inlineCode(c.name(), literal(s.in.text))
		}
	case in.operands[0].hidden(), in.operands[0].starts("-"): // behind --: not all of the programs know it
		j.opaque("arguments of " + c.name())
	default:
		for _, at := range s.resolve(in.operands[0].text) {
			for _, content := range j.files[at] {
				j.inlineCode(c.name(), literal(content.text))
			}
		}
		j.runsCode(s, in.operands[0])
	}
	return stream{}
}

// runModule judges python -m.
func (j *judge) runModule(s *scope, module arg, args []arg) {
	switch name, _, _ := strings.Cut(module.text, "."); {
	case !module.static():
		j.opaque("which module it runs")
	case j.inList("modules of python that are programs", name):
		j.call(s, call{args: append([]arg{literal(name)}, args...), plain: true})
	case j.inList("modules of python that run code", name):
		j.raise(tool.Runs, "runs the module "+module.shown())
	case !j.inList("modules of python that only show", name):
		j.runsWorkspace("runs the module " + module.shown())
	}
}

// develop judges tools of developers. They run the workspace's code.
func develop(j *judge, s *scope, _ *program, c call, in arguments) stream {
	args, name := c.rest(), c.name()
	for _, a := range args {
		if variable, text, ok := strings.Cut(a.text, "="); ok && isVariable(variable) && name != "dot" {
			j.variable(variable, text, true)
			j.glimpse(text)
			if containsAny(text, "$(", "`", ";", "|", "&&") {
				j.opaque(name + " with " + a.shown())
			}
		}
	}
	if in.hasFlag("--eval", "--init-command") {
		j.opaque(name + " with code given inline")
		j.glimpseAll(args)
	}
	fromStdin := name == "ed" || name == "ex" || in.hasFlag("-f-") || in.matches("-", "/dev/stdin", "/dev/stdin=*")
	if s.in.given && fromStdin && !j.inList("programs that only read stdin", name) {
		j.opaque(name + " reads what to do from a pipe")
		j.glimpse(strings.ReplaceAll(s.in.text, "\t", " "))
	}
	j.runsWorkspace("runs the workspace's code: " + shorten(c.shown()))
	return stream{}
}

// isVariable reports whether text may be the name of a variable.
func isVariable(text string) bool {
	return text != "" && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") == ""
}
