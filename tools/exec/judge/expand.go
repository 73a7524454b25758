package judge

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// An arg is one word that a program gets, as far as it can be known.
type arg struct {
	text  string // what is not known in it is unknown
	glob  bool   // holds patterns that file names will take the place of
	wild  bool   // what is not known in it may become several words or none
	taint taint
	input *stream // a process substitution: what reading it gives
}

func literal(text string) arg { return arg{text: text} }

// static reports whether the text is known.
func (a arg) static() bool { return !strings.Contains(a.text, unknown) }

// is reports whether a is exactly this.
func (a arg) is(text string) bool { return a.text == text }

// shown is a for people.
func (a arg) shown() string { return strings.ReplaceAll(a.text, unknown, "…") }

// texts are the words for people.
func texts(args []arg) []string {
	all := make([]string, len(args))
	for i, a := range args {
		all[i] = a.shown()
	}
	return all
}

const maxFields = 1000 // words that one word may become

// fields are the words that a list of words becomes.
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

// word is what a word becomes where it stays one: in assignments, after
// redirections, in here-documents.
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

// A builder puts the words together that the parts of a word become.
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

// joined is all of it as one word.
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
			b.j.procSubst(b, p)
		case *syntax.ExtGlob:
			b.add(p.Op.String() + p.Pattern.Value + ")")
			b.cur.glob = true
		case *syntax.BraceExp:
			b.add(unknown)
			b.cur.wild = true
		}
	}
}

// isAll reports whether a part is "$@", which may be no word at all.
func isAll(p syntax.WordPart) bool {
	e, ok := p.(*syntax.ParamExp)
	return ok && e.Param != nil && (e.Param.Value == "@" || e.Index != nil)
}

// number is a plain number, or unknown.
func number(x syntax.ArithmExpr) string {
	if w, ok := x.(*syntax.Word); ok {
		if _, err := strconv.Atoi(w.Lit()); err == nil {
			return w.Lit()
		}
	}
	return unknown
}

// lit adds a literal as it stands in the text.
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

// isPattern reports whether file names may take the place of text.
func isPattern(text string) bool {
	return strings.ContainsAny(text, "*?") || strings.Contains(text, "[") && strings.Contains(text, "]")
}

// tilde puts the home directory in the place of a ~ that begins a word.
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

// value adds what a variable or substitution gives.
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

// list adds the elements of an array, each a word of its own.
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
