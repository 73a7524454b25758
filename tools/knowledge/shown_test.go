package knowledge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/view"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// TestGraphIsViewed searches and walks as a client with apps: all ends of drawn edges are drawn, and the text is that
// of other clients.
func TestGraphIsViewed(t *testing.T) {
	w := newWorld(t, storetest.Open(t, t.TempDir()))
	w.must("u", "add", `{"entities":[{"name":"Ada","type":"person","description":"writes","properties":{"born":"1815"}},{"name":"Engine","type":"project"},
		{"name":"London","type":"place"}],"relations":[{"from":"Ada","type":"built","to":"Engine"},{"from":"Engine","type":"stands in","to":"London"}]}`)
	see := func(args string) view.Graph {
		t.Helper()
		call, err := w.tools["knowledge_graph_search"].Bind([]byte(args), tool.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		plain, err := call.Run(as(t, "u"))
		if err != nil || plain.View != nil {
			t.Fatalf("without apps the view is %v, %v", plain.View, err)
		}
		running := tool.RunningFrom(as(t, "u"))
		running.Apps = true
		shown, err := call.Run(tool.With(t.Context(), &running))
		got, ok := shown.View.(view.Graph)
		if err != nil || !ok || shown.Text() != plain.Text() {
			t.Fatalf("%s: %+v, %v", args, shown, err)
		}
		drawn := map[string]bool{}
		for _, n := range got.Nodes {
			if drawn[n.ID] {
				t.Errorf("%s: %s is drawn twice", args, n.ID)
			}
			drawn[n.ID] = true
		}
		for _, e := range got.Edges {
			if !drawn[e.From] || !drawn[e.To] {
				t.Errorf("%s: an end of %+v is not drawn", args, e)
			}
		}
		return got
	}
	names := func(g view.Graph) string {
		var all []string
		for _, n := range g.Nodes {
			all = append(all, fmt.Sprintf("%s %t", n.Name, n.Hit))
		}
		return fmt.Sprintf("%s, %d edges", strings.Join(all, ", "), len(g.Edges))
	}
	if got := see(`{"query":"Ada"}`); names(got) != "Ada true, Engine false, 1 edges" || got.Nodes[0].About != "writes" || got.Nodes[0].Facts["born"] != "1815" {
		t.Errorf("a search shows %s: %+v", names(got), got)
	}
	if got := see(`{"from":"Ada"}`); names(got) != "Ada true, Engine false, London false, 2 edges" || got.From != "Ada" {
		t.Errorf("a walk shows %s", names(got))
	}
	if got := see(`{"query":"nobody at all"}`); len(got.Nodes) > 0 || !strings.Contains(got.Note, "nothing found") {
		t.Errorf("without hits: %+v", got)
	}
}

func TestDrawingsAreBounded(t *testing.T) {
	ends, found := map[string]graph.Entity{}, Found{}
	var relations []graph.Relation
	for i := range 500 {
		slug := fmt.Sprint("e", i)
		ends[slug] = graph.Entity{Slug: slug, Name: slug, Description: strings.Repeat("x", 5000)}
		for j := range 3 {
			relations = append(relations, graph.Relation{ID: fmt.Sprint(i, " ", j), Source: slug, Target: fmt.Sprint("e", (i+j+1)%60)})
		}
	}
	found.Hits = []Hit{{Entity: ends["e0"], Relations: relations, Ends: ends}}
	got := found.view(Query{})
	if len(got.Nodes) > view.MaxNodes || len(got.Edges) > view.MaxEdges || !got.More {
		t.Errorf("%d nodes, %d edges, more %t", len(got.Nodes), len(got.Edges), got.More)
	}
}
