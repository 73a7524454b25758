package judge

import (
	"encoding/base64"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A handler judges a call of a program that the table cannot describe, and
// returns what the program writes.
type handler func(j *judge, s *scope, p *program, c call, in arguments) stream

// handlers returns the handlers by the names that the table has for them.
var handlers = sync.OnceValue(func() map[string]handler {
	return map[string]handler{
		"echo": echo, "printf": printf, "cat": cat, "filter": filter, "tr": tr,
		"read": readVariables, "cd": cd, "popd": popd, "unset": unset, "set": set, "printenv": printenv,
		"alias": alias, "declare": declare, "trap": trap, "eval": eval, "source": sourceFile,
		"shell": shell, "interpreter": interpreter, "powershell": powershell, "cmd": windowsShell,
		"debugger": debugger, "develop": develop,
		"remove": remove, "move": move, "copy": copyFiles, "link": link, "chmod": chmod, "tee": tee,
		"mktemp": mktemp, "dd": dd, "rsync": rsync, "find": find, "fd": fd, "sed": sed, "awk": awk,
		"env": env, "flock": flock, "script": script, "xargs": xargs, "parallel": parallel, "npx": npx,
		"container": container, "gitconfig": gitConfig, "kill": kill,
	}
})

// shell judges sh, bash and similar shells.
func shell(j *judge, s *scope, _ *program, c call, _ arguments) stream {
	j.always = false
	inline, stdin, args, ok := j.shellOptions(c)
	if !ok {
		return stream{}
	}
	inner := s.clone()
	switch {
	case inline && len(args) > 0:
		inner.params = argTexts(args[min(2, len(args)):])
		if len(args) > 1 {
			inner.zero = args[1].text
		}
		return j.runText(inner, args[0])
	case inline:
		return stream{}
	case stdin || len(args) == 0:
		inner.params = argTexts(args)
		return j.runStream(inner, s.in)
	}
	j.runFile(s, args[0], args[1:])
	return stream{}
}

// shellOptions reads the options of a shell: whether its text is an argument or
// comes from stdin, and the arguments that follow. It returns false when
// nothing is left to judge.
func (j *judge) shellOptions(c call) (inline, stdin bool, args []arg, ok bool) {
	args = c.rest()
	for len(args) > 0 {
		a := args[0]
		switch {
		case a.is("--"), a.is("-"):
			return inline, stdin, args[1:], true
		case slices.Contains([]string{"--login", "--norc", "--noprofile", "--posix", "--restricted", "--verbose",
			"--noediting", "--no-rcs"}, a.text):
		case a.is("--version"), a.is("--help"):
			return false, false, nil, false
		case strings.HasPrefix(a.text, "--"):
			j.opaque("option " + a.shown() + " of " + c.name())
			return false, false, nil, false
		case strings.HasPrefix(a.text, unknown) && a.wild:
			j.tainted(a.taint, a.shown())
			j.opaque("arguments of " + c.name())
			return false, false, nil, false
		case len(a.text) > 1 && (a.text[0] == '-' || a.text[0] == '+'):
			inline = inline || a.text[0] == '-' && strings.Contains(a.text, "c")
			stdin = stdin || strings.Contains(a.text, "s")
			if strings.HasSuffix(a.text, "o") || strings.HasSuffix(a.text, "O") {
				args = args[min(1, len(args)-1):]
			}
		default:
			return inline, stdin, args, true
		}
		args = args[1:]
	}
	return inline, stdin, nil, true
}

// runText judges shell text that is an argument.
func (j *judge) runText(s *scope, text arg) stream {
	j.always = false
	if text.static() {
		inner := s.clone()
		inner.in = s.in
		return j.text(inner, text.text)
	}
	j.tainted(text.taint, text.shown())
	j.opaque(shorten(text.shown()))
	if clean := strings.ReplaceAll(text.text, unknown, "_"); strings.Trim(clean, "_ \n") != "" {
		j.text(s.clone(), strings.ReplaceAll(text.text, unknown, "$MCP_UNKNOWN"))
	}
	return stream{}
}

// runStream judges the commands that a shell reads.
func (j *judge) runStream(s *scope, in stream) stream {
	j.always = false
	switch in.from {
	case exactly:
		inner := s.clone()
		inner.in = stream{}
		return j.text(inner, in.text)
	case aFile:
		j.runFile(s, arg{text: in.text, taint: in.taint}, nil)
	case anyText:
		j.tainted(in.taint, "a pipe into a shell")
		j.opaque("commands that a shell reads from a pipe")
	}
	return stream{}
}

// runFile judges running a file: a script, or a program by its path.
func (j *judge) runFile(s *scope, file arg, params []arg) {
	inner := s.clone()
	inner.params = argTexts(params)
	if file.input != nil {
		j.runStream(inner, *file.input)
		return
	}
	if file.is("/dev/stdin") || file.is("-") || file.is("/dev/fd/0") || file.is("/proc/self/fd/0") {
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
	j.tainted(file.taint, file.shown())
	where := j.locate(s, file)
	switch {
	case where == unknownPath:
		j.opaque("which file it runs: " + file.shown())
	case j.req.Sealed && (where == insidePath || where == tempPath):
		j.raise(tool.Writes, "runs "+file.shown())
	default:
		j.raise(tool.Runs, "runs "+file.shown())
	}
}

// inlineCode judges code of another language that is given inline.
func (j *judge) inlineCode(language string, code arg) {
	j.always = false
	j.tainted(code.taint, language+" code")
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

// glimpse looks for what must be refused in text that may be a command. It
// ignores everything else.
func (j *judge) glimpse(text string) {
	if j.denied != nil || j.depth > maxDepth/2 || len(text) < 2 || !strings.ContainsAny(text, " \t") {
		return
	}
	probe := &judge{req: j.req, rules: j.rules, table: j.table, handlers: j.handlers,
		depth: j.depth + 10, steps: j.steps, parsed: j.parsed}
	probe.text(probe.newScope(), text)
	j.steps, j.parsed, j.denied = probe.steps, probe.parsed, probe.denied
}

// glimpseAll looks for commands in all arguments, in the values of options, and
// in the operands after the first.
func (j *judge) glimpseAll(in arguments, args []arg) {
	for _, a := range args {
		j.glimpse(strings.TrimLeft(strings.TrimPrefix(a.text, "ext::"), "+!"))
		if strings.HasPrefix(a.text, "-") {
			j.glimpse(a.text[min(2, len(a.text)):])
		}
		if _, text, ok := strings.Cut(a.text, "="); ok {
			j.glimpse(strings.TrimLeft(strings.TrimPrefix(text, "exec="), "!"))
		}
	}
	if len(in.operands) > 1 {
		j.glimpse(joinArgs(in.operands[1:]).text)
	}
}

// quotedTexts returns the strings in source code of any language.
func quotedTexts(code string) []string {
	var all []string
	for i := 0; i < len(code) && len(all) < 50; i++ {
		q := code[i]
		if q != '\'' && q != '"' && q != '`' {
			continue
		}
		end := strings.IndexByte(code[i+1:], q)
		if end < 0 {
			break
		}
		if end > 0 {
			all = append(all, code[i+1:i+1+end])
		}
		i += end + 1
	}
	return all
}

// eval judges the builtin.
func eval(j *judge, s *scope, _ *program, c call, _ arguments) stream {
	j.always = false
	text := joinArgs(c.rest())
	text.text = strings.TrimPrefix(text.text, "-- ")
	if len(c.args) == 1 {
		return stream{}
	}
	if text.static() {
		return j.text(s, text.text)
	}
	j.hit("eval", text.shown())
	return j.runText(s, text)
}

// sourceFile judges . and source.
func sourceFile(j *judge, s *scope, _ *program, c call, _ arguments) stream {
	j.always = false
	args := c.rest()
	if len(args) == 0 {
		return stream{}
	}
	j.runFile(s, args[0], args[1:])
	s.merge(&scope{vars: map[string]value{}, dirs: s.dirs})
	return stream{}
}

// trap judges commands that run later.
func trap(j *judge, s *scope, _ *program, _ call, in arguments) stream {
	if len(in.operands) > 1 && in.operands[0].text != "" {
		j.runText(s, in.operands[0])
	}
	return silent()
}

// alias keeps an alias: plain POSIX shells use it from the next line on.
func alias(j *judge, s *scope, _ *program, c call, _ arguments) stream {
	for _, a := range c.rest() {
		if name, text, ok := strings.Cut(a.text, "="); ok {
			j.always = false
			if strings.Contains(text, unknown) {
				j.opaque("the alias " + name)
			}
			s.aliases[name] = text
		}
	}
	return silent()
}

// interpreter judges interpreters of other languages.
func interpreter(j *judge, s *scope, p *program, c call, _ arguments) stream {
	j.always = false
	args := c.rest()
	for len(args) > 0 {
		a := args[0]
		switch {
		case strings.HasPrefix(a.text, unknown) && a.wild:
			j.opaque("arguments of " + c.name())
			return stream{}
		case a.is("-") || a.is("/dev/stdin"):
			args = nil
			continue
		case len(a.text) < 2 || a.text[0] != '-':
			j.runScript(s, p, a)
			return stream{}
		case a.is("--test") || a.is("--watch"):
			j.runsWorkspace("runs " + c.name() + " " + a.text)
		}
		n, ended := p.interpreterOption(j, s, args)
		if ended {
			return stream{}
		}
		args = args[min(n, len(args)):]
	}
	switch s.in.from {
	case aFile:
		j.runsCode(s, arg{text: s.in.text, taint: s.in.taint})
	case exactly:
		j.inlineCode(p.language(), arg{text: s.in.text, taint: s.in.taint})
	case anyText:
		j.inlineCode(p.language(), arg{text: unknown, taint: s.in.taint})
	}
	return stream{}
}

func (p *program) language() string { return p.words["language"][0] }

func (p *program) letter(keyword string, letter byte) bool {
	return strings.IndexByte(strings.Join(p.words[keyword], ""), letter) >= 0
}

// interpreterOption judges the first of args, and returns how many arguments it
// took, and whether nothing else matters.
func (p *program) interpreterOption(j *judge, s *scope, args []arg) (int, bool) {
	a, language := args[0], p.language()
	switch {
	case a.is("--version"), a.is("--help"), a.is("-V"), a.is("-h"), a.is("-v") && language != "python" &&
		language != "perl":
		return 1, true
	case a.is("--"):
		return 1, false
	}
	if strings.HasPrefix(a.text, "--") {
		name, code, given := strings.Cut(a.text, "=")
		switch {
		case p.has("plain", name):
			return 1, false
		case p.has("long", name) && given:
			j.inlineCode(language, arg{text: code, taint: a.taint})
		case p.has("long", name):
			j.inlineCode(language, args[min(1, len(args)-1)])
		default:
			j.opaque("option " + a.shown() + " of " + language)
		}
		return 1, true
	}
	for i := 1; i < len(a.text); i++ {
		letter, rest := a.text[i], arg{text: a.text[i+1:], taint: a.taint}
		if rest.text == "" && len(args) > 1 {
			rest = args[1]
		}
		_, module := p.words["module"]
		switch {
		case module && letter == 'm':
			j.runModule(s, rest, args)
			return len(args), true
		case p.letter("inline", letter):
			j.inlineCode(language, rest)
			return len(args), true
		case p.letter("letters", letter) && i+1 == len(a.text):
			return 2, false
		case p.letter("letters", letter):
			return 1, false
		case !p.letter("harmless", letter):
			j.opaque("option " + a.shown() + " of " + language)
			return 1, true
		}
	}
	return 1, false
}

// runModule judges python -m.
func (j *judge) runModule(s *scope, module arg, args []arg) {
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
	default:
		j.runsWorkspace("runs the module " + module.shown())
	}
	if !module.static() {
		j.opaque("which module it runs")
	}
}

// runScript judges a script file of an interpreter.
func (j *judge) runScript(s *scope, p *program, file arg) {
	if file.input != nil {
		j.inlineCode(p.language(), arg{text: unknown, taint: file.input.taint})
		return
	}
	for _, at := range s.resolve(file.text) {
		for _, content := range j.files[at] {
			j.inlineCode(p.language(), arg{text: content.text, taint: content.taint})
		}
	}
	j.runsCode(s, file)
}

// powershell judges PowerShell, which takes shortened options.
func powershell(j *judge, s *scope, _ *program, c call, _ arguments) stream {
	j.always = false
	j.raise(tool.Runs, "runs PowerShell")
	args := c.rest()
	for i, a := range args {
		name := strings.ToLower(strings.TrimLeft(a.text, "-/"))
		if name == "" || name == strings.ToLower(a.text) || i+1 >= len(args) {
			continue
		}
		switch {
		case strings.HasPrefix("encodedcommand", name), name == "ec":
			raw, err := base64.StdEncoding.DecodeString(args[i+1].text)
			if err != nil || len(raw)%2 != 0 {
				j.hit("decoded_code", args[i+1].shown())
				return stream{}
			}
			units := make([]uint16, len(raw)/2) // the least byte is first
			for i := range units {
				units[i] = uint16(raw[2*i]) | uint16(raw[2*i+1])<<8
			}
			j.powershellText(string(utf16.Decode(units)))
		case strings.HasPrefix("command", name):
			j.powershellText(joinArgs(args[i+1:]).text)
		}
	}
	if s.in.from == exactly {
		j.powershellText(s.in.text)
	}
	return stream{}
}

// powershellText looks for the worst things in PowerShell code.
func (j *judge) powershellText(text string) {
	lower := strings.ToLower(text)
	switch {
	case containsAny(lower, "iex", "invoke-expression") &&
		containsAny(lower, "downloadstring", "invoke-webrequest", "iwr ", "net.webclient", "invoke-restmethod"):
		j.hit("remote_code", text)
	case strings.Contains(lower, "tcpclient"):
		j.hit("reverse_shell", text)
	case strings.Contains(lower, "remove-item") && strings.Contains(lower, "-recurse"):
		j.hit("remove_tree", text)
	case containsAny(lower, "format-volume", "clear-disk"):
		j.hit("make_file_system", text)
	case containsAny(lower, "stop-computer", "restart-computer"):
		j.hit("power", text)
	}
	j.glimpse(text)
}

// windowsShell judges cmd /c.
func windowsShell(j *judge, _ *scope, _ *program, c call, _ arguments) stream {
	j.always = false
	j.raise(tool.Runs, "runs cmd")
	text := strings.ToLower(joinArgs(c.rest()).text)
	if containsAny(text, "del /f", "del /q", "del /s", "rmdir /s", "rd /s", "erase /") {
		j.hit("remove_tree", text)
	}
	if containsAny(text, "format c:", "format d:", "diskpart") {
		j.hit("make_file_system", text)
	}
	for _, a := range c.rest() {
		j.glimpse(a.text)
	}
	return stream{}
}

// debugger judges editors, debuggers and databases, which can start any program.
func debugger(j *judge, s *scope, _ *program, c call, _ arguments) stream {
	j.always = false
	for i, a := range c.rest() {
		if _, text, ok := strings.Cut(a.text, "!"); ok {
			j.glimpse(text)
		}
		j.glimpse(strings.TrimPrefix(a.text, "shell "))
		for _, q := range quotedTexts(a.text) {
			j.glimpse(q)
		}
		if c.name() == "gdb" && a.is("--args") {
			j.inner(s, c.rest()[i+1:])
		}
	}
	return stream{}
}

// develop judges tools of developers, which run the workspace's code.
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
		for _, a := range args {
			j.glimpse(a.text)
		}
	}
	fromStdin := name == "ed" || name == "ex" || in.hasFlag("-f-") || in.matches("-") || in.matches("/dev/stdin") ||
		in.matches("/dev/stdin=*")
	if s.in.from != nothing && fromStdin && !j.inList("programs that only read stdin", name) {
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
