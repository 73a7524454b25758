package judge

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// stmts judges statements in their order, and returns their output.
func (j *judge) stmts(s *scope, list []*syntax.Stmt) stream {
	var out stream
	for _, st := range list {
		out = out.and(j.stmt(s, st))
	}
	return out
}

// stmt judges one statement, and returns its output.
func (j *judge) stmt(s *scope, st *syntax.Stmt) stream {
	if st == nil || !j.step() {
		return unknownStream(0)
	}
	if st.Background || st.Coprocess || st.Disown {
		s = s.clone()
	}
	if len(st.Redirs) == 0 {
		return j.command(s, st.Cmd)
	}
	before := s.in
	outputs := j.redirections(s, st.Redirs)
	out := j.command(s, st.Cmd)
	s.in = before
	for _, file := range outputs {
		j.wrote(s, file, out)
	}
	return out
}

// command judges a command of any kind.
func (j *judge) command(s *scope, cmd syntax.Command) (out stream) {
	if j.level >= maxLevel {
		j.opaque("it is nested too deeply")
		return unknownStream(0)
	}
	j.level++
	out = j.compound(s, cmd)
	j.level--
	return out
}

func (j *judge) compound(s *scope, cmd syntax.Command) stream {
	switch c := cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		return j.callExpr(s, c)
	case *syntax.BinaryCmd:
		return j.binary(s, c)
	case *syntax.Subshell:
		return j.stmts(s.clone(), c.Stmts)
	case *syntax.Block:
		return j.stmts(s, c.Stmts)
	case *syntax.IfClause:
		return j.ifClause(s, c)
	case *syntax.WhileClause:
		s.forget(c.Cond)
		s.forget(c.Do)
		j.stmts(s, c.Cond)
		return repeated(j.stmts(s, c.Do))
	case *syntax.ForClause:
		return j.forClause(s, c)
	case *syntax.CaseClause:
		return j.caseClause(s, c)
	case *syntax.FuncDecl:
		j.declare(s, c)
	case *syntax.ArithmCmd:
		j.arithm(s, c.X)
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			j.arithm(s, x)
		}
	case *syntax.TestClause:
		j.arithm(s, c.X)
	case *syntax.DeclClause:
		return j.declClause(s, c)
	case *syntax.TimeClause:
		j.always = false
		return j.stmt(s, c.Stmt)
	case *syntax.CoprocClause:
		return j.stmt(s.clone(), c.Stmt)
	default:
		j.opaque("unusual grammar")
	}
	return stream{}
}

// repeated returns the output of a part of the text that runs any number of times.
func repeated(out stream) stream {
	if out.given {
		out = unknownStream(out.taint())
	}
	return out
}

// binary judges a && b, a || b and a | b.
func (j *judge) binary(s *scope, c *syntax.BinaryCmd) stream {
	if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
		left := j.stmt(s.clone(), c.X)
		if !left.given {
			left = unknownStream(0)
		}
		right := s.clone()
		right.in = left
		return j.stmt(right, c.Y)
	}
	out := j.stmt(s, c.X)
	after := s.clone()
	out = out.and(j.stmt(after, c.Y))
	if call, ok := c.Y.Cmd.(*syntax.CallExpr); c.Op == syntax.AndStmt && ok && len(call.Args) > 0 {
		if name := call.Args[0].Lit(); name == "exit" || name == "return" {
			return out // nothing runs after the second part
		}
	}
	s.merge(after)
	return out
}

func (j *judge) ifClause(s *scope, c *syntax.IfClause) stream {
	j.stmts(s, c.Cond)
	other := s.clone()
	out := j.stmts(s, c.Then)
	if c.Else != nil {
		out = out.and(j.command(other, c.Else))
	}
	s.merge(other)
	return repeated(out)
}

func (j *judge) caseClause(s *scope, c *syntax.CaseClause) stream {
	j.word(s, c.Word, false)
	var out stream
	result := s.clone()
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			j.word(s, p, false)
		}
		branch := s.clone()
		out = out.and(j.stmts(branch, item.Stmts))
		result.merge(branch)
	}
	*s = *result
	return repeated(out)
}

const maxRounds = 64 // of a for loop that are judged one by one

func (j *judge) forClause(s *scope, c *syntax.ForClause) stream {
	w, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		loop := c.Loop.(*syntax.CStyleLoop)
		s.forget(c.Do)
		for _, x := range []syntax.ArithmExpr{loop.Init, loop.Cond, loop.Post} {
			j.arithm(s, x)
		}
		return repeated(j.stmts(s, c.Do))
	}
	items := j.fields(s, w.Items)
	if !w.InPos.IsValid() {
		items = nil
		for _, p := range s.params {
			items = append(items, literal(p))
		}
	}
	after := s.clone()
	after.forget(c.Do)
	if len(items) > maxRounds {
		items = []arg{{text: unknown}}
	}
	var out stream
	for _, item := range items {
		s.set(w.Name.Value, item.value())
		if item.wild {
			s.set(w.Name.Value, known(unknownFrom(item.taint())))
		}
		out = out.and(j.stmts(s, c.Do))
	}
	if len(items) == 0 {
		j.stmts(s, c.Do)
	}
	s.merge(after)
	return out
}

// declare keeps a function for its calls.
func (j *judge) declare(s *scope, c *syntax.FuncDecl) {
	if c.Name == nil {
		j.opaque("a function without a name")
		return
	}
	j.always = false
	if multiplies(c.Name.Value, c.Body) {
		j.hit("fork_bomb", c.Name.Value)
	}
	f := &function{body: c.Body}
	s.funcs[c.Name.Value] = f
	j.declared = append(j.declared, f)
}

// multiplies reports whether a function starts itself in a pipe or in the
// background.
func multiplies(name string, body *syntax.Stmt) bool {
	found := false
	calls := func(n syntax.Node) bool {
		itself := false
		syntax.Walk(n, func(n syntax.Node) bool {
			c, ok := n.(*syntax.CallExpr)
			itself = itself || ok && len(c.Args) > 0 && c.Args[0].Lit() == name
			return !itself
		})
		return itself
	}
	syntax.Walk(body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			found = found || n.Background && calls(n)
		case *syntax.BinaryCmd:
			found = found || n.Op == syntax.Pipe && calls(n)
		}
		return !found
	})
	return found
}

// uncalledFunctions judges functions that no part of the text was seen to call:
// something may call them all the same.
func (j *judge) uncalledFunctions(s *scope) {
	for i := 0; i < len(j.declared); i++ { // bodies may declare more
		if f := j.declared[i]; !f.used {
			f.used = true
			inner := s.clone()
			inner.params = []string{unknown, unknown, unknown, unknown}
			j.stmt(inner, f.body)
		}
	}
}

// function judges the body of a function with the arguments of a call.
func (j *judge) function(s *scope, f *function, c call) (out stream) {
	f.used = true
	if f.busy >= 3 {
		j.opaque("a function that calls itself")
		return stream{}
	}
	f.busy++
	params := s.params
	s.params = argTexts(c.rest())
	j.deeper(func() { out = j.stmt(s, f.body) })
	s.params = params
	f.busy--
	return out
}

// arithm judges the commands inside arithmetic and tests.
func (j *judge) arithm(s *scope, x syntax.Node) {
	if w, ok := x.(*syntax.Word); x == nil || ok && w == nil {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		w, ok := n.(*syntax.Word)
		if !ok {
			return true
		}
		text := j.word(s, w, false).text
		if v, ok := s.vars[w.Lit()]; ok {
			text += first(v)
		}
		if strings.Contains(text, "$(") || strings.Contains(text, "`") {
			j.opaque("arithmetic that runs commands")
		}
		return false
	})
}

// substitution judges $(...) and returns its output.
func (j *judge) substitution(s *scope, c *syntax.CmdSubst) string {
	inner := s.clone()
	var out stream
	j.deeper(func() { out = j.stmts(inner, c.Stmts) })
	if !out.given {
		return unknown
	}
	return out.text
}

// processSubstitution judges <(...) and >(...), and returns the file in its place.
func (j *judge) processSubstitution(s *scope, p *syntax.ProcSubst) string {
	inner := s.clone()
	if p.Op == syntax.CmdOut {
		inner.in = unknownStream(0)
	}
	out := unknownStream(0)
	j.deeper(func() {
		if wrote := j.stmts(inner, p.Stmts); wrote.given {
			out = wrote
		}
	})
	j.steps++
	file := "/dev/fd/" + strconv.Itoa(j.steps)
	j.wrote(s, literal(file), out)
	return file
}

// callExpr judges a simple command of the text.
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

// assign sets a variable in to. exported is true when programs will see it.
func (j *judge) assign(s, to *scope, a *syntax.Assign, exported bool) {
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	v, old := known(""), s.get(name)
	switch {
	case a.Array != nil:
		v = j.array(s, a.Array)
	case a.Value != nil:
		v = j.word(s, a.Value, false).value()
	}
	if a.Index != nil { // the element, and so the others, are not known
		j.arithm(s, a.Index)
		v = known(unknownFrom(taintOf(whole(v) + whole(old))))
	}
	switch {
	case a.Append && a.Array != nil:
		v.List = slices.Concat(old.List, v.List)
		if old.Kind == expand.String {
			v.List = append([]string{old.Str}, v.List...)
		}
	case a.Append:
		v = known(first(old) + first(v))
	}
	j.variable(name, first(v), exported)
	to.set(name, v)
}

func (j *judge) array(s *scope, a *syntax.ArrayExpr) expand.Variable {
	v := expand.Variable{Set: true, Kind: expand.Indexed, List: []string{}}
	for _, e := range a.Elems {
		if e.Index != nil {
			j.arithm(s, e.Index)
			v.List = append(v.List, unknown)
		}
		if e.Value != nil {
			for _, f := range j.fields(s, []*syntax.Word{e.Value}) {
				v.List = append(v.List, f.value().Str)
			}
		}
	}
	return v
}

// declClause judges export, declare and the like.
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
			j.variable(a.Name.Value, first(s.get(a.Name.Value)), exported)
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
				j.variable(name, text, exported)
				s.set(name, known(text))
			}
		}
	}
	if shows && variant != "local" {
		j.dumps(variant)
		return unknownStream(0)
	}
	return silent()
}

// redirections judges redirections, sets the input of the statement, and returns the files that
// it writes to.
func (j *judge) redirections(s *scope, list []*syntax.Redirect) []arg {
	var outputs []arg
	for _, r := range list {
		if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc {
			s.in = j.hereDoc(s, r)
			continue
		}
		to := oneOf(j.fields(s, []*syntax.Word{r.Word}))
		// A file descriptor is the 1 of 2>&1, or a - that closes.
		descriptor := to.text == "-" || to.text != "" &&
			strings.Trim(strings.TrimSuffix(to.text, "-"), "0123456789") == ""
		switch r.Op {
		case syntax.WordHdoc:
			s.in = textStream(to.text + "\n")
		case syntax.RdrIn:
			s.in = j.input(s, to)
		case syntax.DplIn:
			s.in = unknownStream(0)
			if !descriptor {
				j.read(s, to)
			}
		case syntax.RdrInOut:
			j.write(s, to, "writes to")
			s.in = unknownStream(0)
		default:
			if r.Op != syntax.DplOut || !descriptor {
				j.write(s, to, "writes to")
				outputs = append(outputs, to)
			}
		}
	}
	return outputs
}

// oneOf returns the single word that a redirection takes.
func oneOf(fields []arg) arg {
	if len(fields) == 1 {
		return fields[0]
	}
	all := joinArgs(fields)
	if len(fields) == 0 {
		all.text = unknown
	}
	return all
}

// hereDoc returns the text of a here-document. Nothing in it is expanded when the word that
// ends it has quotes.
func (j *judge) hereDoc(s *scope, r *syntax.Redirect) stream {
	if r.Hdoc == nil {
		return silent()
	}
	raw, text := false, ""
	for _, p := range r.Word.Parts {
		lit, ok := p.(*syntax.Lit)
		raw = raw || !ok || strings.Contains(lit.Value, "\\")
	}
	if raw {
		for _, p := range r.Hdoc.Parts {
			if lit, ok := p.(*syntax.Lit); ok {
				text += lit.Value
			}
		}
	} else {
		text = j.word(s, r.Hdoc, true).text
	}
	if r.Op == syntax.DashHdoc {
		text = strings.ReplaceAll("\n"+text, "\n\t", "\n")[1:]
	}
	return textStream(text)
}

// dumps judges a command that shows the environment. In a sandbox the environment is ours and
// holds no secret.
func (j *judge) dumps(what string) {
	if _, chosen := j.rules.Groups["env_dump"]; chosen || !j.req.Isolated {
		j.hit("dump", what)
	}
}

// variable judges a variable that the text sets. The text can start programs
// without it, so only the worst variables are refused. exported is true when
// programs will see it.
func (j *judge) variable(name, text string, exported bool) {
	switch {
	case j.inList("variables that run code", name) && name != "LD_LIBRARY_PATH":
		if exported || name != "PS4" && name != "ENV" {
			j.hit("loader", name)
		}
	case name == "LD_LIBRARY_PATH" || name == "PATH":
		j.hit("settings", name)
	case strings.HasPrefix(name, "MCP_TOOLS_"):
		j.hit("own_program", name)
	case !exported:
	case j.inList("variables with a program", name):
		if text != "" && text != "less -R" && text != "less -F" && !j.inList("harmless programs", text) {
			j.hit("settings", name)
		}
	case name == "NODE_OPTIONS":
		for word := range strings.FieldsSeq(text) {
			if !strings.HasPrefix(word, "--max") && word != "--enable-source-maps" && word != "--no-warnings" &&
				word != "--experimental-vm-modules" {
				j.hit("settings", name)
				return
			}
		}
	case j.inList("variables that choose code", name):
		j.unknownVariable(name)
	case j.inList("variables that redirect requests", name), strings.HasPrefix(strings.ToUpper(name), "NPM_CONFIG_"):
		if !j.req.Isolated || j.req.Network {
			j.hit("settings", name)
		}
	}
}

// requestVariable judges a variable that comes beside the command.
func (j *judge) requestVariable(name string) {
	upper := strings.ToUpper(name)
	refused := name == "" || strings.ContainsAny(name, "=\x00") || upper == "PATH" || upper == "IFS" ||
		strings.HasPrefix(upper, "MCP_TOOLS_")
	for _, list := range []string{"variables that run code", "variables that choose code",
		"variables that redirect requests", "variables with a program"} {
		refused = refused || j.inList(list, upper)
	}
	if refused {
		j.hit("request", name)
	} else if !j.inList("harmless variables", name) {
		j.unknownVariable(name)
	}
}

// unknownVariable judges a variable that may be code to some program.
func (j *judge) unknownVariable(name string) {
	if !j.req.Isolated {
		j.hit("settings", name)
		return
	}
	j.raise(tool.Writes, "sets "+name)
}
