package knowledge

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

func TestSpan(t *testing.T) {
	for _, test := range []struct{ from, to, want string }{
		{"", "", ""}, {"1815", "", "from 1815-01-01"}, {"", "2024-02", "to 2024-02-29"}, {"2024-05-01", "2024-05-01", "from 2024-05-01 to 2024-05-01"},
		{"2024-05-01T10:30:00+02:00", "", "from 2024-05-01T08:30:00Z"}, {"2024-05-01T08:30:00Z", "2024-05-01 09:00", "from 2024-05-01T08:30:00Z to 2024-05-01T09:00:00Z"},
	} {
		s, err := span(test.from, test.to)
		if s == (graph.Span{}) {
			s = graph.Always()
		}
		if got := shownSpan(s); err != nil || got != test.want {
			t.Errorf("%q to %q is %q, %v; want %q", test.from, test.to, got, err, test.want)
		}
	}
	for _, wrong := range [][2]string{{"x", ""}, {"", "2024-13"}, {"2024", "2023"}, {"99999", ""}} {
		if s, err := span(wrong[0], wrong[1]); err == nil {
			t.Errorf("%v is %v", wrong, s)
		}
	}
}

// strict is a Graph that finds fault with what it is given.
type strict struct{ t *testing.T }

func (s strict) name(text string) {
	if text == "" || graph.Line(text) != text || graph.Slug(text) == "" || len(text) > 400 || !utf8.ValidString(text) {
		s.t.Errorf("%q came through as a name", text)
	}
}

func (s strict) rest(kind string, properties map[string]string, confidence float64, valid graph.Span, origin string) {
	if graph.TypeName(kind) != kind || confidence < 0 || confidence > 1 || math.IsNaN(confidence) || graph.Line(origin) != origin {
		s.t.Errorf("type %q, confidence %v, from %q came through", kind, confidence, origin)
	}
	if valid != (graph.Span{}) && valid.From >= valid.To {
		s.t.Errorf("%v came through", valid)
	}
	size := 0
	for key, value := range properties {
		size += len(key) + len(value)
		if key == "" || graph.Line(key+value) != key+value || size > mostProps {
			s.t.Errorf("property %q: %q came through", key, value)
		}
	}
}

func (s strict) Find(_ context.Context, q Query) (Found, error) {
	if q.Limit < 1 || q.Limit > mostLimit || q.Offset < 0 || graph.Line(q.Text) != q.Text {
		s.t.Errorf("%+v came through", q)
	}
	return Found{More: true, Stale: true}, nil
}

func (s strict) Walk(_ context.Context, q Query) (Walked, error) {
	if q.Depth < 1 || q.Depth > graph.MostDepth || graph.Line(q.From) != q.From {
		s.t.Errorf("%+v came through", q)
	}
	return Walked{Cut: true}, nil
}

func (s strict) Add(_ context.Context, entities []graph.Entity, relations []graph.Relation) (Added, error) {
	a := Added{Change: 1}
	for _, e := range entities {
		s.name(e.Name)
		s.rest(e.Type, e.Properties, e.Confidence, e.Valid, e.Trace.Source)
		if len(e.Aliases) > graph.MostAliases || len(e.Description) > mostText || graph.Line(e.Description) != e.Description {
			s.t.Errorf("%+v came through", e)
		}
		a.Entities = append(a.Entities, Outcome{Text: e.Name, Action: "created"})
	}
	for _, r := range relations {
		s.name(r.Source)
		s.name(r.Target)
		s.rest(r.Type, r.Properties, r.Confidence, r.Valid, r.Trace.Source)
	}
	return a, nil
}

func (strict) Remove(context.Context, string) (Done, error)        { return Done{Summary: "x"}, nil }
func (strict) Unlink(context.Context, graph.Link) (Done, error)    { return Done{Summary: "x"}, nil }
func (strict) Merge(context.Context, string, string) (Done, error) { return Done{Summary: "x"}, nil }
func (strict) Undo(context.Context, int64) (Done, error)           { return Done{Summary: "x"}, nil }

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
		for _, one := range Tools(strict{t}) {
			call, err := one.Bind(json.RawMessage(arguments), tool.DefaultLimits())
			if err != nil {
				continue
			}
			res, err := call.Run(t.Context())
			if err != nil {
				if known := tool.AsError(err); known.Kind == tool.Internal {
					t.Errorf("%s: %v", one.Spec.Name, err)
				}
			} else if res.Text() == "" {
				t.Errorf("%s answers nothing", one.Spec.Name)
			}
		}
	})
}

// TestNothingIsAsLongAsItCanBe keeps one entity from filling an answer.
func TestNothingIsAsLongAsItCanBe(t *testing.T) {
	long := strings.Repeat("é", 2000)
	e := graph.Entity{Name: "X", Type: "t", Description: long, Aliases: []string{long}, Properties: map[string]string{"k": long}, Trace: graph.Trace{Source: long, Updated: time.Now().UnixMilli()}}
	text := showFound(Found{Hits: []Hit{{Entity: e}}}, Query{})
	if len(text) > 2*shownText+3*shownValue || !utf8.ValidString(text) {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

// A model knows what it has sent: of much that is new it is told how much.
func TestMuchThatIsNewIsCounted(t *testing.T) {
	var a Added
	for i := range 2 * mostShownNew {
		a.Entities = append(a.Entities, Outcome{Text: fmt.Sprint("e", i), Action: "created"})
	}
	a.Entities = append(a.Entities, Outcome{Text: "known", Action: "unchanged"}, Outcome{Text: "other", Action: "updated"}, Outcome{Text: "both", Action: "created", Shared: true})
	a.Change = 7
	got := showAdded(a, nil)
	want := "updated other\ncreated both, beside what all users share of it\ncreated 12 others\n1 already known\nchange 7; knowledge_graph_remove with undo: 7 takes it back"
	if !strings.HasSuffix(got, "\ncreated e11\n"+want) || strings.Count(got, "\n") != mostShownNew+4 {
		t.Errorf("%s", got)
	}
}
