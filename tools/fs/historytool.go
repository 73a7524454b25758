package fs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// fileHistory tells what was done to a file.
type fileHistory struct{ files workspace.Files }

type fileHistoryArgs struct {
	Path  string `json:"path" jsonschema:"file, also one that is gone" alias:"file_path,file"`
	Limit int    `json:"limit,omitempty" jsonschema:"changes" min:"1" max:"500" default:"20"`
}

func (fileHistory) Spec() tool.Spec {
	return tool.Spec{
		Name: "history", Group: group, Title: "File history", Risk: tool.Reads, Hints: tool.Hints{Idempotent: true},
		Doc:  "Lists the changes tools made to a file, newest first.",
		Also: []string{"file_history"}, Keywords: "changes versions log restore recover deleted",
	}
}

func (t fileHistory) Do(ctx context.Context, a fileHistoryArgs) (tool.Result, error) {
	// One more tells whether there are more.
	past, err := t.files.History(ctx, a.Path, a.Limit+1)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(showHistory(a.Path, past, a.Limit, time.Now())), nil
}

func showHistory(path string, past []workspace.PastChange, limit int, now time.Time) string {
	if len(past) == 0 {
		return fmt.Sprintf("no tool changed %q, as far as is kept", path)
	}
	var b strings.Builder
	undoable := false
	for _, p := range past[:min(len(past), limit)] {
		b.WriteString(showPast(p, now) + "\n")
		undoable = undoable || p.Undoable && p.Undone == ""
	}
	if len(past) > limit {
		b.WriteString("[there are older ones; raise limit]\n")
	}
	if undoable {
		b.WriteString("[undo takes one back, later ones first]\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// showPast writes a change in one line.
func showPast(p workspace.PastChange, now time.Time) string {
	line := fmt.Sprintf("%s  %s  %s", p.ID, ago(now.Sub(p.Time)), p.Action)
	switch p.Action {
	case "created":
		line += " " + size(p.After)
	case "changed":
		line += fmt.Sprintf(" %s -> %s", size(p.Before), size(p.After))
	case "removed":
		line += " " + size(p.Before)
	}
	if p.Tool != "" {
		line += " by " + p.Tool
	}
	// "/ann" is ann without an agent, and would read like a path.
	if by := strings.Trim(p.By, "/"); by != "" {
		line += " of " + by
	}
	if len(p.Others) > 0 {
		const most = 3
		line += ", with " + strings.Join(p.Others[:min(len(p.Others), most)], ", ")
		if more := len(p.Others) - most; more > 0 {
			line += fmt.Sprintf(" and %d more", more)
		}
	}
	switch {
	case p.Undone != "":
		line += ", undone by " + p.Undone
	case !p.Undoable:
		line += ", cannot be undone"
	}
	return line
}

// ago writes how long ago something was, in the largest unit that fits.
func ago(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 5*time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%dh ago", d/time.Hour)
	}
	return fmt.Sprintf("%dd ago", d/day)
}
