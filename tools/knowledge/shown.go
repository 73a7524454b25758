package knowledge

import (
	"github.com/mcp-tools/mcp-tools/internal/view"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// A drawing collects the nodes and edges that the page of an app shows, each once and not too many.
type drawing struct {
	view.Graph
	known map[string]bool // slugs of entities, and ids of relations
}

func newDrawing(q Query) *drawing {
	return &drawing{view.Graph{Kind: "graph", Query: q.Text, Nodes: []view.Node{}, Edges: []view.Edge{}}, map[string]bool{}}
}

// entity adds an entity. hit marks one that the search was for. Its texts are whole, for half of a credential would not
// be recognised.
func (d *drawing) entity(e graph.Entity, hit bool) {
	switch {
	case e.Slug == "" || d.known[e.Slug]:
		return
	case len(d.Nodes) == view.MaxNodes:
		d.More = true
		return
	}
	d.known[e.Slug] = true
	d.Nodes = append(d.Nodes, view.Node{
		ID: e.Slug, Name: e.Name, Type: e.Type, About: e.Description, Aliases: e.Aliases, Facts: e.Properties, Hit: hit,
	})
}

// relations adds relations. An entity at the end of one is added with it.
func (d *drawing) relations(list []graph.Relation, ends map[string]graph.Entity) {
	for _, r := range list {
		if d.known["relation "+r.ID] {
			continue
		}
		if d.known["relation "+r.ID] = true; len(d.Edges) == view.MaxEdges {
			d.More = true
			return
		}
		d.entity(ends[r.Source], false)
		d.entity(ends[r.Target], false)
		if d.known[r.Source] && d.known[r.Target] {
			d.Edges = append(d.Edges, view.Edge{From: r.Source, To: r.Target, Label: r.Type})
		}
	}
}

// view returns the view of a search for the page of an app: the hits, and the related entities.
func (f Found) view(q Query) view.Graph {
	d := newDrawing(q)
	for _, h := range f.Hits {
		d.entity(h.Entity, true)
	}
	for _, h := range f.Hits {
		d.relations(h.Relations, h.Ends)
		d.More = d.More || h.More
	}
	d.More = d.More || f.More
	return d.Graph
}

// view returns the view of a walk for the page of an app.
func (w Walked) view(q Query) view.Graph {
	d := newDrawing(q)
	d.Graph.From = w.From.Name
	d.entity(w.From, true)
	for _, n := range w.Nodes {
		d.relations(n.Path, w.Reached)
		d.entity(n.Entity, false)
	}
	d.More = d.More || w.Truncated || q.Offset+len(w.Nodes) < w.Total
	return d.Graph
}
