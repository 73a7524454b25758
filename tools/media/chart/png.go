package chart

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"strconv"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// zoom is the number of pixels of a PNG file for each unit.
const zoom = 1.75

// PNG returns the chart as a PNG file. missing is a character of the chart that its font lacks;
// it is drawn as a box; 0 for none.
func (c Chart) PNG() (data []byte, missing rune, err error) {
	s, err := c.layout()
	if err != nil {
		return nil, 0, err
	}
	to := image.NewRGBA(image.Rect(0, 0, int(math.Ceil(s.width*zoom)), int(math.Ceil(s.height*zoom))))
	draw.Draw(to, to.Rect, image.White, image.Point{}, draw.Src)
	p := painter{to: to}
	for _, sh := range s.shapes[1:] { // the first one is the paper
		p.paint(sh)
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, to)
	return out.Bytes(), p.missing, err
}

// A painter draws shapes on an image.
type painter struct {
	to      *image.RGBA
	missing rune
}

func (p *painter) paint(s shape) {
	switch {
	case s.text != "":
		p.write(s)
	case s.radius > 0:
		p.fill(circle(s.at, s.radius), s.fill, s.opacity)
		p.stroke(circle(s.at, s.radius), true, s.stroke, s.width)
	default:
		if s.fill != "" {
			p.fill(s.path, s.fill, s.opacity)
		}
		p.stroke(s.path, s.closed, s.stroke, s.width)
	}
}

func circle(centre point, radius float64) []point {
	path := make([]point, 24)
	for i := range path {
		a := 2 * math.Pi * float64(i) / float64(len(path))
		path[i] = point{centre.x + radius*math.Cos(a), centre.y + radius*math.Sin(a)}
	}
	return path
}

// fill fills a polygon.
func (p *painter) fill(path []point, colour string, opacity float64) {
	if len(path) < 3 {
		return
	}
	m := newMask(p.to.Bounds(), path)
	m.polygon(path)
	p.ink(m, colour, opacity)
}

// stroke draws a line: a rectangle for each of its parts, and a circle where they meet.
func (p *painter) stroke(path []point, closed bool, colour string, width float64) {
	if colour == "" || len(path) < 2 {
		return
	}
	if closed {
		path = append(path[:len(path):len(path)], path[0])
	}
	for i := range path[1:] {
		a, b := path[i], path[i+1]
		length := math.Hypot(b.x-a.x, b.y-a.y)
		if length == 0 {
			continue
		}
		dx, dy := (b.y-a.y)/length*width/2, (a.x-b.x)/length*width/2
		p.fill([]point{{a.x + dx, a.y + dy}, {b.x + dx, b.y + dy}, {b.x - dx, b.y - dy}, {a.x - dx, a.y - dy}}, colour,
			0)
		if i > 0 && width > 1 {
			p.fill(circle(a, width/2), colour, 0)
		}
	}
}

// A mask is a part of the image that is to get a colour.
type mask struct {
	r    *vector.Rasterizer
	area image.Rectangle
}

// newMask returns a mask for the area of some points.
func newMask(image image.Rectangle, path []point) mask {
	area := bounds(path).Intersect(image)
	return mask{vector.NewRasterizer(area.Dx(), area.Dy()), area}
}

func bounds(path []point) image.Rectangle {
	least, most := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, p := range path {
		least.x, least.y = math.Min(least.x, p.x), math.Min(least.y, p.y)
		most.x, most.y = math.Max(most.x, p.x), math.Max(most.y, p.y)
	}
	return image.Rect(int(math.Floor(least.x*zoom)), int(math.Floor(least.y*zoom)), int(math.Ceil(most.x*zoom))+1,
		int(math.Ceil(most.y*zoom))+1)
}

// local converts a point of a scene to one of the mask.
func (m mask) local(p point) (x, y float32) {
	return float32(p.x*zoom - float64(m.area.Min.X)), float32(p.y*zoom - float64(m.area.Min.Y))
}

func (m mask) polygon(path []point) {
	m.r.MoveTo(m.local(path[0]))
	for _, p := range path[1:] {
		m.r.LineTo(m.local(p))
	}
	m.r.ClosePath()
}

// ink colours the pixels of the mask.
func (p *painter) ink(m mask, colour string, opacity float64) {
	if m.area.Empty() {
		return
	}
	m.r.DrawOp = draw.Over
	m.r.Draw(p.to, m.area, image.NewUniform(parseColour(colour, opacity)), image.Point{})
}

func parseColour(hex string, opacity float64) color.NRGBA {
	v, _ := strconv.ParseUint(hex[1:], 16, 32) // all colours are ours
	c := color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
	if opacity > 0 {
		c.A = uint8(math.Round(opacity * 255))
	}
	return c
}

// fonts returns the fonts of texts.
var fonts = sync.OnceValue(func() (f struct{ regular, bold *sfnt.Font }) {
	f.regular, _ = sfnt.Parse(goregular.TTF)
	f.bold, _ = sfnt.Parse(gobold.TTF)
	return f
})

// measure returns the width of a text.
func measure(text string, size float64, bold bool) float64 {
	ends := advances(text, size, bold)
	if len(ends) == 0 {
		return 0
	}
	return ends[len(ends)-1]
}

// emUnits is the size, in pixels, of the table of character widths.
const emUnits = 1024

// advances returns where each character of a text ends.
func advances(text string, size float64, bold bool) (ends []float64) {
	f := fontOf(bold)
	var b sfnt.Buffer
	x := 0.0
	for _, r := range text {
		if i, err := f.GlyphIndex(&b, r); err == nil {
			if advance, err := f.GlyphAdvance(&b, i, fixed.I(emUnits), font.HintingNone); err == nil {
				x += float64(advance) / 64 / emUnits * size
			}
		}
		ends = append(ends, x)
	}
	return ends
}

func fontOf(bold bool) *sfnt.Font {
	if bold {
		return fonts().bold
	}
	return fonts().regular
}

// glyphs calls each with the outline of each character, and where it begins. It returns
// the first character that the font lacks.
func glyphs(text string, size float64, bold bool, each func(outline sfnt.Segments, x float64)) (missing rune) {
	f := fontOf(bold)
	ends := advances(text, size, bold)
	var b sfnt.Buffer
	x := 0.0
	for n, r := range []rune(text) {
		i, err := f.GlyphIndex(&b, r)
		if err == nil && i == 0 && missing == 0 {
			missing = r
		}
		if outline, err := f.LoadGlyph(&b, i, fixed.Int26_6(size*64), nil); err == nil {
			each(outline, x)
		}
		x = ends[n]
	}
	return missing
}

// write draws a text.
func (p *painter) write(s shape) {
	width := measure(s.text, s.size, s.bold)
	shift := 0.0
	switch s.anchor {
	case middle:
		shift = -width / 2
	case end:
		shift = -width
	}
	sin, cos := math.Sincos(s.turned * math.Pi / 180)
	place := func(x, y float64) point {
		x += shift
		return point{s.at.x + x*cos - y*sin, s.at.y + x*sin + y*cos}
	}
	corners := []point{
		place(-s.size, -1.5*s.size), place(width+s.size, -1.5*s.size), place(width+s.size, s.size),
		place(-s.size, s.size),
	}
	m := newMask(p.to.Bounds(), corners)
	if m.area.Empty() {
		return
	}
	missing := glyphs(s.text, s.size, s.bold, func(outline sfnt.Segments, from float64) {
		at := func(q fixed.Point26_6) (float32, float32) {
			return m.local(place(from+float64(q.X)/64, float64(q.Y)/64))
		}
		for _, seg := range outline {
			x0, y0 := at(seg.Args[0])
			x1, y1 := at(seg.Args[1])
			x2, y2 := at(seg.Args[2])
			switch seg.Op {
			case sfnt.SegmentOpMoveTo:
				m.r.ClosePath()
				m.r.MoveTo(x0, y0)
			case sfnt.SegmentOpLineTo:
				m.r.LineTo(x0, y0)
			case sfnt.SegmentOpQuadTo:
				m.r.QuadTo(x0, y0, x1, y1)
			case sfnt.SegmentOpCubeTo:
				m.r.CubeTo(x0, y0, x1, y1, x2, y2)
			}
		}
		m.r.ClosePath()
	})
	p.missing = cmp.Or(p.missing, missing)
	p.ink(m, s.fill, 0)
}
