package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// The CSS that pages and attackers use to hide text: display, visibility, opacity,
// font size, colours, positions off the screen, clipping and empty boxes, in style
// attributes and style elements. Rules that cannot be evaluated are ignored, so the
// text stays: the caller quotes it as untrusted text.

// sheet holds the rules of all style elements of a page, by what the element that
// they apply to must have.
type sheet struct {
	byID, byClass, byTag map[string][]*rule
	universal            []*rule
	count                int
	external             bool                     // the page has style sheets that were not read
	variables            map[string]string        // custom properties; ambiguous if they have several values
	keyframes            map[string][]declaration // what animations end with, by name
}

// A rule is one selector with its declarations.
type rule struct {
	steps        []step // the last one matches the element itself
	declarations []declaration
	weight       int // specificity, then order
}

// A declaration is one that can hide text.
type declaration struct {
	property, value string
	important       bool
}

const (
	maxRules     = 20_000
	maxVariables = 2_000
	maxKeyframes = 500
)

// readSheet reads style sheets. It ignores rules that it does not understand, and
// rules that apply only sometimes: on other media and under the mouse.
func readSheet(styles []string, external bool) *sheet {
	s := &sheet{
		byID: map[string][]*rule{}, byClass: map[string][]*rule{}, byTag: map[string][]*rule{},
		external: external, variables: map[string]string{}, keyframes: map[string][]declaration{},
	}
	for _, text := range styles {
		s.read(strings.NewReplacer("<!--", "", "-->", "").Replace(withoutComments(text)), 0)
	}
	return s
}

// read reads rules, also those within at-rules that apply.
func (s *sheet) read(text string, depth int) {
	for text != "" {
		open := strings.IndexAny(text, "{;")
		if open < 0 {
			return
		}
		head := strings.TrimSpace(text[:open])
		if text[open] == ';' { // @import, or left over from an invalid rule
			text = text[open+1:]
			continue
		}
		body, rest := cutBlock(text[open+1:])
		text = rest
		if !strings.HasPrefix(head, "@") {
			s.addRules(head, body)
			continue
		}
		head = strings.ToLower(head)
		name, argument := atRule(head)
		switch {
		case depth < 4 && (name == "@supports" || name == "@layer" || name == "@media" && forScreen(argument)):
			s.read(body, depth+1)
		case name == "@keyframes" || name == "@-webkit-keyframes":
			s.addKeyframes(strings.Trim(strings.TrimSpace(argument), `"'`), body)
			s.addVariables(body, false)
		case name == "@property":
			s.addVariables(argument+":"+ambiguous, false)
		case head != "@media print":
			s.addVariables(body, false)
		}
	}
}

// atRule splits the head of an at-rule, such as @media(hover) or @layer base.
func atRule(head string) (name, argument string) {
	end := strings.IndexAny(head, " (\t\n")
	if end < 0 {
		return head, ""
	}
	return head[:end], head[end:]
}

// cutBlock cuts a text at the brace that closes a block opened before it.
func cutBlock(text string) (body, rest string) {
	depth := 1
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return text[:i], text[i+1:]
			}
		}
	}
	return text, ""
}

func (s *sheet) addRules(head, body string) {
	if strings.Contains(body, "--") {
		forPage := !strings.Contains(body, "{")
		for one := range strings.SplitSeq(head, ",") {
			forPage = forPage && pageSelectors[strings.ToLower(strings.TrimSpace(one))]
		}
		s.addVariables(body, forPage)
	}
	declarations := readDeclarations(body)
	if len(declarations) == 0 || len(head) > 8192 {
		return
	}
	for one := range strings.SplitSeq(head, ",") {
		if s.count >= maxRules || len(one) > 300 {
			continue
		}
		if groups := parseSteps(strings.TrimSpace(one)); len(groups) == 1 {
			s.addRule(&rule{steps: groups[0], declarations: declarations})
		}
	}
}

// pageSelectors are the selectors that set custom properties for the whole page.
var pageSelectors = setOf(":root html body :host")

func (s *sheet) addRule(r *rule) {
	s.count++
	r.weight = s.count
	for _, step := range r.steps {
		if step.relation == '+' || step.relation == '~' {
			return
		}
		specificity := step.match.Specificity()
		r.weight += specificity[0]<<40 + specificity[1]<<30 + specificity[2]<<20
	}
	switch kind, name := indexKey(r.steps[len(r.steps)-1].text); kind {
	case '#':
		s.byID[name] = append(s.byID[name], r)
	case '.':
		s.byClass[name] = append(s.byClass[name], r)
	case 't':
		s.byTag[name] = append(s.byTag[name], r)
	default:
		s.universal = append(s.universal, r)
	}
}

// indexKey returns an id (#), a class (.) or a tag (t) that a compound requires, or
// kind 0 if it requires none of them.
func indexKey(compound string) (kind byte, name string) {
	rank := map[byte]int{'#': 3, '.': 2, 't': 1}
	from, current := 0, byte('t')
	for i := 0; i <= len(compound); i++ {
		if i < len(compound) && strings.IndexByte("#.[:", compound[i]) < 0 {
			if compound[i] == '\\' {
				i++
			}
			continue
		}
		if part := unescapeCSS(compound[from:i]); part != "" && part != "*" && rank[current] > rank[kind] {
			kind, name = current, part
		}
		if i >= len(compound) || compound[i] == '[' || compound[i] == ':' {
			break
		}
		from, current = i+1, compound[i]
	}
	if kind == 't' {
		name = strings.ToLower(name)
	}
	return kind, name
}

// addKeyframes notes what an animation ends with.
func (s *sheet) addKeyframes(name, body string) {
	for body != "" && name != "" && len(s.keyframes) < maxKeyframes {
		at, rest, found := strings.Cut(body, "{")
		if !found {
			return
		}
		var inside string
		inside, body = cutBlock(rest)
		for one := range strings.SplitSeq(strings.ToLower(at), ",") {
			if one = strings.TrimSpace(one); one == "to" || one == "100%" {
				s.keyframes[name] = readDeclarations(inside)
			}
		}
	}
}

// rulesFor returns the rules that apply to an element, by ascending weight. checks
// counts the comparisons.
func (s *sheet) rulesFor(n *html.Node, id string, classes []string, checks *int) []*rule {
	if s.count == 0 {
		return nil
	}
	var all []*rule
	try := func(rules []*rule) {
		for _, r := range rules {
			if r.appliesTo(n, checks) {
				all = append(all, r)
				*checks += 4 + len(r.declarations) // to sort and to apply it
			}
		}
	}
	if id != "" {
		try(s.byID[id])
	}
	for i, class := range classes[:min(len(classes), 50)] {
		if !slices.Contains(classes[:i], class) {
			try(s.byClass[class])
		}
	}
	try(s.byTag[n.Data])
	try(s.universal)
	slices.SortFunc(all, func(a, b *rule) int { return a.weight - b.weight })
	return all
}

// appliesTo reports whether a rule applies to an element. An element without parent
// is taken out of its context: it is assumed to be where the rule requires it.
func (r *rule) appliesTo(n *html.Node, checks *int) bool {
	last := len(r.steps) - 1
	*checks++
	if !r.steps[last].match.Match(n) {
		return false
	}
	if n.Parent == nil {
		return true
	}
	for i := last - 1; i >= 0 && *checks <= maxChecks; i-- {
		isChild := r.steps[i+1].relation == '>'
		n = n.Parent
		for *checks++; n != nil && !isChild && !r.steps[i].match.Match(n); *checks++ {
			n = n.Parent
		}
		if n == nil || !r.steps[i].match.Match(n) {
			return false
		}
	}
	return true
}

// decisive are the properties that decide whether text is visible.
var decisive = setOf("display visibility opacity font font-size color background background-color background-image " +
	"background-clip -webkit-background-clip -webkit-text-fill-color overflow overflow-x overflow-y width height " +
	"max-width max-height padding padding-top padding-bottom position left top right bottom margin-left margin-top " +
	"text-indent clip clip-path -webkit-clip-path transform translate scale zoom content-visibility filter " +
	"animation animation-name -webkit-animation")

// readDeclarations reads the decisive declarations of a rule or a style attribute.
func readDeclarations(text string) []declaration {
	var all []declaration
	if strings.Contains(text, "/*") {
		text = withoutComments(text)
	}
	for part := range strings.SplitSeq(text, ";") {
		property, value, ok := strings.Cut(part, ":")
		property = strings.ToLower(unescapeCSS(strings.TrimSpace(property)))
		if !ok || !decisive[property] || len(value) > 400 {
			continue
		}
		value, _, important := strings.Cut(strings.ToLower(unescapeCSS(value)), "!")
		all = append(all, declaration{property, strings.TrimSpace(value), important})
	}
	return all
}

func withoutComments(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "/*")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, text, _ = strings.Cut(rest, "*/")
	}
}

// unescapeCSS resolves escapes, such as \64 for d.
func unescapeCSS(text string) string {
	if strings.IndexByte(text, '\\') < 0 {
		return text
	}
	var b strings.Builder
	for text != "" {
		before, rest, found := strings.Cut(text, `\`)
		b.WriteString(before)
		if !found {
			break
		}
		prefix := rest[:min(len(rest), 6)]
		digits := len(prefix) - len(strings.TrimLeft(prefix, "0123456789abcdefABCDEF"))
		if digits == 0 {
			_, size := utf8.DecodeRuneInString(rest)
			b.WriteString(rest[:size])
			text = rest[size:]
			continue
		}
		if code, err := strconv.ParseUint(rest[:digits], 16, 32); err == nil {
			b.WriteRune(rune(code))
		}
		if text = rest[digits:]; text != "" && isBlank(text[0]) {
			text = text[1:]
		}
	}
	return b.String()
}

// ambiguous is the value of a custom property that is not the same everywhere.
const ambiguous = "\x00"

// addVariables notes the custom properties set in a text. forPage is set if they
// apply to the whole page. A second value makes a property ambiguous.
func (s *sheet) addVariables(text string, forPage bool) {
	for name, value := range variablesIn(text) {
		known, ok := s.variables[name]
		if !ok && len(s.variables) >= maxVariables {
			return
		}
		if !forPage && known != value || ok && known != value {
			value = ambiguous
		}
		s.variables[name] = value
	}
}

func variablesIn(text string) map[string]string {
	if !strings.Contains(text, "--") {
		return nil
	}
	all := map[string]string{}
	isEnd := func(r rune) bool { return r == ';' || r == '{' || r == '}' }
	for part := range strings.FieldsFuncSeq(withoutComments(text), isEnd) {
		name, value, ok := strings.Cut(strings.ToLower(part), ":")
		if name = strings.TrimSpace(name); !ok || !strings.HasPrefix(name, "--") {
			continue
		}
		value, _, _ = strings.Cut(value, "!")
		if value = strings.TrimSpace(value); len(value) > 100 || strings.Contains(value, "var(") {
			value = ambiguous
		}
		all[name] = value
	}
	return all
}

// resolve replaces the variables of a value. If one of them is ambiguous or not
// known, it returns the value as it is, and no property understands that.
func (s *sheet) resolve(value string, own map[string]string) string {
	resolved := value
	for range 4 {
		before, rest, found := strings.Cut(resolved, "var(")
		if !found {
			return resolved
		}
		inside, after, closed := strings.Cut(rest, ")")
		name, fallback, hasFallback := strings.Cut(inside, ",")
		name = strings.TrimSpace(name)
		known, ok := own[name]
		if !ok {
			known, ok = s.variables[name]
		}
		switch {
		case !closed || strings.Contains(inside, "(") || known == ambiguous:
			return value
		case !ok && hasFallback && !s.external && len(s.variables) < maxVariables:
			known = strings.TrimSpace(fallback)
		case !ok:
			return value
		}
		resolved = before + known + after
	}
	return value
}

// style is the visibility of an element by the declarations for it.
type style struct {
	none                            bool // display: none
	visibility                      string
	transparent                     bool // opacity, filter
	away                            bool // moved off the screen
	transformed, translated, scaled bool // moved off the screen or shrunk to nothing by that property
	zoomed                          bool
	clipped                         bool // clip, which needs position
	clipPathed                      bool
	positioned                      bool    // absolute or fixed
	width, height                   float64 // pixels; -1 is not set
	overflowHidden                  bool
	padded                          bool    // high without a height, as for a video
	fontSize                        float64 // pixels; -1 is not set
	relativeFont                    bool    // the font size depends on the parent's
	color, fill, background         string  // as parseColor returns them
	backgroundInText                bool    // background-clip: text
	animation                       string
}

// styleOf returns the style of an element from its attributes and the sheet.
func (s *sheet) styleOf(n *html.Node, checks *int) style {
	st := style{width: -1, height: -1, fontSize: -1}
	var inline, id string
	var classes []string
	for _, a := range n.Attr {
		switch a.Key {
		case "style":
			inline = a.Val
		case "class":
			if s.count > 0 {
				classes = strings.Fields(a.Val)
			}
		case "id":
			id = a.Val
		case "color", "text":
			if n.Data == "body" || n.Data == "font" && a.Key == "color" {
				st.color = parseColor(a.Val)
			}
		case "bgcolor":
			st.background = parseColor(a.Val)
		case "background":
			st.background = unknownColor
		}
	}
	rules := s.rulesFor(n, id, classes, checks)
	if len(rules) == 0 && inline == "" {
		return st
	}
	own := readDeclarations(inline)
	ownVariables := variablesIn(inline)
	s.addVariables(inline, true)
	apply := func(all []declaration, important bool) {
		for _, d := range all {
			if d.important != important {
				continue
			}
			if strings.Contains(d.value, "var(") {
				d.value = s.resolve(d.value, ownVariables)
			}
			st.set(d.property, d.value)
		}
	}
	for _, important := range []bool{false, true} {
		for _, r := range rules {
			apply(r.declarations, important)
		}
		apply(own, important)
	}
	if st.outOfSight() || st.visibility == "hidden" { // an animation may fade it in
		for word := range strings.FieldsFuncSeq(st.animation, func(r rune) bool { return r == ',' || r == ' ' }) {
			for _, d := range s.keyframes[word] {
				if d.property != "display" {
					st.set(d.property, d.value)
				}
			}
		}
	}
	return st
}

func (st *style) set(property, value string) {
	compact := strings.ReplaceAll(value, " ", "")
	switch property {
	case "display":
		st.none = value == "none"
	case "content-visibility":
		st.none = st.none || value == "hidden"
	case "visibility":
		st.visibility = value
	case "opacity":
		n, ok := parseNumber(value)
		st.transparent = ok && n < 0.05
	case "filter":
		st.transparent = st.transparent ||
			strings.Contains(compact, "opacity(0)") || strings.Contains(compact, "opacity(0%)")
	case "font", "font-size":
		st.setFont(property, value)
	case "color":
		st.color = parseColor(value)
	case "-webkit-text-fill-color":
		st.fill = parseColor(value)
	case "background", "background-color":
		st.background = parseColor(value)
	case "background-image":
		if value != "none" {
			st.background = unknownColor
		}
	case "background-clip", "-webkit-background-clip":
		st.backgroundInText = strings.Contains(value, "text")
	case "overflow", "overflow-x", "overflow-y":
		st.overflowHidden = strings.HasPrefix(value, "hidden") || strings.HasPrefix(value, "clip")
	case "width", "max-width":
		st.width = parseSize(value)
	case "height", "max-height":
		st.height = parseSize(value)
	case "padding", "padding-top", "padding-bottom":
		st.padded = st.padded || strings.Contains(value, "%") || parseLength(value) > 20
	case "position":
		st.positioned = value == "absolute" || value == "fixed"
	case "left", "top", "right", "bottom", "margin-left", "margin-top", "text-indent":
		n := parseLength(value)
		if n <= -far || n >= 5*far && !strings.HasPrefix(property, "margin") {
			st.away = true
		} else if strings.HasSuffix(value, "%") && n <= -16 { // -100% of the containing block
			st.away = st.away || property == "text-indent" || st.positioned
		}
	case "clip":
		st.clipped = strings.HasPrefix(compact, "rect(0") && !strings.ContainsAny(compact, "23456789") ||
			strings.HasPrefix(compact, "rect(1px,1px,1px,1px") || strings.HasPrefix(value, "rect(1px 1px 1px 1px")
	case "clip-path", "-webkit-clip-path":
		st.clipPathed = clipsAll(value)
	case "transform":
		st.transformed = transformHides(compact)
	case "translate":
		st.translated = anyFar(strings.Fields(value))
	case "scale":
		n, ok := parseNumber(strings.Fields(value + " 1")[0])
		st.scaled = ok && n < 0.05
	case "zoom":
		n, ok := parseNumber(value)
		st.zoomed = ok && n < 0.05
	case "animation", "animation-name", "-webkit-animation":
		st.animation = value
	}
}

func (st *style) setFont(property, value string) {
	if property == "font" {
		for part := range strings.FieldsSeq(value) {
			size, _, _ := strings.Cut(part, "/")
			startsNumber := size != "" && strings.IndexByte("0123456789.", size[0]) >= 0
			if startsNumber && strings.ContainsAny(size, "pxemvhrt%") || size == "0" {
				value = size
				break
			}
		}
	}
	st.fontSize = max(parseLength(value), -1)
	st.relativeFont = strings.HasSuffix(value, "%") ||
		strings.HasSuffix(value, "em") && !strings.HasSuffix(value, "rem")
}

// outOfSight reports whether an element is not visible with all its content.
func (st *style) outOfSight() bool {
	narrow := st.width >= 0 && st.width <= 1 && st.height <= 1
	flat := st.height >= 0 && st.height <= 1
	return st.transparent || st.away || st.transformed || st.translated || st.scaled || st.zoomed || st.clipPathed ||
		st.clipped && st.positioned || st.overflowHidden && !st.padded && (narrow || flat)
}

// inherit updates what the content of an element inherits.
func (st *style) inherit(in *inherited) {
	switch st.visibility {
	case "hidden", "collapse":
		in.invisible = true
	case "visible":
		in.invisible = false
	}
	if st.fontSize >= 0 && !(st.relativeFont && in.tiny) {
		in.tiny = st.fontSize < 2
	}
	st.inheritColors(in)
}

func (st *style) inheritColors(in *inherited) {
	if st.background != "" && st.background != transparentColor {
		in.background = st.background
	}
	if st.color != "" {
		in.color = st.color
	}
	text := in.color
	if st.fill != "" {
		text = st.fill
	}
	if st.color != "" || st.fill != "" || st.background != "" {
		in.sameColor = !st.backgroundInText && text != "" && text != unknownColor &&
			(text == transparentColor || similarColors(text, in.background))
	}
}

// far is the distance in pixels from which an element counts as off the screen.
const far = 900

func anyFar(lengths []string) bool {
	return slices.ContainsFunc(lengths, func(one string) bool {
		n := parseLength(one)
		return n <= -far || n >= 5*far || strings.HasSuffix(one, "%") && n <= -160
	})
}

// transformHides reports whether a transform moves an element off the screen or
// shrinks it to nothing.
func transformHides(compact string) bool {
	for part := range strings.SplitSeq(compact, ")") {
		name, inside, _ := strings.Cut(part, "(")
		arguments := strings.Split(inside, ",")
		switch {
		case strings.HasPrefix(name, "scale"):
			for _, one := range arguments {
				if n, ok := parseNumber(one); ok && math.Abs(n) < 0.05 {
					return true
				}
			}
		case strings.HasPrefix(name, "translate") && anyFar(arguments):
			return true
		case name == "matrix" && len(arguments) == 6:
			if strings.HasPrefix(inside, "0,0,0,0,") || anyFar([]string{arguments[4] + "px", arguments[5] + "px"}) {
				return true
			}
		}
	}
	return false
}

// clipsAll reports whether a clip-path leaves nothing of an element visible.
func clipsAll(value string) bool {
	name, inside, _ := strings.Cut(value, "(")
	inside, _, closed := strings.Cut(inside, ")")
	if !closed {
		return false
	}
	switch strings.TrimSpace(name) {
	case "inset":
		inside, _, _ = strings.Cut(inside, "round")
		return insetHides(strings.Fields(inside))
	case "circle", "ellipse":
		radii, _, _ := strings.Cut(inside, "at ")
		return slices.ContainsFunc(strings.Fields(radii), func(radius string) bool { return parseLength(radius) == 0 })
	case "polygon": // all points are the same
		points := strings.Split(strings.ReplaceAll(inside, "px", ""), ",")
		first := strings.TrimSpace(points[0])
		return !slices.ContainsFunc(points, func(point string) bool { return strings.TrimSpace(point) != first })
	}
	return false
}

// insetHides reports whether insets from opposite sides leave nothing.
func insetHides(sides []string) bool {
	if len(sides) == 0 || len(sides) > 4 {
		return false
	}
	side := func(i int) float64 { // top, right, bottom, left
		for i >= len(sides) {
			i = max(i-2, 0)
		}
		n, ok := parseNumber(sides[i])
		switch {
		case strings.HasSuffix(sides[i], "%") && ok:
			return n
		case parseLength(sides[i]) >= 5*far:
			return 1
		}
		return 0
	}
	return side(0)+side(2) >= 1 || side(1)+side(3) >= 1
}

// parseNumber parses a number or a percentage.
func parseNumber(value string) (float64, bool) {
	percent := strings.HasSuffix(value, "%")
	n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), "%"), 64)
	if percent {
		n /= 100
	}
	return n, err == nil
}

// units are the units of lengths with their approximate size in pixels.
var units = []struct {
	name   string
	pixels float64
}{
	{"rem", 16}, {"px", 1}, {"em", 16}, {"ex", 8}, {"ch", 8}, {"pt", 1.33}, {"cm", 38}, {"mm", 3.8}, {"in", 96},
	{"pc", 16}, {"vw", 14}, {"vh", 9}, {"vmin", 9}, {"vmax", 14}, {"%", 0.16}, {"", 1},
}

// parseLength returns a length in pixels, roughly; 16 for what is not a length.
func parseLength(value string) float64 {
	value = strings.TrimSpace(value)
	for _, unit := range units {
		if digits, ok := strings.CutSuffix(value, unit.name); ok {
			if n, err := strconv.ParseFloat(digits, 64); err == nil && !math.IsNaN(n) {
				return n * unit.pixels
			}
		}
	}
	return 16
}

// parseSize returns a width or height in pixels, or -1 if it is not a fixed size.
func parseSize(value string) float64 {
	isNumber := value != "" && (value[0] >= '0' && value[0] <= '9' || value[0] == '.')
	if !isNumber || strings.HasSuffix(value, "%") && value != "0%" {
		return -1
	}
	return parseLength(value)
}

// The results of parseColor besides "#rrggbb", and "" for no colour.
const (
	transparentColor = "transparent"
	unknownColor     = "?" // such as an image
)

// parseColor returns the colour of a color or background property.
func parseColor(value string) string {
	value = strings.ToLower(strings.TrimSpace(value))
	switch value {
	case "", "inherit", "initial", "unset", "revert", "none", "currentcolor":
		return ""
	case "transparent":
		return transparentColor
	}
	if strings.Contains(value, "url(") || strings.Contains(value, "gradient") {
		return unknownColor
	}
	if name, inside, ok := strings.Cut(value, "("); ok {
		inside, _, _ = strings.Cut(inside, ")")
		return parseColorFunction(strings.TrimSpace(name), inside)
	}
	value, _, _ = strings.Cut(value, " ") // the rest of a background
	if hex, ok := colorNames[value]; ok {
		value = hex
	}
	value = strings.TrimPrefix(value, "#")
	if _, err := strconv.ParseUint(value, 16, 64); err != nil {
		return unknownColor
	}
	switch len(value) {
	case 3, 4:
		if len(value) == 4 && value[3] == '0' {
			return transparentColor
		}
		return "#" + strings.Repeat(value[:1], 2) + strings.Repeat(value[1:2], 2) + strings.Repeat(value[2:3], 2)
	case 6, 8:
		if value[6:] == "00" {
			return transparentColor
		}
		return "#" + value[:6]
	}
	return unknownColor
}

// parseColorFunction returns a colour such as rgb(0 0 0 / 50%).
func parseColorFunction(name, inside string) string {
	parts := strings.FieldsFunc(inside, func(r rune) bool { return r == ',' || r == '/' || r == ' ' })
	if len(parts) == 4 {
		if alpha, ok := parseNumber(parts[3]); ok && alpha < 0.05 {
			return transparentColor
		}
	}
	if len(parts) < 3 {
		return unknownColor
	}
	switch name {
	case "rgb", "rgba":
		var c [3]int
		for i := range c {
			n, ok := parseNumber(parts[i])
			if strings.HasSuffix(parts[i], "%") {
				n *= 255
			}
			if !ok {
				return unknownColor
			}
			c[i] = min(max(int(math.Round(n)), 0), 255)
		}
		return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2])
	case "hsl", "hsla":
		switch light, ok := parseNumber(parts[2]); {
		case ok && light >= 1:
			return "#ffffff"
		case ok && light <= 0:
			return "#000000"
		}
	}
	return unknownColor
}

// colorNames are the named colours that are used to hide text.
var colorNames = map[string]string{
	"white": "ffffff", "black": "000000", "snow": "fffafa", "ivory": "fffff0", "whitesmoke": "f5f5f5",
	"ghostwhite": "f8f8ff", "red": "ff0000", "green": "008000", "blue": "0000ff", "yellow": "ffff00",
	"gray": "808080", "grey": "808080", "silver": "c0c0c0", "lightgray": "d3d3d3", "lightgrey": "d3d3d3",
	"navy": "000080", "maroon": "800000", "orange": "ffa500", "purple": "800080", "teal": "008080",
	"olive": "808000", "lime": "00ff00", "aqua": "00ffff", "cyan": "00ffff", "fuchsia": "ff00ff",
	"magenta": "ff00ff", "beige": "f5f5dc", "linen": "faf0e6", "azure": "f0ffff", "gainsboro": "dcdcdc",
	"darkgray": "a9a9a9", "darkgrey": "a9a9a9",
}

// similarColors reports whether a person can hardly distinguish two colours.
func similarColors(a, b string) bool {
	if a == b || len(a) != 7 || len(b) != 7 {
		return a == b
	}
	x, errX := strconv.ParseUint(a[1:], 16, 32)
	y, errY := strconv.ParseUint(b[1:], 16, 32)
	for range 3 {
		if d := int(x&0xff) - int(y&0xff); d > 6 || d < -6 {
			return false
		}
		x, y = x>>8, y>>8
	}
	return errX == nil && errY == nil
}

// Pages are evaluated for a screen of this size.
const (
	screenWidth  = 1280
	screenHeight = 800
)

// forScreen reports whether a list of media queries matches the screen. A feature
// that is not known matches only where the query names the medium screen.
func forScreen(media string) bool {
	if strings.TrimSpace(media) == "" {
		return true
	}
	for one := range strings.SplitSeq(strings.ToLower(media), ",") {
		if queryMatches(strings.TrimSpace(one)) {
			return true
		}
	}
	return false
}

func queryMatches(query string) bool {
	medium, rest, _ := strings.Cut(query, "(")
	words := strings.Fields(medium)
	if len(words) > 0 && words[0] == "only" {
		words = words[1:]
	}
	named := len(words) > 0
	if !named && rest == "" || named && words[0] != "screen" && words[0] != "all" ||
		strings.Contains(query, "not") || strings.Contains(query, " or ") {
		return false
	}
	for rest != "" {
		var feature string
		feature, rest, _ = strings.Cut(rest, ")")
		matches, known := featureMatches(strings.ReplaceAll(feature, " ", ""))
		if known && !matches || !known && !named {
			return false
		}
		_, rest, _ = strings.Cut(rest, "(")
	}
	return true
}

// mediaRange is a feature such as 600px<=width<90em.
var mediaRange = pattern(`^(?:([\d.]+[a-z]*)([<>]=?))?(width|height)(?:([<>]=?)([\d.]+[a-z]*))?$`)

func featureMatches(feature string) (matches, known bool) {
	if strings.ContainsAny(feature, "<>") {
		m := mediaRange().FindStringSubmatch(feature)
		if m == nil {
			return false, false
		}
		side := map[string]float64{"width": screenWidth, "height": screenHeight}[m[3]]
		return (m[2] == "" || compares(parseLength(m[1]), m[2], side)) &&
			(m[4] == "" || compares(side, m[4], parseLength(m[5]))), true
	}
	name, value, _ := strings.Cut(feature, ":")
	switch name {
	case "min-width":
		return screenWidth >= parseLength(value), true
	case "max-width":
		return screenWidth <= parseLength(value), true
	case "min-height":
		return screenHeight >= parseLength(value), true
	case "max-height":
		return screenHeight <= parseLength(value), true
	case "orientation":
		return value == "landscape", true
	case "hover", "any-hover":
		return value != "none", true
	case "prefers-color-scheme":
		return value == "light", true
	case "prefers-reduced-motion":
		return value == "no-preference", true
	}
	return false, false
}

func compares(a float64, operator string, b float64) bool {
	switch operator {
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	}
	return a >= b
}
