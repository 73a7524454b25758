package browser

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A node is one of what a page shows, as people who do not see it are told.
type node struct {
	role     string
	name     string
	value    string
	url      string // lookup a link
	states   []string
	level    int    // lookup a heading
	ref      string // "" for what nothing can be done with
	el       element
	children []*node
}

// Roles that can be acted on.
var interactive = map[string]bool{
	"link": true, "button": true, "textbox": true, "searchbox": true, "checkbox": true, "radio": true, "combobox": true,
	"listbox": true,
	"switch":  true, "slider": true, "spinbutton": true, "tab": true, "menuitem": true, "menuitemcheckbox": true,
	"menuitemradio": true,
	"option":        true, "treeitem": true, "Date": true, "DateTime": true, "InputTime": true, "ColorWell": true,
	"DisclosureTriangle": true,
	"PopUpButton":        true, "ToggleButton": true, "clickable": true,
}

// Roles that are a part of the page, told with a line of their own, and whether
// they are without a name, too.
var sections = map[string]bool{
	"dialog": true, "alertdialog": true, "alert": true, "navigation": true, "form": true, "search": true,
	"Iframe": true, "menu": true, "tablist": true,
	"tree": true, "grid": true, "table": true, "main": true, "status": false, "region": false, "group": false,
	"radiogroup": false, "article": false,
	"complementary": false, "toolbar": false, "list": false, "figure": false, "menubar": false,
}

// Roles that are one line, with all that is in them.
var paragraphRoles = map[string]bool{
	"paragraph": true, "LabelText": true, "term": true, "definition": true, "caption": true, "Figcaption": true,
	"Legend": true, "Pre": true,
	"DescriptionListTerm": true, "DescriptionListDetail": true, "time": true, "code": true,
}

// Roles that are a part of a line.
var inlineRoles = map[string]bool{
	"StaticText": true, "strong": true, "emphasis": true, "mark": true, "code": true, "time": true, "subscript": true,
	"superscript": true, "insertion": true,
	"deletion": true, "image": true, "img": true, "Abbr": true, "LabelText": true, "LineBreak": true,
	"ListMarker": true, "progressbar": true, "meter": true, "math": true,
}

// Roles of which the parts are not told.
var opaque = map[string]bool{"combobox": true, "listbox": true, "Date": true, "DateTime": true, "InputTime": true}

const (
	maxText    = 2000 // bytes of one line of text
	maxName    = 150
	maxOptions = 12
	maxDepth   = 300
)

// An outline is lines that tell a page.
type outline struct {
	lines lines
	base  *url.URL // what addresses are told from
}

type lines []string

// outlineOf returns the lines that tell a page.
func outlineOf(root *node, address string) lines {
	base, _ := url.Parse(address)
	o := &outline{base: base}
	o.block(root, 0)
	return o.lines
}

// writePreferences adds a line.
func (o *outline) write(depth int, text string) {
	if text != "" {
		o.lines = append(o.lines, strings.Repeat(" ", min(depth, 12))+text)
	}
}

// block tells a node with lines of its own.
func (o *outline) block(n *node, depth int) {
	named, part := sections[n.role]
	switch {
	case depth > maxDepth:
		return
	case n.role == "heading":
		o.write(depth, strings.Repeat("#", max(1, min(n.level, 6)))+" "+o.innerText(n))
	case interactive[n.role]:
		o.write(depth, o.widget(n))
		if !opaque[n.role] {
			o.widgets(n, depth+1)
		}
	case inlineRoles[n.role] || paragraphRoles[n.role] && !hasBlocks(n, maxDepth):
		o.write(depth, o.inlineText(n))
	case n.role == "listitem":
		o.item(n, depth)
	case n.role == "row":
		o.write(depth, o.row(n))
	case part && (named || n.name != ""):
		o.section(n, depth)
	case len(n.children) > 1 && flat(n):
		o.write(depth, o.innerText(n))
	default:
		for _, k := range n.children {
			o.block(k, depth)
		}
	}
}

// section tells a part of the page, if there is anything in it.
func (o *outline) section(n *node, depth int) {
	at := len(o.lines)
	for _, k := range n.children {
		o.block(k, depth+1)
	}
	if len(o.lines) == at && n.role != "Iframe" {
		return
	}
	head := &outline{base: o.base}
	head.write(depth, o.label(n)+":")
	o.lines = append(o.lines[:at], append(head.lines, o.lines[at:]...)...)
}

// item tells an entry of a list: in a line, or with lines beneath it.
func (o *outline) item(n *node, depth int) {
	if !hasBlocks(n, maxDepth) {
		if text := o.innerText(n); text != "" {
			o.write(depth, "- "+text)
		}
		return
	}
	at := len(o.lines)
	for _, k := range n.children {
		o.block(k, depth+1)
	}
	if len(o.lines) > at {
		o.lines[at] = strings.Repeat(" ", min(depth, 12)) + "- " + strings.TrimSpace(o.lines[at])
	}
}

// row tells a row of a table.
func (o *outline) row(n *node) string {
	var cells []string
	for _, k := range n.children {
		cells = append(cells, strings.ReplaceAll(o.innerText(k), "|", "/"))
	}
	return strings.Trim(strings.Join(cells, " | "), " ")
}

// widgets tells what can be acted on inside of what can be.
func (o *outline) widgets(n *node, depth int) {
	for _, k := range n.children {
		if interactive[k.role] {
			o.block(k, depth)
		} else if depth <= maxDepth {
			o.widgets(k, depth)
		}
	}
}

// hasBlocks reports whether there is something in n that has lines of its own.
func hasBlocks(n *node, depth int) bool {
	for _, k := range n.children {
		_, part := sections[k.role]
		if depth == 0 || part || k.role == "heading" || k.role == "listitem" || k.role == "row" ||
			k.role == "paragraph" || hasBlocks(k, depth-1) {
			return true
		}
	}
	return false
}

// flat reports whether all that is in n is a part of a line.
func flat(n *node) bool {
	for _, k := range n.children {
		if !inlineRoles[k.role] && !interactive[k.role] || hasBlocks(k, maxDepth) {
			return false
		}
	}
	return true
}

// startIsolated is what is in a node, in one line.
func (o *outline) innerText(n *node) string {
	var words []string
	size := 0
	for _, k := range n.children {
		text := o.inlineText(k)
		if text == "" {
			continue
		}
		if len(words) > 0 && strings.ContainsRune(".,;:!?)", rune(text[0])) {
			words[len(words)-1] += text
		} else {
			words = append(words, text)
		}
		if size += len(text); size > maxText {
			break
		}
	}
	if len(words) == 0 {
		return text(n.name, maxText)
	}
	return strings.Join(words, " ")
}

// inlineText is a node in a line.
func (o *outline) inlineText(n *node) string {
	switch {
	case n.role == "StaticText":
		return text(n.name, maxText)
	case n.role == "image" || n.role == "img":
		if n.name == "" || n.ref != "" {
			return ""
		}
		return "(image: " + text(n.name, maxName) + ")"
	case interactive[n.role]:
		return o.widget(n)
	case n.role == "progressbar" || n.role == "meter":
		return o.label(n)
	case n.role == "LineBreak" || n.role == "ListMarker":
		return ""
	}
	return o.innerText(n)
}

// label is what a node is called.
func (o *outline) label(n *node) string {
	var b strings.Builder
	if n.ref != "" {
		fmt.Fprintf(&b, "[%s] ", n.ref)
	}
	b.WriteString(strings.ToLower(n.role))
	if n.name != "" {
		fmt.Fprintf(&b, " \"%s\"", strings.ReplaceAll(text(n.name, maxName), `"`, "'"))
	}
	if n.value != "" {
		fmt.Fprintf(&b, " = \"%s\"", strings.ReplaceAll(text(n.value, maxName), `"`, "'"))
	}
	if len(n.states) > 0 {
		b.WriteString(" (" + strings.Join(n.states, ", ") + ")")
	}
	return b.String()
}

// widget tells what can be acted on.
func (o *outline) widget(n *node) string {
	said := o.label(n)
	if n.url != "" {
		said += " -> " + o.address(n.url)
	}
	if n.role != "combobox" && n.role != "listbox" && n.role != "PopUpButton" {
		return said
	}
	var all []string
	options(n, &all, maxDepth)
	if len(all) == 0 {
		return said
	}
	more := ""
	if len(all) > maxOptions {
		more = fmt.Sprintf(" | and %d more", len(all)-maxOptions)
		all = all[:maxOptions]
	}
	return said + " of " + strings.Join(all, " | ") + more
}

// options are what can be chosen.
func options(n *node, all *[]string, depth int) {
	for _, k := range n.children {
		if k.role == "option" || k.role == "MenuListOption" {
			name := strings.ReplaceAll(text(k.name, 60), "|", "/")
			if n.role != "MenuListPopup" && k.ref != "" {
				name = "[" + k.ref + "] " + name
			}
			if n.role != "MenuListPopup" && slices.Contains(k.states, "selected") {
				name += " (selected)"
			}
			*all = append(*all, name)
		} else if depth > 0 {
			options(k, all, depth-1)
		}
	}
}

// address is where a link leads, as short as it can be said.
func (o *outline) address(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return text(to, 40)
	}
	if o.base != nil && u.Host == o.base.Host && u.Scheme == o.base.Scheme {
		u.Scheme, u.Host = "", ""
	}
	return text(u.String(), 120)
}

// text is what a page says, in one line, and so that it cannot pass for a ref.
func text(s string, most int) string { return looksLikeRef.ReplaceAllString(short(s, most), "($1)") }

var looksLikeRef = regexp.MustCompile(`\[(e\d+)\]`)

// changes are the lines that were not in before, and how many of those that were
// are not in l. That the focus has left a line is no change of it.
func (l lines) changes(before lines) (new lines, gone int) {
	count, left := make(map[string]int), make(map[string]int)
	for _, line := range before {
		count[line]++
	}
	var rest lines
	for _, line := range l {
		if count[line] > 0 {
			count[line]--
		} else {
			rest = append(rest, line)
		}
	}
	for line, n := range count {
		gone += n
		if plain := unfocused.Replace(line); plain != line {
			left[plain] += n
		}
	}
	for _, line := range rest {
		if left[line] > 0 {
			left[line]--
			gone--
		} else {
			new = append(new, line)
		}
	}
	return new, gone
}

// unfocused takes the mark of the focus out of a line.
var unfocused = strings.NewReplacer(" (focused)", "", "(focused, ", "(", ", focused)", ")", ", focused, ", ", ")

// window is so many characters of the lines from an offset on, whole lines if
// there are any, and where what is not in it begins; 0 when nothing is left.
func (l lines) window(offset, most int) (shown string, next int) {
	var b strings.Builder
	at := 0
	for i, line := range l {
		size := len([]rune(line)) + 1
		switch {
		case at+size <= offset:
		case b.Len() > 0 && at+size-offset > most:
			return strings.TrimSuffix(b.String(), "\n"), at
		case at+size-offset > most:
			runes := []rune(line)
			from := max(offset-at, 0)
			to := min(from+most, len(runes))
			if to == len(runes) && i == len(l)-1 {
				return string(runes[from:to]), 0
			}
			return string(runes[from:to]), at + to
		default:
			b.WriteString(string([]rune(line)[max(offset-at, 0):]) + "\n")
		}
		at += size
	}
	return strings.TrimSuffix(b.String(), "\n"), 0
}

// size is how many characters all lines have.
func (l lines) size() (n int) {
	for _, line := range l {
		n += len([]rune(line)) + 1
	}
	return n
}

// contains reports whether the lines say something, across their ends, too.
func (l lines) contains(what string) bool {
	fold := func(s string) string {
		s, _ = tool.Clean(s)
		return strings.ToLower(strings.Join(strings.Fields(s), " "))
	}
	return strings.Contains(fold(strings.Join(l, "\n")), fold(what))
}
