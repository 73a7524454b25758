package discovery

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// toolSearch finds tools and shows how to call them.
type toolSearch struct {
	subjects string
	searches *searches
}

// searches keeps the indexes of the tools that were searched last: the tools of most callers are the same.
type searches struct {
	mu   sync.Mutex
	key  uint64 // of the tools
	seed maphash.Seed

	meaning *ranking
	forms   *index.Collection
}

// of returns the indexes of tools.
func (s *searches) of(all []tool.Tool) (*ranking, *index.Collection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.meaning == nil {
		s.seed = maphash.MakeSeed()
	}
	var h maphash.Hash
	h.SetSeed(s.seed)
	for _, t := range all {
		for _, text := range []string{t.Spec.Name, t.Spec.Doc, t.Spec.Keywords, string(t.Schema())} {
			_, _ = h.WriteString(text) // never fails
		}
	}
	if key := h.Sum64(); s.meaning == nil || key != s.key {
		s.key, s.meaning, s.forms = key, newRanking(all), collection(all)
	}
	return s.meaning, s.forms
}

type toolSearchArgs struct {
	Query string `json:"query" jsonschema:"what to do, or names of tools" alias:"q,text,name,names,task"`
	Limit int    `json:"limit,omitempty" jsonschema:"tools to return" min:"1" max:"20" default:"5" alias:"max_results,count,top_k" hidden:"true"`
}

func (t toolSearch) Spec() tool.Spec {
	return tool.Spec{
		Name: "tool_search", Group: group, Title: "Find tools", Risk: tool.Reads,
		Doc: "Finds tools for tool_call: " + t.subjects + ".",
		Also: []string{
			"mcp_tool_search", "tool_describe", "search_tools", "find_tools", "list_tools", "get_tools",
		},
		Keywords: "find discover capability more tools",
	}
}

func (t toolSearch) Do(ctx context.Context, a toolSearchArgs) (tool.Result, error) {
	usable, err := usableTools(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	found := t.searches.find(usable, a.Query, a.Limit)
	if len(found) == 0 {
		return tool.Text(fmt.Sprintf("no tool matches %q; say it in other words; there are tools for %s",
			a.Query, t.subjects)), nil
	}
	declarations := make([]string, len(found))
	for i, one := range found {
		declarations[i] = one.Signature()
	}
	return tool.Text(strings.Join(declarations, "\n\n")), nil
}

// usableTools lists the tools that the caller may use, except those of this group.
func usableTools(ctx context.Context) ([]tool.Tool, error) {
	running := tool.RunningFrom(ctx)
	if running.Usable == nil {
		return nil, tool.Errorf(tool.Unavailable, "this call belongs to no session")
	}
	return slices.DeleteFunc(running.Usable(), func(t tool.Tool) bool {
		return t.Spec.Group == group || t.Spec.Internal
	}), nil
}

// find returns the tools whose names are in the query, else those that match it best.
func (s *searches) find(all []tool.Tool, query string, limit int) (found []tool.Tool) {
	byName := make(map[string]tool.Tool)
	for _, t := range all {
		byName[t.Spec.Name] = t
		for _, alias := range t.Spec.Also {
			byName[alias] = t
		}
	}
	seen := map[string]bool{}
	add := func(t tool.Tool, ok bool) {
		if ok && !seen[t.Spec.Name] && len(found) < limit {
			seen[t.Spec.Name] = true
			found = append(found, t)
		}
	}
	words := strings.FieldsFunc(query, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' })
	// A name of one word, such as search or browser, can also be a word of a request.
	onlyNames := !slices.ContainsFunc(words, func(word string) bool { _, ok := byName[word]; return !ok })
	for _, word := range words {
		if t, ok := byName[word]; onlyNames || strings.Contains(word, "_") {
			add(t, ok)
		}
	}
	if onlyNames && len(words) > 0 {
		return found
	}
	for _, t := range s.ranked(all, query, limit) {
		add(t, true)
	}
	return found
}

// depth is how many tools of each of two rankings count, and weight how much the first ones count
// more than the others.
const (
	depth     = 15
	weight    = 4.0
	ofMeaning = 2.0
)

// ranked returns the tools that match a request best: those that are at the top of two rankings. The index
// knows more about the forms of words, the other about words that mean the same.
func (s *searches) ranked(all []tool.Tool, query string, limit int) []tool.Tool {
	scores, byName := make(map[string]float64), make(map[string]tool.Tool)
	add := func(t tool.Tool, rank int, share float64) {
		byName[t.Spec.Name] = t
		scores[t.Spec.Name] += share / (weight + float64(rank))
	}
	meaning, forms := s.of(all)
	for i, t := range meaning.best(query, depth) {
		add(t, i, ofMeaning)
	}
	known := make(map[string]tool.Tool)
	for _, t := range all {
		known[t.Spec.Name] = t
	}
	for i, hit := range forms.Search(query, depth).Hits {
		add(known[hit.ID], i, 1)
	}
	names := slices.SortedFunc(maps.Keys(scores), func(a, b string) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b))
	})
	found := make([]tool.Tool, min(limit, len(names)))
	for i := range found {
		found[i] = byName[names[i]]
	}
	return found
}

// collection makes the texts about tools searchable.
func collection(all []tool.Tool) *index.Collection {
	documents := make([]index.Document, len(all))
	for i, t := range all {
		documents[i] = index.Document{
			ID: t.Spec.Name, Lang: "en",
			Title:    strings.ReplaceAll(t.Spec.Name, "_", " ") + " " + t.Spec.Title,
			Headings: t.Spec.Keywords, Body: t.SearchText(),
		}
	}
	return index.NewCollection(documents)
}
