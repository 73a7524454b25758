package office

import (
	"cmp"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/mcp-tools/mcp-tools/internal/document/pack"
)

// latex returns a formula of Office as LaTeX.
func latex(n *pack.Node) string {
	var b strings.Builder
	texAll(&b, n)
	return strings.TrimSpace(b.String())
}

func texAll(b *strings.Builder, n *pack.Node) {
	if n == nil {
		return
	}
	for _, kid := range n.Kids {
		tex(b, kid)
	}
}

// arg returns the argument of a command with its braces.
func arg(n *pack.Node) string {
	var b strings.Builder
	texAll(&b, n)
	return "{" + strings.TrimSpace(b.String()) + "}"
}

// unbrace returns an argument without its braces.
func unbrace(text string) string { return strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}") }

// tex writes one element.
func tex(b *strings.Builder, n *pack.Node) {
	switch n.Name {
	case "m:r":
		texRun(b, n)
	case "m:f":
		switch n.At("m:fPr", "m:type").Attr("m:val") {
		case "noBar":
			b.WriteString(`\binom` + arg(n.Child("m:num")) + arg(n.Child("m:den")))
		case "lin":
			b.WriteString(arg(n.Child("m:num")) + "/" + arg(n.Child("m:den")))
		default:
			b.WriteString(`\frac` + arg(n.Child("m:num")) + arg(n.Child("m:den")))
		}
	case "m:rad":
		b.WriteString(`\sqrt`)
		if degree := unbrace(arg(n.Child("m:deg"))); degree != "" {
			b.WriteString("[" + degree + "]")
		}
		b.WriteString(arg(n.Child("m:e")))
	case "m:sSup":
		b.WriteString(base(n) + "^" + arg(n.Child("m:sup")))
	case "m:sSub":
		b.WriteString(base(n) + "_" + arg(n.Child("m:sub")))
	case "m:sSubSup":
		b.WriteString(base(n) + "_" + arg(n.Child("m:sub")) + "^" + arg(n.Child("m:sup")))
	case "m:sPre":
		b.WriteString("{}_" + arg(n.Child("m:sub")) + "^" + arg(n.Child("m:sup")) + base(n))
	case "m:nary":
		texNary(b, n)
	case "m:d":
		texDelimiters(b, n)
	case "m:func":
		name := unbrace(arg(n.Child("m:fName")))
		if isWord(name) {
			if isFunction(name) {
				name = `\` + name
			} else {
				name = `\operatorname{` + name + "}"
			}
		}
		b.WriteString(name + " " + arg(n.Child("m:e")))
	case "m:acc":
		b.WriteString(cmp.Or(accents[n.At("m:accPr", "m:chr").Attr("m:val")], `\hat`) + arg(n.Child("m:e")))
	case "m:bar":
		if n.At("m:barPr", "m:pos").Attr("m:val") == "top" {
			b.WriteString(`\overline` + arg(n.Child("m:e")))
		} else {
			b.WriteString(`\underline` + arg(n.Child("m:e")))
		}
	case "m:groupChr":
		if n.At("m:groupChrPr", "m:pos").Attr("m:val") == "top" {
			b.WriteString(`\overbrace` + arg(n.Child("m:e")))
		} else {
			b.WriteString(`\underbrace` + arg(n.Child("m:e")))
		}
	case "m:limLow":
		b.WriteString(limitBase(n) + "_" + arg(n.Child("m:lim")))
	case "m:limUpp":
		b.WriteString(limitBase(n) + "^" + arg(n.Child("m:lim")))
	case "m:m":
		texRows(b, "matrix", n.Children("m:mr"), "m:e")
	case "m:eqArr":
		texRows(b, "aligned", n.Children("m:e"), "")
	default:
		if !strings.HasSuffix(n.Name, "Pr") && n.Name != "w:del" && n.Name != "w:rPr" {
			texAll(b, n)
		}
	}
}

// base returns the base of an index.
func base(n *pack.Node) string {
	text := arg(n.Child("m:e"))
	if len([]rune(text)) == 3 {
		return unbrace(text)
	}
	return text
}

func limitBase(n *pack.Node) string {
	name := unbrace(arg(n.Child("m:e")))
	if isFunction(name) {
		return `\` + name
	}
	return "{" + name + "}"
}

func isWord(text string) bool {
	return text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// isFunction reports whether LaTeX has a command for a function.
func isFunction(name string) bool {
	const known = " arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf " +
		"limsup ln log max min sec sin sinh sup tan tanh "
	return strings.Contains(known, " "+name+" ")
}

func texNary(b *strings.Builder, n *pack.Node) {
	properties := n.Child("m:naryPr")
	sign := "∫"
	if c := properties.Child("m:chr"); c != nil {
		sign = c.Attr("m:val")
	}
	b.WriteString(strings.TrimSpace(texText(sign)))
	if sub := arg(n.Child("m:sub")); sub != "{}" {
		b.WriteString("_" + sub)
	}
	if sup := arg(n.Child("m:sup")); sup != "{}" {
		b.WriteString("^" + sup)
	}
	b.WriteString(" " + arg(n.Child("m:e")))
}

func texDelimiters(b *strings.Builder, n *pack.Node) {
	delimiter := func(name, otherwise string) string {
		c := n.At("m:dPr", name)
		if c == nil {
			return otherwise
		}
		switch v := c.Attr("m:val"); v {
		case "":
			return "."
		case "{", "}":
			return `\` + v
		case "⟨", "〈":
			return `\langle`
		case "⟩", "〉":
			return `\rangle`
		case "‖":
			return `\|`
		default:
			return v
		}
	}
	var all []string
	for _, e := range n.Children("m:e") {
		all = append(all, unbrace(arg(e)))
	}
	separator := delimiter("m:sepChr", "|")
	b.WriteString(`\left` + delimiter("m:begChr", "(") + " " + strings.Join(all, " "+separator+" ") +
		` \right` + delimiter("m:endChr", ")"))
}

func texRows(b *strings.Builder, environment string, rows []*pack.Node, cell string) {
	var lines []string
	for _, row := range rows {
		var cells []string
		if cell == "" {
			cells = []string{unbrace(arg(row))}
		}
		for _, e := range row.Children(cell) {
			if cell != "" {
				cells = append(cells, unbrace(arg(e)))
			}
		}
		lines = append(lines, strings.Join(cells, " & "))
	}
	b.WriteString(`\begin{` + environment + "} " + strings.Join(lines, ` \\ `) + ` \end{` + environment + "}")
}

// accents are the commands for characters above others; \hat is the default.
var accents = map[string]string{
	"\u0303": `\tilde`, "~": `\tilde`, "\u0304": `\bar`, "\u0305": `\bar`, "¯": `\bar`, "\u0307": `\dot`,
	"\u0308": `\ddot`, "\u20d7": `\vec`, "→": `\vec`, "\u030c": `\check`,
}

// texRun writes the characters of a formula. Words that are set upright stay words.
func texRun(b *strings.Builder, n *pack.Node) {
	var text string
	for _, t := range n.Children("m:t") {
		text += t.Content()
	}
	upright := n.At("m:rPr", "m:sty").Attr("m:val") == "p" || n.At("m:rPr", "m:nor") != nil
	if upright && strings.Contains(text, " ") && isWord(strings.ReplaceAll(text, " ", "")) {
		b.WriteString(`\text{` + text + "}")
		return
	}
	b.WriteString(texText(text))
}

// texText returns characters as commands. Letters of mathematical alphabets are plain ones.
func texText(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r >= 0x1d400 && r <= 0x1d7ff {
			r = []rune(norm.NFKC.String(string(r)))[0]
		}
		switch command := texCommand(r); {
		case command != "":
			b.WriteString(command + " ")
		case strings.ContainsRune("#$%&_{}", r):
			b.WriteString(`\` + string(r))
		case r == '\\':
			b.WriteString(`\backslash `)
		case r == '\u2061' || r == '\u2062' || r == '\u2063' || r == '\u200b':
		case r == '\u00a0' || r == '\u2009' || r == '\u2003':
			b.WriteByte(' ')
		case r == '\u2212':
			b.WriteByte('-')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func texCommand(r rune) string {
	const greek = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi o pi rho varsigma sigma " +
		"tau upsilon phi chi psi omega"
	if r >= 'α' && r <= 'ω' {
		if name := strings.Fields(greek)[r-'α']; name != "o" {
			return `\` + name
		}
		return ""
	}
	const pairs = "Γ Gamma Δ Delta Θ Theta Λ Lambda Ξ Xi Π Pi Σ Sigma Υ Upsilon Φ Phi Ψ Psi Ω Omega " +
		"ϵ epsilon ϕ phi ϑ vartheta ∑ sum ∏ prod ∐ coprod ∫ int ∬ iint ∭ iiint ∮ oint " +
		"⋃ bigcup ⋂ bigcap ∞ infty ∂ partial ∇ nabla ≤ le ≥ ge ≠ ne " +
		"≈ approx ≡ equiv ∼ sim ≅ cong ∝ propto ± pm ∓ mp × times ÷ div ⋅ cdot ∙ cdot ∘ circ " +
		"∈ in ∉ notin ⊂ subset ⊆ subseteq ⊃ supset ⊇ supseteq ∪ cup ∩ cap ∅ emptyset ∀ forall ∃ exists ¬ neg " +
		"∧ wedge ∨ vee → to ← leftarrow ↔ leftrightarrow ⇒ Rightarrow ⇐ Leftarrow ⇔ Leftrightarrow ↦ mapsto " +
		"… ldots ⋯ cdots ⋮ vdots ⋱ ddots ℝ mathbb{R} ℕ mathbb{N} ℤ mathbb{Z} ℚ mathbb{Q} ℂ mathbb{C} " +
		"⊥ perp ∥ parallel ∠ angle ° degree ′ prime ℏ hbar ℓ ell ⊕ oplus ⊗ otimes ≪ ll ≫ gg"
	i := strings.Index(pairs, string(r)+" ")
	if i < 0 || r < 0x80 {
		return ""
	}
	name, _, _ := strings.Cut(pairs[i+len(string(r))+1:], " ")
	return `\` + name
}
