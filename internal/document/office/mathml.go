package office

import (
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document/pack"
)

// mathML returns a formula of LibreOffice as LaTeX.
func mathML(n *pack.Node) string { return strings.TrimSpace(mathAll(n)) }

func mathAll(n *pack.Node) string {
	var b strings.Builder
	for _, kid := range n.Kids {
		b.WriteString(mathNode(kid))
	}
	return b.String()
}

// mathArg returns child i with braces.
func mathArg(n *pack.Node, i int) string {
	for _, kid := range n.Kids {
		if kid.Name == "" {
			continue
		}
		if i == 0 {
			return "{" + strings.TrimSpace(mathNode(kid)) + "}"
		}
		i--
	}
	return "{}"
}

func mathNode(n *pack.Node) string {
	switch n.Name {
	case "", "math:annotation", "math:annotation-xml":
		return ""
	case "math:mi", "math:mn", "math:mo":
		text := strings.TrimSpace(n.Content())
		if isFunction(text) {
			return `\` + text + " "
		}
		return texText(text)
	case "math:mtext":
		return `\text{` + strings.TrimSpace(n.Content()) + "}"
	case "math:mspace":
		return " "
	case "math:mfrac":
		return `\frac` + mathArg(n, 0) + mathArg(n, 1)
	case "math:msqrt":
		return `\sqrt{` + strings.TrimSpace(mathAll(n)) + "}"
	case "math:mroot":
		return `\sqrt[` + unbrace(mathArg(n, 1)) + "]" + mathArg(n, 0)
	case "math:msup", "math:mover":
		return mathBase(n) + "^" + mathArg(n, 1)
	case "math:msub", "math:munder":
		return mathBase(n) + "_" + mathArg(n, 1)
	case "math:msubsup", "math:munderover":
		return mathBase(n) + "_" + mathArg(n, 1) + "^" + mathArg(n, 2)
	case "math:mtable":
		var rows []string
		for _, row := range n.Children("math:mtr") {
			var cells []string
			for _, cell := range row.Children("math:mtd") {
				cells = append(cells, strings.TrimSpace(mathAll(cell)))
			}
			rows = append(rows, strings.Join(cells, " & "))
		}
		return `\begin{matrix} ` + strings.Join(rows, ` \\ `) + ` \end{matrix}`
	}
	return mathAll(n)
}

// mathBase returns the base of an index, without braces around a single character or command.
func mathBase(n *pack.Node) string {
	text := unbrace(mathArg(n, 0))
	if text = strings.TrimSpace(text); len([]rune(text)) == 1 || strings.HasPrefix(text, `\`) && isWord(text[1:]) {
		return text
	}
	return "{" + text + "}"
}
