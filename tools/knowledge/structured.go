package knowledge

import (
	"math"
	"time"

	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// foundGraph is the result of a search for programs, the best entities first.
type foundGraph struct {
	Entities  []foundEntity   `json:"entities"`
	Relations []foundRelation `json:"relations"` // that the result shows, each once
	More      bool            `json:"more"`      // there are more entities
	Stale     bool            `json:"stale,omitempty"`
}

type foundEntity struct {
	Slug        string            `json:"slug"`
	Name        string            `json:"name"`
	Type        string            `json:"type"`
	Aliases     []string          `json:"aliases,omitempty"`
	Description string            `json:"description,omitempty"`
	Properties  map[string]string `json:"properties,omitempty"`
	Confidence  float64           `json:"confidence"`
	Shared      bool              `json:"shared,omitempty"`
	ValidFrom   *time.Time        `json:"valid_from,omitempty"`
	ValidTo     *time.Time        `json:"valid_to,omitempty"`
	Source      string            `json:"source,omitempty"`
	Strength    float64           `json:"strength,omitempty"` // of the path from the entity where a walk began
}

type foundRelation struct {
	From       string            `json:"from"` // a slug
	Type       string            `json:"type"`
	To         string            `json:"to"` // a slug
	Properties map[string]string `json:"properties,omitempty"`
	Confidence float64           `json:"confidence"`
	ValidFrom  *time.Time        `json:"valid_from,omitempty"`
	ValidTo    *time.Time        `json:"valid_to,omitempty"`
	Source     string            `json:"source,omitempty"`
}

func graphOf(f Found) foundGraph {
	g := foundGraph{Entities: []foundEntity{}, Relations: []foundRelation{}, More: f.More, Stale: f.Stale}
	known := make(map[string]bool)
	for _, h := range f.Hits {
		g.Entities = append(g.Entities, entityOf(h.Entity))
		g.add(known, h.Relations)
	}
	return g
}

// walkedGraph has the start of the walk, then the entities in reach.
func walkedGraph(w Walked, q Query) foundGraph {
	g := foundGraph{
		Entities: []foundEntity{entityOf(w.From)}, Relations: []foundRelation{},
		More: w.Truncated || q.Offset+len(w.Nodes) < w.Total,
	}
	known := make(map[string]bool)
	for _, n := range w.Nodes {
		e := entityOf(n.Entity)
		e.Strength = n.Strength
		g.Entities = append(g.Entities, e)
		g.add(known, n.Path)
	}
	return g
}

// add adds the relations whose ids are not known yet.
func (g *foundGraph) add(known map[string]bool, relations []graph.Relation) {
	for _, r := range relations {
		if known[r.ID] {
			continue
		}
		known[r.ID] = true
		from, to := bounds(r.Valid)
		g.Relations = append(g.Relations, foundRelation{
			From: r.Source, Type: r.Type, To: r.Target, Properties: r.Properties, Confidence: r.Confidence,
			ValidFrom: from, ValidTo: to, Source: r.Provenance.Source,
		})
	}
}

func entityOf(e graph.Entity) foundEntity {
	from, to := bounds(e.Valid)
	return foundEntity{
		Slug: e.Slug, Name: e.Name, Type: e.Type, Aliases: e.Aliases, Description: e.Description,
		Properties: e.Properties, Confidence: e.Confidence, Shared: e.Shared(), ValidFrom: from, ValidTo: to,
		Source: e.Provenance.Source,
	}
}

// bounds returns the ends of a span, nil for one without a bound.
func bounds(s graph.Span) (from, to *time.Time) {
	at := func(ms int64) *time.Time { t := time.UnixMilli(ms).UTC(); return &t }
	if s.From != math.MinInt64 {
		from = at(s.From)
	}
	if s.To != math.MaxInt64 {
		to = at(s.To)
	}
	return from, to
}
