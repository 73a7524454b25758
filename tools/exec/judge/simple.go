package judge

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A call is one program with its arguments.
type call struct {
	args  []arg // the program first
	plain bool  // functions and aliases of the name do not count
}

// rest are the arguments without the program.
func (c call) rest() []arg { return c.args[1:] }

// name is the program as it is called.
func (c call) name() string { return path.Base(c.args[0].shown()) }

// A program judges a call of it, and returns what it writes to stdout.
type program func(*judge, *scope, call) stream

// silent is what programs write that write nothing.
func silent() stream { return stream{from: exactly} }

// callExpr goes through a simple command of the text.
func (j *judge) callExpr(s *scope, c *syntax.CallExpr) stream {
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			j.assign(s, s, a, false)
		}
		return silent()
	}
	args := j.fields(s, c.Args)
	inner := s
	if len(c.Assigns) > 0 {
		j.always = false
		inner = s.clone()
		for _, a := range c.Assigns {
			j.assign(s, inner, a, true)
		}
	}
	if len(args) == 0 {
		return silent()
	}
	out := j.call(inner, call{args: args})
	s.dirs, s.before = inner.dirs, inner.before
	return out
}

// assign sets a variable in to. exported says that programs will see it.
func (j *judge) assign(s, to *scope, a *syntax.Assign, exported bool) {
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	var v value
	switch {
	case a.Array != nil:
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				j.arithm(s, e.Index)
				v.texts = append(v.texts, unknown)
			}
			if e.Value != nil {
				for _, f := range j.fields(s, []*syntax.Word{e.Value}) {
					v.texts = append(v.texts, f.text)
					v.taint |= f.taint
					v.glob = v.glob || f.glob
				}
			}
		}
	case a.Value != nil:
		w := j.word(s, a.Value)
		v = value{texts: []string{w.text}, taint: w.taint, glob: w.glob}
	default:
		v = known("")
	}
	if a.Index != nil {
		j.arithm(s, a.Index)
		v.texts = []string{unknown}
	}
	if a.Append {
		old := s.get(name)
		if a.Array != nil {
			v.texts = append(slices.Clone(old.texts), v.texts...)
		} else {
			v.texts = []string{old.first() + v.first()}
		}
		v.taint |= old.taint
	}
	j.environment(name, v.first(), exported)
	to.set(name, v)
}

// declClause is export, declare and the like.
func (j *judge) declClause(s *scope, c *syntax.DeclClause) stream {
	variant := c.Variant.Value
	shows := len(c.Args) == 0
	exported := variant == "export"
	for _, a := range c.Args {
		if !a.Naked {
			j.assign(s, s, a, exported)
			continue
		}
		if a.Name != nil {
			j.environment(a.Name.Value, s.get(a.Name.Value).first(), exported)
			shows = false
			continue
		}
		for _, f := range j.fields(s, []*syntax.Word{a.Value}) {
			switch {
			case !f.static():
				j.opaque(variant + " " + f.shown())
			case strings.HasPrefix(f.text, "-"):
				shows = shows || strings.Contains(f.text, "p") || len(c.Args) == 1 && strings.Contains(f.text, "x")
				exported = exported || strings.Contains(f.text, "x")
				if strings.Contains(f.text, "n") && variant != "export" {
					j.opaque("a variable that stands for another")
				}
			default:
				name, text, _ := strings.Cut(f.text, "=")
				j.environment(name, text, exported)
				s.set(name, known(text))
			}
		}
	}
	if shows && variant != "local" {
		j.dumps(variant)
		return stream{from: anyText}
	}
	return silent()
}

// call judges one program with its arguments, and returns what it writes.
func (j *judge) call(s *scope, c call) stream {
	if !j.step() {
		return stream{from: anyText}
	}
	simple := Simple{Argv: texts(c.args), Static: true, Program: c.args[0].shown()}
	for _, a := range c.args {
		simple.Static = simple.Static && a.static() && !a.glob
	}
	if len(j.found) < maxSimple {
		j.found = append(j.found, simple)
	} else {
		j.always = false
	}
	outer, own := j.own, &finding{}
	j.own = own
	var out stream
	j.deeper(func() { out = j.dispatch(s, c) })
	j.own = outer
	switch {
	case own.risk <= tool.Reads:
	case simple.Static && j.allowed(simple.Argv, own.starts):
		own.risk, own.why = tool.Writes, "in the allow list: "+shorten(strings.Join(simple.Argv, " "))
	case j.rules.Mode == Unknown && own.risk < tool.Runs:
		own.risk, own.why = tool.Runs, "not in the allow list: "+shorten(strings.Join(simple.Argv, " "))
	}
	if own.risk != 0 {
		j.raise(own.risk, own.why)
	}
	if out.from == nothing {
		out = stream{from: anyText, taint: s.in.taint}
	}
	return out
}

// dispatch finds out what is called.
func (j *judge) dispatch(s *scope, c call) stream {
	head := c.args[0]
	if !head.static() || head.glob || head.text == "" {
		j.tainted(head.taint, head.shown())
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
	j.arguments(name, c.rest())
	if p, ok := j.programs[strings.TrimSuffix(name, ".exe")]; ok {
		return p(j, s, c)
	}
	if out, ok := j.versioned(s, name, c); ok {
		return out
	}
	j.raise(tool.Runs, "runs a program that is not known: "+shorten(name))
	return stream{}
}

// versioned judges python3.12, clang-15 and the like as what they are.
func (j *judge) versioned(s *scope, name string, c call) (stream, bool) {
	short := strings.TrimRight(name, "0123456789.-")
	if short == name || len(short) < 2 {
		return stream{}, false
	}
	p, ok := j.programs[short]
	if !ok {
		return stream{}, false
	}
	return p(j, s, c), true
}

// byPath judges a program that is called by a path. It is what its name says
// only in a directory of the system.
func (j *judge) byPath(s *scope, c call) (string, bool) {
	name := path.Base(c.args[0].text)
	if name == "mcp-tools" {
		j.hit(ourselves, c.args[0].text)
	}
	all := s.resolve(c.args[0].text)
	trusted := len(all) > 0
	for _, p := range all {
		switch path.Dir(p) {
		case "/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin", "/usr/local/go/bin", "/snap/bin":
		default:
			trusted = false
		}
	}
	if trusted {
		return name, true
	}
	for _, bin := range []string{"node_modules/.bin/", "venv/bin/", "vendor/bin/"} {
		if p, known := j.programs[name]; known && strings.Contains(c.args[0].text, bin) && !strings.HasPrefix(c.args[0].text, "/") {
			j.runsCode(s, c.args[0])
			p(j, s, c)
			return name, false
		}
	}
	j.runFile(s, c.args[0], c.rest())
	switch where := j.place(s, c.args[0]); {
	case where == tempPlace && !j.wroteIt(s, c.args[0]):
		j.raise(tool.Runs, "runs a program from a temporary directory: "+c.args[0].shown())
	case j.programs[name] != nil && !slices.Contains(strings.Fields(devNames), name):
		j.raise(tool.Runs, "runs "+c.args[0].shown()+", which is not the "+name+" of the system")
	}
	return name, false
}

// function judges the body of a function with what it is given.
func (j *judge) function(s *scope, f *function, c call) (out stream) {
	f.used = true
	if f.busy >= 3 {
		j.opaque("a function that calls itself")
		return stream{}
	}
	f.busy++
	params := s.params
	s.params = nil
	for _, a := range c.rest() {
		s.params = append(s.params, a.text)
	}
	j.deeper(func() { out = j.stmt(s, f.body) })
	s.params = params
	f.busy--
	return out
}

// quoteAll writes words so that a shell reads them as they are.
func quoteAll(args []arg) string {
	var all []string
	for _, a := range args {
		if q, err := syntax.Quote(a.text, syntax.LangBash); err == nil {
			all = append(all, q)
		} else {
			all = append(all, `"$MCP_UNKNOWN"`)
		}
	}
	return strings.Join(all, " ")
}

// tainted notes where code comes from that is not known.
func (j *judge) tainted(t taint, what string) {
	if t&fromNetwork != 0 {
		j.hit(remoteCode, what)
	}
	if t&fromDecoder != 0 {
		j.hit(decoded, what)
	}
}

// arguments looks at arguments that mean the same to most programs.
func (j *judge) arguments(name string, args []arg) {
	switch name {
	case "echo", "printf", "grep", "rg", "git", "gh", "test", "[", ":":
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
		switch path.Clean(p) {
		case "/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock":
			j.hit(dockerSock, a.shown())
		}
		if strings.HasPrefix(a.text, "stratum+") {
			j.hit(mining, a.shown())
		}
		if strings.HasPrefix(p, "/") && strings.Contains(p, "mcp-tools") && isOurs(path.Clean(p)) {
			j.hit(ourselves, a.shown())
		}
	}
}
