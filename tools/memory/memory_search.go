package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/view"
)

// memorySearch finds parts of memories.
type memorySearch struct {
	memories Memories
	now      func() time.Time
}

type memorySearchArgs struct {
	Query    string  `json:"query" jsonschema:"words or a question" alias:"q,text"`
	Limit    int     `json:"limit,omitempty" jsonschema:"hits to return" alias:"max_results,top_k,count"`
	Kind     string  `json:"kind,omitempty" jsonschema:"core, daily, conversation or custom" alias:"category"`
	Path     string  `json:"path,omitempty" jsonschema:"only under this path" alias:"path_prefix"`
	Since    string  `json:"since,omitempty" jsonschema:"changed since a date, 7d or 2mo"`
	Until    string  `json:"until,omitempty" jsonschema:"only changed until" hidden:"true"`
	MinScore float64 `json:"min_score,omitempty" jsonschema:"minimum score, 0 to 1" hidden:"true"`
	Mode     string  `json:"search_mode,omitempty" jsonschema:"ignored" hidden:"true" alias:"mode"`
}

const (
	defaultHits   = 6
	maxDuplicates = 5 // that are named
)

func (memorySearch) Spec() tool.Spec {
	return tool.Spec{
		Name: "memory_search", Group: group, Title: "Search memory", Risk: tool.Reads, Viewed: true,
		Hints: tool.Hints{Idempotent: true},
		Doc: `Searches memories of earlier conversations. Returns snippets with path, lines and date.
To read a whole document use memory_get; for facts use knowledge_graph_search.`,
		Also: []string{"memory_recall", "tool::memory_search", "recall"},
		Keywords: "remember recall notes earlier before past my favourite preference told said mentioned decided " +
			"discussed last week birthday did i what do you know about me knowledge", Output: hits{},
	}
}

func (t memorySearch) Do(ctx context.Context, a memorySearchArgs) (tool.Result, error) {
	if strings.TrimSpace(a.Query) == "" {
		return tool.Result{}, tool.Errorf(tool.Invalid, "the query is empty").Try("send a few words to search for")
	}
	category, err := categoryOf(a.Kind)
	if err != nil {
		return tool.Result{}, err
	}
	if a.Limit <= 0 {
		a.Limit = defaultHits
	}
	q := Query{Text: a.Query, Limit: min(a.Limit, maxHits), Category: category, Path: a.Path, MinScore: a.MinScore}
	if q.Since, err = t.past(a.Since); err != nil {
		return tool.Result{}, err
	}
	if q.Until, err = t.past(a.Until); err != nil {
		return tool.Result{}, err
	}
	if len(a.Until) == len(time.DateOnly) {
		q.Until = q.Until.AddDate(0, 0, 1) // the day itself is included
	}
	found, err := t.memories.Search(ctx, q)
	if err != nil {
		return tool.Result{}, err
	}
	list := append([]Hit{}, found.Hits...)
	res := tool.Text(showFound(found, a)).With(hits{list, found.More})
	if tool.Viewed(ctx) {
		shown := view.Memories{Kind: "memories", Query: a.Query, Hits: list, More: found.More}
		if len(list) == 0 {
			shown.Note = res.Text()
		}
		res = res.Showing(shown)
	}
	return res, nil
}

// hits are the result of the tool for programs.
type hits struct {
	Hits []Hit `json:"hits"`
	More bool  `json:"more"` // there are more than the limit
}

// past reads a time, or an age; "" is the zero time.
func (t memorySearch) past(when string) (time.Time, error) {
	if when = strings.TrimSpace(when); when == "" {
		return time.Time{}, nil
	}
	return parseTime(when, t.now(), "-")
}

// parseTime reads a time, or a duration. It adds a duration to now or subtracts it, as sign
// says.
func parseTime(when string, now time.Time, sign string) (time.Time, error) {
	if at, ok := clock.Parse(when, time.UTC); ok {
		return at, nil
	}
	at, err := clock.Add(now.UTC(), sign+when)
	if err != nil || at.Equal(now) {
		return time.Time{}, tool.Errorf(tool.Invalid, "cannot read %.40q as a date or duration", when).
			Try("write 2026-01-31, 36h, 7d, 2w or 3mo")
	}
	return at, nil
}

// categoryOf returns the category that an argument names, "" for an empty one.
func categoryOf(arg string) (string, error) {
	category := strings.ToLower(strings.TrimSpace(arg))
	if category != "" && !slices.Contains(categories(), category) {
		return "", tool.Errorf(tool.Invalid, "there is no category %.40q", arg).Try("use %s",
			strings.Join(categories(), ", "))
	}
	return category, nil
}

func showFound(f Found, a memorySearchArgs) string {
	var b strings.Builder
	for _, h := range f.Hits {
		fmt.Fprintf(&b, "%s#L%d-%d  %s", tool.Visible(h.Path), h.From, h.To, h.Updated.UTC().Format(time.DateOnly))
		if h.Shared {
			b.WriteString("  shared")
		}
		if h.Category != Core {
			b.WriteString("  " + h.Category)
		}
		if len(h.Headings) > 0 {
			b.WriteString("  " + oneLine(strings.Join(h.Headings, " > ")))
		}
		b.WriteString("\n  " + oneLine(h.Snippet) + "\n")
	}
	if len(f.Hits) == 0 {
		showNothing(&b, f, a)
	}
	if len(f.Duplicates) > 0 {
		fmt.Fprintf(&b, "[nearly the same left out: %s]\n",
			oneLine(strings.Join(f.Duplicates[:min(len(f.Duplicates), maxDuplicates)], ", ")))
	}
	switch {
	case !f.More || len(f.Hits) == 0:
	case len(f.Hits) == a.Limit && a.Limit < maxHits:
		b.WriteString("[there are more hits; raise limit, or ask more exactly]\n")
	default:
		b.WriteString("[there are more hits; send the path of one document, or ask more exactly]\n")
	}
	if f.Behind {
		b.WriteString("[the latest changes are not indexed yet and may be missing: search again in a moment]\n")
	}
	if f.Unembedded {
		b.WriteString("[recently stored memories are found by exact words only for the moment]\n")
	}
	if f.WordsOnly {
		b.WriteString("[searched by words only this time: texts that say the same in other words may be missing]\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// showNothing suggests other searches.
func showNothing(b *strings.Builder, f Found, a memorySearchArgs) {
	fmt.Fprintf(b, "no memory matches %q", clipBetween(a.Query, " \t\r\n"))
	narrowed := a.Kind != "" || a.Path != "" || a.Since != "" || a.Until != "" || a.MinScore > 0
	switch {
	case f.Behind:
		b.WriteString(" so far")
	case f.Total == 0 && !narrowed:
		b.WriteString("; the memory is empty")
	case narrowed:
		b.WriteString("; try without kind, path, since and min_score")
	case len(f.Suggestions) > 0:
		fmt.Fprintf(b, "; similar words that occur: %s", oneLine(strings.Join(f.Suggestions, ", ")))
	default:
		fmt.Fprintf(b, " in %s; try other words", text.Plural(f.Total, "document"))
	}
	b.WriteByte('\n')
}

// oneLine returns a stored text as one line without invisible characters.
func oneLine(stored string) string {
	return tool.Visible(strings.Join(strings.Fields(stored), " "))
}
