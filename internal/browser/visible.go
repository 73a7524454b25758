package browser

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/domsnapshot"
)

// styles are the computed styles that decide whether a person sees an element. The
// constants are their positions.
func styles() []string {
	return []string{"opacity", "font-size", "color", "overflow-x", "overflow-y", "clip", "clip-path", "background-clip",
		"background-image", "filter", "transform", "scale", "mask-image", "-webkit-mask-image"}
}

const (
	styleOpacity = iota
	styleFontSize
	styleColor
	styleOverflowX
	styleOverflowY
	styleClip
	styleClipPath
	styleBackgroundClip
	styleBackgroundImage
	styleFilter
	styleTransform
	styleScale
	styleMask
	styleOldMask
)

const (
	minOpacity  = 0.05
	minFontSize = 2.0    // pixels
	minArea     = 0.0001 // of the area without a transform
	textNode    = 3      // the nodeType of texts
	colorStep   = 10     // differences of a color in each channel that a person does not see
)

// A layout is how the browser has laid out one document.
type layout struct {
	document *domsnapshot.DocumentSnapshot
	strings  []string
	of       map[int64]int // positions in the layout by node
	names    map[int]string
	pictures []domsnapshot.Rectangle
}

// unseen returns the nodes of a document that a person would not see: transparent, tiny,
// cut off, beyond the edge of the page, or in the color of their background. The children
// of a transparent or cut-off element are unseen, too. Elements that are not laid out
// (display: none) and hidden ones (visibility) are not in the accessibility tree.
func unseen(document *domsnapshot.DocumentSnapshot, names []string) map[cdp.BackendNodeID]bool {
	all := make(map[cdp.BackendNodeID]bool)
	if document.Nodes == nil || document.Layout == nil {
		return all
	}
	l := layout{document, names, make(map[int64]int), nodeNames(document, names), nil}
	nodes := document.Nodes
	for at, node := range document.Layout.NodeIndex {
		if _, known := l.of[node]; known || node < 0 || int(node) >= len(nodes.BackendNodeID) ||
			at >= len(document.Layout.Styles) || at >= len(document.Layout.Bounds) {
			continue
		}
		l.of[node] = at
		if l.isPicture(at, int(node)) {
			l.pictures = append(l.pictures, document.Layout.Bounds[at])
		}
	}
	within := make([]bool, len(nodes.BackendNodeID)) // in an element whose children are unseen
	for node, id := range nodes.BackendNodeID {
		parent := int64(-1)
		if node < len(nodes.ParentIndex) {
			parent = nodes.ParentIndex[node]
		}
		inside := parent >= 0 && int(parent) < node && within[parent]
		at, laidOut := l.of[int64(node)]
		if laidOut && l.hidesContent(at) {
			inside = true
		}
		within[node] = inside
		if inside || laidOut && nodes.NodeType[node] == textNode && l.isUnseenText(at, parent) {
			all[id] = true
		}
	}
	return all
}

// nodeNames returns the names of the nodes of a document that have a name.
func nodeNames(document *domsnapshot.DocumentSnapshot, names []string) map[int]string {
	all := make(map[int]string)
	if document.Nodes == nil {
		return all
	}
	for i, name := range document.Nodes.NodeName {
		if name >= 0 && int(name) < len(names) && i < len(document.Nodes.BackendNodeID) {
			all[i] = strings.ToUpper(names[name])
		}
	}
	return all
}

func (l layout) style(at, which int) string {
	all := l.document.Layout.Styles[at]
	if which >= len(all) || all[which] < 0 || int(all[which]) >= len(l.strings) {
		return ""
	}
	return l.strings[all[which]]
}

// isPicture reports whether an element covers the elements behind it with an image.
func (l layout) isPicture(at, node int) bool {
	image := l.style(at, styleBackgroundImage)
	if image != "" && image != "none" {
		return true
	}
	switch l.names[node] {
	case "IMG", "VIDEO", "CANVAS", "SVG", "PICTURE", "IFRAME", "OBJECT", "EMBED":
		return true
	}
	return false
}

// hidesContent reports whether an element hides itself with all its content.
func (l layout) hidesContent(at int) bool {
	if opacity, err := strconv.ParseFloat(l.style(at, styleOpacity), 64); err == nil && opacity < minOpacity {
		return true
	}
	if transparent.MatchString(l.style(at, styleFilter)) || isFlat(l.style(at, styleTransform)) ||
		noScale.MatchString(l.style(at, styleScale)) || masksAll(l.style(at, styleMask)) || masksAll(l.style(at, styleOldMask)) {
		return true
	}
	box := l.document.Layout.Bounds[at]
	if len(box) == 4 && (box[2] <= 1 && l.cuts(at, styleOverflowX) || box[3] <= 1 && l.cuts(at, styleOverflowY)) {
		return true
	}
	path := l.style(at, styleClipPath)
	return strings.HasPrefix(path, "inset(50%") || strings.HasPrefix(path, "inset(100%") ||
		strings.HasPrefix(path, "circle(0") || emptyClip.MatchString(l.style(at, styleClip))
}

// emptyClip matches rectangles of at most a pixel, such as rect(1px, 1px, 1px, 1px).
var emptyClip = regexp.MustCompile(`^rect\((?:[01]px,? ?){4}\)$`)

// Computed values that hide all of an element.
var (
	transparent = regexp.MustCompile(`\bopacity\(0(?:\.0\d*)?%?\)`)
	noScale     = regexp.MustCompile(`^(?:0(?:\.0\d*)?%?(?: |$)|\S+ 0(?:\.0\d*)?%?(?: |$))`)
	clearColor  = regexp.MustCompile(`rgba\([\d.]+, [\d.]+, [\d.]+, 0(?:\.0\d*)?\)`)
)

// isFlat reports whether the matrix of a transform leaves an element no width or no height.
func isFlat(transform string) bool {
	kind, inside, _ := strings.Cut(strings.TrimSuffix(transform, ")"), "(")
	var m []float64
	for number := range strings.SplitSeq(inside, ", ") {
		n, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return false
		}
		m = append(m, n)
	}
	switch {
	case kind == "matrix" && len(m) == 6:
		return math.Abs(m[0]*m[3]-m[1]*m[2]) < minArea
	case kind == "matrix3d" && len(m) == 16: // not one that is seen from its edge: its content may be turned back
		return m[0] == 0 && m[1] == 0 && m[2] == 0 || m[4] == 0 && m[5] == 0 && m[6] == 0
	}
	return false
}

// masksAll reports whether a mask is one gradient of nothing but transparent colors.
func masksAll(mask string) bool {
	rest := clearColor.ReplaceAllString(mask, "")
	return rest != mask && strings.Count(rest, "(") == 1 && strings.Contains(rest, "-gradient(") &&
		!strings.Contains(rest, "currentcolor")
}

func (l layout) cuts(at, which int) bool {
	value := l.style(at, which)
	return value == "hidden" || value == "clip"
}

// isUnseenText reports whether a text is tiny, beyond the edges of the page that cannot
// be scrolled to, or in the color of its background.
func (l layout) isUnseenText(at int, parent int64) bool {
	if size, err := strconv.ParseFloat(strings.TrimSuffix(l.style(at, styleFontSize), "px"), 64); err == nil &&
		size < minFontSize {
		return true
	}
	box := l.document.Layout.Bounds[at]
	if len(box) == 4 && (box[0]+box[2] <= 0 || box[1]+box[3] <= 0) && (box[2] > 0 || box[3] > 0) {
		return true
	}
	return l.hasBackgroundColor(at, parent)
}

// hasBackgroundColor reports whether a text is transparent or has the color of the background
// behind it. Text that is filled with a background and text on a picture have not.
func (l layout) hasBackgroundColor(at int, parent int64) bool {
	if element, ok := l.of[parent]; ok && strings.Contains(l.style(element, styleBackgroundClip), "text") {
		return false
	}
	text, ok := parseColor(l.style(at, styleColor))
	if !ok {
		return false
	}
	if text[3] >= minOpacity {
		back, ok := l.background(parent)
		if !ok {
			return false
		}
		for i := range 3 {
			if d := text[i]*text[3] + back[i]*(1-text[3]) - back[i]; d > colorStep || d < -colorStep {
				return false
			}
		}
	}
	box := l.document.Layout.Bounds[at]
	for _, p := range l.pictures {
		if len(box) == 4 && len(p) == 4 && p[0] <= box[0]+box[2]/2 && box[0]+box[2]/2 <= p[0]+p[2] &&
			p[1] <= box[1]+box[3]/2 && box[1]+box[3]/2 <= p[1]+p[3] {
			return false
		}
	}
	return true
}

// background returns the color behind an element, if it is opaque. The browser reports
// none for inline elements.
func (l layout) background(node int64) (c [4]float64, ok bool) {
	parents, behind := l.document.Nodes.ParentIndex, l.document.Layout.BlendedBackgroundColors
	for ; node >= 0 && int(node) < len(parents); node = parents[node] {
		at, laidOut := l.of[node]
		if laidOut && at < len(behind) && behind[at] >= 0 && int(behind[at]) < len(l.strings) {
			c, ok = parseColor(l.strings[behind[at]])
			return c, ok && c[3] == 1
		}
		if parents[node] >= node {
			break // a page cannot make a cycle, but this must not depend on it
		}
	}
	return c, false
}

var colorNumbers = regexp.MustCompile(`^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$`)

// parseColor parses a computed color: red, green and blue up to 255, alpha up to 1.
func parseColor(text string) (c [4]float64, ok bool) {
	found := colorNumbers.FindStringSubmatch(text)
	if found == nil {
		return c, false
	}
	c[3] = 1
	for i, number := range found[1:] {
		if number != "" {
			c[i], _ = strconv.ParseFloat(number, 64) // it consists of digits
		}
	}
	return c, true
}
