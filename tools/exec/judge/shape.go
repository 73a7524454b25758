package judge

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Shape is what stays of a command when the plain words that are no options are
// left out: its programs, options, operators and redirections, and all that is
// worked out when it runs. Two texts of one shape differ in such words only, so
// that a pattern for texts cannot reach across the grammar of the shell.
func Shape(command string) string {
	f, err := parse(command, syntax.LangBash)
	if err != nil || doubtful(command, f) {
		return command
	}
	p := &shape{}
	syntax.Walk(f, p.visit)
	return p.String()
}

type shape struct{ strings.Builder }

func (p *shape) put(parts ...string) { p.WriteString(strings.Join(parts, " ") + "\n") }

func (p *shape) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case nil:
		p.put("end")
	case *syntax.BinaryCmd:
		p.put("operator", n.Op.String())
	case *syntax.Stmt:
		if n.Negated || n.Background || n.Coprocess {
			p.put("statement", printed(n))
		}
	case *syntax.Redirect:
		number, target := "", ""
		if n.N != nil {
			number = n.N.Value
		}
		for _, w := range []*syntax.Word{n.Word, n.Hdoc} {
			if w != nil {
				target += " " + printed(w)
			}
		}
		p.put("redirection", number, n.Op.String(), target)
		return false
	case *syntax.CallExpr:
		p.put("call")
		for _, a := range n.Assigns {
			p.put("assignment", printed(a))
		}
		for i, w := range n.Args {
			p.word(w, i == 0)
		}
		return false
	case *syntax.File:
	default:
		p.put("other", printed(n))
	}
	return true
}

// word keeps the program, options, and words that are not plain.
func (p *shape) word(w *syntax.Word, first bool) {
	text, plain := plainWord(w)
	switch {
	case !plain:
		p.put("word", printed(w))
	case first || strings.HasPrefix(text, "-") || strings.ContainsAny(text, "*?[{~="):
		p.put("word", text)
	default:
		p.put("word")
	}
}

// plainWord is what a word stands for that nothing is worked out in.
func plainWord(w *syntax.Word) (text string, plain bool) {
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text += part.Value
		case *syntax.SglQuoted:
			text += part.Value
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return "", false
				}
				text += lit.Value
			}
		default:
			return "", false
		}
	}
	return text, true
}

func printed(n syntax.Node) string {
	var b strings.Builder
	if err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, n); err != nil {
		return "?" // only the kind of the node is known, which comes before it
	}
	return b.String()
}
