package judge

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Shape returns a command without its plain words that are not options: its
// programs, options, operators and redirections stay, and everything that the
// shell works out. Two texts of one shape differ in such words only, so that a
// pattern for texts cannot reach across the grammar of the shell.
func Shape(command string) string {
	file, err := parse(command, syntax.LangBash)
	if err != nil || doubtfulComment(command, file) {
		return command
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		c, ok := n.(*syntax.CallExpr)
		if !ok {
			_, redirection := n.(*syntax.Redirect)
			return !redirection
		}
		for i, w := range c.Args {
			text, plain := plainWord(w)
			if plain && i > 0 && !strings.HasPrefix(text, "-") && !strings.ContainsAny(text, "*?[{~=") {
				c.Args[i] = &syntax.Word{Parts: []syntax.WordPart{&syntax.SglQuoted{}}}
			}
		}
		return true
	})
	var b strings.Builder
	if err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, file); err != nil {
		return command
	}
	return b.String()
}

// plainWord returns the text of a word without expansions.
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
