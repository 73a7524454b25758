package discovery

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// toolSearch finds tools and shows how to call them.
type toolSearch struct {
	subjects string
	recent   *recent
}

// recent keeps the ranking of the tools that were searched last: the tools of most callers are the same.
type recent struct {
	mu      sync.Mutex
	key     uint64 // of the tools
	seed    maphash.Seed
	ranking *ranking
}

// of returns the ranking of tools.
func (r *recent) of(all []tool.Tool) *ranking {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ranking == nil {
		r.seed = maphash.MakeSeed()
	}
	var h maphash.Hash
	h.SetSeed(r.seed)
	for _, t := range all {
		for _, text := range []string{t.Spec.Name, t.Spec.Doc, t.Spec.Keywords, string(t.Schema())} {
			_, _ = h.WriteString(text) // never fails
		}
	}
	if key := h.Sum64(); r.ranking == nil || key != r.key {
		r.key, r.ranking = key, newRanking(all)
	}
	return r.ranking
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
	found := t.recent.find(usable, a.Query, a.Limit)
	if len(found) == 0 {
		return tool.Text(fmt.Sprintf("no tool matches %q; names and words of tools are English: "+
			"say it in other English words; there are tools for %s", a.Query, t.subjects)), nil
	}
	declarations := make([]string, len(found))
	for i, one := range found {
		declarations[i] = one.Signature()
	}
	return tool.Text(strings.Join(declarations, "\n\n")), nil
}

// usableTools lists the tools for the caller, except the tools of this group.
func usableTools(ctx context.Context) ([]tool.Tool, error) {
	running := tool.RunningFrom(ctx)
	if running.Usable == nil {
		return nil, tool.Errorf(tool.Unavailable, "this call belongs to no session")
	}
	return slices.DeleteFunc(running.Usable(), func(t tool.Tool) bool {
		return t.Spec.Group == group || t.Spec.Internal
	}), nil
}

// find returns the tools whose names are in the query, else the best matches.
func (r *recent) find(all []tool.Tool, query string, limit int) (found []tool.Tool) {
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
	for _, t := range r.of(all).best(query, limit) {
		add(t, true)
	}
	return found
}
