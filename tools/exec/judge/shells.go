package judge

import (
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// shell judges sh, bash and their like.
func shell(j *judge, s *scope, c call) stream {
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

// shellOptions reads the options of a shell: whether it gets its text as an
// argument or from stdin, and what follows. False means that nothing is left to
// be judged.
func (j *judge) shellOptions(c call) (inline, stdin bool, args []arg, ok bool) {
	args = c.rest()
	for len(args) > 0 {
		a := args[0]
		switch {
		case a.is("--"), a.is("-"):
			return inline, stdin, args[1:], true
		case among(" --login --norc --noprofile --posix --restricted --verbose --noediting --no-rcs ", a.text):
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

func argTexts(args []arg) []string {
	all := make([]string, len(args))
	for i, a := range args {
		all[i] = a.text
	}
	return all
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

// runStream judges what a shell reads its commands from.
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

// runsCode judges running code of the workspace, which the walls hold.
func (j *judge) runsCode(s *scope, file arg) {
	j.tainted(file.taint, file.shown())
	where := j.place(s, file)
	switch {
	case where == unknownPlace:
		j.opaque("which file it runs: " + file.shown())
	case j.req.Sealed && (where == insidePlace || where == tempPlace):
		j.raise(tool.Writes, "runs "+file.shown())
	default:
		j.raise(tool.Runs, "runs "+file.shown())
	}
}

// eval judges the builtin.
func eval(j *judge, s *scope, c call) stream {
	j.always = false
	text := joinArgs(c.rest())
	text.text = strings.TrimPrefix(text.text, "-- ")
	if len(c.args) == 1 {
		return stream{}
	}
	if text.static() {
		return j.text(s, text.text)
	}
	j.hit(evalAny, text.shown())
	return j.runText(s, text)
}

// sourced judges . and source.
func sourced(j *judge, s *scope, c call) stream {
	j.always = false
	args := c.rest()
	if len(args) == 0 {
		return stream{}
	}
	j.runFile(s, args[0], args[1:])
	s.merge(&scope{vars: map[string]value{}, dirs: s.dirs})
	return stream{}
}

// inlineCode judges code of another language that is given inline.
func (j *judge) inlineCode(language string, code arg) {
	j.always = false
	j.tainted(code.taint, language+" code")
	j.raise(tool.Runs, "runs "+language+" code given inline")
	text := code.text
	hand := containsAny(text, "socket", "Socket", "/inet/", "fsockopen", "net.connect") &&
		containsAny(text, "dup2", "pty.spawn", "subprocess", "system(", "exec", "/bin/sh", "/bin/bash", "child_process", "popen", "spawn")
	if hand {
		j.hit(remoteHand, shorten(text))
	}
	if containsAny(text, "system", "popen", "exec", "spawn", "subprocess", "`", "%x", "rmtree", "getline", "|") {
		quoted := quotedTexts(text)
		for _, q := range append(quoted, strings.Join(quoted, " ")) {
			j.glimpse(q)
		}
	}
}

// glimpse looks for what must be refused in text that may be a command. What it
// finds otherwise means nothing.
func (j *judge) glimpse(text string) {
	if j.denied != nil || j.depth > maxDepth/2 || len(text) < 2 || !strings.ContainsAny(text, " \t") {
		return
	}
	probe := &judge{req: j.req, rules: j.rules, programs: j.programs, depth: j.depth + 10, steps: j.steps, parsed: j.parsed}
	probe.text(probe.newScope(), text)
	j.steps, j.parsed, j.denied = probe.steps, probe.parsed, probe.denied
}

func containsAny(text string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

// quotedTexts are the strings in source code, whatever the language.
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
