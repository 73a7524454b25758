package browser

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A node is a node of the accessibility tree.
type node struct {
	role     string
	name     string
	value    string
	url      string // of a link
	states   []string
	level    int    // of a heading
	ref      string // "" if the element does not support actions
	el       element
	children []*node
}

// setOf returns a set of words.
func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// Roles of elements that support actions.
var interactive = setOf("link button textbox searchbox checkbox radio combobox listbox switch slider spinbutton tab " +
	"menuitem menuitemcheckbox menuitemradio option treeitem Date DateTime InputTime ColorWell DisclosureTriangle " +
	"PopUpButton ToggleButton clickable")

// Roles of fields. Fields accept input.
var fields = setOf("textbox searchbox checkbox radio combobox listbox switch slider spinbutton Date DateTime " +
	"InputTime ColorWell")

// Roles of sections that are shown in one line if they have many links.
var foldable = setOf("navigation contentinfo")

// minFolded is the minimum number of links in a folded section.
const minFolded = 4

// Roles of sections. A section begins with a line of its own. The value is true for roles that
// are shown even without a name.
var sections = map[string]bool{
	"dialog": true, "alertdialog": true, "alert": true, "navigation": true, "form": true, "search": true,
	"Iframe": true, "menu": true, "tablist": true, "tree": true, "grid": true, "table": true, "main": true,
	"status": false, "region": false, "group": false, "radiogroup": false, "article": false, "contentinfo": false,
	"complementary": false, "toolbar": false, "list": false, "figure": false, "menubar": false,
}

// Roles that are shown in one line with all their content.
var paragraphRoles = setOf("paragraph LabelText term definition caption Figcaption Legend Pre DescriptionListTerm " +
	"DescriptionListDetail time code")

// Roles that are shown within a line.
var inlineRoles = setOf("StaticText strong emphasis mark code time subscript superscript insertion deletion image " +
	"img Abbr LabelText LineBreak ListMarker progressbar meter math")

// Roles whose content is not shown.
var opaque = setOf("combobox listbox Date DateTime InputTime")

const (
	maxText    = 2000 // bytes of one line of text
	maxName    = 150
	maxOptions = 12
	maxDepth   = 300
)

// An outline converts a page to lines of text.
type outline struct {
	lines lines
	urls  bool           // show the addresses of links
	base  *url.URL       // relative URLs are shown for links to the same host
	first map[*node]bool // nodes to show before the rest of the page
}

type lines []string

// outlineOf returns the lines for a page: dialogs and the main part come first, long
// navigation is one line, and links have no addresses.
func outlineOf(root *node) lines {
	o := &outline{first: make(map[*node]bool)}
	for _, roles := range []string{"dialog alertdialog alert", "main"} {
		for _, n := range root.withRole(strings.Fields(roles), maxDepth) {
			o.block(n, 0)
			o.first[n] = true
		}
	}
	before := len(o.lines)
	o.block(root, 0)
	if rest := o.lines[before:]; before > 0 && len(rest) > 0 {
		o.lines = slices.Insert(o.lines, before, "rest of the page:")
	}
	return o.lines
}

// partOf returns the lines for a part of a page, with the addresses of its links.
func partOf(root *node, address string) lines {
	base, _ := url.Parse(address)
	o := &outline{urls: true, base: base}
	if _, part := sections[root.role]; part {
		for _, k := range root.children {
			o.block(k, 0)
		}
	} else {
		o.block(root, 0)
	}
	return o.lines
}

// withRole returns the outermost nodes in n with one of the roles.
func (n *node) withRole(roles []string, depth int) (all []*node) {
	for _, k := range n.children {
		if slices.Contains(roles, k.role) {
			all = append(all, k)
		} else if depth > 0 {
			all = append(all, k.withRole(roles, depth-1)...)
		}
	}
	return all
}

// write adds an indented line.
func (o *outline) write(depth int, text string) {
	if text != "" {
		o.lines = append(o.lines, strings.Repeat(" ", min(depth, 12))+text)
	}
}

// block writes the lines of a node.
func (o *outline) block(n *node, depth int) {
	named, part := sections[n.role]
	switch {
	case depth > maxDepth || o.first[n]:
		return
	case foldable[n.role] && n.ref != "" && o.fold(n, depth):
	case n.role == "Pre" && !n.hasWidgets(maxDepth):
		o.preformatted(n, depth)
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

// section writes a section, unless it is empty.
func (o *outline) section(n *node, depth int) {
	at := len(o.lines)
	for _, k := range n.children {
		o.block(k, depth+1)
	}
	if len(o.lines) == at && n.role != "Iframe" {
		return
	}
	head := &outline{}
	head.write(depth, o.label(n)+":")
	o.lines = append(o.lines[:at], append(head.lines, o.lines[at:]...)...)
}

// fold writes a section with many links, and without fields, in one line.
func (o *outline) fold(n *node, depth int) bool {
	links, others := 0, 0
	n.count(&links, &others, maxDepth)
	if links < minFolded || others > 0 || o.urls {
		return false
	}
	o.write(depth, fmt.Sprintf("%s: %d links", o.label(n), links))
	return true
}

// count counts the links and buttons in n, and its fields.
func (n *node) count(links, others *int, depth int) {
	for _, k := range n.children {
		switch {
		case fields[k.role]:
			*others++
		case interactive[k.role]:
			*links++
		}
		if depth > 0 {
			k.count(links, others, depth-1)
		}
	}
}

// hasWidgets reports whether n contains interactive elements.
func (n *node) hasWidgets(depth int) bool {
	return slices.ContainsFunc(n.children, func(k *node) bool {
		return interactive[k.role] || depth > 0 && k.hasWidgets(depth-1)
	})
}

// preformatted writes a text with its lines.
func (o *outline) preformatted(n *node, depth int) {
	var all strings.Builder
	n.raw(&all, maxDepth)
	for line := range strings.Lines(all.String()) {
		line, _ = tool.Clean(strings.TrimRight(line, " \t\r\n"))
		o.write(depth, looksLikeRef.ReplaceAllString(clip(line, maxText), "($1)"))
	}
}

// raw appends the texts in n as they are.
func (n *node) raw(all *strings.Builder, depth int) {
	switch {
	case n.role == "LineBreak":
		all.WriteString("\n")
	case n.role == "StaticText":
		all.WriteString(n.name)
	case depth > 0:
		for _, k := range n.children {
			k.raw(all, depth-1)
		}
	}
}

// item writes a list item, in one line or with indented lines.
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

// row returns a table row.
func (o *outline) row(n *node) string {
	var cells []string
	for _, k := range n.children {
		cells = append(cells, strings.ReplaceAll(o.innerText(k), "|", "/"))
	}
	return strings.Trim(strings.Join(cells, " | "), " ")
}

// widgets writes the interactive elements inside an interactive element.
func (o *outline) widgets(n *node, depth int) {
	for _, k := range n.children {
		if interactive[k.role] {
			o.block(k, depth)
		} else if depth <= maxDepth {
			o.widgets(k, depth)
		}
	}
}

// hasBlocks reports whether n contains elements with lines of their own.
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

// flat reports whether n contains inline elements only.
func flat(n *node) bool {
	return !slices.ContainsFunc(n.children, func(k *node) bool {
		return !inlineRoles[k.role] && !interactive[k.role] || hasBlocks(k, maxDepth)
	})
}

// innerText returns the content of a node in one line.
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

// inlineText returns a node in one line.
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

// label returns the ref, role, name, value and states of a node.
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

// widget returns the line for an interactive element.
func (o *outline) widget(n *node) string {
	line := o.label(n)
	if n.url != "" && o.urls {
		line += " -> " + o.address(n.url)
	}
	if n.role != "combobox" && n.role != "listbox" && n.role != "PopUpButton" {
		return line
	}
	var all []string
	options(n, &all, maxDepth)
	if len(all) == 0 {
		return line
	}
	more := ""
	if len(all) > maxOptions {
		more = fmt.Sprintf(" | and %d more", len(all)-maxOptions)
		all = all[:maxOptions]
	}
	return line + " of " + strings.Join(all, " | ") + more
}

// options appends the options in n.
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

// address returns a shortened URL of a link.
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

// text returns a text of the page in one line, changed so that it does not look like a
// ref.
func text(s string, most int) string { return looksLikeRef.ReplaceAllString(short(s, most), "($1)") }

var looksLikeRef = regexp.MustCompile(`\[(e\d+)\]`)

// filter returns the lines that a snapshot is limited to.
func (l lines) filter(req Request) (kept lines) {
	if !req.Interactive && req.Depth == 0 {
		return l
	}
	for _, line := range l {
		depth := len(line) - len(strings.TrimLeft(line, " "))
		if (req.Depth == 0 || depth < req.Depth) && (!req.Interactive || looksLikeRef.MatchString(line)) {
			kept = append(kept, line)
		}
	}
	return kept
}

// changes returns the lines that are not in before, and the number of lines of before
// that are not in l. A line that only loses the focus does not count as changed.
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

// unfocused removes the focus mark from a line.
var unfocused = strings.NewReplacer(" (focused)", "", "(focused, ", "(", ", focused)", ")", ", focused, ", ", ")

// window returns at most so many characters from an offset on, if possible complete
// lines, and the offset of the rest; 0 if there is no rest.
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

// size returns the number of characters.
func (l lines) size() (n int) {
	for _, line := range l {
		n += len([]rune(line)) + 1
	}
	return n
}

// contains reports whether the lines contain a text, ignoring case and line breaks.
func (l lines) contains(what string) bool {
	fold := func(s string) string {
		s, _ = tool.Clean(s)
		return strings.ToLower(strings.Join(strings.Fields(s), " "))
	}
	return strings.Contains(fold(strings.Join(l, "\n")), fold(what))
}
