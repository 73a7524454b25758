// Package chart draws data as bars, lines, areas, points or a pie: as SVG, and as PNG with
// its own rasterizer and font, so that it needs no other program. Both show the same.
//
// The eight charts of github.com/go-analyze/charts v0.6.4 and gonum.org/v1/plot v0.17.0 that were
// compared with these by eye were worse. The former has no numbers on the x axis of points, shows
// four of twelve long labels, lets dates overlap, and begins the axis of bars at 40; the latter has
// no pies, puts its legend over the lines, and names no dates. None has CJK.
//
// It knows data and shapes, and neither tools nor files. Begin with [Parse] and
// [Chart.SVG]. layout.go makes shapes of a chart, svg.go and png.go draw shapes.
package chart

import (
	"fmt"
	"math"
	"strings"
	"unicode"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// A Kind is a kind of chart.
type Kind string

// The kinds.
const (
	Bar     Kind = "bar"
	Line    Kind = "line"
	Area    Kind = "area"
	Pie     Kind = "pie"
	Scatter Kind = "scatter"
)

// Limits of a chart.
const (
	maxSeries = 20
	maxPoints = 5000 // of a series
	maxSlices = 12   // of a pie; the smallest ones are drawn as one
	maxText   = 200  // characters of a title, name or label
)

// A Chart is data and how it is shown.
type Chart struct {
	Kind           Kind
	Title          string
	XTitle, YTitle string
	Labels         []string // of the points on the x axis, or of the slices of a pie
	Series         []Series
	Stacked        bool // bars and areas are on top of each other
}

// A Series is a named row of values.
type Series struct {
	Name   string
	Values []float64 // NaN where there is none
	X      []float64 // of a scatter chart
}

// check returns an error for a chart that cannot be drawn, and fills in missing fields.
func (c *Chart) check() error {
	switch c.Kind {
	case Bar, Line, Area, Pie, Scatter:
	default:
		return fmt.Errorf("there is no chart %q; use bar, line, area, pie or scatter", c.Kind)
	}
	points := 0
	for i, s := range c.Series {
		if c.Kind == Scatter && len(s.X) != len(s.Values) {
			return fmt.Errorf("series %d of a scatter chart has %d x and %d y values", i+1, len(s.X), len(s.Values))
		}
		for j, v := range s.Values {
			if math.IsInf(v, 0) || math.Abs(v) > 1e100 {
				return fmt.Errorf("series %d has the value %g, which cannot be drawn", i+1, v)
			}
			if !math.IsNaN(v) {
				points++
			}
			if c.Kind == Pie && v < 0 {
				return fmt.Errorf("value %d is %g: a pie has no negative slices; use bar", j+1, v)
			}
		}
		c.Series[i].Name = plainLabel(s.Name)
		if n := len(s.Values); n > maxPoints {
			return fmt.Errorf("series %d has %d points, the maximum is %d", i+1, n, maxPoints)
		}
	}
	switch {
	case points == 0:
		return fmt.Errorf("there are no numbers in the data")
	case len(c.Series) > maxSeries:
		return fmt.Errorf("there are %d series, the maximum is %d", len(c.Series), maxSeries)
	}
	for i := len(c.Labels); i < c.width() && c.Kind != Scatter; i++ {
		c.Labels = append(c.Labels, fmt.Sprint(i+1))
	}
	for i, label := range c.Labels {
		c.Labels[i] = plainLabel(label)
	}
	c.Title, c.XTitle, c.YTitle = plainLabel(c.Title), plainLabel(c.XTitle), plainLabel(c.YTitle)
	if c.Kind == Pie {
		return c.slice()
	}
	return nil
}

// width returns the number of values of the longest series.
func (c *Chart) width() (n int) {
	for _, s := range c.Series {
		n = max(n, len(s.Values))
	}
	return n
}

// plainLabel returns a text in one line, not too long, without characters that XML lacks.
func plainLabel(label string) string {
	label = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, strings.ToValidUTF8(label, "\uFFFD"))
	return text.ClipCharacters(strings.Join(strings.Fields(label), " "), maxText)
}

// palette has colours that most people can tell apart, also if they see few colours. After ten of
// them come lighter ones or darker ones.
func palette(i int) string {
	colours := [maxSeries]string{
		"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#9c755f", "#ff9da7", "#79706e",
		"#a0cbe8", "#a65300", "#8cd17d", "#8c1d2b", "#1f5f5b", "#8a7500", "#d4a6c8", "#4d3a2e", "#d37295", "#bab0ac",
	}
	return colours[i%len(colours)]
}
