package knowledge

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// Bytes of one entity that are shown.
const (
	shownText   = 600
	shownNearby = 160 // in a list of what is connected
	shownValue  = 200
)

func showFound(f Found, q Query) string {
	var b strings.Builder
	for _, hit := range f.Hits {
		showHit(&b, hit)
	}
	switch {
	case len(f.Hits) == 0 && q.Offset > 0:
		b.WriteString("there are no more\n")
	case len(f.Hits) == 0 && len(f.Past) > 0:
		b.WriteString("nothing holds at that time; send a date as at for these:\n")
		for _, e := range f.Past {
			fmt.Fprintf(&b, "  %s, true %s\n", title(e), shownSpan(e.Valid))
		}
	case len(f.Hits) == 0 && len(f.Others) > 0:
		b.WriteString("nothing was found; there are, for example:\n")
		for _, e := range f.Others {
			b.WriteString("  " + title(e) + "\n")
		}
	case len(f.Hits) == 0:
		b.WriteString("nothing is known yet of that kind; add it with knowledge_graph_add\n")
	}
	if f.More {
		fmt.Fprintf(&b, "[there are more; go on with offset %d]\n", q.Offset+len(f.Hits))
	}
	if f.Stale {
		b.WriteString("[what was added last may be missing; search again in a moment]\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// title names an entity in a few words.
func title(e graph.Entity) string { return fmt.Sprintf("%s [%s]", e.Name, e.Type) }

func showHit(b *strings.Builder, h Hit) {
	e := h.Entity
	fmt.Fprintf(b, "%s %s", title(e), number(e.Confidence))
	if e.Shared() {
		b.WriteString(" shared")
	}
	if text := shownSpan(e.Valid); text != "" {
		b.WriteString(", true " + text)
	}
	b.WriteByte('\n')
	if e.Description != "" {
		fmt.Fprintf(b, "  %s\n", shortened(e.Description, shownText))
	}
	if len(e.Aliases) > 0 {
		fmt.Fprintf(b, "  also %s\n", shortened(strings.Join(e.Aliases, ", "), shownText))
	}
	for _, key := range slices.Sorted(maps.Keys(e.Properties)) {
		fmt.Fprintf(b, "  %s: %s\n", key, shortened(e.Properties[key], shownValue))
	}
	for _, r := range h.Links {
		fmt.Fprintf(b, "  %s%s\n", step(r, e.Slug), showLink(r))
	}
	if h.More {
		b.WriteString("  and other relations: use from\n")
	}
	if e.Trace.Updated > 0 {
		fmt.Fprintf(b, "  (%s%s)\n", from(e.Trace.Source), time.UnixMilli(e.Trace.Updated).UTC().Format(time.DateOnly)+by(e.Trace))
	}
}

// by says who wrote it down.
func by(t graph.Trace) string {
	text := ""
	if t.Author != "" {
		text = " by " + shortened(graph.Line(t.Author), shownValue)
	}
	if t.Session != "" {
		text += " in " + shortened(graph.Line(t.Session), shownValue)
	}
	return text
}

func from(source string) string {
	if source == "" {
		return ""
	}
	return "from " + shortened(source, shownValue) + ", "
}

// step writes a relation as it is seen from one of its ends.
func step(r graph.Relation, end string) string {
	if r.Source == end {
		return "-" + r.Type + "-> " + r.Target
	}
	return "<-" + r.Type + "- " + r.Source
}

// showLink writes what is said of a relation.
func showLink(r graph.Relation) string {
	parts := []string{number(r.Confidence)}
	if text := shownSpan(r.Valid); text != "" {
		parts = append(parts, "true "+text)
	}
	if r.Trace.Source != "" {
		parts = append(parts, "from "+shortened(r.Trace.Source, shownValue))
	}
	for _, key := range slices.Sorted(maps.Keys(r.Properties)) {
		parts = append(parts, key+": "+shortened(r.Properties[key], shownValue))
	}
	return " (" + shortened(strings.Join(parts, ", "), shownText) + ")"
}

func showWalk(w Walked, q Query) string {
	var b strings.Builder
	fmt.Fprintf(&b, "from %s", title(w.From))
	switch {
	case w.Total == 0 && w.Cut:
		b.WriteString(": nothing among what one walk looks at")
		if q.Type != "" {
			b.WriteString(" is of type " + q.Type)
		}
	case w.Total == 0:
		b.WriteString(": nothing is connected")
		if q.Type != "" {
			b.WriteString(" of type " + q.Type)
		}
	case len(w.Nodes) == 0:
		b.WriteString(": there are no more")
	}
	b.WriteByte('\n')
	for _, n := range w.Nodes {
		fmt.Fprintf(&b, "%s %s: %s\n", title(n.Entity), number(n.Strength), showPath(w.From.Slug, n.Path))
		if n.Entity.Description != "" {
			fmt.Fprintf(&b, "  %s\n", shortened(n.Entity.Description, shownNearby))
		}
	}
	if end := q.Offset + len(w.Nodes); len(w.Nodes) > 0 && end < w.Total {
		fmt.Fprintf(&b, "[%d of %d; go on with offset %d]\n", len(w.Nodes), w.Total, end)
	}
	if w.Cut {
		b.WriteString("[there is more than one walk looks at: lower depth, or walk on from one of these]\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// showPath writes a way from an entity. Each step says where it leads.
func showPath(at string, path []graph.Relation) string {
	var steps []string
	for _, r := range path {
		steps = append(steps, step(r, at))
		if r.Source == at {
			at = r.Target
		} else {
			at = r.Source
		}
	}
	return strings.Join(steps, " ")
}

// number writes a confidence with two digits at most.
func number(f float64) string {
	return strconv.FormatFloat(math.Round(f*100)/100, 'f', -1, 64)
}

func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return graph.Cut(text, most) + "..."
}
