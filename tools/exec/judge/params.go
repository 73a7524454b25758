package judge

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// param adds what a parameter expansion gives.
func (b *builder) param(p *syntax.ParamExp, quoted bool) {
	if p.Param == nil {
		b.unknown(quoted)
		return
	}
	name := p.Param.Value
	if !b.j.step() {
		b.unknown(quoted)
		return
	}
	w := b.inside(p)
	if p.Names != 0 || p.Width || p.Flags != nil {
		b.unknown(quoted)
		return
	}
	if p.Exp != nil && p.Exp.Op == syntax.OtherParamOps {
		if op := p.Exp.Word.Lit(); op != "" && strings.Contains("PpEeAaKk", op) {
			b.j.hit(prompt, "${"+name+"@"+op+"}")
		}
		b.unknown(quoted)
		return
	}
	v, all := b.lookup(name, p.Index)
	if p.Excl {
		v = b.s.get(v.first())
	}
	if all && p.Exp == nil && p.Repl == nil && p.Slice == nil && !p.Length {
		if v.texts == nil {
			return
		}
		b.cur.taint |= v.taint
		b.list(v.texts, quoted)
		return
	}
	text, ok := operate(p, w, v.first())
	if !ok || strings.Contains(text, unknown) && text != v.first() {
		text = unknown
	}
	b.value(value{texts: []string{text}, taint: v.taint, glob: v.glob}, quoted)
}

func (b *builder) unknown(quoted bool) { b.value(value{texts: []string{unknown}}, quoted) }

// operands are the words in an expansion.
type operands struct{ word, orig, with arg }

// inside judges the substitutions in an expansion: they run in any case. They
// are gone through once, or nested ones would take for ever.
func (b *builder) inside(p *syntax.ParamExp) (o operands) {
	if p.Index != nil {
		b.j.arithm(b.s, p.Index)
	}
	if p.Slice != nil {
		b.j.arithm(b.s, p.Slice.Offset)
		b.j.arithm(b.s, p.Slice.Length)
	}
	if p.Repl != nil {
		o.orig, o.with = b.j.word(b.s, p.Repl.Orig), b.j.word(b.s, p.Repl.With)
	}
	if p.Exp != nil && p.Exp.Word != nil {
		o.word = b.j.word(b.s, p.Exp.Word)
	}
	return o
}

// lookup finds the value of a parameter. The second result says that it is all
// elements of a list.
func (b *builder) lookup(name string, index syntax.ArithmExpr) (value, bool) {
	switch name {
	case "@", "*":
		return value{texts: b.s.params}, true
	case "#":
		return known(strconv.Itoa(len(b.s.params))), false
	case "0":
		return known(b.s.zero), false
	}
	if n, err := strconv.Atoi(name); err == nil {
		if n >= 1 && n <= len(b.s.params) {
			return known(b.s.params[n-1]), false
		}
		return known(""), false
	}
	v := b.s.get(name)
	if index == nil {
		return v, false
	}
	w, ok := index.(*syntax.Word)
	if !ok {
		return value{texts: []string{unknown}, taint: v.taint}, false
	}
	switch lit := w.Lit(); lit {
	case "@", "*":
		return v, true
	default:
		n, err := strconv.Atoi(lit)
		if err != nil || n < 0 || strings.Contains(strings.Join(v.texts, ""), unknown) {
			return value{texts: []string{unknown}, taint: v.taint}, false
		}
		if n >= len(v.texts) {
			return known(""), false
		}
		return known(v.texts[n]), false
	}
}

// operate applies the operation of an expansion to a text, if that can be done.
func operate(p *syntax.ParamExp, o operands, text string) (string, bool) {
	switch {
	case p.Length:
		return strconv.Itoa(len(text)), !strings.Contains(text, unknown)
	case p.Slice != nil:
		return slice(text, p.Slice)
	case p.Repl != nil:
		orig, with := o.orig, o.with
		if orig.glob || !orig.static() || orig.text == "" || strings.ContainsAny(orig.text[:1], "#%") {
			return "", false
		}
		n := 1
		if p.Repl.All {
			n = -1
		}
		return strings.Replace(text, orig.text, with.text, n), true
	case p.Exp != nil:
		return operator(p.Exp, o.word, text)
	}
	return text, true
}

func operator(e *syntax.Expansion, w arg, text string) (string, bool) {
	switch e.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if text == "" {
			return w.text, true
		}
		return text, true // when it is unknown it stays so
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		return text, true
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if text == "" || strings.Contains(text, unknown) {
			return "", false
		}
		return w.text, true
	case syntax.RemSmallPrefix, syntax.RemLargePrefix:
		return strings.TrimPrefix(text, w.text), !w.glob && w.static()
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		return strings.TrimSuffix(text, w.text), !w.glob && w.static()
	case syntax.LowerAll:
		return strings.ToLower(text), e.Word == nil
	case syntax.UpperAll:
		return strings.ToUpper(text), e.Word == nil
	}
	return "", false
}

// slice is ${x:offset:length} of known numbers.
func slice(text string, s *syntax.Slice) (string, bool) {
	if strings.Contains(text, unknown) {
		return "", false
	}
	from, ok := small(s.Offset)
	if !ok {
		return "", false
	}
	if from < 0 {
		from = max(0, len(text)+from)
	}
	text = text[min(from, len(text)):]
	if s.Length == nil {
		return text, true
	}
	n, ok := small(s.Length)
	if !ok {
		return "", false
	}
	if n < 0 {
		n = max(0, len(text)+n)
	}
	return text[:min(n, len(text))], true
}

// small is a number that is written out.
func small(x syntax.ArithmExpr) (int, bool) {
	switch x := x.(type) {
	case *syntax.Word:
		n, err := strconv.Atoi(x.Lit())
		return n, err == nil
	case *syntax.UnaryArithm:
		n, ok := small(x.X)
		return -n, ok && x.Op == syntax.Minus
	case *syntax.ParenArithm:
		return small(x.X)
	}
	return 0, false
}
