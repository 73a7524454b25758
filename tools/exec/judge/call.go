package judge

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A call is one program with its arguments.
type call struct {
	args      []arg // the program first
	elsewhere bool  // options before the subcommand may name another directory
	plain     bool  // functions and aliases of the name do not count
}

// rest returns the arguments without the program.
func (c call) rest() []arg { return c.args[1:] }

// name returns the program without its directory.
func (c call) name() string { return path.Base(c.args[0].shown()) }

// shown returns the whole call for messages.
func (c call) shown() string { return joinArgs(c.args).shown() }

// call judges one program with its arguments, and returns its output.
func (j *judge) call(s *scope, c call) stream {
	if !j.step() {
		return unknownStream(0)
	}
	simple := Simple{Static: true, Program: c.args[0].shown()}
	for _, a := range c.args {
		simple.Argv = append(simple.Argv, a.shown())
		simple.Static = simple.Static && a.static() && !a.glob
		if a.taint()&scrambled != 0 {
			j.hit("decoded_code", a.shown())
		}
	}
	if len(j.found) < maxSimple {
		j.found = append(j.found, simple)
	} else {
		j.always = false
	}
	outer, current := j.current, &finding{}
	j.current = current
	var out stream
	j.deeper(func() { out = j.dispatch(s, c) })
	j.current = outer
	shown := shorten(strings.Join(simple.Argv, " "))
	switch {
	case current.risk <= tool.Reads:
	case simple.Static && j.allowed(simple.Argv, current.starts):
		current.risk, current.why = tool.Writes, "in the allow list: "+shown
	case j.rules.Mode == Unknown && current.risk < tool.Runs:
		current.risk, current.why = tool.Runs, "not in the allow list: "+shown
	}
	if current.risk != 0 {
		j.raiseKept(current.risk, current.why)
	}
	if !out.given {
		out = unknownStream(out.taint() | s.in.taint())
	}
	return out
}

// inner judges a command in the arguments of another.
func (j *judge) inner(s *scope, args []arg) stream {
	j.always = false
	if len(args) == 0 {
		return stream{}
	}
	return j.call(s, call{args: args, plain: true})
}

// dispatch finds the called program, and judges the call.
func (j *judge) dispatch(s *scope, c call) stream {
	head := c.args[0]
	if !head.static() || head.glob || head.text == "" {
		j.tainted(head.taint(), head.shown())
		j.opaque(shorten(head.shown()))
		return stream{}
	}
	name := head.text
	if strings.Contains(name, "/") {
		trusted := false
		if name, trusted = j.byPath(s, c); !trusted {
			return stream{}
		}
	} else if !c.plain {
		if f, ok := s.funcs[name]; ok {
			return j.function(s, f, c)
		}
		if text, ok := s.aliases[name]; ok {
			inner := s.clone()
			delete(inner.aliases, name)
			j.text(inner, text+" "+quoteAll(c.rest()))
		}
	}
	j.anyArguments(name, c.rest())
	p := j.program(name)
	if j.missing(name) && (p == nil || installs(name)) {
		return stream{} // the shell says that it is not found
	}
	if p != nil {
		return j.run(s, p, c)
	}
	j.raise(tool.Runs, "runs a program that is not known: "+shorten(name))
	return stream{}
}

// installs reports whether a program is one that is called although it is often not there.
func installs(name string) bool {
	switch name {
	case "pnpm", "yarn", "bun", "npm", "pip", "pip3", "uv", "pipx", "poetry", "conda", "cargo", "gem", "bundle",
		"composer", "brew":
		return true
	}
	return false
}

// missing reports whether a program is certainly not there, in a sandbox: then nothing runs. A command that changes
// where programs are found, or that may put one there, can still run it, as it can run any script of the workspace.
func (j *judge) missing(name string) bool {
	return j.req.Isolated && j.req.Missing != nil && !strings.Contains(name, "/") &&
		!containsAny(j.req.Command, "PATH", "hash ", "alias ", "bin/") && j.req.Missing(name)
}

// program returns the entry of a program in the table, also for a name with a version, as in
// python3.12.
func (t *knowledge) program(name string) *program {
	name = strings.TrimSuffix(name, ".exe")
	if p := t.programs[name]; p != nil {
		return p
	}
	if short := strings.TrimRight(name, "0123456789.-"); len(short) > 1 {
		return t.programs[short]
	}
	return nil
}

// byPath judges a program that is called by a path. It returns its name, and
// whether the program is the one of this name that the system has.
func (j *judge) byPath(s *scope, c call) (string, bool) {
	head := c.args[0]
	name := path.Base(head.text)
	if name == "mcp-tools" {
		j.hit("own_program", head.text)
	}
	all := s.resolve(head.text)
	trusted := len(all) > 0
	for _, p := range all {
		trusted = trusted && j.inList("paths of directories with programs", path.Dir(p))
	}
	if trusted {
		return name, true
	}
	p := j.programs[name]
	if p != nil && !head.starts("/") && containsAny(head.text, "node_modules/.bin/", "venv/bin/", "vendor/bin/") {
		j.runsCode(s, head)
		j.run(s, p, c)
		return name, false
	}
	j.runFile(s, head, c.rest())
	switch {
	case j.locate(s, head) == tempPath && !j.onlyWroteKnown(s, head):
		j.raise(tool.Runs, "runs a program from a temporary directory: "+head.shown())
	case p != nil && p.handler != "develop":
		j.raise(tool.Runs, "runs "+head.shown()+", which is not the "+name+" of the system")
	}
	return name, false
}

// quoteAll writes words so that a shell reads them as they are.
func quoteAll(args []arg) string {
	var all []string
	for _, a := range args {
		q, err := syntax.Quote(a.text, syntax.LangBash)
		if err != nil || !a.static() {
			q = `"$MCP_UNKNOWN"`
		}
		all = append(all, q)
	}
	return strings.Join(all, " ")
}

// tainted records the origin of code that is not known.
func (j *judge) tainted(t taint, what string) {
	if t&fromNetwork != 0 {
		j.hit("remote_code", what)
	}
	if t&(fromDecoder|scrambled) != 0 {
		j.hit("decoded_code", what)
	}
}

// anyArguments judges arguments that mean the same to most programs.
func (j *judge) anyArguments(name string, args []arg) {
	if j.inList("programs with arguments that are only text", name) {
		return
	}
	for _, a := range args {
		text := a.text
		for _, cut := range []string{"=", "unix://", "UNIX-CONNECT:", "UNIX:", "unix:"} {
			if _, after, ok := strings.Cut(text, cut); ok && strings.HasPrefix(after, "/") {
				text = after
			}
		}
		p, _, _ := strings.Cut(text, ":")
		switch {
		case a.starts("stratum+"):
			j.hit("miner", a.shown())
		case !strings.HasPrefix(p, "/"):
		case j.inPaths("paths of container engines", path.Clean(p)):
			j.hit("engine_socket", a.shown())
		case j.inPaths("paths of our data", path.Clean(p)):
			j.hit("own_program", a.shown())
		}
	}
}
