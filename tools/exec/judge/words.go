package judge

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// An arg is one word that a program gets, as far as it is known.
type arg struct {
	text  string // with unknown for each part that is not known
	glob  bool   // it has patterns, which the shell replaces by file names
	wild  bool   // its unknown parts may become several words or none
	taint taint
	input *stream // of a process substitution: what reading it gives
}

func literal(text string) arg { return arg{text: text} }

// static reports whether the whole text is known.
func (a arg) static() bool { return !strings.Contains(a.text, unknown) }

// is reports whether a is exactly this text.
func (a arg) is(text string) bool { return a.text == text }

// shown returns the text for messages.
func (a arg) shown() string { return strings.ReplaceAll(a.text, unknown, "…") }

// argTexts returns the texts of words.
func argTexts(args []arg) []string {
	all := make([]string, len(args))
	for i, a := range args {
		all[i] = a.text
	}
	return all
}

// joinArgs joins words by blanks.
func joinArgs(args []arg) arg {
	var all arg
	for i, a := range args {
		if i > 0 {
			all.text += " "
		}
		all.text += a.text
		all.taint |= a.taint
		if a.glob {
			all.text += unknown
		}
	}
	return all
}

const maxFields = 1000 // words that one word may become

// fields returns the words that a list of words becomes.
func (j *judge) fields(s *scope, words []*syntax.Word) []arg {
	var all []arg
	for _, w := range words {
		for _, parts := range j.braces(w) {
			if !j.step() || len(all) > maxFields*10 {
				return append(all, arg{text: unknown, wild: true})
			}
			all = append(all, j.parts(s, parts)...)
		}
	}
	return all
}

// word returns what a word becomes where it is not split: in assignments and
// here-documents.
func (j *judge) word(s *scope, w *syntax.Word) arg {
	if w == nil {
		return arg{}
	}
	if !j.step() {
		return arg{text: unknown}
	}
	b := builder{j: j, s: s, whole: true}
	b.all(w.Parts, false)
	return b.joined()
}

func (j *judge) parts(s *scope, parts []syntax.WordPart) []arg {
	if len(parts) == 1 { // most words are one plain literal
		if lit, ok := parts[0].(*syntax.Lit); ok && !strings.ContainsAny(lit.Value, "\\~*?[") {
			return []arg{{text: lit.Value}}
		}
	}
	b := builder{j: j, s: s}
	b.all(parts, false)
	return b.done()
}

// A builder makes words of the parts of a word.
type builder struct {
	j      *judge
	s      *scope
	whole  bool // no splitting
	fields []arg
	cur    arg
	open   bool // cur has begun
}

func (b *builder) done() []arg {
	b.end()
	return b.fields
}

// joined returns everything as one word.
func (b *builder) joined() arg {
	b.end()
	var out arg
	for i, f := range b.fields {
		if i > 0 {
			out.text += " "
		}
		out.text += f.text
		out.glob, out.wild = out.glob || f.glob, out.wild || f.wild
		out.taint |= f.taint
		out.input = f.input
	}
	return out
}

func (b *builder) end() {
	if b.open {
		b.fields = append(b.fields, b.cur)
	}
	b.cur, b.open = arg{}, false
}

func (b *builder) add(text string) {
	b.cur.text += text
	b.open = true
}

// all adds parts, within double quotes or not.
func (b *builder) all(parts []syntax.WordPart, quoted bool) {
	for i, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.lit(p.Value, quoted, i == 0 && !b.open)
		case *syntax.SglQuoted:
			if p.Dollar {
				b.add(unescape(p.Value))
			} else {
				b.add(p.Value)
			}
		case *syntax.DblQuoted:
			if !(len(p.Parts) == 1 && isAll(p.Parts[0])) {
				b.open = true
			}
			b.all(p.Parts, true)
		case *syntax.ParamExp:
			b.param(p, quoted)
		case *syntax.CmdSubst:
			b.value(b.j.substitution(b.s, p), quoted)
		case *syntax.ArithmExp:
			b.j.arithm(b.s, p.X)
			b.add(number(p.X))
		case *syntax.ProcSubst:
			b.j.processSubstitution(b, p)
		case *syntax.ExtGlob:
			b.add(p.Op.String() + p.Pattern.Value + ")")
			b.cur.glob = true
		case *syntax.BraceExp:
			b.add(unknown)
			b.cur.wild = true
		}
	}
}

// isAll reports whether a part is "$@", which may become no word at all.
func isAll(p syntax.WordPart) bool {
	e, ok := p.(*syntax.ParamExp)
	return ok && e.Param != nil && (e.Param.Value == "@" || e.Index != nil)
}

// number returns a plain number, or unknown.
func number(x syntax.ArithmExpr) string {
	if w, ok := x.(*syntax.Word); ok {
		if _, err := strconv.Atoi(w.Lit()); err == nil {
			return w.Lit()
		}
	}
	return unknown
}

// lit adds a literal of the text.
func (b *builder) lit(text string, quoted, first bool) {
	if !quoted && first && strings.HasPrefix(text, "~") {
		text = b.tilde(text)
	}
	if !strings.Contains(text, "\\") {
		b.cur.glob = b.cur.glob || !quoted && isPattern(text)
		b.add(text)
		return
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\\n", text[i+1]) >= 0) {
			if i++; text[i] != '\n' {
				out.WriteByte(text[i])
			}
			continue
		}
		if !quoted && isPattern(text[i:]) && (c == '*' || c == '?' || c == '[') {
			b.cur.glob = true
		}
		out.WriteByte(c)
	}
	b.add(out.String())
}

// isPattern reports whether the shell may replace the text by file names.
func isPattern(text string) bool {
	return strings.ContainsAny(text, "*?") || strings.Contains(text, "[") && strings.Contains(text, "]")
}

// tilde replaces a ~ at the beginning of a word by the home directory.
func (b *builder) tilde(text string) string {
	user, rest, _ := strings.Cut(text[1:], "/")
	if strings.Contains(text, "/") {
		rest = "/" + rest
	}
	switch user {
	case "":
		return b.s.get("HOME").first() + rest
	case "+":
		return b.s.get("PWD").first() + rest
	case "root":
		return "/root" + rest
	}
	if syntax.ValidName(user) {
		return "/home/" + user + rest
	}
	return text
}

// value adds the value of a variable or substitution.
func (b *builder) value(v value, quoted bool) {
	text := v.first()
	b.cur.taint |= v.taint
	b.cur.glob = b.cur.glob || v.glob
	if quoted || b.whole {
		b.add(text)
		return
	}
	ifs := b.s.get("IFS").first()
	if strings.Contains(ifs, unknown) {
		ifs, text = " \t\n", unknown
	}
	isSep := func(r rune) bool { return strings.ContainsRune(ifs, r) }
	parts := strings.FieldsFunc(text, isSep)
	if len(parts) > maxFields {
		parts = []string{unknown}
	}
	if len(parts) == 0 {
		if text != "" {
			b.end()
		}
		return
	}
	if isSep(rune(text[0])) {
		b.end()
	}
	for i, p := range parts {
		if i > 0 {
			b.end()
		}
		b.add(p)
		b.cur.taint |= v.taint
		b.cur.wild = b.cur.wild || strings.Contains(p, unknown)
		b.cur.glob = b.cur.glob || isPattern(p)
	}
	if isSep(rune(text[len(text)-1])) {
		b.end()
	}
}

// list adds the elements of an array, each as a separate word.
func (b *builder) list(texts []string, quoted bool) {
	for i, t := range texts {
		if i > 0 {
			b.end()
		}
		if t == "" && quoted {
			b.open = true
		}
		b.value(known(t), quoted)
	}
}

// param adds the value of a parameter expansion.
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
			b.j.hit("prompt_expansion", "${"+name+"@"+op+"}")
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

// inside judges the substitutions in an expansion, which run in any case. It
// does so once, since nested ones would take exponential time otherwise.
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

// lookup returns the value of a parameter. The second result reports whether it
// is all elements of a list.
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

// operate applies the operation of an expansion to a text, if that is possible.
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

// slice returns ${x:offset:length} for known numbers.
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

// small returns a number that is written out.
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

// braces returns the words that the braces in a word make of it.
func (j *judge) braces(w *syntax.Word) [][]syntax.WordPart {
	split := *w
	if !syntax.SplitBraces(&split) {
		return [][]syntax.WordPart{w.Parts}
	}
	all, ok := alternatives(split.Parts, maxFields)
	if !ok {
		return [][]syntax.WordPart{{&syntax.BraceExp{}}} // becomes unknown
	}
	return all
}

// alternatives returns the words without braces that parts stand for, or false
// when there are more than most.
func alternatives(parts []syntax.WordPart, most int) ([][]syntax.WordPart, bool) {
	all := [][]syntax.WordPart{nil}
	for _, part := range parts {
		options := [][]syntax.WordPart{{part}}
		if b, ok := part.(*syntax.BraceExp); ok {
			if options, ok = choices(b, most); !ok {
				return nil, false
			}
		}
		if len(all)*len(options) > most {
			return nil, false
		}
		var next [][]syntax.WordPart
		for _, before := range all {
			for _, o := range options {
				next = append(next, append(before[:len(before):len(before)], o...))
			}
		}
		all = next
	}
	return all, true
}

func choices(b *syntax.BraceExp, most int) ([][]syntax.WordPart, bool) {
	if b.Sequence {
		return sequence(b, most)
	}
	var all [][]syntax.WordPart
	for _, e := range b.Elems {
		some, ok := alternatives(e.Parts, most)
		if !ok || len(all)+len(some) > most {
			return nil, false
		}
		all = append(all, some...)
	}
	return all, true
}

// sequence returns the words of {1..9}, {a..f} or {1..9..2}.
func sequence(b *syntax.BraceExp, most int) ([][]syntax.WordPart, bool) {
	first, last, letters := b.Elems[0].Lit(), b.Elems[1].Lit(), false
	from, err1 := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	if err1 != nil || err2 != nil {
		if len(first) != 1 || len(last) != 1 {
			return nil, false
		}
		from, to, letters = int(first[0]), int(last[0]), true
	}
	by := 1
	if len(b.Elems) > 2 {
		n, err := strconv.Atoi(b.Elems[2].Lit())
		if err != nil || n > 1<<20 || n < -1<<20 {
			return nil, false
		}
		by = max(n, -n, 1)
	}
	if from > 1<<30 || to > 1<<30 || from < -1<<30 || to < -1<<30 || max(from-to, to-from)/by >= most {
		return nil, false
	}
	if to < from {
		by = -by
	}
	var all [][]syntax.WordPart
	for n := from; (by > 0 && n <= to) || (by < 0 && n >= to); n += by {
		text := strconv.Itoa(n)
		if letters {
			text = string(rune(n))
		}
		all = append(all, []syntax.WordPart{&syntax.SglQuoted{Value: text}})
	}
	return all, true
}
