package knowledge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

func TestParseAndFormatSpan(t *testing.T) {
	for _, test := range []struct{ from, to, want string }{
		{"", "", ""}, {"1815", "", "from 1815-01-01"}, {"", "2024-02", "to 2024-02-29"}, {"2024-05-01", "2024-05-01", "from 2024-05-01 to 2024-05-01"},
		{"2024-05-01T10:30:00+02:00", "", "from 2024-05-01T08:30:00Z"}, {"2024-05-01T08:30:00Z", "2024-05-01 09:00", "from 2024-05-01T08:30:00Z to 2024-05-01T09:00:00Z"},
	} {
		s, err := parseSpan(test.from, test.to)
		if s == (graph.Span{}) {
			s = graph.Always()
		}
		if got := formatSpan(s); err != nil || got != test.want {
			t.Errorf("%q to %q is %q, %v; want %q", test.from, test.to, got, err, test.want)
		}
	}
	for _, wrong := range [][2]string{{"x", ""}, {"", "2024-13"}, {"2024", "2023"}, {"99999", ""}} {
		if s, err := parseSpan(wrong[0], wrong[1]); err == nil {
			t.Errorf("%v is %v", wrong, s)
		}
	}
}

// A checker checks the values that argument parsing accepts.
type checker struct{ t *testing.T }

func (c checker) name(name string) {
	valid := graph.CleanLine(name) == name && graph.Slug(name) != "" && len(name) <= 400 && utf8.ValidString(name)
	if !valid {
		c.t.Errorf("accepted the name %q", name)
	}
}

func (c checker) common(
	kind string, properties map[string]string, confidence float64, valid graph.Span, p graph.Provenance,
) {
	if graph.TypeName(kind) != kind || !(confidence >= 0 && confidence <= 1) || graph.CleanLine(p.Source) != p.Source {
		c.t.Errorf("accepted type %q, confidence %v, source %q", kind, confidence, p.Source)
	}
	if valid != (graph.Span{}) && valid.From >= valid.To {
		c.t.Errorf("accepted the span %v", valid)
	}
	size := 0
	for key, value := range properties {
		size += len(key) + len(value)
		if key == "" || graph.CleanLine(key+value) != key+value || size > maxPropertyBytes {
			c.t.Errorf("accepted the property %q: %q", key, value)
		}
	}
}

func (c checker) reports(r reports) {
	for _, e := range r.entities {
		c.name(e.Name)
		c.common(e.Type, e.Properties, e.Confidence, e.Valid, e.Provenance)
		tooLong := len(e.Aliases) > graph.MaxAliases || len(e.Description) > maxDescription
		if tooLong || graph.CleanLine(e.Description) != e.Description {
			c.t.Errorf("accepted %+v", e)
		}
	}
	for _, r := range r.relations {
		c.name(r.Source)
		c.name(r.Target)
		c.common(r.Type, r.Properties, r.Confidence, r.Valid, r.Provenance)
	}
}

func (c checker) query(q Query) {
	badText := graph.CleanLine(q.Text) != q.Text || graph.CleanLine(q.From) != q.From
	badNumber := q.Limit < 1 || q.Limit > maxLimit || q.Offset < 0 || q.Depth < 1 || q.Depth > graph.MaxDepth
	if badText || badNumber {
		c.t.Errorf("accepted %+v", q)
	}
}

// binder is a tool that passes its arguments to a function.
type binder[A any] func(A) error

func (binder[A]) Spec() tool.Spec { return tool.Spec{Name: "test"} }

func (b binder[A]) Do(_ context.Context, args A) (tool.Result, error) { return tool.Result{}, b(args) }

func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		`{"query": "who?", "limit": -1, "at": "2020-02-30"}`, `{"from": "x", "depth": 99}`, `{"undo": 3}`,
		`{"entities": [{"name": "A\nB", "type": "Per Son", "aliases": ["\u202e", "x"], "properties": {"k": [1, {"a": null}], "z": null}, "confidence": 0.5, "valid_from": "1815", "valid_to": "1852-11"}]}`,
		`{"relations": [{"from": "a", "predicate": "likes", "to": "b", "confidence": "1"}]}`, `{"relation": {"source": "a", "type": "b", "target": "c"}}`,
		`{"entities": "[{\"name\": \"x\"}]"}`, `{"entity": "a", "merge_into": "b"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		c := checker{t}
		for _, one := range []tool.Tool{
			tool.New(binder[searchArgs](func(a searchArgs) error {
				q, err := a.parse()
				if err == nil {
					c.query(q)
				}
				return err
			})),
			tool.New(binder[addArgs](func(a addArgs) error {
				r, err := a.parse()
				if err == nil {
					c.reports(r)
				}
				return err
			})),
			tool.New(binder[removeArgs](func(a removeArgs) error {
				if a.Relation == nil {
					return nil
				}
				_, err := new(reports).key("relation", *a.Relation)
				return err
			})),
		} {
			call, err := one.Bind(json.RawMessage(arguments), tool.DefaultLimits())
			if err != nil {
				continue
			}
			if _, err := call.Run(t.Context()); err != nil {
				if known := tool.AsError(err); known.Kind == tool.Internal {
					t.Error(err)
				}
			}
		}
	})
}

// TestLongEntityIsShortened keeps one entity from filling a result.
func TestLongEntityIsShortened(t *testing.T) {
	long := strings.Repeat("é", 2000)
	e := graph.Entity{
		Name: "X", Type: "t", Description: long, Aliases: []string{long}, Properties: map[string]string{"k": long},
		Provenance: graph.Provenance{Source: long, Updated: time.Now().UnixMilli()},
	}
	text := formatFound(Found{Hits: []Hit{{Entity: e}}}, Query{})
	if len(text) > 2*maxShownText+3*maxShownValue || !utf8.ValidString(text) {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

// TestManyNewEntitiesAreCounted checks that a result names a few of many new entities and counts the others.
func TestManyNewEntitiesAreCounted(t *testing.T) {
	var a Added
	for i := range 2 * maxListedNew {
		a.Entities = append(a.Entities, Outcome{Subject: fmt.Sprint("e", i), Action: "created"})
	}
	a.Entities = append(a.Entities, Outcome{Subject: "known", Action: "unchanged"},
		Outcome{Subject: "other", Action: "updated"}, Outcome{Subject: "both", Action: "created", SharedToo: true})
	a.Change = 7
	got := formatAdded(a, nil)
	want := "updated other\ncreated both, your own version of a shared entity\ncreated 12 more\n1 already known\nchange 7; to undo it use knowledge_graph_remove with undo 7"
	if !strings.HasSuffix(got, "\ncreated e11\n"+want) || strings.Count(got, "\n") != maxListedNew+4 {
		t.Errorf("%s", got)
	}
}
