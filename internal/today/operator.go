package today

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
)

// A Setup has the parts of the program that the verbs need.
type Setup struct {
	// Scrub returns the function that masks secrets in the contents of files.
	Scrub func() (func(string) string, error)
	// Shared returns the history of all servers on a store, nil if the data directory has all of it.
	Shared func(*store.Store) (*history.Shared, error)
	// Undo reverts a change of files in the history of all servers, if there is one.
	Undo func(ctx context.Context, s *store.Store, r history.Record, all *history.Shared) (workspace.Receipt, error)
}

// Room returns the verbs that show the work of agents, and take it back.
func Room(s Setup) *room.Room {
	o := &operator{Setup: s}
	return &room.Room{
		Name: "activity", Title: "Show the changes of agents",
		Doc:  "activity shows the changes of agents. mcp-tools today describes their work.",
		Open: o.open,
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "today", Title: "Show the work of agents today, or on another day, in plain words", Top: true,
				Risk: tool.Reads, Where: room.Operator,
				Doc: `today prints the work of agents on a day, by agent and session: files that they read and
searched, the files that they changed with the lines added and removed, commands and
how they ended, the pages and hosts that they asked for, messages, questions, and
refused and denied calls. Calls that belong together are one line: "read 14 files".
Running calls are at the top.

Days begin at midnight of this machine. What happened is in the audit log of all
processes with this store, and so are changes of files with PostgreSQL; with SQLite
they are in the data directory. undo reverts a change by the id at the end of its line.`,
				Example: `  mcp-tools today
  mcp-tools today --day yesterday --agent builder
  mcp-tools today --diff
  mcp-tools today --output json`,
			}, o.today),
			o.changeVerb(),
			room.Prepare(room.Verb{
				Name: "undo", Title: "Undo a change of files that an agent made", Top: true, Args: []string{"change"},
				Risk: tool.Writes, Where: room.Operator,
				Doc: `undo restores the files of a change, all or none, unless they have changed since. The
change is named by its id in mcp-tools today, or by the id of the call in the audit
log, which stands for all that the call has changed. undo of an undo is a redo.`,
				Example: "  mcp-tools undo t4ny7eks",
			}, o.undo),
			room.Do(room.Verb{
				Name: "stop", Title: "Stop a subagent or a scheduled job that runs", Top: true, Args: []string{"job"},
				Risk: tool.Writes, Where: room.Operator,
				Doc: `stop ends a running subagent, scheduled job or order of media by its id in mcp-tools
today. Its agent learns that it was stopped. To stop calls and commands use pause.`,
				Example: "  mcp-tools stop 01999999-aaaa-7bbb-8ccc-0123456789ab",
			}, o.stop),
		},
	}
}

// operator has the verbs of the store and of a data directory.
type operator struct {
	Setup
	store  *store.Store
	dir    string
	diffs  *Diffs
	once   sync.Once // sets the log of reader
	reader *Reader
	shared func() error // called before the history is used
	all    *history.Shared
}

func (o *operator) open(h *room.Host) (err error) {
	o.store = h.Store
	if o.dir, err = h.Data(); err == nil {
		o.diffs = &Diffs{History: history.New(filepath.Join(o.dir, "files"), history.Limits{}, h.Log)}
		o.reader = &Reader{History: o.diffs.History}
		o.shared = sync.OnceValue(o.shareHistory)
	}
	return err
}

// share makes the history cover all servers on the store.
func (o *operator) share() error {
	if o.store.Missing() {
		return nil
	}
	return o.shared()
}

func (o *operator) shareHistory() error {
	if o.Shared == nil {
		return nil
	}
	all, err := o.Shared(o.store)
	if err == nil && all != nil {
		o.diffs.History.Share(all)
		o.all = all
	}
	return err
}

type todayArgs struct {
	Day     string `json:"day,omitempty" jsonschema:"day to show: today, yesterday or a date such as 2026-01-31" default:"today"`
	Agent   string `json:"agent,omitempty" jsonschema:"only this agent"`
	Session string `json:"session,omitempty" jsonschema:"only this session"`
	Kind    Kind   `json:"kind,omitempty" jsonschema:"only events of this kind" enum:"look,files,command,web,made,message,question,memory,agents,schedule,model,operator,other"`
	Limit   int    `json:"limit,omitempty" jsonschema:"events to show of each session, the latest (default all)" min:"0"`
	Diff    bool   `json:"diff,omitempty" jsonschema:"show how the files differ"`
	// Pictures is for the console.
	Pictures bool `json:"pictures,omitempty" jsonschema:"return pictures with the data for programs"`
}

// ParseDay returns a time of a day: today, yesterday, or a date.
func ParseDay(day string, now time.Time) (time.Time, error) {
	switch day {
	case "", "today":
		return now, nil
	case "yesterday":
		return now.AddDate(0, 0, -1), nil
	}
	t, err := time.ParseInLocation(time.DateOnly, day, now.Location())
	if err != nil {
		return t, room.Mistake("day is %q, it must be today, yesterday or a date such as %s", day, now.Format(time.DateOnly))
	}
	return t, nil
}

// log returns a reader of all calls. The note, if there is one, names the records that cannot be read.
func (o *operator) log(ctx context.Context) (r *Reader, note string, err error) {
	if err := o.share(); err != nil {
		return nil, "", err
	}
	if o.store.Missing() && !audit.Waiting(o.dir) {
		return &Reader{History: o.diffs.History}, "", nil
	}
	log := audit.NewDB(o.store)
	o.once.Do(func() {
		o.reader.Log = log
		o.reader.Jobs = func(ctx context.Context) ([]Running, error) { return runningJobs(ctx, o.store) }
	})
	note, err = log.Collect(ctx, o.dir)
	return o.reader, note, err
}

func (o *operator) today(ctx context.Context, a todayArgs) (none tool.Result, err error) {
	q := Query{Agent: a.Agent, Session: a.Session, Kind: a.Kind, Limit: a.Limit}
	if q.Day, err = ParseDay(a.Day, time.Now()); err != nil {
		return none, err
	}
	r, note, err := o.log(ctx)
	if err != nil {
		return none, err
	}
	day, err := r.Day(ctx, q)
	if err != nil {
		return none, err
	}
	if a.Diff || a.Pictures {
		d := &Diffs{History: o.diffs.History}
		if d.Scrub, err = o.Scrub(); err != nil {
			return none, err
		}
		d.show(ctx, day, a.Diff, a.Pictures)
	}
	for _, s := range day.Sessions {
		for _, e := range s.Events {
			o.diffs.Count(ctx, e.Changes)
		}
	}
	result := tool.Text(day.forPeople(q)).With(day)
	if note != "" {
		result = room.Beside(result, "%s", note)
	}
	return result, nil
}

// runningJobs describes the jobs that run.
func runningJobs(ctx context.Context, s *store.Store) (list []Running, err error) {
	all, err := jobs.AllRunning(ctx, s)
	for _, j := range all {
		var about struct{ Label, Text, Name string }
		_ = json.Unmarshal([]byte(j.Payload), &about) // else the kind of the job says enough
		first, _, _ := strings.Cut(cmp.Or(about.Label, about.Name, about.Text), "\n")
		list = append(list, Running{
			Kind: j.Kind, ID: j.ID, Agent: j.Agent, Since: j.Created,
			Text: text.Clip(strings.TrimSpace(j.Kind+" "+first), maxReason),
		})
	}
	return list, err
}

// forPeople returns the day as text.
func (d Day) forPeople(q Query) string {
	var b strings.Builder
	day := q.Day.Format("Monday, 2 January 2006")
	if len(d.Sessions) == 0 {
		fmt.Fprintf(&b, "%s: no calls", day)
		if q.Agent != "" || q.Session != "" {
			b.WriteString(" of this agent and session")
		}
		b.WriteString(".\n")
	} else {
		fmt.Fprintf(&b, "%s: %s in %s\n", day, text.Plural(d.Calls, "call"), text.Plural(len(d.Sessions), "session"))
	}
	if len(d.Running) > 0 {
		b.WriteString("\nRunning now\n")
	}
	for _, r := range d.Running {
		fmt.Fprintf(&b, "  since %s  %s%s\n", clockOf(r.Since), terminal.OneLine(r.Text), r.forPeople())
	}
	for _, s := range d.Sessions {
		fmt.Fprintf(&b, "\n%s\n", terminal.OneLine(s.Heading()))
		if s.Earlier > 0 {
			fmt.Fprintf(&b, "  and before that %s\n", text.Plural(s.Earlier, "event"))
		}
		for _, e := range s.Events {
			e.write(&b)
		}
	}
	return b.String()
}

// forPeople says whose work it is, and how to stop it.
func (r Running) forPeople() string {
	whose := terminal.OneLine(strings.Trim(r.Agent+"/"+r.User, "/"))
	if whose != "" {
		whose = ", of " + whose
	}
	if r.Kind == "call" || r.Kind == "command" {
		return whose + "; to stop it: mcp-tools pause --session " + terminal.OneLine(r.Session)
	}
	return whose + "; to stop it: mcp-tools stop " + r.ID
}

// Heading describes the session in one line.
func (s Session) Heading() string {
	whose := cmp.Or(strings.Trim(s.Agent+"/"+s.User, "/"), "nobody")
	if s.Session != "" {
		whose += ", session " + s.Session
	}
	if s.Transport != "" {
		whose += " over " + s.Transport
	}
	line := whose + ", " + clockOf(s.From)
	if until := clockOf(s.To); until != clockOf(s.From) {
		line += " to " + until
	}
	var counts []string
	for _, c := range []struct {
		n         int
		one, many string
	}{
		{s.Calls, "call", "calls"}, {s.Files, "file changed", "files changed"}, {s.Commands, "command", "commands"},
		{s.Failed, "failed", "failed"}, {s.Refused, "refused", "refused"},
	} {
		if c.n > 0 {
			counts = append(counts, text.Plural(c.n, c.one, c.many))
		}
	}
	if s.Tokens > 0 {
		counts = append(counts, fmt.Sprintf("%d tokens for $%.2f", s.Tokens, s.Cost))
	}
	if counts == nil {
		return line
	}
	return line + ": " + strings.Join(counts, ", ")
}

func clockOf(t time.Time) string { return t.Local().Format("15:04") }

// Limits of an event on the command line.
const (
	shownItems   = 4
	shownChanges = 12
	shownDiff    = 60 // lines
	shownText    = 200
)

// write writes an event: a line, and a line for each change of a file.
func (e Event) write(b *strings.Builder) {
	line := text.Clip(terminal.OneLine(e.Text), shownText)
	if e.State != Done && e.State != Failed && e.State != Runs { // the text of a running call says so
		line = string(e.State) + ": " + line
	}
	if e.Times > 0 {
		line += fmt.Sprintf(" (%d times)", e.Times)
	}
	if len(e.Items) > 0 && len(e.Changes) == 0 {
		var names []string
		for _, i := range e.Items {
			names = append(names, text.Clip(terminal.OneLine(i.Text), 60))
		}
		line += ": " + some(names, shownItems)
	}
	if e.Note != "" {
		if e.State == Failed {
			line += ", failed"
		}
		line += ": " + terminal.OneLine(e.Note)
	}
	fmt.Fprintf(b, "  %s  %s\n", clockOf(e.From), line)
	for i, c := range e.Changes {
		if i == shownChanges {
			fmt.Fprintf(b, "           and %s\n", text.Plural(len(e.Changes)-i, "more file"))
			break
		}
		fmt.Fprintf(b, "           %s\n", terminal.OneLine(c.forPeople()))
		lines := c.Lines
		for _, line := range lines[:min(len(lines), shownDiff)] {
			fmt.Fprintf(b, "             %s\n", text.Clip(tool.Visible(line), shownText))
		}
		if more := len(lines) - shownDiff; more > 0 {
			fmt.Fprintf(b, "             ... and %s\n", text.Plural(more, "more line"))
		}
	}
}

// forPeople describes the change of the file.
func (c Change) forPeople() string {
	line := c.Action + " " + c.File
	if c.Times > 1 {
		line += fmt.Sprintf(" (%d times)", c.Times)
	}
	if c.Counted {
		line += fmt.Sprintf("  +%d -%d", c.Added, c.Removed)
	}
	switch {
	case c.UndoneBy != "":
		line += fmt.Sprintf("  undone by %s with %s", terminal.OneLine(c.UndoneBy), c.Undone)
	case c.Undone != "":
		line += "  undone by " + c.Undone
	case c.Undoable && c.Several:
		line += "  undo the last " + c.ID
	case c.Undoable:
		line += "  undo " + c.ID
	}
	return line
}

type undoArgs struct {
	Change string `json:"change" jsonschema:"id of the change in mcp-tools today, or of the call in the audit log"`
}

// An undone change is the result of undo for programs.
type undone struct {
	Undone string   `json:"undone"`
	Redo   string   `json:"redo"` // the id of the change that makes it again
	Files  []string `json:"files"`
	Left   []string `json:"left,omitempty"` // that a command changed, and that were not restored
}

// undo prepares to revert a change. It asks with the names of the files.
func (o *operator) undo(ctx context.Context, a undoArgs) (plan tool.Plan, err error) {
	past, err := o.find(ctx, a.Change)
	if err != nil {
		return plan, err
	}
	if past.Undone != "" {
		return plan, tool.Errorf(tool.Conflict, "the change was already undone, by %q", past.Undone).
			Try("mcp-tools undo %s makes it again", past.Undone)
	}
	var names []string
	for _, f := range past.Files {
		if f.External {
			return plan, tool.Errorf(tool.Unavailable, "%q is not a file on disk, so only its agent can undo the change",
				f.Shown).Try("ask the agent to call undo with the id %s", a.Change)
		}
		names = append(names, terminal.OneLine(f.Path()))
	}
	plan.Ask = fmt.Sprintf("This undoes the change of %s by %s in %s.", past.Time.Local().Format(time.DateTime), past.Tool,
		some(names, 10))
	plan.Run = func(ctx context.Context) (tool.Result, error) {
		done, err := o.Undo(ctx, o.store, past.Record, o.all)
		if err != nil {
			return tool.Result{}, err
		}
		data := undone{Undone: a.Change, Redo: done.ID, Files: names, Left: done.Left}
		return room.Said(data, "Undone: %s. mcp-tools undo %s makes the change again.", some(names, 10), done.ID), nil
	}
	return plan, nil
}

type stopArgs struct {
	Job string `json:"job" jsonschema:"id of the job in mcp-tools today"`
}

func (o *operator) stop(ctx context.Context, a stopArgs) (tool.Result, error) {
	none := tool.Errorf(tool.NotFound, "no job %q runs", a.Job).Try("mcp-tools today shows running work, with ids")
	if o.store.Missing() {
		return tool.Result{}, none
	}
	err := o.store.Update(ctx, func(t *store.Tx) error {
		return jobs.Stop(t, a.Job, "an operator has stopped it")
	})
	if errors.Is(err, store.ErrNotFound) {
		err = none
	}
	if err != nil {
		return tool.Result{}, err
	}
	return room.Said(map[string]string{"stopped": a.Job}, "It stops within a second."), nil
}
