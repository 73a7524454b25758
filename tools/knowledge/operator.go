package knowledge

import (
	"context"
	"errors"
	"strings"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// Room returns the verbs for operators to see and correct the knowledge of agents.
func Room() *room.Room {
	o := new(operator)
	return &room.Room{
		Name: "knowledge", Title: "See and remove knowledge of agents: entities and relations",
		Doc: `knowledge shows the knowledge graph of one agent and one user, with the part that all users of the
agent share. Agents add to it with knowledge_graph_add, and the server reads memories for
it if memory.knowledge is set.`,
		Open: func(h *room.Host) error { o.Graph = New(h.Store, noIndex{}); return nil },
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "list", Title: "List the entities, the most certain first", Risk: tool.Reads, Where: room.Operator,
				Owned: true, Example: "  mcp-tools knowledge list --type person\n  mcp-tools knowledge list --agent helper --user ann",
			}, o.list),
			room.Do(room.Verb{
				Name: "show", Title: "Show an entity, and its neighbours", Args: []string{"name"}, Risk: tool.Reads,
				Where: room.Operator, Owned: true, Example: "  mcp-tools knowledge show 'Ada Lovelace' --depth 3 --output json",
			}, o.show),
			room.Do(room.Verb{
				Name: "remove", Title: "Remove an entity with its relations", Args: []string{"name"}, Risk: tool.Destroys,
				Where: room.Operator, Owned: true,
				Doc: `remove removes an entity of one agent and one user. The tool knowledge_graph_remove undoes
it for 90 days. Knowledge shared by all users of the agent stays, unless --user is -.`,
			}, o.remove),
		},
	}
}

// noIndex is the Searcher of a graph that nobody searches by words. Similar names are found without it.
type noIndex struct{}

func (noIndex) Search(context.Context, index.Query) (index.Result, bool, error) {
	return index.Result{}, false, errors.New("there is no index here")
}

// operator has the verbs of the knowledge graph.
type operator struct{ *Graph }

// of names the agent and the user whose knowledge a verb is about.
type of struct {
	Agent string `json:"agent,omitempty" jsonschema:"the agent that knows"`
	User  string `json:"user,omitempty" jsonschema:"the user it works for; none: shared by all users of the agent"`
}

// caller returns a context for calls in the name of the agent and user.
func (w of) caller(ctx context.Context) context.Context {
	return tool.With(ctx, &tool.Running{Caller: tool.Caller{Agent: w.Agent, User: w.User, Channel: "cli"}, Tool: "knowledge"})
}

type listArgs struct {
	Type   string `json:"type,omitempty" jsonschema:"only entities of this type"`
	Limit  int    `json:"limit,omitempty" jsonschema:"entities to list" default:"100" min:"1" max:"1000"`
	Offset int    `json:"offset,omitempty" jsonschema:"entities to leave out before" min:"0" max:"100000"`
	of
}

func (o *operator) list(ctx context.Context, a listArgs) (none tool.Result, err error) {
	q := Query{Type: graph.TypeName(a.Type), Limit: a.Limit, Offset: a.Offset}
	if a.Type != "" && q.Type == "" {
		return none, invalidType(a.Type, graph.EntityTypes())
	}
	var found Found
	if !o.store.Unused() {
		if found, err = o.Find(a.caller(ctx), q); err != nil {
			return none, err
		}
	}
	list := graphOf(found).Entities
	head := []string{"SLUG", "NAME", "TYPE", "CERTAIN", "", "DESCRIPTION"}
	r := room.Rows(list, "There are no entities.", head, func(e foundEntity) []string {
		shared := ""
		if e.Shared {
			shared = "shared"
		}
		return []string{e.Slug, e.Name, e.Type, formatNumber(e.Confidence), shared, terminal.Short(e.Description, 80)}
	})
	if found.More {
		r = room.Beside(r, "there are more; --offset %d lists them", a.Offset+len(list))
	}
	return r, nil
}

type showArgs struct {
	Name  string `json:"name" jsonschema:"the entity: its name, an alias or its slug"`
	Depth int    `json:"depth,omitempty" jsonschema:"relations to follow" default:"1" min:"1" max:"5"`
	Limit int    `json:"limit,omitempty" jsonschema:"connected entities to return" default:"100" min:"1" max:"1000"`
	of
}

func (o *operator) show(ctx context.Context, a showArgs) (none tool.Result, err error) {
	if o.store.Unused() {
		return none, tool.Errorf(tool.NotFound, "there is no entity %q", a.Name)
	}
	q := Query{From: graph.CleanLine(a.Name), Depth: a.Depth, Limit: a.Limit}
	walked, err := o.Walk(a.caller(ctx), q)
	if err != nil {
		return none, forOperator(err)
	}
	var lines strings.Builder
	Hit{Entity: walked.From}.format(&lines)
	return room.Said(walkedGraph(walked, q), "%s%s", tool.Visible(lines.String()), tool.Visible(formatWalked(walked, q))), nil
}

// forOperator returns an error of the graph with the command in place of the tool.
func forOperator(err error) error {
	known := tool.AsError(err)
	if known.Kind == tool.NotFound && strings.Contains(known.Next, "knowledge_graph_search") {
		return known.Try("mcp-tools knowledge list shows the names")
	}
	return err
}

type nameArgs struct {
	Name string `json:"name" jsonschema:"the entity: its name, an alias or its slug"`
	of
}

func (o *operator) remove(ctx context.Context, a nameArgs) (none tool.Result, err error) {
	if o.store.Unused() {
		return none, tool.Errorf(tool.NotFound, "there is no entity %q", a.Name)
	}
	done, err := o.Remove(a.caller(ctx), graph.CleanLine(a.Name))
	if err != nil {
		return none, forOperator(err)
	}
	said := done.Summary
	for _, note := range done.Notes {
		said += "; " + note
	}
	return room.Said(map[string]any{"removed": a.Name, "change": done.Change}, "%s", said), nil
}
