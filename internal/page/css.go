package page

import (
	"github.com/mazznoer/csscolorparser"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// The CSS that pages and attackers use to hide text: display, visibility, opacity, font size,
// colours, positions off the screen, clipping and empty boxes, in style attributes and style
// elements. Rules that cannot be evaluated are ignored, so the text stays: the caller quotes it
// as untrusted text.

// sheet holds the rules of all style elements of a page.
type sheet struct {
	// rules are found by a property of the element: "#" and an id, "." and a class, the name of
	// the element, or "*" for rules that require none of them.
	rules map[string][]*rule
	count int
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

const maxRules = 20_000

// readSheet reads style sheets. It ignores rules that it does not understand, and
// rules that apply only sometimes: on other media and under the mouse.
func readSheet(styles []string) *sheet {
	s := &sheet{rules: map[string][]*rule{}}
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
		name, argument := strings.ToLower(head), ""
		if end := strings.IndexAny(name, " (\t\n"); end >= 0 { // @media(hover) or @layer base
			name, argument = name[:end], name[end:]
		}
		if depth < 4 && (name == "@supports" || name == "@layer" || name == "@media" && forScreen(argument)) {
			s.read(body, depth+1)
		}
	}
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
	key := "*"
	compound, _, _ := strings.Cut(r.steps[len(r.steps)-1].text, "[")
	for _, name := range simpleSelector().FindAllString(compound, -1) {
		switch {
		case name[0] == ':': // and its arguments in parentheses
		case name[0] == '#' || name[0] == '.' && key[0] != '#':
			key = unescapeCSS(name)
		case key == "*" && name[0] != '.':
			key = strings.ToLower(name)
		}
	}
	s.rules[key] = append(s.rules[key], r)
}

// simpleSelector matches one part of a compound such as p.a:not(.b).
var simpleSelector = text.Pattern(`:[^.#(:]*(?:\([^)]*\))?|[.#]?(?:\\.|[^.#:\\])+`)

// rulesFor returns the rules that apply to an element, by ascending weight. checks
// counts the comparisons.
func (s *sheet) rulesFor(n *html.Node, id string, classes []string, checks *int) []*rule {
	if s.count == 0 {
		return nil
	}
	var all []*rule
	try := func(key string) {
		for _, r := range s.rules[key] {
			if r.appliesTo(n, checks) {
				all = append(all, r)
				*checks += 4 + len(r.declarations) // to sort and to apply it
			}
		}
	}
	try("*")
	try(n.Data)
	try("#" + id)
	for i, class := range classes[:min(len(classes), 50)] {
		if !slices.Contains(classes[:i], class) {
			try("." + class)
		}
	}
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
	"text-indent clip clip-path -webkit-clip-path transform translate scale zoom content-visibility filter line-height " +
	"mask mask-image -webkit-mask -webkit-mask-image " +
	"animation animation-name -webkit-animation transition -webkit-transition will-change")

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

// cssEscape matches escapes such as \64 for d and \: for a colon.
var cssEscape = text.Pattern(`\\(?:[0-9a-fA-F]{1,6}\s?|[^0-9a-fA-F])`)

// unescapeCSS resolves escapes.
func unescapeCSS(text string) string {
	if strings.IndexByte(text, '\\') < 0 {
		return text
	}
	return cssEscape().ReplaceAllStringFunc(text, func(escape string) string {
		code, err := strconv.ParseUint(strings.TrimSpace(escape[1:]), 16, 32)
		if err != nil {
			return escape[1:]
		}
		return string(rune(code))
	})
}

// style is the visibility of an element by the declarations for it.
type style struct {
	none                    bool // display: none
	visibility              string
	transparent             bool // opacity, filter
	away                    bool // moved off the screen
	moved, shrunk, zoomed   bool // by transform, translate, scale or zoom
	clipped                 bool // clip; it needs position
	clipPathed, masked      bool
	positioned              bool    // absolute or fixed
	width, height           float64 // pixels; -1 is not set
	overflowHidden          bool
	padded                  bool    // high without a height, as for a video
	fontSize                float64 // pixels; -1 is not set
	relativeFont            bool    // the font size depends on the parent's
	lineHeight              float64 // pixels; -1 is not set
	color, fill, background string  // as parseColor returns them
	backgroundInText        bool    // background-clip: text
	animated                bool    // an animation may fade it in
	fadesIn                 bool    // changes slowly or is moved a little: scripts do this as one scrolls
}

// styleOf returns the style of an element from its attributes and the sheet.
func (s *sheet) styleOf(n *html.Node, checks *int) style {
	st := style{width: -1, height: -1, fontSize: -1, lineHeight: -1}
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
	apply := func(all []declaration, important bool) {
		for _, d := range all {
			if d.important == important {
				st.set(d.property, d.value)
			}
		}
	}
	for _, important := range []bool{false, true} {
		for _, r := range rules {
			apply(r.declarations, important)
		}
		apply(own, important)
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
		st.transparent = isNearZero(value)
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
		st.clipPathed = clipsAll().MatchString(value)
	case "mask", "mask-image", "-webkit-mask", "-webkit-mask-image":
		st.masked = masksAll(value)
	case "line-height":
		st.lineHeight = max(parseLength(value), 0)
	case "transform":
		st.moved, st.shrunk = isFarMove(compact), scalesToNothing().MatchString(compact)
		st.fadesIn = st.fadesIn || value != "none"
	case "translate":
		st.moved = isFarMove("translate(" + strings.ReplaceAll(value, " ", ","))
	case "scale":
		st.shrunk = isNearZero(strings.Fields(value + " 1")[0])
	case "zoom":
		st.zoomed = isNearZero(value)
	case "animation", "animation-name", "-webkit-animation":
		st.animated = value != "none"
	case "transition", "-webkit-transition", "will-change":
		st.fadesIn = value != "none"
	}
}

func (st *style) setFont(property, value string) {
	if property == "font" {
		for part := range strings.FieldsSeq(value) {
			size, lines, hasLines := strings.Cut(part, "/")
			startsNumber := size != "" && strings.IndexByte("0123456789.", size[0]) >= 0
			if startsNumber && strings.ContainsAny(size, "pxemvhrt%") || size == "0" {
				value, st.lineHeight = size, 16
				if hasLines {
					st.lineHeight = max(parseLength(lines), 0)
				}
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
	return st.transparent || st.away || st.moved || st.shrunk || st.zoomed || st.clipPathed || st.masked ||
		st.clipped && st.positioned || st.overflowHidden && !st.padded && (narrow || flat)
}

// inherit updates the state that the content of an element inherits.
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
	if st.lineHeight >= 0 {
		in.flat = st.lineHeight == 0
		in.cutOff = in.cutOff && in.flat
	}
	if in.flat && st.overflowHidden && !st.padded && st.height < 0 {
		in.cutOff = true
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

// far is the distance in pixels of an element off the screen.
const far = 900

var (
	clipsAll = text.Pattern(`^inset\( *(?:[5-9]\d|1\d\d|\d{4,})(?:%|px)(?: +[5-9]\d%)?(?: round[^)]*)? *\)|` +
		`^inset\(0 100%|^(?:circle|ellipse)\( *0(?:px|%)?[ )]|^polygon\((?:0(?:px|%)? 0(?:px|%)?,? ?)+\)`)
	scalesToNothing = text.Pattern(`scale[xy]?\((?:[^,)]*,)?0(?:\.0\d*)?[,)]|matrix\(0,0,0,0,`)
)

// A mask of one gradient, and the colours in one that hide everything.
var (
	gradient      = text.Pattern(`^(?:repeating-)?(?:linear|radial|conic)-gradient\(([^()]*)\)[^,()]*$`)
	clearStop     = text.Pattern(`(?:rgb|hsl)a?\([^()]*[,/] *0?(?:\.0*)?%? *\)|#0000\b|#[0-9a-f]{6}00\b`)
	clearAt       = text.Pattern(`^transparent(?: +[\d.]+(?:%|px)?)*$`)
	gradientShape = text.Pattern(`^(?:to |from |at |circle|ellipse|closest|farthest|-?[\d.]+(?:deg|turn|g?rad)$)`)
)

// masksAll reports whether a mask lets nothing show: it is one gradient of nothing but
// transparent colours. Pictures and several masks are not evaluated.
func masksAll(value string) bool {
	m := gradient().FindStringSubmatch(clearStop().ReplaceAllString(value, "transparent"))
	if m == nil {
		return false
	}
	for i, part := range strings.Split(m[1], ",") {
		part = strings.TrimSpace(part)
		if !clearAt().MatchString(part) && (i > 0 || !gradientShape().MatchString(part)) {
			return false
		}
	}
	return strings.Contains(m[1], "transparent")
}

// isFarMove reports whether a transform moves an element off the screen.
func isFarMove(transform string) bool {
	_, inside, found := strings.Cut(transform, "translate")
	_, inside, _ = strings.Cut(inside, "(")
	inside, _, _ = strings.Cut(inside, ")")
	return found && slices.ContainsFunc(strings.Split(inside, ","), func(one string) bool {
		n := parseLength(one)
		return n <= -far || n >= 5*far || strings.HasSuffix(one, "%") && n <= -160
	})
}

// isNearZero reports whether a number or a percentage is too small to see anything.
func isNearZero(value string) bool {
	n, ok := parseNumber(value)
	return ok && n < 0.05
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
	{"rem", 16}, {"px", 1}, {"em", 16}, {"pt", 1.33}, {"cm", 38}, {"in", 96}, {"vw", 14}, {"vh", 9}, {"%", 0.16},
	{"", 1},
}

// parseLength returns a length in pixels, roughly; 16 for other values.
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
	unknownColor     = "?" // such as an image, or a colour that something else shows through
)

// parseColor returns the colour of a color or background property.
func parseColor(value string) string {
	value = strings.ToLower(strings.TrimSpace(value))
	switch value {
	case "", "inherit", "initial", "unset", "revert", "none", "currentcolor":
		return ""
	}
	if strings.Contains(value, "url(") || strings.Contains(value, "gradient") {
		return unknownColor
	}
	first, _, _ := strings.Cut(value, " ") // the rest of a background follows
	if strings.Contains(first, "(") {
		first = value[:strings.IndexByte(value, ')')+1]
	} else if digits := strings.Trim(first, "0123456789abcdef"); digits == "" && len(first) >= 3 {
		first = "#" + first // as browsers read the attribute bgcolor
	}
	color, err := csscolorparser.Parse(first)
	switch {
	case err != nil:
		return unknownColor
	case color.A < 0.05:
		return transparentColor
	case color.A < 0.9:
		return unknownColor
	}
	return color.HexString()[:len("#rrggbb")]
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

// Pages are evaluated for a screen of this width.
const screenWidth = 1280

var (
	notScreen  = text.Pattern(`\b(?:not|or|print|speech|portrait|dark|reduce)\b|hover: *none`)
	widthLimit = text.Pattern(`(min|max)-width: *([\d.]+[a-z]*)|` +
		`(?:([\d.]+[a-z]*) *<=? *)?\bwidth *(?:([<>])=? *([\d.]+[a-z]*))?`)
	other = text.Pattern(`[(][^()]*[)]`) // a feature that is not about the width
	known = text.Pattern(`orientation|hover|prefers-color-scheme|prefers-reduced-motion`)
)

// forScreen reports whether a list of media queries matches the screen. A feature
// that is not known matches only where the query names the medium screen.
func forScreen(media string) bool {
	for query := range strings.SplitSeq(strings.ToLower(media), ",") {
		if strings.TrimSpace(query) == "" && strings.TrimSpace(media) == "" || queryMatches(query) {
			return true
		}
	}
	return false
}

func queryMatches(query string) bool {
	if notScreen().MatchString(query) {
		return false
	}
	for _, m := range widthLimit().FindAllStringSubmatch(query, -1) {
		isMax, width := m[1] == "max" || m[4] == "<", m[2]+m[5]
		if isMax && parseLength(width) < screenWidth || !isMax && width != "" && parseLength(width) > screenWidth ||
			m[3] != "" && parseLength(m[3]) > screenWidth {
			return false
		}
	}
	if strings.Contains(query, "screen") || strings.Contains(query, "all") {
		return true
	}
	for _, feature := range other().FindAllString(query, -1) {
		if !widthLimit().MatchString(feature) && !known().MatchString(feature) {
			return false
		}
	}
	return strings.Contains(query, "(") && strings.Contains(query, ")")
}
