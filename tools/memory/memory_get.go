package memory

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// memoryGet shows a document, or lines of it.
type memoryGet struct{ memories Memories }

type memoryGetArgs struct {
	Path  string `json:"path" jsonschema:"path or key of the document" alias:"key,name,id,file,file_path"`
	From  int    `json:"from,omitempty" jsonschema:"first line to return" alias:"offset,start_line"`
	Lines int    `json:"lines,omitempty" jsonschema:"lines to return" alias:"limit"`
}

// maxShown is the max size of one part of a document, in bytes.
const maxShown = 32 << 10

func (memoryGet) Spec() tool.Spec {
	return tool.Spec{
		Name: "memory_get", Group: group, Title: "Read memory", Risk: tool.Reads, Hints: tool.Hints{Idempotent: true},
		Doc:      "Returns a memory document, or lines of it, with its metadata. To find one use memory_search.",
		Also:     []string{"tool::memory_recall", "memory_read"},
		Keywords: "remember notes document lines whole full text of a memory",
	}
}

func (t memoryGet) Do(ctx context.Context, a memoryGetArgs) (tool.Result, error) {
	path, from, to := splitLines(a.Path)
	d, err := t.memories.Get(ctx, path)
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

// splitLines splits a path such as memory/a.md#L3-7.
func splitLines(arg string) (path string, from, to int) {
	path, lines, ok := strings.Cut(arg, "#L")
	if !ok {
		return arg, 0, 0
	}
	if n, _ := fmt.Sscanf(lines, "%d-%d", &from, &to); n == 0 || from < 0 || to < 0 {
		return arg, 0, 0
	}
	return path, from, max(to, from)
}

// showDocument shows lines of a document; 0 means no bound.
func showDocument(d Document, from, to int) string {
	lines := strings.SplitAfter(d.Text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	from = max(from, 1)
	if to <= 0 || to > len(lines) {
		to = len(lines)
	}
	var shown strings.Builder
	next := from
	for ; next <= to && (shown.Len() == 0 || shown.Len()+len(lines[next-1]) <= maxShown); next++ {
		shown.WriteString(lines[next-1])
	}
	head := describe(d)
	switch {
	case len(lines) == 0:
		return head + ": it is empty]"
	case from > len(lines):
		return fmt.Sprintf("%s: it has only %s]", head, text.Plural(len(lines), "line"))
	case from > 1 || next <= len(lines):
		head = fmt.Sprintf("%s: lines %d-%d of %d]", head, from, next-1, len(lines))
	default:
		head += "]"
	}
	out := head + "\n" + tool.Visible(strings.ReplaceAll(shown.String(), "\r\n", "\n"))
	if next <= to {
		out = strings.TrimSuffix(out, "\n") + fmt.Sprintf("\n[continue with from: %d]", next)
	}
	return out
}

const minuteLayout = "2006-01-02 15:04"

// describe returns an opening bracket and the facts about a document.
func describe(d Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s, version %d, %s", tool.Visible(d.Path), d.Version, d.Updated.UTC().Format(minuteLayout))
	if d.Author.Name != "" {
		b.WriteString(" by " + oneLine(d.Author.Name))
	}
	if d.Author.Session != "" {
		b.WriteString(" in " + oneLine(d.Author.Session))
	}
	if d.Owner.User == "" {
		b.WriteString(", shared")
	}
	b.WriteString(", " + d.Category)
	if len(d.Tags) > 0 {
		b.WriteString(", tags " + oneLine(strings.Join(d.Tags, " ")))
	}
	if !d.Expires.IsZero() {
		b.WriteString(", expires " + d.Expires.UTC().Format(minuteLayout))
	}
	return b.String()
}
