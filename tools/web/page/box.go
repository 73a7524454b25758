package page

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// box is what the styles of an element say of how it is seen.
type box struct {
	none, faded, away, clipped bool
	flat, turned               deformed
	visible                    string // visibility, if it is said
	font                       float64
	sized                      bool // font is said
	relative                   bool // font is in terms of the parent's
	width, height              float64
	cut                        bool // what does not fit is not shown
	placed                     bool // away from where it would be
	color, fill, back          string
	textClip                   bool // the background is seen through the text
	padded                     bool // so that it is high without a height, as for a video
	shapeless, masked          bool
	solid                      bool // nothing is seen through its background
	under, lifted, moved       bool // it is behind what it is in, if it is lifted and has its place
	apart                      bool // it is not painted with what it is in, or not where that is
	stacks                     bool // what is under in it is painted over its background
	names                      *scope
	animation, transition      string
}

// box works out the styles of an element, those of the sheet and its own, which
// may use names of what it is in.
func (s *sheet) box(n *html.Node, within *scope, checks *int) box {
	b := box{width: -1, height: -1, names: within}
	var style string
	var classes []string
	id := ""
	for _, a := range n.Attr {
		switch a.Key {
		case "style":
			style = a.Val
		case "class":
			if s.count > 0 {
				classes = strings.Fields(a.Val)
			}
		case "id":
			id = a.Val
		case "color":
			if n.Data == "font" || n.Data == "body" {
				b.color = colour(a.Val)
			}
		case "text":
			if n.Data == "body" {
				b.color = colour(a.Val)
			}
		case "bgcolor":
			b.back = colour(a.Val)
		case "background":
			b.back = "?"
		}
	}
	rules := s.rules(n, id, classes, checks)
	if len(rules) == 0 && style == "" {
		return b
	}
	own := declarations(style)
	b.names = within.inside(style)
	say := func(all []declaration, important bool) {
		for _, d := range all {
			if d.important != important {
				continue
			}
			if d.varies {
				d.value = s.resolve(d.value, b.names, within, checks)
			}
			b.set(d.property, d.value)
		}
	}
	for _, important := range []bool{false, true} {
		for _, r := range rules {
			say(r.says, important)
		}
		say(own, important)
	}
	s.end(&b)
	return b
}

func (b *box) set(property, value string) {
	switch property {
	case "display":
		b.none = value == "none"
		b.stacks = b.stacks || value == "contents" // it has no background at all
	case "content-visibility":
		b.none = b.none || value == "hidden"
	case "visibility":
		b.visible = value
	case "opacity":
		n, ok := number(value)
		b.faded = ok && n < 0.05
		b.stacks = b.stacks || n != 1
	case "filter":
		b.stacks = true
		b.faded = b.faded || strings.Contains(strings.ReplaceAll(value, " ", ""), "opacity(0)") || strings.Contains(value, "opacity(0%)")
	case "font", "font-size":
		b.setFont(property, value)
	case "color":
		b.color = colour(value)
	case "-webkit-text-fill-color":
		b.fill = colour(value)
	case "background", "background-color":
		b.back, b.solid = colour(value), solid(value)
	case "background-image":
		if value != "none" {
			b.back, b.solid = "?", false
		}
	case "background-clip", "-webkit-background-clip":
		b.textClip = strings.Contains(value, "text")
	case "overflow", "overflow-x", "overflow-y":
		b.cut = strings.HasPrefix(value, "hidden") || strings.HasPrefix(value, "clip")
	case "width", "max-width":
		b.width = size(value)
	case "height", "max-height":
		b.height = size(value)
	case "padding", "padding-top", "padding-bottom":
		b.padded = b.padded || strings.Contains(value, "%") || length(value) > 20
	case "position":
		b.placed = value == "absolute" || value == "fixed"
		b.lifted = value == "relative"
		b.stacks = b.stacks || value == "fixed" || value == "sticky"
	case "float":
		b.apart = b.apart || value != "none"
	case "isolation", "will-change", "contain", "mix-blend-mode", "perspective", "backdrop-filter", "container-type", "transform-style", "-webkit-transform":
		b.stacks = true
	case "animation", "animation-name", "-webkit-animation":
		b.animation, b.stacks = value, true
	case "transition", "transition-property", "-webkit-transition":
		b.transition = value
	case "z-index":
		b.stacks, b.under = b.stacks || value != "auto", strings.HasPrefix(value, "-") && strings.Trim(value, "-0") != ""
	case "clip-path", "-webkit-clip-path":
		b.shapeless, b.stacks = clipsAll(value), true
	case "mask", "mask-image", "-webkit-mask", "-webkit-mask-image":
		b.masked, b.stacks = masksAll(value), true
	default:
		b.move(property, value)
	}
}

func (b *box) setFont(property, value string) {
	if property == "font" {
		for part := range strings.FieldsSeq(value) {
			if part, _, _ = strings.Cut(part, "/"); part != "" && (part[0] >= '0' && part[0] <= '9' || part[0] == '.') && strings.ContainsAny(part, "pxemvhrt%") || part == "0" {
				value = part
				break
			}
		}
	}
	n := length(value)
	b.sized, b.font = n >= 0, n
	b.relative = strings.HasSuffix(value, "%") || strings.HasSuffix(value, "em") && !strings.HasSuffix(value, "rem")
}

// far is how many pixels away from its place nobody finds a thing.
const far = 900

// move is what puts an element out of sight.
func (b *box) move(property, value string) {
	squeezed := strings.ReplaceAll(value, " ", "")
	b.moved = b.moved || property != "clip" && strings.Trim(squeezed, "0px") != ""
	switch property {
	case "left", "top", "margin-left", "margin-top", "right", "bottom", "text-indent":
		n := length(value)
		if n <= -far || n >= 5*far && !strings.HasPrefix(property, "margin") {
			b.away = true
		} else if strings.HasSuffix(value, "%") && n <= -16 { // -100% of what it is in, beyond its edge
			b.away = b.away || property == "text-indent" || b.placed
		}
	case "clip":
		b.clipped = strings.HasPrefix(squeezed, "rect(0") && !strings.ContainsAny(squeezed, "23456789") || strings.HasPrefix(squeezed, "rect(1px,1px,1px,1px") || strings.HasPrefix(value, "rect(1px 1px 1px 1px")
	case "transform":
		b.stacks = true
		b.flat.set(byTransform, transformedAway(property, squeezed, value))
		b.turned.set(byTransform, turnedAway(property, squeezed, value))
	case "translate":
		b.stacks = true
		b.flat.set(byTranslate, transformedAway(property, squeezed, value))
	case "scale":
		b.stacks = true
		b.flat.set(byScale, transformedAway(property, squeezed, value))
	case "rotate":
		b.stacks = true
		b.turned.set(byRotate, turnedAway(property, squeezed, value))
	case "zoom":
		n, ok := number(value)
		b.flat.set(byZoom, ok && n < 0.05)
	}
}

// deformed is which properties, each on its own, leave nothing to be seen.
type deformed uint8

const (
	byTransform deformed = 1 << iota
	byTranslate
	byScale
	byRotate
	byZoom
)

func (d *deformed) set(by deformed, so bool) {
	if *d &^= by; so {
		*d |= by
	}
}

// transformedAway reports whether a transform leaves nothing to be seen.
func transformedAway(property, squeezed, value string) bool {
	if property == "scale" {
		n, ok := number(strings.Fields(value + " 1")[0])
		return ok && n < 0.05
	}
	if property == "translate" {
		return farList(strings.Fields(value))
	}
	for part := range strings.SplitSeq(squeezed, ")") {
		name, inside, _ := strings.Cut(part, "(")
		list := strings.Split(inside, ",")
		switch {
		case strings.HasPrefix(name, "scale"):
			for _, one := range list {
				if n, ok := number(one); ok && n < 0.05 && n > -0.05 {
					return true
				}
			}
		case strings.HasPrefix(name, "translate") && farList(list):
			return true
		case strings.HasPrefix(name, "matrix") && len(list) >= 6:
			a, ok := number(list[0])
			if d, fine := number(list[3]); ok && fine && a == 0 && d == 0 && list[1] == "0" {
				return true
			}
			return farList([]string{list[4] + "px", list[5] + "px"})
		}
	}
	return false
}

func farList(list []string) bool {
	for _, one := range list {
		if n := length(one); n <= -far || n >= 5*far || strings.HasSuffix(one, "%") && n <= -160 {
			return true
		}
	}
	return false
}

// unseen reports whether a box, with all in it, is out of sight.
func (b *box) unseen() bool {
	small := b.cut && !b.padded && (b.width >= 0 && b.width <= 1 && b.height <= 1 || b.height >= 0 && b.height <= 1)
	return b.faded || b.away || b.flat != 0 || b.clipped && b.placed || small ||
		b.shapeless && !b.slow("clip-path") || b.masked && !b.slow("mask") || b.turned != 0 && !b.slow("transform") && !b.slow("rotate")
}

// beneath reports whether a box is behind the background of what it is in.
func (b *box) beneath(s *state) bool { return s.covered && b.under && b.lifted && !b.moved && !b.apart }

// hand changes what is handed down to the content of a box.
func (b *box) hand(s *state) {
	switch b.visible {
	case "hidden", "collapse":
		s.invisible = true
	case "visible":
		s.invisible = false
	}
	if b.sized && !(b.relative && s.tiny) {
		s.tiny = b.font < 2
	}
	b.colours(s)
	s.names = b.names
	if b.stacks || b.placed || b.moved || b.apart {
		s.covered = false
	}
	if b.solid && !b.stacks && !b.textClip && b.width < 0 && b.height < 0 {
		s.covered = true
	}
}

func (b *box) colours(s *state) {
	if b.back != "" && b.back != "clear" {
		s.back = b.back
	}
	if b.color != "" {
		s.color = b.color
	}
	ink := s.color
	if b.fill != "" {
		ink = b.fill
	}
	if b.color != "" || b.fill != "" || b.back != "" {
		s.clear = !b.textClip && ink != "" && ink != "?" && (ink == "clear" || near(ink, s.back))
	}
}

// number reads a number, or a percentage as one.
func number(value string) (float64, bool) {
	percent := strings.HasSuffix(value, "%")
	n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), "%"), 64)
	if percent {
		n /= 100
	}
	return n, err == nil
}

// length is a length in pixels, about; NaN-free: what is none is 16.
func length(value string) float64 {
	units := []struct {
		name   string
		pixels float64
	}{{"rem", 16}, {"px", 1}, {"em", 16}, {"ex", 8}, {"ch", 8}, {"pt", 1.33}, {"cm", 38}, {"mm", 3.8}, {"in", 96}, {"pc", 16},
		{"vw", 14}, {"vh", 9}, {"vmin", 9}, {"vmax", 14}, {"%", 0.16}, {"", 1}}
	value = strings.TrimSpace(value)
	for _, unit := range units {
		if digits, ok := strings.CutSuffix(value, unit.name); ok {
			n, err := strconv.ParseFloat(digits, 64)
			if err == nil && n == n {
				return n * unit.pixels
			}
		}
	}
	return 16
}

// size is a width or height in pixels, and -1 if it is not said.
func size(value string) float64 {
	if value == "" || (value[0] < '0' || value[0] > '9') && value[0] != '.' || strings.HasSuffix(value, "%") && value != "0%" {
		return -1
	}
	return length(value)
}
