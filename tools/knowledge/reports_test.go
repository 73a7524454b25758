package knowledge

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// said is what a document reports, in lines such as "Ada person: a description" and "Ada knows Bob".
func said(t *testing.T, lines ...string) (entities []graph.Entity, relations []graph.Relation) {
	t.Helper()
	for _, line := range lines {
		head, description, _ := strings.Cut(line, ": ")
		switch words := strings.Fields(head); len(words) {
		case 2:
			entities = append(entities, graph.Entity{Name: words[0], Type: words[1], Description: description,
				Confidence: 0.9})
		case 3:
			relations = append(relations, graph.Relation{Source: words[0], Type: words[1], Target: words[2],
				Confidence: 0.9})
		default:
			t.Fatalf("line %q", line)
		}
	}
	return entities, relations
}

// report makes some lines what a document of a user reports.
func (w *world) report(t *testing.T, user, name string, lines ...string) {
	t.Helper()
	entities, relations := said(t, lines...)
	d := Document{Owner: tool.Owner{Agent: "a", User: user}, ID: "id of " + name, Name: name}
	if err := w.store.Update(t.Context(), func(x *store.Tx) error {
		return SetReports(x, d, entities,
			relations)
	}); err != nil {
		t.Fatal(err)
	}
}

// lines returns what a user has in the form of said, with origins.
func (w *world) lines(user string) string {
	w.t.Helper()
	var list []string
	all := w.contents(user)
	for _, e := range all.Entities {
		list = append(list, fmt.Sprintf("%s %s: %s <%s>", e.Name, e.Type, e.Description, e.Provenance.Source))
	}
	for _, r := range all.Relations {
		list = append(list, fmt.Sprintf("%s <%s>", r.Key(), r.Provenance.Source))
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

func (w *world) has(user string, want ...string) {
	w.t.Helper()
	slices.Sort(want)
	if got := w.lines(user); got != strings.Join(want, "\n") {
		w.t.Errorf("the graph of %s is\n%s\nand not\n%s", user, got, strings.Join(want, "\n"))
	}
}

func TestDocumentsReport(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.report(t, "u", "1.md", "Ada person: a mathematician", "Engine project: of brass", "Ada works_on Engine",
			"Ada knows Nobody")
		w.has("u", "Ada person: a mathematician <1.md>", "Engine project: of brass <1.md>",
			"ada works_on engine <1.md>")
		w.report(t, "u", "1.md", "Ada person: a mathematician", "Engine project: of brass", "Ada works_on Engine",
			"Ada knows Nobody")
		if changes := w.changes(t, "u"); changes != 1 {
			t.Errorf("the same reports again made %d changes", changes)
		}
		w.report(t, "u", "2.md", "ada person: a countess", "Bob person", "ada knows Bob")
		w.has("u", "Ada person: a countess <1.md, 2.md>", "Engine project: of brass <1.md>", "Bob person:  <2.md>",
			"ada works_on engine <1.md>", "ada knows bob <2.md>")
		w.report(t, "u", "1.md", "Engine project: of steel")
		w.has("u", "Ada person: a countess <2.md>", "Engine project: of steel <1.md>", "Bob person:  <2.md>",
			"ada knows bob <2.md>")
		w.report(t, "u", "2.md")
		w.has("u", "Engine project: of steel <1.md>")
		w.report(t, "u", "1.md")
		w.has("u")
	})
}

// TestDocumentsLeaveCallersAlone has documents and a caller report the same things.
func TestDocumentsLeaveCallersAlone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.must("u", "add",
			`{"entities": [{"name": "Ada", "type": "person", "description": "mine", "aliases": ["Countess"]}]}`)
		w.report(t, "u", "1.md", "Countess person: hers", "Engine project: of brass", "Wheel concept: a part",
			"Countess works_on Engine", "Wheel part_of Engine")
		w.has("u", "Ada person: mine <>", "Engine project: of brass <1.md>", "Wheel concept: a part <1.md>",
			"ada works_on engine <1.md>", "wheel part_of engine <1.md>")
		// The caller confirms one entity, adds a relation with the other, and confirms a relation.
		w.must("u", "add", `{"entities": [{"name": "Engine", "type": "project"}],
			"relations": [{"source": "Wheel", "type": "knows", "target": "Ada"}, {"source": "Ada", "type": "works_on", "target": "Engine"}]}`)
		w.report(t, "u", "1.md")
		w.has("u", "Ada person: mine <>", "Engine project:  <1.md>", "Wheel concept:  <>",
			"ada works_on engine <1.md>", "wheel knows ada <>")
		w.must("u", "remove", `{"entity": "Wheel"}`)
		// What the caller has removed comes back only with a text that reports it again.
		w.report(t, "u", "2.md", "Lamp concept: a light")
		w.report(t, "u", "3.md", "Lamp concept: a light")
		w.must("u", "remove", `{"entity": "Lamp"}`)
		w.report(t, "u", "3.md")
		w.has("u", "Ada person: mine <>", "Engine project:  <1.md>", "ada works_on engine <1.md>")
	})
}

func TestDocumentsOfOtherOwners(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.report(t, "", "shared.md", "Ada person: shared")
		w.report(t, "u", "1.md", "Ada person: of u", "Bob person: of u", "Bob knows Ada")
		w.report(t, "v", "1.md", "Bob person: of v")
		w.has("", "Ada person: shared <shared.md>")
		w.has("v", "Ada person: shared <shared.md>", "Bob person: of v <1.md>")
		w.has("u", "Ada person: shared <shared.md>", "Bob person: of u <1.md>", "bob knows ada <1.md>")
		w.report(t, "u", "1.md")
		w.has("v", "Ada person: shared <shared.md>", "Bob person: of v <1.md>")
		w.has("u", "Ada person: shared <shared.md>")
	})
}

func TestPurgedDocumentsLeaveNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.report(t, "u", "1.md", "Ada person: a secret of Ada")
		w.report(t, "u", "1.md", "Ada person: another secret of Ada")
		d := Document{Owner: tool.Owner{Agent: "a", User: "u"}, ID: "id of 1.md", Name: "1.md"}
		if err := w.store.Update(t.Context(), func(x *store.Tx) error { return PurgeReports(x, d) }); err != nil {
			t.Fatal(err)
		}
		w.has("u")
		for _, table := range []string{"knowledge_past WHERE former LIKE '%Ada%'", "knowledge_report", "entity",
			"entity_name"} {
			var n int
			if err := w.store.Row(t.Context(), "SELECT count(*) FROM "+table, nil, &n); err != nil || n != 0 {
				t.Errorf("%s: %d rows are left, %v", table, n, err)
			}
		}
		w.fails("u", "remove", `{"undo": 1}`, tool.NotFound)
	})
}

// changes returns how many changes of a user's graph there are.
func (w *world) changes(t *testing.T, user string) (n int) {
	t.Helper()
	if err := w.store.Row(t.Context(), "SELECT count(*) FROM knowledge_change WHERE usr = $1", []any{user},
		&n); err != nil {
		t.Fatal(err)
	}
	return n
}
