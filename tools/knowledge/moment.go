package knowledge

import (
	"math"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// period reads a year, a month, a day or a moment: when it begins, and when it
// is over.
func period(text string) (from, to time.Time, err error) {
	text = strings.TrimSpace(text)
	for layout, next := range map[string][3]int{"2006": {1, 0, 0}, "2006-01": {0, 1, 0}, time.DateOnly: {0, 0, 1}} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, at.AddDate(next[0], next[1], next[2]), nil
		}
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02T15:04", "2006-01-02 15:04"} {
		if at, err := time.Parse(layout, text); err == nil {
			at = at.UTC()
			return at, at.Add(time.Millisecond), nil
		}
	}
	return from, to, tool.Errorf(tool.Invalid, "%q is no time", graph.Cut(text, 80)).
		Try("write a year, 2026-01, 2026-01-31 or 2026-01-31T09:00:00Z")
}

// span reads when something is true; both ends belong to it, and nothing is
// what has no bounds. Without any it is zero.
func span(from, to string) (graph.Span, error) {
	if from == "" && to == "" {
		return graph.Span{}, nil
	}
	s := graph.Always()
	if from != "" {
		begin, _, err := period(from)
		if err != nil {
			return s, err
		}
		s.From = begin.UnixMilli()
	}
	if to != "" {
		_, end, err := period(to)
		if err != nil {
			return s, err
		}
		s.To = end.UnixMilli()
	}
	if s.From >= s.To {
		return s, tool.Errorf(tool.Invalid, "valid_to %q is before valid_from %q", to, from).Try("swap them")
	}
	return s, nil
}

// shownSpan writes what span reads; "" for no bounds.
func shownSpan(s graph.Span) string {
	text := ""
	if s.From != math.MinInt64 {
		text = "from " + shownTime(time.UnixMilli(s.From).UTC())
	}
	if s.To != math.MaxInt64 {
		text += " to " + shownTime(time.UnixMilli(s.To-1).UTC())
	}
	return strings.TrimSpace(text)
}

func shownTime(at time.Time) string {
	day := at.Truncate(24 * time.Hour)
	if at.Equal(day) || at.Equal(day.Add(24*time.Hour-time.Millisecond)) {
		return at.Format(time.DateOnly)
	}
	return at.Format(time.RFC3339)
}
