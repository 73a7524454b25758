package judge

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// stmts goes through statements in their order, and returns what they write.
func (j *judge) stmts(s *scope, list []*syntax.Stmt) stream {
	var out stream
	for _, st := range list {
		out = out.and(j.stmt(s, st))
	}
	return out
}

// and is what is read when one stream follows another.
func (a stream) and(b stream) stream {
	switch {
	case a.from == nothing:
		return b
	case b.from == nothing:
		return a
	case a.from == exactly && b.from == exactly && len(a.text)+len(b.text) <= maxText:
		return stream{from: exactly, text: a.text + b.text, taint: a.taint | b.taint}
	}
	return stream{from: anyText, taint: a.taint | b.taint}
}

// stmt goes through one statement, and returns what it writes.
func (j *judge) stmt(s *scope, st *syntax.Stmt) stream {
	if st == nil || !j.step() {
		return stream{from: anyText}
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

// command goes through a command of any kind.
func (j *judge) command(s *scope, cmd syntax.Command) (out stream) {
	if j.level >= maxLevel {
		j.opaque("it is nested too deeply")
		return stream{from: anyText}
	}
	j.level++
	out = j.compound(s, cmd)
	j.level--
	return out
}

func (j *judge) compound(s *scope, cmd syntax.Command) stream {
	switch c := cmd.(type) {
	case nil:
		return stream{}
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

func repeated(out stream) stream {
	if out.from == exactly {
		out = stream{from: anyText, taint: out.taint}
	}
	return out
}

// binary is a && b, a || b or a | b.
func (j *judge) binary(s *scope, c *syntax.BinaryCmd) stream {
	if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
		left := j.stmt(s.clone(), c.X)
		if left.from == nothing {
			left.from = anyText
		}
		right := s.clone()
		right.in = left
		return j.stmt(right, c.Y)
	}
	out := j.stmt(s, c.X)
	after := s.clone()
	out = out.and(j.stmt(after, c.Y))
	if c.Op == syntax.AndStmt && onlyLeaves(c.Y) {
		return out
	}
	s.merge(after)
	return out
}

// onlyLeaves reports whether nothing after the statement runs.
func onlyLeaves(st *syntax.Stmt) bool {
	c, ok := st.Cmd.(*syntax.CallExpr)
	return ok && len(c.Args) > 0 && (c.Args[0].Lit() == "exit" || c.Args[0].Lit() == "return")
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
	j.word(s, c.Word)
	var out stream
	result := s.clone()
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			j.word(s, p)
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
		s.set(w.Name.Value, value{texts: []string{item.text}, taint: item.taint, glob: item.glob})
		if item.wild {
			s.set(w.Name.Value, value{texts: []string{unknown}, taint: item.taint})
		}
		out = out.and(j.stmts(s, c.Do))
	}
	if len(items) == 0 {
		j.stmts(s, c.Do)
	}
	s.merge(after)
	return out
}

// declare keeps a function for when it is called.
func (j *judge) declare(s *scope, c *syntax.FuncDecl) {
	if c.Name == nil {
		j.opaque("a function without a name")
		return
	}
	j.always = false
	if breeds(c.Name.Value, c.Body) {
		j.hit(forkBomb, c.Name.Value)
	}
	f := &function{body: c.Body}
	s.funcs[c.Name.Value] = f
	j.declared = append(j.declared, f)
}

// breeds reports whether a function starts itself twice or in the background.
func breeds(name string, body *syntax.Stmt) bool {
	found := false
	calls := func(n syntax.Node) bool {
		own := false
		syntax.Walk(n, func(n syntax.Node) bool {
			c, ok := n.(*syntax.CallExpr)
			own = own || ok && len(c.Args) > 0 && c.Args[0].Lit() == name
			return !own
		})
		return own
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

// idle judges functions that nobody was seen to call: something may.
func (j *judge) idle(s *scope) {
	for i := 0; i < len(j.declared); i++ { // bodies may declare more
		if f := j.declared[i]; !f.used {
			f.used = true
			inner := s.clone()
			inner.params = []string{unknown, unknown, unknown, unknown}
			j.stmt(inner, f.body)
		}
	}
}

// arithm judges what runs inside arithmetic and tests.
func (j *judge) arithm(s *scope, x syntax.Node) {
	if isNil(x) {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		w, ok := n.(*syntax.Word)
		if !ok {
			return true
		}
		text := j.word(s, w).text
		if v, ok := s.vars[w.Lit()]; ok {
			text += v.first()
		}
		if strings.Contains(text, "$(") || strings.Contains(text, "`") {
			j.opaque("arithmetic that runs commands")
		}
		return false
	})
}

// isNil reports whether there is no node, also none of a type.
func isNil(x syntax.Node) bool {
	switch x := x.(type) {
	case nil:
		return true
	case *syntax.Word:
		return x == nil
	}
	return false
}

// substitution judges $(…) and gives what it writes.
func (j *judge) substitution(s *scope, c *syntax.CmdSubst) value {
	inner := s.clone()
	var out stream
	j.deeper(func() { out = j.stmts(inner, c.Stmts) })
	if out.from == exactly {
		return value{texts: []string{strings.TrimRight(out.text, "\n")}, taint: out.taint}
	}
	return value{texts: []string{unknown}, taint: out.taint}
}

// procSubst judges <(…) and >(…).
func (j *judge) procSubst(b *builder, p *syntax.ProcSubst) {
	inner := b.s.clone()
	if p.Op == syntax.CmdOut {
		inner.in = stream{from: anyText}
	}
	var out stream
	j.deeper(func() { out = j.stmts(inner, p.Stmts) })
	if out.from == nothing {
		out.from = anyText
	}
	b.add("/dev/fd/" + unknown)
	b.cur.input, b.cur.taint = &out, out.taint
}
