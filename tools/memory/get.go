package memory

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// memoryGet shows a document, or lines of it.
type memoryGet struct{ memory Memory }

type memoryGetArgs struct {
	Path  string `json:"path" jsonschema:"as memory_search gave it, or a key" alias:"key,file,file_path"`
	From  int    `json:"from,omitempty" jsonschema:"first line" alias:"offset,start_line"`
	Lines int    `json:"lines,omitempty" jsonschema:"how many" alias:"limit"`
}

// mostShown is how much of a document is shown at once, in bytes.
const mostShown = 32 << 10

func (memoryGet) Spec() tool.Spec {
	return tool.Spec{
		Name: "memory_get", Group: group, Title: "Read memory", Risk: tool.Reads, Hints: tool.Hints{Idempotent: true},
		Doc:      "Shows a memory document, or lines of it.",
		Also:     []string{"tool::memory_recall", "memory_read"},
		Keywords: "remember notes document lines",
	}
}

func (t memoryGet) Do(ctx context.Context, a memoryGetArgs) (tool.Result, error) {
	path, from, to := splitPlace(a.Path)
	d, err := t.memory.Get(ctx, path)
	if err != nil {
		return tool.Result{}, err
	}
	if a.From > 0 || a.Lines > 0 {
		from, to = max(a.From, 1), 0
	}
	if a.Lines > 0 {
		to = from + min(a.Lines, 1<<30) - 1
	}
	return tool.Text(showDocument(d, from, to)), nil
}

// splitPlace takes the lines from a path such as memory/a.md#L3-7.
func splitPlace(place string) (path string, from, to int) {
	path, lines, ok := strings.Cut(place, "#L")
	if !ok {
		return place, 0, 0
	}
	if n, _ := fmt.Sscanf(lines, "%d-%d", &from, &to); n == 0 || from < 0 || to < 0 {
		return place, 0, 0
	}
	to = max(to, from)
	return path, from, to
}

// showDocument shows the lines from one to another; 0 is no bound.
func showDocument(d Document, from, to int) string {
	lines := strings.SplitAfter(d.Text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	from = max(from, 1)
	if to <= 0 || to > len(lines) {
		to = len(lines)
	}
	var text strings.Builder
	next := from
	for ; next <= to && (text.Len() == 0 || text.Len()+len(lines[next-1]) <= mostShown); next++ {
		text.WriteString(lines[next-1])
	}
	head := describe(d)
	switch {
	case len(lines) == 0:
		return head + ": it is empty]"
	case from > len(lines):
		return fmt.Sprintf("%s: it has only %s]", head, counted(len(lines), "line"))
	case from > 1 || next <= len(lines):
		head = fmt.Sprintf("%s: lines %d-%d of %d]", head, from, next-1, len(lines))
	default:
		head += "]"
	}
	out := head + "\n" + tool.Visible(strings.ReplaceAll(text.String(), "\r\n", "\n"))
	if next <= to {
		out = strings.TrimSuffix(out, "\n") + fmt.Sprintf("\n[go on with from: %d]", next)
	}
	return out
}

// describe opens a line in brackets that tells where a document comes from.
func describe(d Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s, version %d, %s", tool.Visible(d.Path), d.Version, d.Updated.UTC().Format("2006-01-02 15:04"))
	if d.Author != "" {
		b.WriteString(" by " + oneLine(d.Author))
	}
	if d.Session != "" {
		b.WriteString(" in " + oneLine(d.Session))
	}
	if d.Owner.User == "" {
		b.WriteString(", shared")
	}
	b.WriteString(", " + d.Category)
	if len(d.Tags) > 0 {
		b.WriteString(", tags " + oneLine(strings.Join(d.Tags, " ")))
	}
	if !d.Expires.IsZero() {
		b.WriteString(", until " + d.Expires.UTC().Format("2006-01-02 15:04"))
	}
	return b.String()
}
