package knowledge

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// Bytes of an entity that are shown.
const (
	maxShownText   = 600
	maxShownInWalk = 160 // of a description
	maxShownValue  = 200
)

func formatFound(f Found, q Query) string {
	var b strings.Builder
	for _, hit := range f.Hits {
		hit.format(&b)
	}
	switch {
	case len(f.Hits) > 0:
	case q.Offset > 0:
		b.WriteString("no results left\n")
	case len(f.OtherTimes) > 0:
		b.WriteString("nothing found is true at that time; to see these, use at:\n")
		for _, e := range f.OtherTimes {
			fmt.Fprintf(&b, "  %s, true %s\n", title(e), formatSpan(e.Valid))
		}
	case len(f.Examples) > 0:
		b.WriteString("nothing found; some entities that exist:\n")
		for _, e := range f.Examples {
			b.WriteString("  " + title(e) + "\n")
		}
	default:
		b.WriteString("there are no such entities yet; add some with knowledge_graph_add\n")
	}
	if f.More {
		fmt.Fprintf(&b, "[more results; use offset %d]\n", q.Offset+len(f.Hits))
	}
	if f.Stale {
		b.WriteString("[the newest entities may be missing; search again in a moment]\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// title returns "Ada Lovelace [person]".
func title(e graph.Entity) string { return fmt.Sprintf("%s [%s]", e.Name, e.Type) }

func (h Hit) format(b *strings.Builder) {
	e := h.Entity
	b.WriteString(title(e))
	if e.Confidence != defaultConfidence {
		b.WriteString(" " + formatNumber(e.Confidence))
	}
	if e.Shared() {
		b.WriteString(" shared")
	}
	if span := formatSpan(e.Valid); span != "" {
		b.WriteString(", true " + span)
	}
	b.WriteByte('\n')
	if e.Description != "" {
		fmt.Fprintf(b, "  %s\n", text.ClipWords(e.Description, maxShownText))
	}
	if len(e.Aliases) > 0 {
		fmt.Fprintf(b, "  also called %s\n", text.ClipWords(strings.Join(e.Aliases, ", "), maxShownText))
	}
	for _, key := range slices.Sorted(maps.Keys(e.Properties)) {
		fmt.Fprintf(b, "  %s: %s\n", key, text.ClipWords(e.Properties[key], maxShownValue))
	}
	for _, r := range h.Relations {
		fmt.Fprintf(b, "  %s%s\n", formatStep(r, e.Slug, h.Ends), formatRelation(r))
	}
	if h.More {
		b.WriteString("  and other relations; to list them use from\n")
	}
	if e.Provenance.Source != "" {
		fmt.Fprintf(b, "  source %s\n", text.ClipWords(e.Provenance.Source, maxShownValue))
	}
}

// formatStep writes a relation as seen from one of its ends, with the name of the other.
func formatStep(r graph.Relation, end string, names map[string]graph.Entity) string {
	if r.Source == end {
		return "-" + r.Type + "-> " + nameOf(r.Target, names)
	}
	return "<-" + r.Type + "- " + nameOf(r.Source, names)
}

// nameOf returns the name of the entity with a slug, or the slug if a search for the name would mean another.
func nameOf(slug string, names map[string]graph.Entity) string {
	if e := names[slug]; graph.Slug(e.Name) == slug {
		return e.Name
	}
	return slug
}

// formatRelation writes everything unusual about a relation but its key.
func formatRelation(r graph.Relation) string {
	var parts []string
	if r.Confidence != defaultConfidence {
		parts = append(parts, formatNumber(r.Confidence))
	}
	if span := formatSpan(r.Valid); span != "" {
		parts = append(parts, "true "+span)
	}
	if r.Provenance.Source != "" {
		parts = append(parts, "source "+text.ClipWords(r.Provenance.Source, maxShownValue))
	}
	for _, key := range slices.Sorted(maps.Keys(r.Properties)) {
		parts = append(parts, key+": "+text.ClipWords(r.Properties[key], maxShownValue))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + text.ClipWords(strings.Join(parts, ", "), maxShownText) + ")"
}

func formatWalked(w Walked, q Query) string {
	var b strings.Builder
	fmt.Fprintf(&b, "connected to %s", title(w.From))
	switch {
	case w.Total == 0 && w.Truncated:
		b.WriteString(": nothing within the limits of one search" + ofType(q))
	case w.Total == 0:
		b.WriteString(": nothing" + ofType(q))
	case len(w.Nodes) == 0:
		b.WriteString(": no results left")
	}
	b.WriteByte('\n')
	for _, n := range w.Nodes {
		fmt.Fprintf(&b, "%s %s: %s\n", title(n.Entity), formatNumber(n.Strength),
			formatPath(w.From.Slug, n.Path, w.Reached))
		if n.Entity.Description != "" {
			fmt.Fprintf(&b, "  %s\n", text.ClipWords(n.Entity.Description, maxShownInWalk))
		}
	}
	if end := q.Offset + len(w.Nodes); len(w.Nodes) > 0 && end < w.Total {
		fmt.Fprintf(&b, "[%d of %d; for more use offset %d]\n", len(w.Nodes), w.Total, end)
	}
	if w.Truncated {
		b.WriteString("[limit reached: use a lower depth, or search from one of these entities]\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func ofType(q Query) string {
	if q.Type == "" {
		return ""
	}
	return " of type " + q.Type
}

// formatPath writes a path from an entity. Each step names the entity that it reaches.
func formatPath(at string, path []graph.Relation, names map[string]graph.Entity) string {
	var steps []string
	for _, r := range path {
		steps = append(steps, formatStep(r, at, names))
		if r.Source == at {
			at = r.Target
		} else {
			at = r.Source
		}
	}
	return strings.Join(steps, " ")
}

// formatNumber writes a confidence with at most two digits after the point.
func formatNumber(f float64) string {
	return strconv.FormatFloat(math.Round(f*100)/100, 'f', -1, 64)
}
