package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A lore is a knowledge graph: a star with rays of two relations, and payloads as names.
type lore struct{ rays int }

type loreArgs struct {
	Name  string `json:"name,omitempty" jsonschema:"a name"`
	Agent string `json:"agent,omitempty" jsonschema:"an agent"`
	User  string `json:"user,omitempty" jsonschema:"a user"`
	Limit int    `json:"limit,omitempty" jsonschema:"a limit"`
	Depth int    `json:"depth,omitempty" jsonschema:"a depth"`
}

func (l lore) room() *room.Room {
	verb := func(name string, args ...string) room.Verb {
		return room.Verb{Name: name, Title: "Know " + name, Risk: tool.Reads, Where: room.Operator, Args: args}
	}
	return &room.Room{Name: "knowledge", Title: "Know things", Verbs: []room.Verb{
		room.Do(verb("list"), func(context.Context, loreArgs) (tool.Result, error) {
			return room.Rows([]entity{{Slug: "ray-0", Name: "ray 0"}, {Slug: "sun", Name: "sun"}}, "none", []string{"SLUG"},
				func(e entity) []string { return []string{e.Slug} }), nil
		}),
		room.Do(verb("show", "name"), func(_ context.Context, a loreArgs) (tool.Result, error) {
			if a.Name == "nothing" {
				return tool.Result{}, tool.Errorf(tool.NotFound, "there is no entity %q", a.Name)
			}
			found := map[string]any{}
			entities := []entity{{Slug: "ray-0", Name: a.Name, Type: payloads()[0]}, {Slug: "sun", Name: "sun", Type: "star"}}
			relations := []relation{{"sun", "shines on", "ray-0"}, {"sun", "itself", "sun"}, {"sun", "far", "gone"}}
			for i := range l.rays {
				slug := fmt.Sprint("ray-", i+1)
				entities = append(entities, entity{Slug: slug, Name: payloads()[i%len(payloads())], Type: fmt.Sprint("type ", i%9)})
				relations = append(relations, relation{"sun", payloads()[(i+1)%len(payloads())], slug})
			}
			found["entities"], found["relations"] = entities[:min(len(entities), a.Limit)], relations
			return tool.Text("found").With(found), nil
		}),
	}}
}

func TestGraph(t *testing.T) {
	for _, rays := range []int{0, 3, 70, 400} {
		f := newFixture(t, lore{rays}.room())
		c := f.openLink()
		whole := c.get("graph")
		inspect(t, "graph", whole.text, strings.TrimPrefix(c.base, f.server.URL), c.csrf)
		if nodes := strings.Count(whole.text, "<circle"); nodes != min(rays+2, graphNodes) {
			t.Errorf("%d rays: %d nodes", rays, nodes)
		}
		if !regexp.MustCompile(`class="kind-\d middle"><title>sun, star<`).MatchString(whole.text) {
			t.Errorf("%d rays: the entity with the most relations is not in the middle: %.3000s", rays, whole.text)
		}
		if strings.Contains(whole.text, "NaN") || strings.Contains(whole.text, "Inf") {
			t.Errorf("%d rays: a place is no number", rays)
		}
		one := c.get("graph?depth=1&name=" + url.QueryEscape(hostileText))
		inspect(t, "graph of one", one.text, strings.TrimPrefix(c.base, f.server.URL), c.csrf)
		if got := c.get("graph?name=nothing&agent=a"); got.status != http.StatusOK || !strings.Contains(got.text, "There is no entity") {
			t.Errorf("an entity that is not there got %d: %s", got.status, got.text)
		}
	}
	c := newFixture(t).openLink()
	if got := c.get("graph"); got.status != http.StatusNotFound {
		t.Errorf("without knowledge it got %d", got.status)
	}
}

// TestGraphLabels: no label of the graph covers another label or a circle of an entity.
func TestGraphLabels(t *testing.T) {
	for rays := range 12 {
		entities, relations := []entity{{Slug: "sun", Name: "Engine Works"}}, []relation(nil)
		for i := range rays {
			slug := fmt.Sprint("ray-", i)
			entities = append(entities, entity{Slug: slug, Name: []string{"Engine Works", "机械工厂的工程师", "Ada", "\u0645\u0631\u062d\u0628\u0627 \U0001F600"}[i%4]})
			relations = append(relations, relation{slug, "located in", []string{"sun", fmt.Sprint("ray-", max(i-4, 0))}[i/4%2]})
		}
		d := graphData{Center: &entities[0]}
		d.place(entities, relations)
		var all []rect
		named := 0
		for _, n := range d.Nodes {
			all = append(all, rect{n.X - n.R, n.Y - n.R, n.X + n.R, n.Y + n.R}, textAt(n.Label(), n.Anchor, n.TextX, n.TextY, 15))
		}
		for _, e := range d.Edges {
			if e.Label != "" {
				named++
				all = append(all, textAt(e.Label, "middle", e.X, e.Y, 12))
			}
		}
		for i, one := range all {
			if one.meets(all[i+1:]) {
				t.Errorf("%d rays: %v covers another of %v", rays, one, all)
			}
		}
		if named < len(relations)*2/3 {
			t.Errorf("%d rays: only %d of %d relations have a label", rays, named, len(relations))
		}
	}
}
