package judge

import (
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// An arg is one word that a program gets, as far as it is known.
type arg struct {
	text string // with marks for unknown parts
	glob bool   // it has patterns; the shell replaces them by file names
	wild bool   // its unknown parts may become several words or none
}

func literal(text string) arg { return arg{text: text} }

// static reports whether the whole text is known.
func (a arg) static() bool { return isKnown(a.text) }

// is reports whether a is exactly this text.
func (a arg) is(text string) bool { return a.text == text }

// any reports whether a is exactly one of these texts.
func (a arg) any(texts ...string) bool {
	return slices.Contains(texts, a.text)
}

func (a arg) starts(with string) bool { return strings.HasPrefix(a.text, with) }

// hidden reports whether a may be options or several words.
func (a arg) hidden() bool { return a.wild && mayBeOption(a) }

func (a arg) taint() taint { return taintOf(a.text) }

// with returns a with another text.
func (a arg) with(text string) arg {
	a.text = text
	return a
}

// value returns the value of a variable after the assignment a.
func (a arg) value() expand.Variable {
	if a.glob {
		return known(globMark + a.text)
	}
	return known(a.text)
}

// shown returns the text for messages.
func (a arg) shown() string {
	return strings.Map(func(r rune) rune {
		if isMark(r) {
			return '…'
		}
		return r
	}, a.text)
}

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
	texts := argTexts(args)
	for i, a := range args {
		if a.glob {
			texts[i] += unknown
		}
	}
	return literal(strings.Join(texts, " "))
}

const maxFields = 1000 // words that one word may become

// fields returns the words that a list of words becomes.
func (j *judge) fields(s *scope, words []*syntax.Word) []arg {
	var all []arg
	for _, w := range words {
		if len(w.Parts) == 1 { // most words are one plain literal
			if lit, ok := w.Parts[0].(*syntax.Lit); ok && !strings.ContainsAny(lit.Value, "\\~*?[{") {
				all = append(all, literal(lit.Value))
				continue
			}
		}
		if !j.step() || len(all) > maxFields*10 {
			return append(all, arg{text: unknown, wild: true})
		}
		all = append(all, j.expand(s, w)...)
	}
	return all
}

// expand returns the words that a word becomes.
func (j *judge) expand(s *scope, w *syntax.Word) []arg {
	split := *w
	if syntax.SplitBraces(&split) && alternatives(split.Parts) > maxFields {
		return []arg{{text: unknown, wild: true}}
	}
	e := expander{judge: j, scope: s}
	texts, err := expand.Fields(e.config(), &syntax.Word{Parts: e.parts(w.Parts, false)})
	if err != nil || len(texts) > maxFields || e.splits && !isKnown(first(s.get("IFS"))) {
		return []arg{{text: unknownFrom(taintOf(strings.Join(texts, ""))), wild: true}}
	}
	all := make([]arg, len(texts))
	for i, text := range texts {
		all[i].text = strings.ReplaceAll(text, globMark, "")
		all[i].glob = all[i].text != text || e.globs && isPattern(text)
		all[i].wild = e.splits && !isKnown(text)
	}
	return all
}

// word returns the expansion of a word where it is not split: in assignments, and with here
// true in here-documents.
func (j *judge) word(s *scope, w *syntax.Word, here bool) arg {
	if w == nil {
		return arg{}
	}
	if !j.step() {
		return literal(unknown)
	}
	e := expander{judge: j, scope: s}
	word, read := &syntax.Word{Parts: e.parts(w.Parts, here)}, expand.Literal
	if here {
		read = expand.Document
	}
	text, err := read(e.config(), word)
	if err != nil {
		text = unknown
	}
	clean := strings.ReplaceAll(text, globMark, "")
	return arg{text: clean, glob: clean != text}
}

// alternatives returns how many words the braces among parts make, or a number
// above maxFields if those are too many.
func alternatives(parts []syntax.WordPart) int {
	n := 1
	for _, part := range parts {
		b, ok := part.(*syntax.BraceExp)
		if !ok {
			continue
		}
		some := 0
		for _, e := range b.Elems {
			some += alternatives(e.Parts)
		}
		if b.Sequence {
			from, err1 := strconv.Atoi(b.Elems[0].Lit())
			to, err2 := strconv.Atoi(b.Elems[1].Lit())
			if some = 256; err1 == nil && err2 == nil { // letters otherwise
				some = max(from-to, to-from) + 1
			}
		}
		if some > maxFields || some < 0 || n*some > maxFields {
			return maxFields + 1
		}
		n *= some
	}
	return n
}

// An expander prepares words for the package expand: it judges the commands in them, and puts
// marks where the package would have to know more than we do.
type expander struct {
	*judge
	scope  *scope
	splits bool // the word has expansions that are split into words
	globs  bool // the word has patterns for file names
}

func (e *expander) config() *expand.Config {
	return &expand.Config{
		Env: e.scope,
		CmdSubst: func(to io.Writer, c *syntax.CmdSubst) error {
			_, err := io.WriteString(to, e.substitution(e.scope, c))
			return err
		},
		ProcSubst: func(p *syntax.ProcSubst) (string, error) { return e.processSubstitution(e.scope, p), nil },
		ReadDir2: func(string) ([]fs.DirEntry, error) { // it is called for patterns only
			e.globs = true
			return nil, nil
		},
	}
}

func (e *expander) parts(parts []syntax.WordPart, quoted bool) []syntax.WordPart {
	made := make([]syntax.WordPart, 0, len(parts))
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			before, after, escaped := p.Value, "", !quoted
			for escaped { // the package leaves escapes where words are not split
				if before, after, escaped = strings.Cut(before, "\\"); escaped && after != "" {
					_, size := utf8.DecodeRuneInString(after)
					made = append(made, &syntax.Lit{Value: before}, quotedPart(strings.Trim(after[:size], "\n")))
					before = after[size:]
				}
			}
			part = &syntax.Lit{Value: before}
		case *syntax.DblQuoted:
			part = &syntax.DblQuoted{Parts: e.parts(p.Parts, true)}
		case *syntax.ParamExp:
			e.splits = e.splits || !quoted
			part = e.param(p)
		case *syntax.CmdSubst:
			e.splits = e.splits || !quoted
		case *syntax.ArithmExp:
			e.arithm(e.scope, p.X)
			text := unknown
			if w, ok := p.X.(*syntax.Word); ok && isNumber(w) {
				text = w.Lit()
			}
			part = quotedPart(text)
		case *syntax.ExtGlob:
			part = &syntax.Lit{Value: "*"}
		}
		made = append(made, part)
	}
	return made
}

func quotedPart(text string) syntax.WordPart { return &syntax.SglQuoted{Value: text} }
func quotedWord(text string) *syntax.Word {
	return &syntax.Word{Parts: []syntax.WordPart{quotedPart(text)}}
}
func unknownParam(t taint) syntax.WordPart { return quotedPart(unknownFrom(t)) }

// param judges the commands in a parameter expansion, and returns it in a form that can be
// worked out. Words in it are expanded once, since nested ones would take exponential time
// otherwise.
func (e *expander) param(p *syntax.ParamExp) syntax.WordPart {
	made := *p
	fits := e.step() && p.Param != nil && p.Names == 0 && !p.Width && !p.IsSet && p.Flags == nil
	if p.Index != nil {
		e.arithm(e.scope, p.Index)
		w, ok := p.Index.(*syntax.Word)
		fits = fits && ok && (isNumber(w) || w.Lit() == "@" || w.Lit() == "*")
	}
	if p.Slice != nil {
		e.arithm(e.scope, p.Slice.Offset)
		e.arithm(e.scope, p.Slice.Length)
		fits = fits && constant(p.Slice.Offset) && constant(p.Slice.Length)
	}
	if p.Repl != nil {
		orig, with := e.word(e.scope, p.Repl.Orig, false), e.word(e.scope, p.Repl.With, false)
		fits = fits && orig.static() && p.Repl.Orig.Lit() != ""
		made.Repl = &syntax.Replace{All: p.Repl.All, Orig: p.Repl.Orig, With: quotedWord(with.text)}
	}
	if p.Exp != nil {
		w := arg{}
		if p.Exp.Word != nil {
			w = e.word(e.scope, p.Exp.Word, false)
		}
		made.Exp = &syntax.Expansion{Op: p.Exp.Op, Word: quotedWord(w.text)}
		switch p.Exp.Op {
		case syntax.OtherParamOps:
			if w.text != "" && strings.Contains("PpEeAaKk", w.text) {
				e.hit("prompt_expansion", "${"+p.Param.Value+"@"+w.text+"}")
			}
			fits = false
		case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
			fits = fits && w.static()
		}
	}
	if p.Param == nil {
		return unknownParam(0)
	}
	text := whole(e.scope.Get(p.Param.Value))
	plain := p.Exp == nil && p.Repl == nil && p.Slice == nil && !p.Length && !p.Excl && p.Index == nil
	if !fits || !plain && !isKnown(text) {
		return unknownParam(taintOf(text))
	}
	return &made
}

func isNumber(w *syntax.Word) bool {
	_, err := strconv.Atoi(w.Lit())
	return err == nil
}

// constant reports whether an arithmetic expression consists of numbers.
func constant(x syntax.ArithmExpr) bool {
	all := true
	if x != nil {
		syntax.Walk(x, func(n syntax.Node) bool {
			w, ok := n.(*syntax.Word)
			all = all && (!ok || isNumber(w))
			return !ok
		})
	}
	return all
}

// isPattern reports whether the shell may replace the text by file names.
func isPattern(text string) bool {
	return strings.ContainsAny(text, "*?") || strings.Contains(text, "[") && strings.Contains(text, "]")
}

// splitWords splits a text into words as env -S and xargs do: at blanks, with
// quotes and backslashes. It returns false for text that it cannot split.
func splitWords(text string) (all []string, ok bool) {
	for w, err := range syntax.NewParser().WordsSeq(strings.NewReader(text)) {
		if err != nil {
			return nil, false
		}
		plain, one := true, ""
		syntax.Walk(w, func(n syntax.Node) bool {
			switch n.(type) {
			case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ArithmExp, *syntax.ProcSubst, *syntax.ExtGlob:
				plain = false
			}
			return plain
		})
		if !plain {
			return nil, false
		}
		e := expander{}
		one, err = expand.Literal(nil, &syntax.Word{Parts: e.parts(w.Parts, false)})
		if err != nil {
			return nil, false
		}
		all = append(all, one)
	}
	return all, true
}
