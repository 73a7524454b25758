package chart

import (
	"math"

	"github.com/mcp-tools/mcp-tools/internal/view"
)

// maxValues is how many values a page gets. A chart with more is shown as a picture.
const maxValues = 5000

// View returns the chart for the page of an app, or nil if it has too many values, or cannot be drawn.
func (c Chart) View(file string) any {
	c.Series = append([]Series{}, c.Series...)
	if c.check() != nil || c.width()*len(c.Series) > maxValues {
		return nil
	}
	shown := view.Chart{
		Kind: "chart", Chart: string(c.Kind), Title: c.Title, XTitle: c.XTitle, YTitle: c.YTitle, Stacked: c.Stacked,
		Labels: c.Labels, File: file,
	}
	if c.Kind == Line || c.Kind == Area {
		shown.Places = timesOf(c.Labels)
	}
	for _, s := range c.Series {
		one := view.Series{Name: s.Name, X: s.X, Values: make([]*float64, len(s.Values))}
		for i, v := range s.Values {
			if !math.IsNaN(v) {
				one.Values[i] = &v
			}
		}
		shown.Series = append(shown.Series, one)
	}
	return shown
}
