package memory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// memorySearch finds pieces of what is remembered.
type memorySearch struct {
	memory Memory
	now    func() time.Time
}

type memorySearchArgs struct {
	Query    string  `json:"query" jsonschema:"words or a question" alias:"q,text"`
	Limit    int     `json:"limit,omitempty" jsonschema:"default 6" alias:"max_results,top_k,count"`
	Kind     string  `json:"kind,omitempty" jsonschema:"category" alias:"category"`
	Path     string  `json:"path,omitempty" jsonschema:"file or directory" alias:"path_prefix"`
	Since    string  `json:"since,omitempty" jsonschema:"date, or 7d"`
	Until    string  `json:"until,omitempty" jsonschema:"date, or 7d" hidden:"true"`
	MinScore float64 `json:"min_score,omitempty" jsonschema:"0 to 1"`
	Mode     string  `json:"search_mode,omitempty" jsonschema:"how to search" hidden:"true" alias:"mode"`
}

const (
	usualHits = 6
	mostHits  = 50
)

func (memorySearch) Spec() tool.Spec {
	return tool.Spec{
		Name: "memory_search", Group: group, Title: "Search memory", Risk: tool.Reads, Hints: tool.Hints{Idempotent: true},
		Doc:      "Finds what was remembered: places in memory documents with snippets. Read on with memory_get.",
		Also:     []string{"memory_recall", "tool::memory_search", "recall"},
		Keywords: "remember recall notes earlier past knowledge",
	}
}

func (t memorySearch) Do(ctx context.Context, a memorySearchArgs) (tool.Result, error) {
	if a.Limit <= 0 {
		a.Limit = usualHits
	}
	q := Query{Text: a.Query, Limit: min(a.Limit, mostHits), Category: strings.ToLower(strings.TrimSpace(a.Kind)), Path: a.Path, MinScore: a.MinScore}
	if strings.TrimSpace(a.Query) == "" {
		return tool.Result{}, tool.Errorf(tool.Invalid, "the query is empty").Try("say in a few words what to look for")
	}
	if q.Category != "" {
		if err := checkCategory(q.Category); err != nil {
			return tool.Result{}, err
		}
	}
	var err error
	if q.Since, err = t.moment(a.Since); err != nil {
		return tool.Result{}, err
	}
	if q.Until, err = t.moment(a.Until); err != nil {
		return tool.Result{}, err
	}
	if len(a.Until) == len(dateLayout) {
		q.Until = q.Until.AddDate(0, 0, 1) // the day itself is meant as well
	}
	found, err := t.memory.Search(ctx, q)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(showFound(found, a)), nil
}

// moment reads a time, or how long ago it was; "" is no time.
func (t memorySearch) moment(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, span, err := parseTime(text)
	if span > 0 {
		at = t.now().Add(-span)
	}
	return at, err
}

func checkCategory(text string) error {
	all := []string{Core, Daily, Conversation, Custom}
	for _, one := range all {
		if one == text {
			return nil
		}
	}
	return tool.Errorf(tool.Invalid, "there is no category %.40q", text).Try("use %s", strings.Join(all, ", "))
}

func showFound(f Found, a memorySearchArgs) string {
	var b strings.Builder
	for _, h := range f.Hits {
		fmt.Fprintf(&b, "%s#L%d-%d  %.2f  %s", tool.Visible(h.Path), h.From, h.To, h.Score, h.Updated.UTC().Format(dateLayout))
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
	if f.Alike > 0 {
		fmt.Fprintf(&b, "[left out: %s with nearly the same]\n", counted(f.Alike, "place"))
	}
	switch {
	case !f.More || len(f.Hits) == 0:
	case len(f.Hits) == a.Limit && a.Limit < mostHits:
		b.WriteString("[there are more; raise limit, or ask more exactly]\n")
	default:
		b.WriteString("[there are more; send the path of one document, or ask more exactly]\n")
	}
	if f.Behind {
		b.WriteString("[still catching up with the latest changes, so some may be missing: search again in a moment]\n")
	}
	if f.Forming {
		b.WriteString("[what was stored last is found by its words only, as yet]\n")
	}
	if f.Literal {
		b.WriteString("[found by words only this time: what says the same in other words may be missing]\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// showNothing says what to ask instead.
func showNothing(b *strings.Builder, f Found, a memorySearchArgs) {
	fmt.Fprintf(b, "nothing is remembered about %q", short(a.Query))
	narrowed := a.Kind != "" || a.Path != "" || a.Since != "" || a.Until != "" || a.MinScore > 0
	switch {
	case f.Behind:
		b.WriteString(" so far")
	case f.Total == 0 && !narrowed:
		b.WriteString("; the memory is empty")
	case narrowed:
		b.WriteString("; try without kind, path, since and min_score")
	case len(f.Words) > 0:
		fmt.Fprintf(b, "; there is %s", oneLine(strings.Join(f.Words, ", ")))
	default:
		fmt.Fprintf(b, " in %s; try other words", counted(f.Total, "document"))
	}
	b.WriteByte('\n')
}

// short cuts a text between words, since half a secret would not be known as one.
func short(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return text[:max(strings.LastIndexAny(text[:most], " \t\r\n"), 0)] + "..."
}
