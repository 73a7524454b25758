package office

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document/md"
	"github.com/mcp-tools/mcp-tools/internal/document/pack"
)

// wordStyle is a style of a docx with inherited settings.
type wordStyle struct {
	name         string // lower case; Word's own styles have the same name in all languages
	outline      int    // 0 to 8, or -1
	numID, level string
	format       md.Style
	isSet        md.Style // the formats that the style switches on or off
}

// readWordStyles returns the styles by their ids.
func readWordStyles(root *pack.Node) map[string]wordStyle {
	nodes, styles := map[string]*pack.Node{}, map[string]wordStyle{}
	for _, n := range root.Children("w:style") {
		nodes[n.Attr("w:styleId")] = n
	}
	var resolve func(id string, depth int) wordStyle
	resolve = func(id string, depth int) wordStyle {
		if s, ok := styles[id]; ok {
			return s
		}
		n := nodes[id]
		s := wordStyle{outline: -1}
		if n == nil || depth > 20 {
			return s
		}
		if base := n.Child("w:basedOn").Attr("w:val"); base != "" {
			s = resolve(base, depth+1)
		}
		s.name = strings.ToLower(n.Child("w:name").Attr("w:val"))
		s.outline = number(n.At("w:pPr", "w:outlineLvl").Attr("w:val"), s.outline)
		if num := n.At("w:pPr", "w:numPr"); num != nil {
			s.numID, s.level = cmp.Or(num.Child("w:numId").Attr("w:val"), s.numID), num.Child("w:ilvl").Attr("w:val")
		}
		on, set := runFormat(n.Child("w:rPr"))
		s.format, s.isSet = s.format&^set|on, s.isSet|set
		switch s.name {
		case "strong":
			s.format |= md.Bold
		case "emphasis", "intense emphasis", "subtle emphasis":
			s.format |= md.Italic
		case "html code", "html typewriter", "source text", "verbatim char", "inline code", "code char",
			"html keyboard":
			s.format |= md.Mono
		}
		styles[id] = s
		return s
	}
	for id := range nodes {
		resolve(id, 0)
	}
	return styles
}

// runFormat returns the formats that properties of text switch on, and all that they set.
func runFormat(rPr *pack.Node) (on, set md.Style) {
	if rPr == nil {
		return 0, 0
	}
	for _, n := range rPr.Kids {
		one := md.Style(0)
		switch n.Name {
		case "w:b":
			one = md.Bold
		case "w:i":
			one = md.Italic
		case "w:strike", "w:dstrike":
			one = md.Strike
		case "w:vertAlign":
			set |= md.Super | md.Sub
			switch n.Attr("w:val") {
			case "superscript":
				on |= md.Super
			case "subscript":
				on |= md.Sub
			}
		}
		if set |= one; isOn(n, "w:val") {
			on |= one
		}
	}
	return on, set
}

// heading returns the level of a heading, 0 for other paragraphs.
func (s wordStyle) heading() int {
	if s.name == "title" {
		return 1
	}
	if level, ok := strings.CutPrefix(s.name, "heading "); ok {
		if n := number(level, 0); n >= 1 && n <= 9 {
			return min(n, 6)
		}
	}
	if s.outline >= 0 && s.outline < 9 {
		return min(s.outline+1, 6)
	}
	return 0
}

func (s wordStyle) isCode() bool {
	switch s.name {
	case "html preformatted", "preformatted text", "source code", "code", "code block", "macro", "macro text":
		return true
	}
	return false
}

func (s wordStyle) isQuote() bool {
	switch s.name {
	case "quote", "intense quote", "quotations", "block quotation", "block text":
		return true
	}
	return false
}

// numbering gives the items of lists their labels.
type numbering struct {
	abstract map[string]*listDefinition
	lists    map[string]*list
	counts   map[*listDefinition]*[9]int
}

type listDefinition struct{ levels [9]listLevel }

type listLevel struct {
	format, text string
	start        int
	legal        bool // upper levels as decimal numbers
}

// list is a w:num: a definition with its own beginnings.
type list struct {
	*listDefinition
	starts map[int]int // taken when the list is used first
}

func readNumbering(root *pack.Node) *numbering {
	all := &numbering{
		abstract: map[string]*listDefinition{}, lists: map[string]*list{}, counts: map[*listDefinition]*[9]int{},
	}
	styles, linked := map[string]*listDefinition{}, map[string]string{}
	for _, n := range root.Children("w:abstractNum") {
		definition := &listDefinition{}
		for i := range definition.levels {
			definition.levels[i].start = 1
		}
		for _, level := range n.Children("w:lvl") {
			definition.set(level)
		}
		id := n.Attr("w:abstractNumId")
		all.abstract[id] = definition
		if style := n.Child("w:styleLink").Attr("w:val"); style != "" {
			styles[style] = definition
		}
		if style := n.Child("w:numStyleLink").Attr("w:val"); style != "" {
			linked[id] = style
		}
	}
	for id, style := range linked {
		if definition := styles[style]; definition != nil {
			all.abstract[id] = definition
		}
	}
	for _, n := range root.Children("w:num") {
		definition := all.abstract[n.Child("w:abstractNumId").Attr("w:val")]
		if definition == nil {
			continue
		}
		one := &list{listDefinition: definition, starts: map[int]int{}}
		for _, override := range n.Children("w:lvlOverride") {
			if level := override.Child("w:lvl"); level != nil {
				own := *one.listDefinition
				one.listDefinition = &own
				own.set(level)
			}
			if start := override.Child("w:startOverride"); start != nil {
				one.starts[number(override.Attr("w:ilvl"), 0)] = number(start.Attr("w:val"), 1)
			}
		}
		all.lists[n.Attr("w:numId")] = one
	}
	return all
}

func (d *listDefinition) set(n *pack.Node) {
	i := number(n.Attr("w:ilvl"), -1)
	if i < 0 || i >= len(d.levels) {
		return
	}
	d.levels[i] = listLevel{
		format: n.Child("w:numFmt").Attr("w:val"), text: n.Child("w:lvlText").Attr("w:val"),
		start: number(n.Child("w:start").Attr("w:val"), 1), legal: isOn(n.Child("w:isLgl"), "w:val"),
	}
}

// next returns the label of the next item of a list, such as "3.", "(a)" or, for a bullet,
// "-". It returns false if there is no such list.
func (all *numbering) next(id string, level int) (label string, ok bool) {
	one := all.lists[id]
	if one == nil {
		return "", false
	}
	level = min(max(level, 0), 8)
	counts := all.counts[one.listDefinition]
	if counts == nil {
		counts = &[9]int{}
		for i := range counts {
			counts[i] = one.levels[i].start - 1
		}
		all.counts[one.listDefinition] = counts
	}
	if start, has := one.starts[level]; has {
		counts[level] = start - 1
		delete(one.starts, level)
	}
	counts[level]++
	for i := level + 1; i < len(counts); i++ {
		counts[i] = one.levels[i].start - 1
	}
	now := one.levels[level]
	if now.format == "bullet" || now.format == "none" && now.text == "" {
		return "-", true
	}
	label = now.text
	for i := range level + 1 {
		format := one.levels[i].format
		if now.legal {
			format = "decimal"
		}
		n := counts[i]
		if i < level {
			n = max(n, one.levels[i].start)
		}
		label = strings.ReplaceAll(label, "%"+strconv.Itoa(i+1), ordinal(n, format))
	}
	return cmp.Or(strings.TrimSpace(label), "-"), true
}

// ordinal returns a number in a format of Word.
func ordinal(n int, format string) string {
	switch format {
	case "lowerLetter":
		return letters(n, 'a')
	case "upperLetter":
		return letters(n, 'A')
	case "lowerRoman":
		return strings.ToLower(roman(n))
	case "upperRoman":
		return roman(n)
	case "none":
		return ""
	case "decimalZero":
		if n < 10 {
			return "0" + strconv.Itoa(n)
		}
	}
	return strconv.Itoa(n)
}

// letters counts a, b, ... z, aa, bb as Word does.
func letters(n int, first byte) string {
	if n < 1 || n > 780 {
		return strconv.Itoa(n)
	}
	return strings.Repeat(string(first+byte((n-1)%26)), (n-1)/26+1)
}

func roman(n int) string {
	if n < 1 || n > 3999 {
		return strconv.Itoa(n)
	}
	var b strings.Builder
	for _, r := range []struct {
		value int
		text  string
	}{
		{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"},
		{9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"},
	} {
		for ; n >= r.value; n -= r.value {
			b.WriteString(r.text)
		}
	}
	return b.String()
}

// marker returns how a label stands in Markdown: the marker of the item, and the part of the
// label that goes into its text because Markdown has only numbers.
func marker(label string) (mark, rest string) {
	if label == "-" {
		return "-", ""
	}
	digits := strings.TrimRight(label, ".)")
	if n, err := strconv.Atoi(digits); err == nil && n >= 0 && n < 1e8 {
		return strconv.Itoa(n) + ".", ""
	}
	return "-", label + " "
}
