package knowledge

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	people = `{"entities": [
		{"name": "Ada Lovelace", "type": "person", "description": "wrote the first program", "aliases": ["Countess of Lovelace"], "properties": {"born": 1815}},
		{"name": "Charles Babbage", "type": "person", "confidence": 0.9},
		{"name": "Analytical Engine", "type": "project", "description": "a computer of brass", "valid_from": "1837"}],
	"relations": [
		{"source": "Ada Lovelace", "type": "worksOn", "target": "analytical-engine", "confidence": 0.9},
		{"from": "Charles Babbage", "relation_type": "created", "to": "Analytical Engine", "confidence": 1}]}`
)

func TestSearch(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		expect(t, w.must("u", "add", people), "created ada-lovelace\n", "created ada-lovelace works_on analytical-engine\n", "change 1;", "!may be")
		expect(t, w.must("u", "search", `{"query": "who wrote a program?"}`),
			"Ada Lovelace [person]\n  wrote the first program\n  also called Countess of Lovelace\n  born: 1815\n  -works_on-> Analytical Engine (0.9)", "!Babbage [")
		expect(t, w.must("u", "search", `{"query": "brass"}`), "Analytical Engine [project], true from 1837-01-01", "<-created- Charles Babbage (1)")
		expect(t, w.must("u", "search", `{"query": "engine", "entity_type": "person"}`), "nothing found", "  Charles Babbage [person]\n", "!Engine")
		expect(t, w.must("u", "search", `{"query": "brass", "at": "1820"}`), "nothing found is true at that time", "  Analytical Engine [project], true from 1837-01-01")
		expect(t, w.must("u", "search", `{"query": "*", "limit": 2}`), "Charles Babbage", "[more results; use offset 2]")
		expect(t, w.must("u", "search", `{"offset": 2}`), "Analytical Engine", "!more")
		expect(t, w.must("u", "search", `{"from": "countess of lovelace"}`),
			"connected to Ada Lovelace [person]\n",
			"Analytical Engine [project] 0.72: -works_on-> Analytical Engine\n  a computer of brass\n"+
				"Charles Babbage [person] 0.58: -works_on-> Analytical Engine <-created- Charles Babbage")
		expect(t, w.must("u", "search", `{"from": "Ada Lovelace", "depth": 1}`), "Engine", "!Charles")
		expect(t, w.must("u", "search", `{"from": "Ada Lovelace", "entity_type": "person"}`), "Charles", "!Engine [")
		expect(t, w.must("u", "search", `{"from": "Ada Lovelace", "query": "Babbage"}`), "[person]\nCharles Babbage")
		expect(t, w.must("u", "search", `{"from": "Ada Lovelace", "limit": 1}`), "[1 of 2; for more use offset 1]")
		expect(t, w.must("u", "search", `{"from": "Ada Lovelace", "at": "1820"}`), "[person]: nothing")
		w.fails("u", "search", `{"from": "Ada Lovelase"}`, tool.NotFound, "did you mean ada-lovelace (person)?")
		w.fails("u", "search", `{"at": "yesterday"}`, tool.Invalid, "cannot read")
		w.fails("u", "search", `{"entity_type": "類"}`, tool.Invalid, "is not a valid type")
		if _, err := w.call(t.Context(), "search", `{}`); err == nil || err.Kind != tool.Refused {
			t.Errorf("without a caller: %v", err)
		}
	})
}

// TestWalkFromAnEntityWithManyRelations finds all neighbours of the first entity, not only the most certain.
func TestWalkFromAnEntityWithManyRelations(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, kind := range []struct {
			name, confidence string
			many             int
		}{{"concept", "0.9", 70}, {"person", "0.5", 20}} {
			var entities, relations []string
			for i := range kind.many {
				name := fmt.Sprintf("%s %d", kind.name, i)
				entities = append(entities, fmt.Sprintf(`{"name": %q, "type": %q}`, name, kind.name))
				relations = append(relations, fmt.Sprintf(`{"source": %q, "type": "part_of", "target": "Hub", "confidence": %s, "origin": "minutes.md"}`, name, kind.confidence))
			}
			w.must("u", "add", `{"entities": [{"name": "Hub", "type": "project"}, `+strings.Join(entities, ",")+`], "relations": [`+strings.Join(relations, ",")+`]}`)
		}
		expect(t, w.must("u", "search", `{"from": "Hub", "entity_type": "person", "depth": 1, "limit": 5}`), "person 0 [person] 0.4", "[5 of 20; for more use offset 5]")
		expect(t, w.must("u", "search", `{"from": "Hub", "depth": 1, "limit": 5, "offset": 60}`), "[5 of 90; for more use offset 65]", "!limit reached")
		expect(t, w.must("u", "search", `{"query": "Hub"}`), "(0.9, source minutes.md)", "!by a/u")
	})
}

func TestAddMerges(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.must("u", "add", people)
		before := w.contents("u")
		expect(t, w.must("u", "add", people), "nothing changed: 5 already known", "!change 2")
		if diff := gocmp.Diff(before, w.contents("u")); diff != "" {
			t.Errorf("the contents changed: %s", diff)
		}
		expect(t, w.must("u", "add", `{"entities": [{"name": "countess of lovelace", "description": "unsure", "confidence": 0.3}]}`),
			`unchanged ada-lovelace, which has the alias "countess of lovelace"; kept the more certain description`)
		expect(t, w.must("u", "add", `{"entities": [{"name": "Countess of Lovelace", "type": "title"}]}`), "created countess-of-lovelace\n",
			"countess-of-lovelace may be the same as ada-lovelace (person); to merge it")
		expect(t, w.must("u", "add", `{"entities": [{"name": "A. Lovelace", "entityType": "persn", "observations": ["one", "two"]}]}`),
			"a-lovelace may be the same as ada-lovelace (person)", "persn was stored as a new type; did you mean person?")
		expect(t, w.must("u", "search", `{"query": "A. Lovelace", "limit": 1}`), "one two")
		w.fails("u", "add", `{"entities": [{"name": "New"}], "relations": [{"source": "New", "type": "knows", "target": "Nobody"}, {"source": "x", "type": "y", "target": "z"}]}`,
			tool.NotFound, `there is no entity "Nobody", "x", "z"; nothing was added`)
		expect(t, w.must("u", "search", `{"query": "New"}`), "nothing found")
		w.fails("u", "add", `{"relations": [{"source": "Ada Lovelace", "type": "knows", "target": "ada-lovelace"}]}`, tool.Invalid, "to itself")
		w.fails("u", "add", `{}`, tool.Invalid, "nothing to add")
		w.fails("u", "add", `{"entities": [{"name": "?"}]}`, tool.Invalid, "has no letters or digits")
		w.fails("u", "add", `{"entities": [{"name": "x", "valid_from": "2020", "valid_to": "2019"}]}`, tool.Invalid, "before")
		w.must("u", "add", `{"relations": [{"source": "Ada Lovelace", "type": "works_on", "target": "Analytical Engine", "confidence": 1, "properties": {"role": "author"}}]}`)
		expect(t, w.must("u", "search", `{"query": "Ada Lovelace", "limit": 1}`), "-works_on-> Analytical Engine (1, role: author)")
	})
}

func TestSharedKnowledge(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.must("", "add", people)
		w.must("", "add", `{"entities": [{"name": "Apollo", "type": "project", "description": "for all"}]}`)
		expect(t, w.must("u", "add", `{"entities": [{"name": "Zed", "type": "person"}], "relations": [{"source": "Zed", "type": "works_on", "target": "Apollo"}]}`), "created zed")
		expect(t, w.must("v", "add", `{"entities": [{"name": "Secret Vee", "type": "person"}, {"name": "Apollo", "description": "of vee", "confidence": 0.2}],
			"relations": [{"source": "Secret Vee", "type": "works_on", "target": "Apollo"}]}`), "created apollo, your own version of a shared entity")
		expect(t, w.must("u", "search", `{"query": "Apollo"}`), "Apollo [project] shared", "for all", "<-works_on- Zed", "!vee")
		expect(t, w.must("v", "search", `{"query": "Apollo"}`), "Apollo [project] 0.2\n", "of vee", "<-works_on- Secret Vee", "!zed", "!for all")
		expect(t, w.must("", "search", `{"query": "Apollo"}`), "for all", "!zed", "!vee")
		expect(t, w.must("u", "search", `{"from": "Apollo", "depth": 5}`), "Zed", "!Vee")
		expect(t, w.must("u", "search", `{"query": "secret vee"}`), "nothing found", "!Vee")
		expect(t, w.must("u", "search", `{"query": "*"}`), "Ada", "Zed", "!Vee")
		w.fails("u", "search", `{"from": "Secret Vee"}`, tool.NotFound, "find its name with")
		w.fails("u", "remove", `{"entity": "Apollo"}`, tool.Refused, "you cannot remove it")
		w.fails("u", "remove", `{"relation": {"source": "Ada Lovelace", "type": "works_on", "target": "analytical engine"}}`, tool.NotFound, "you have no relation")
		w.fails("u", "remove", `{"undo": 2}`, tool.NotFound, "your latest are: 1 added zed")
		expect(t, w.must("v", "remove", `{"entity": "Apollo"}`), "removed apollo and 1 relation\nthe shared entity of that name stays")
		expect(t, w.must("v", "search", `{"query": "Apollo"}`), "for all", "!works_on")
		w.must("", "remove", `{"entity": "Apollo"}`)
		expect(t, w.must("u", "search", `{"query": "Zed"}`), "Zed", "!works_on")
		w.must("", "remove", `{"undo": 3}`)
		expect(t, w.must("u", "search", `{"query": "Zed"}`), "-works_on-> Apollo")
	})
}

func TestMergeAndUndo(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.must("u", "add", people)
		w.must("u", "add", `{"entities": [{"name": "A. Lovelace", "type": "author", "description": "notes on the engine", "properties": {"died": "1852"}}],
			"relations": [{"source": "A. Lovelace", "type": "works_on", "target": "Analytical Engine", "confidence": 0.95},
				{"source": "A. Lovelace", "type": "knows", "target": "Charles Babbage"}, {"source": "A. Lovelace", "type": "is", "target": "Ada Lovelace"}]}`)
		before := w.contents("u")
		expect(t, w.must("u", "remove", `{"entity": "A. Lovelace", "merge_into": "Ada Lovelace"}`),
			"merged a-lovelace into ada-lovelace: 1 relation moved, 1 merged with others\n"+
				"change 3; to undo it use knowledge_graph_remove with undo 3")
		merged := w.contents("u")
		expect(t, w.must("u", "search", `{"query": "A. Lovelace", "limit": 1}`), "Ada Lovelace [person]", "also called Countess of Lovelace, A. Lovelace",
			"born: 1815", "died: 1852", "-works_on-> Analytical Engine (0.95)", "-knows-> Charles Babbage", "!-is->")
		w.must("u", "remove", `{"undo": 3}`)
		if diff := gocmp.Diff(before, w.contents("u")); diff != "" {
			t.Errorf("after undo, -want +got:\n%s", diff)
		}
		w.fails("u", "remove", `{"undo": 3}`, tool.Conflict, "already undone by change 4")
		w.must("u", "remove", `{"undo": 4}`)
		if diff := gocmp.Diff(merged, w.contents("u")); diff != "" {
			t.Errorf("after redo, -want +got:\n%s", diff)
		}
		w.fails("u", "remove", `{"undo": 1}`, tool.Conflict, "was changed later")
		w.fails("u", "remove", `{"entity": "A. Lovelace", "merge_into": "Ada Lovelace"}`, tool.Invalid, "are the same entity")
		w.fails("u", "remove", `{"undo": 99}`, tool.NotFound, "5 undid 4")
	})
}

func TestUndoRefusesConflicts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.must("u", "add", `{"entities": [{"name": "X"}, {"name": "Y"}]}`)
		w.must("u", "add", `{"relations": [{"source": "X", "type": "knows", "target": "Y"}]}`)
		w.fails("u", "remove", `{"undo": 1}`, tool.Conflict, "x knows y was changed later, by change 2")
		w.must("u", "remove", `{"relation": {"source": "X", "type": "knows", "target": "Y"}}`)
		w.must("u", "remove", `{"entity": "Y"}`)
		w.fails("u", "remove", `{"undo": 3}`, tool.Conflict, "with y, which no longer exists")
		w.fails("u", "remove", `{"undo": 2}`, tool.Conflict, "removed later")
		w.must("u", "add", `{"entities": [{"name": "Y", "description": "another"}]}`)
		w.fails("u", "remove", `{"undo": 4}`, tool.Conflict, "y was changed later, by change 5")
		w.must("u", "remove", `{"undo": 5}`)
		w.must("u", "remove", `{"undo": 4}`)
		w.must("u", "remove", `{"undo": 3}`)
		expect(t, w.must("u", "search", `{"from": "X"}`), "-knows-> Y")
		w.must("u", "remove", `{"undo": 8}`)
		w.must("u", "remove", `{"undo": 7}`)
		w.must("u", "add", `{"entities": [{"name": "Z"}]}`)
		w.must("u", "add", `{"entities": [{"name": "Z", "description": "one"}]}`)
		w.must("u", "add", `{"entities": [{"name": "Z", "description": "two"}]}`)
		w.fails("u", "remove", `{"undo": 12}`, tool.Conflict, "z was changed later, by change 13; undo change 13 first")
		expect(t, w.must("u", "search", `{"query": "Z"}`), "two")
		for _, arguments := range []string{`{}`, `{"undo": 1, "entity": "x"}`, `{"merge_into": "x"}`, `{"relation": {"source": "x", "type": "", "target": "y"}}`} {
			w.fails("u", "remove", arguments, tool.Invalid)
		}
		w.fails("u", "remove", `{"undo": -1}`, tool.NotFound)
	})
}

// TestLargestCallIsOneChange adds as much as a call can hold.
func TestLargestCallIsOneChange(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var entities, relations []string
		for i := range 100 {
			entities = append(entities, fmt.Sprintf(`{"name": "thing %d"}`, i))
			for _, other := range []int{(i + 1) % 100, (i + 7) % 100} {
				relations = append(relations, fmt.Sprintf(`{"source": "thing %d", "type": "next", "target": "thing %d"}`, i, other))
			}
		}
		call := fmt.Sprintf(`{"entities": [%s], "relations": [%s]}`, strings.Join(entities, ","), strings.Join(relations, ","))
		expect(t, w.must("u", "add", call), "change 1;", "!may be the same")
		expect(t, w.must("u", "add", call), "nothing changed: 300 already known")
		expect(t, w.must("u", "search", `{"from": "thing 0", "depth": 5, "limit": 5}`), "[5 of ")
		w.must("u", "remove", `{"undo": 1}`)
		if all := w.contents("u"); len(all.Entities)+len(all.Relations) > 0 {
			t.Errorf("%v remains", all)
		}
	})
}

// TestFindsNearNamesAndAnswers searches with mistyped and partial names, and asks for relations.
func TestFindsNearNamesAndAnswers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.must("u", "add", `{"entities": [{"name": "Anna Lindqvist", "type": "person"}, {"name": "Anna Berg", "type": "person"},
			{"name": "Kubernetes", "type": "concept", "aliases": ["Container Platform"]}, {"name": "Heron", "type": "project"},
			{"name": "Tom", "type": "person", "confidence": 0.3}, {"name": "Postgres", "type": "concept"}],
			"relations": [{"source": "Tom", "type": "leads", "target": "Heron", "confidence": 0.3},
				{"source": "Heron", "type": "depends_on", "target": "Postgres"}]}`)
		for i := range 8 {
			w.must("u", "add", fmt.Sprintf(`{"entities": [{"name": "Worker %d", "type": "person"}],
				"relations": [{"source": "Worker %d", "type": "works_on", "target": "Heron", "confidence": 0.9}]}`, i, i))
		}
		first := func(query, want string) {
			t.Helper()
			if got := w.must("u", "search", fmt.Sprintf(`{"query": %q, "limit": 3}`, query)); !strings.HasPrefix(got, want) {
				t.Errorf("%q: wanted %q first in:\n%s", query, want, got)
			}
		}
		first("Lindquist", "Anna Lindqvist [person]")
		first("Anna Lindquist", "Anna Lindqvist [person]")
		first("Kuberntes", "Kubernetes [concept]")
		first("Kube", "Kubernetes [concept]")
		first("container platfrom", "Kubernetes [concept]")
		first("Who leads Heron?", "Heron [project]\n  <-leads- Tom (0.3)\n")
		expect(t, w.must("u", "search", `{"query": "Who leads Heron?", "limit": 2}`), "\nTom [person] 0.3\n  -leads-> Heron")
		expect(t, w.must("u", "search", `{"query": "what does Heron depend on", "limit": 2}`), "\nPostgres [concept]\n")
		expect(t, w.must("u", "search", `{"query": "zeppelin"}`), "nothing found")
	})
}

// TestExtractedGraph adds what a model extracts from a text in another common form.
func TestExtractedGraph(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		expect(t, w.must("u", "add", `{"entities": [{"external_id": "ada", "name": "Ada Lovelace", "entity_type": "person"},
			{"external_id": "p-1", "name": "Engine", "entity_type": "project", "description": "of brass", "confidence": 0.9}],
			"relations": [{"source_entity_id": "ada", "relation_type": "works_on", "target_entity_id": "p-1", "confidence": 0.9}]}`),
			"created ada-lovelace works_on engine")
		expect(t, w.must("u", "search", `{"from": "p-1"}`), "connected to Engine [project]", "<-works_on- Ada Lovelace")
	})
}
