package fs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/view"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// fileHistory is the tool that lists earlier changes.
type fileHistory struct{ files workspace.Files }

type fileHistoryArgs struct {
	Path  string `json:"path,omitempty" jsonschema:"file, present or removed" alias:"file_path,file"`
	Limit int    `json:"limit,omitempty" jsonschema:"changes to return" min:"1" max:"500" default:"20"`
}

func (fileHistory) Spec() tool.Spec {
	return tool.Spec{
		Name: "history", Group: group, Title: "File history", Risk: tool.Reads, Viewed: true, Hints: tool.Hints{Idempotent: true},
		Doc:  "Lists changes by tools and commands, newest first, with ids for undo.",
		Also: []string{"file_history"},
		Keywords: "changes changed edits touched modified modifications past overview recent files who what did " +
			"you do versions log restore " +
			"recover deleted",
		Output: pastChanges{},
	}
}

func (t fileHistory) Do(ctx context.Context, a fileHistoryArgs) (tool.Result, error) {
	past, err := t.files.History(ctx, a.Path, a.Limit+1) // one more, to see whether there are more
	if err != nil {
		return tool.Result{}, err
	}
	for i := range past {
		p := &past[i]
		p.Time, p.Undoable = p.Time.UTC(), p.Undoable && p.Undone == ""
		p.By = strings.Trim(p.By, "/") // "/ann" is user ann without an agent, and would look like a path
	}
	data := pastChanges{append([]workspace.PastChange{}, past[:min(len(past), a.Limit)]...), len(past) > a.Limit}
	res := tool.Text(formatHistory(a.Path, past, a.Limit, time.Now())).With(data)
	if tool.Viewed(ctx) {
		res = res.Showing(view.History{Kind: "history", Changes: data.Changes, More: data.More})
	}
	return res, nil
}

// pastChanges is the result of the tool for programs, the newest change first.
type pastChanges struct {
	Changes []workspace.PastChange `json:"changes"`
	More    bool                   `json:"more"`
}

func formatHistory(path string, past []workspace.PastChange, limit int, now time.Time) string {
	if len(past) == 0 && path == "" {
		return "this server has no recorded change"
	}
	if len(past) == 0 {
		return fmt.Sprintf("this server has no recorded change of %q", path)
	}
	var b strings.Builder
	undoable := false
	for _, p := range past[:min(len(past), limit)] {
		b.WriteString(formatPast(p, path == "", now) + "\n")
		undoable = undoable || p.Undoable
	}
	if len(past) > limit {
		b.WriteString("[there are older changes; raise limit]\n")
	}
	if undoable {
		b.WriteString("[to revert a change use undo; undo later changes first]\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// formatPast returns a change in one line: of one file, or as a whole.
func formatPast(p workspace.PastChange, whole bool, now time.Time) string {
	line := fmt.Sprintf("%s  %s  ", p.ID, formatAge(now.Sub(p.Time)))
	by := p.Tool
	if p.Command != "" {
		by = fmt.Sprintf("%s `%s`: %s", p.Tool, text.Clip(p.Command, 60), countFiles(p))
	}
	switch {
	case whole && p.Command != "":
		line, by = line+by, ""
	case whole:
		line += p.Action + " " + p.File
	case p.Action == "created":
		line += "created " + text.Bytes(p.After)
	case p.Action == "removed":
		line += "removed " + text.Bytes(p.Before)
	default:
		line += fmt.Sprintf("changed %s -> %s", text.Bytes(p.Before), text.Bytes(p.After))
	}
	link := " of " // changed a.txt by edit of ann
	if p.Command != "" {
		link = ", by " // exec `make`: 1 changed, by ann
	}
	if by != "" {
		line += " by " + by
	}
	if p.By != "" {
		line += link + p.By
	}
	if p.Script != "" {
		line += ", in script " + p.Script
	}
	if len(p.Left) > 0 {
		line += ", not kept: " + strings.Join(p.Left, ", ")
	}
	if len(p.Others) > 0 && p.Command == "" {
		const maxShown = 3
		line += ", with " + strings.Join(p.Others[:min(len(p.Others), maxShown)], ", ")
		if more := len(p.Others) - maxShown; more > 0 {
			line += fmt.Sprintf(" and %d more", more)
		}
	}
	switch {
	case p.UndoneBy != "":
		line += fmt.Sprintf(", undone by the operator %s with %s", p.UndoneBy, p.Undone)
	case p.Undone != "":
		line += ", undone by " + p.Undone
	case !p.Undoable:
		line += ", cannot be undone"
	}
	return line
}

// countFiles returns how many files a change concerns, such as "3 changed, 1 removed".
func countFiles(p workspace.PastChange) string {
	var parts []string
	for _, n := range []struct {
		n    int
		what string
	}{{p.Changed, "changed"}, {p.Created, "created"}, {p.Removed, "removed"}} {
		if n.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.n, n.what))
		}
	}
	return strings.Join(parts, ", ")
}

// formatAge returns an age in its largest unit.
func formatAge(d time.Duration) string {
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

// undoChange is the tool that reverts a change.
type undoChange struct {
	files workspace.Files
	seen  *Seen
}

type undoChangeArgs struct {
	Call string `json:"call" jsonschema:"change id from a result or history" alias:"id,change,change_id,call_id"`
}

func (undoChange) Spec() tool.Spec {
	return tool.Spec{
		Name: "undo", Group: group, Title: "Undo a change", Risk: tool.Writes, Viewed: true,
		Doc:  "Reverts a change of files unless they changed since. To redo it, undo the undo.",
		Also: []string{"undo_edit", "revert"},
		Keywords: "restore revert redo recover cancel previous modification roll back take put back last " +
			"change wrong mistake",
	}
}

func (t undoChange) Do(ctx context.Context, a undoChangeArgs) (tool.Result, error) {
	receipt, err := t.files.Undo(ctx, strings.TrimSpace(a.Call))
	if err != nil {
		return tool.Result{}, err
	}
	caller := tool.CallerFrom(ctx)
	const maxShown = 50
	var lines []string
	for i, c := range receipt.Files {
		t.seen.Note(caller, c.Name, "") // the session has not read the restored content
		if i < maxShown {
			lines = append(lines, formatUndone(c))
		}
	}
	if more := len(receipt.Files) - maxShown; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more files", more))
	}
	if len(receipt.Left) > 0 {
		lines = append(lines, "not restored, because no copy was kept: "+strings.Join(receipt.Left, ", "))
	}
	if receipt.ID != "" {
		lines = append(lines, "to redo it use undo "+receipt.ID)
	}
	res := tool.Text(strings.Join(lines, "\n"))
	if tool.Viewed(ctx) {
		shown := view.Changes{Kind: "changes", Undo: receipt.ID, Undid: true, Files: []view.File{}}
		for _, c := range receipt.Files[:min(len(receipt.Files), maxShown)] {
			f := view.File{Name: c.Name, Action: "restored"}
			if c.Removed {
				f.Action = "removed"
			}
			shown.Files = append(shown.Files, f)
		}
		res = res.Showing(shown)
	}
	return res, nil
}

func formatUndone(c workspace.Changed) string {
	line := fmt.Sprintf("restored %s (%s)", c.Name, text.Bytes(c.Size))
	if c.Removed {
		line = "removed " + c.Name
	} else if c.Created {
		line = fmt.Sprintf("recreated %s (%s)", c.Name, text.Bytes(c.Size))
	}
	if len(c.Notes) > 0 {
		line += ": " + strings.Join(c.Notes, "; ")
	}
	return line
}
