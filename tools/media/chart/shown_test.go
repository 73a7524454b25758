package chart

import (
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/view"
)

func TestChartsAreViewed(t *testing.T) {
	for _, c := range []struct {
		kind   Kind
		data   string
		labels string
		values []float64 // of the first series; -1 where there is none
		places int
	}{
		{Bar, "Month,North,South\nJan,3,4\nFeb,,6\n", "Jan,Feb", []float64{3, -1}, 0},
		{Line, "Day,Sales\n2026-01-01,1\n2026-01-02,2\n2026-01-09,3\n", "2026-01-01,2026-01-02,2026-01-09", []float64{1, 2, 3}, 3},
		{Pie, "a,1\nb,0\nc,3\n", "a,c", []float64{1, 3}, 0},
		{Scatter, "x,y\n1,2\n3,4\n", "", []float64{2, 4}, 0},
	} {
		parsed, err := Parse(c.kind, c.data)
		if err != nil {
			t.Fatal(err)
		}
		before := len(parsed.Labels)
		got, ok := parsed.View("f.png").(view.Chart)
		if !ok || got.Chart != string(c.kind) || strings.Join(got.Labels, ",") != c.labels || len(got.Places) != c.places || got.File != "f.png" ||
			len(got.Series[0].Values) != len(c.values) {
			t.Errorf("%s: %+v", c.kind, got)
			continue
		}
		for i, want := range c.values {
			if v := got.Series[0].Values[i]; (v == nil) != (want == -1) || v != nil && *v != want {
				t.Errorf("%s: value %d is %v", c.kind, i, v)
			}
		}
		if len(parsed.Labels) != before {
			t.Errorf("%s: the chart itself was changed", c.kind)
		}
	}
	large := Chart{Kind: Line, Series: []Series{{Values: make([]float64, 3000)}, {Values: make([]float64, 3000)}}}
	if large.View("") != nil {
		t.Error("too many values are shown")
	}
}
