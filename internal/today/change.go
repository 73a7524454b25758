package today

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
)

// A ShownChange is a change of files in full.
type ShownChange struct {
	ID     string    `json:"id"`
	At     time.Time `json:"at"`
	By     string    `json:"by,omitempty"` // the caller
	Tool   string    `json:"tool,omitempty"`
	Call   string    `json:"call,omitempty"` // for mcp-tools audit tail --call
	Undone string    `json:"undone,omitempty"`
	// UndoneBy is the operator who has undone it, "" for an agent.
	UndoneBy string   `json:"undone_by,omitempty"`
	Files    []Change `json:"files"`
	More     int      `json:"more,omitempty"` // files beyond maxShownFiles
	Left     []string `json:"left,omitempty"` // files that a command changed, and that cannot be restored
}

// Shown is how a file differs.
type Shown struct {
	Lines []string `json:"lines,omitempty"` // each begins with a space, "-", "+" or "@@"
	Cut   int      `json:"cut,omitempty"`   // lines beyond those
	// Picture is the picture that the file became, or was if it was removed, with its type.
	Picture     []byte `json:"picture,omitempty"`
	PictureType string `json:"picture_type,omitempty"`
}

// Limits of a change that is shown.
const (
	maxShownFiles = 50
	maxShownLines = 2000   // of a file
	maxLines      = 10_000 // of all that is shown at once
	maxPicture    = 512 << 10
	maxPictures   = 8
)

type changeArgs struct {
	Change   string `json:"change" jsonschema:"id of the change in mcp-tools today, or of the call in the audit log"`
	Pictures bool   `json:"pictures,omitempty" jsonschema:"return pictures with the data for programs"`
}

// change shows a change.
func (o *operator) change(ctx context.Context, a changeArgs) (none tool.Result, err error) {
	past, err := o.find(ctx, a.Change)
	if err != nil {
		return none, err
	}
	d := &Diffs{History: o.diffs.History}
	if d.Scrub, err = o.Scrub(); err != nil {
		return none, err
	}
	shown := ShownChange{ID: a.Change, At: past.Time, By: strings.Trim(past.By, "/"), Tool: past.Tool, Call: past.Call, Undone: past.Undone,
		UndoneBy: past.UndoneBy,
		Files:    []Change{}}
	for _, name := range past.Left {
		shown.Left = append(shown.Left, string(name))
	}
	for i, f := range past.Files {
		if i == maxShownFiles {
			shown.More = len(past.Files) - i
			break
		}
		one := changeOf(past, f)
		one.ID = a.Change
		shown.Files = append(shown.Files, one)
	}
	o.diffs.Count(ctx, shown.Files)
	budget := budget{lines: maxLines, pictures: maxPictures}
	d.fill(ctx, shown.Files, &budget, true, a.Pictures)
	return tool.Text(shown.forPeople()).With(shown), nil
}

// A budget is how much may still be shown.
type budget struct{ lines, pictures int }

// show fills in how the files of a day differ, the latest first.
func (d *Diffs) show(ctx context.Context, day Day, lines, pictures bool) {
	left := &budget{maxLines, maxPictures}
	for _, s := range slices.Backward(day.Sessions) {
		for _, e := range slices.Backward(s.Events) {
			d.fill(ctx, e.Changes, left, lines, pictures)
		}
	}
}

// fill fills in how files differ, as far as the budget reaches.
func (d *Diffs) fill(ctx context.Context, changes []Change, left *budget, lines, pictures bool) {
	for i := range changes {
		c := &changes[i]
		if pictures && left.pictures > 0 && isPicture(c.File) {
			if c.Picture, c.PictureType = d.Picture(ctx, *c); c.Picture != nil {
				left.pictures--
				continue
			}
		}
		if !lines || left.lines == 0 {
			continue
		}
		c.Lines, _ = d.Text(ctx, *c)
		if most := min(maxShownLines, left.lines); len(c.Lines) > most {
			c.Lines, c.Cut = c.Lines[:most], len(c.Lines)-most
		}
		left.lines -= len(c.Lines)
	}
}

// isPicture reports whether a file with the name is a picture.
func isPicture(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg":
		return true
	}
	return false
}

// find returns a change by its id or the id of its call.
func (o *operator) find(ctx context.Context, id string) (history.LoggedChange, error) {
	if err := o.share(); err != nil {
		return history.LoggedChange{}, err
	}
	past, ok, err := o.diffs.History.Find(ctx, id)
	if err == nil && (!ok || len(past.Files) == 0) {
		err = tool.Errorf(tool.NotFound, "there is no change %q of files", id).
			Try("mcp-tools today shows the changes with their ids")
	}
	return past, err
}

// changeOf returns the change of one file.
func changeOf(c history.LoggedChange, f history.FileRecord) Change {
	one := Change{ID: c.ID, File: string(f.Shown), Undone: c.Undone, UndoneBy: c.UndoneBy, first: f}
	one.become(c, f)
	return one
}

func (s ShownChange) forPeople() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, by %s of %s", s.At.Local().Format(time.DateTime), terminal.OneLine(s.Tool),
		terminal.OneLine(s.By))
	if s.UndoneBy != "" {
		fmt.Fprintf(&b, ", undone by %s with %s", terminal.OneLine(s.UndoneBy), s.Undone)
	} else if s.Undone != "" {
		fmt.Fprintf(&b, ", undone by %s", s.Undone)
	}
	b.WriteByte('\n')
	for _, f := range s.Files {
		line := terminal.OneLine(f.Action + " " + f.File)
		if f.Counted {
			line += fmt.Sprintf("  +%d -%d", f.Added, f.Removed)
		} else {
			line += "  (no text, large, or no longer kept)"
		}
		fmt.Fprintf(&b, "%s\n", line)
		for _, line := range f.Lines {
			fmt.Fprintf(&b, "  %s\n", text.Clip(tool.Visible(line), shownText))
		}
		if f.Cut > 0 {
			fmt.Fprintf(&b, "  ... and %s\n", text.Plural(f.Cut, "more line"))
		}
	}
	if s.More > 0 {
		fmt.Fprintf(&b, "and %s\n", text.Plural(s.More, "more file"))
	}
	return b.String()
}

// Picture returns the picture that a file became, or was if it was removed, and its type; nil if it is none.
func (d *Diffs) Picture(ctx context.Context, c Change) ([]byte, string) {
	f, content := c.last, c.last.After
	if content == nil {
		f, content = c.first, c.first.Before
	}
	if content == nil || content.Size > maxPicture {
		return nil, ""
	}
	picture, ok := d.content(ctx, f, content)
	if !ok {
		return nil, ""
	}
	kind := http.DetectContentType(picture)
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return picture, kind
	}
	if head := string(picture[:min(len(picture), 1024)]); isText(picture) && strings.Contains(head, "<svg") &&
		path.Ext(c.File) == ".svg" {
		return []byte(d.Scrub(string(picture))), "image/svg+xml"
	}
	return nil, ""
}

// changeVerb returns the verb that shows a change.
func (o *operator) changeVerb() room.Verb {
	return room.Do(room.Verb{
		Name: "change", Title: "Show the differences of a change of files", Args: []string{"change"},
		Risk: tool.Reads, Where: room.Operator,
		Doc: `change shows the files of a change, with the lines that it added and removed, without
secrets. The change is named by its id in mcp-tools today, or by the id of the call in
the audit log, which stands for all that the call has changed.`,
		Example: "  mcp-tools activity change t4ny7eks",
	}, o.change)
}
