package chart

import "math"

// A scene is a picture made of shapes, in pixels of the screen.
type scene struct {
	width, height float64
	shapes        []shape
}

// A shape is a polygon, a line, a circle or a text: exactly one of path, radius and text
// is set.
type shape struct {
	fill    string  // a colour; "" for none
	opacity float64 // 0 is 1
	stroke  string  // of lines
	width   float64 // of lines
	path    []point
	closed  bool

	at     point
	radius float64

	text   string
	size   float64
	bold   bool
	anchor anchor
	turned float64 // degrees, clockwise
}

type point struct{ x, y float64 }

// An anchor is the point of a text that is at its position.
type anchor string

const (
	start  anchor = "start"
	middle anchor = "middle"
	end    anchor = "end"
)

// Colours.
const (
	ink   = "#333333"
	faint = "#dddddd"
	paper = "#ffffff"
)

func (s *scene) add(shapes ...shape) { s.shapes = append(s.shapes, shapes...) }

func (s *scene) rect(x, y, w, h float64, fill string) {
	s.add(shape{fill: fill, closed: true, path: []point{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}})
}

func (s *scene) line(stroke string, width float64, path ...point) {
	s.add(shape{stroke: stroke, width: width, path: path})
}

func (s *scene) write(x, y, size float64, anchor anchor, text string) {
	s.add(shape{text: text, at: point{x, y}, size: size, fill: ink, anchor: anchor})
}

// sector returns the path of a slice of a pie. Angles are in radians, clockwise from the
// top.
func sector(centre point, radius, from, to float64) []point {
	path := []point{centre}
	steps := max(2, int(math.Ceil((to-from)/(math.Pi/90))))
	for i := range steps + 1 {
		a := from + (to-from)*float64(i)/float64(steps)
		path = append(path, point{centre.x + radius*math.Sin(a), centre.y - radius*math.Cos(a)})
	}
	return path
}
