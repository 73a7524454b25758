package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Room returns the verbs for operators to read the audit log. They have no verb to change it. open returns the
// vault that opens the keys in the store; nil: only the vault of the data directory is used.
func Room(open func(*room.Host) (Vault, error)) *room.Room {
	o := new(operator)
	return &room.Room{
		Name: "audit", Title: "Read and verify the audit log",
		Doc: `audit reads the audit log of all calls in the store, to which all processes with
this store write. Records that killed processes have left in the data directory are
copied to the store first.`,
		Open: func(h *room.Host) (err error) {
			if open != nil {
				o.vault = sync.OnceValues(func() (Vault, error) { return open(h) })
			}
			o.store = h.Store
			o.dir, err = h.Data()
			return err
		},
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "tail", Title: "Show the last calls", Risk: tool.Reads, Where: room.Operator, Streams: true,
				Letters: map[string]string{"lines": "n", "follow": "f"},
				Doc: `tail prints the last calls of all processes, the latest last: the time, the outcome,
the tool, the caller, the transport, the duration, and the subject of the call, such as
its command, path or address; of a call that was asked about its id, which --call takes. A call that changes something has
two records: its intent before it ran, which is shown while there is no outcome, and its
outcome. With --output json each record is an object on one line.`,
				Example: `  mcp-tools audit tail
  mcp-tools audit tail -n 100 --outcome refused
  mcp-tools audit tail -f --tool datetime --output json`,
			}, o.tail),
			room.Do(room.Verb{
				Name: "verify", Title: "Check that the audit log was not changed", Risk: tool.Reads, Where: room.Operator,
				Doc: `verify reads the whole audit log and checks its hash chains. It finds records that
were changed, inserted, moved or removed without the key (audit.key in the data
directory), and journals that could not be copied to the store. The keys of other
machines and former ones are in the store, encrypted by the vault. Chains with a key that
cannot be read here are checked without it, and noted. The exit code is 1 if there are
problems.`,
				Example: "  mcp-tools audit verify\n  mcp-tools audit verify --output json",
			}, o.verify),
		},
		Checks: []room.Check{{Name: "audit log", Stored: true, Run: o.check}},
	}
}

// operator has the verbs of the log in a store, and of the journals in a directory.
type operator struct {
	store *store.Store
	dir   string
	vault func() (Vault, error) // nil: there is none
}

// keys returns the vault that opens the keys in the store, or nil.
func (o *operator) keys() (Vault, error) {
	if o.vault == nil {
		return nil, nil
	}
	return o.vault()
}

// Collect copies the journals of killed processes to the store. The note, if there is one, says
// why some records cannot be copied: the records in the store can still be read.
func (db *DB) Collect(ctx context.Context, dir string) (note string, err error) {
	left, err := db.Recover(ctx, dir)
	switch {
	case err != nil && ctx.Err() == nil:
		return fmt.Sprintf("The journals of killed processes are not in the store yet: %v.", err), nil
	case len(left) > 0:
		return text.Plural(len(left), "journal") +
			" of killed processes cannot be copied to the store; mcp-tools audit verify shows why.", nil
	}
	return "", err
}

// log returns the log with the journals of killed processes, nil if there is none.
func (o *operator) log(ctx context.Context) (db *DB, note string, err error) {
	if o.store.Missing() && !Waiting(o.dir) {
		return nil, "", nil
	}
	db = NewDB(o.store)
	note, err = db.Collect(ctx, o.dir)
	return db, note, err
}

type tailArgs struct {
	Lines   int    `json:"lines,omitempty" jsonschema:"number of calls (default 20, max 10000)" default:"20"`
	Follow  bool   `json:"follow,omitempty" jsonschema:"print new calls as they are made, until interrupted"`
	Tool    string `json:"tool,omitempty" jsonschema:"only calls of this tool"`
	Agent   string `json:"agent,omitempty" jsonschema:"only calls of this agent"`
	Outcome string `json:"outcome,omitempty" jsonschema:"only calls with this outcome: ok, asked, refused, invalid, ..."`
	Call    string `json:"call,omitempty" jsonschema:"only the records of the call with this id, and of calls that it made"`
}

func (a tailArgs) shows(r *Row) bool {
	return (a.Tool == "" || a.Tool == r.Tool || a.Tool == r.Alias) &&
		(a.Agent == "" || a.Agent == r.Agent) &&
		(a.Call == "" || a.Call == r.Call || a.Call == r.Parent) &&
		(a.Outcome == "" || a.Outcome == r.Outcome)
}

// maxLines bounds the calls that tail holds in memory.
const maxLines = 10_000

// waitForStore is how often a tail that follows looks for the first store.
const waitForStore = 250 * time.Millisecond

func (o *operator) tail(ctx context.Context, a tailArgs) (none tool.Result, err error) {
	if a.Lines < 0 || a.Lines > maxLines {
		return none, room.Mistake("lines (-n) is %d, it must be from 0 to %d", a.Lines, maxLines)
	}
	db, note, err := o.log(ctx)
	for a.Follow && err == nil && db == nil {
		if err = clock.Sleep(ctx, waitForStore); err == nil {
			db, note, err = o.log(ctx)
		}
	}
	if note != "" {
		err = errors.Join(err, room.Emit(ctx, room.Beside(none, "%s", note)))
	}
	if err != nil {
		return none, err
	}
	heading := fmt.Sprintf("%-19s  %-11s  %-18s  %s\n", "TIME", "OUTCOME", "TOOL", "CALLER, TRANSPORT, DURATION, WHAT")
	each := func(r Row) error {
		line := heading + r.forPeople()
		heading = ""
		return room.Emit(ctx, tool.Text(line).With(r))
	}
	if a.Follow {
		return none, db.Follow(ctx, a.Lines, a.shows, each)
	}
	rows, err := db.Tail(ctx, a.Lines, a.shows)
	done := make(map[string]bool) // calls whose outcome is there too: people need no intent
	for _, r := range rows {
		done[r.Call] = done[r.Call] || r.Phase != Intent && r.Call != ""
	}
	for i := 0; err == nil && i < len(rows); i++ {
		if r := rows[i]; r.Phase == Intent && done[r.Call] {
			err = room.Emit(ctx, tool.Result{Data: r})
		} else {
			err = each(r)
		}
	}
	return none, err
}

// forPeople returns a line with the time, the outcome, the tool and the caller.
func (r *Row) forPeople() string {
	outcome := r.Outcome
	if r.Phase == Intent {
		outcome = "intent"
	}
	who := r.User
	if r.Agent != "" {
		who = r.Agent + "/" + r.User
	}
	line := fmt.Sprintf("%s  %-11s  %-18s  %s  %s", r.Time.Local().Format(time.DateTime), outcome,
		terminal.OneLine(r.Tool), terminal.OneLine(who), r.Transport)
	if r.Phase != Intent {
		line += fmt.Sprintf("  %.1fms", r.Duration)
	}
	if r.About != "" {
		line += "  " + text.Clip(terminal.OneLine(r.About), 80)
	}
	if r.End != "" && r.End != "exit code 0" {
		line += "  " + terminal.OneLine(r.End)
	}
	if r.Outcome == "asked" || r.Phase == Intent {
		line += "  call " + r.Call
	}
	if r.Error != "" {
		line += "  " + text.Clip(terminal.OneLine(r.Error), 120)
	}
	return line
}

func (o *operator) verify(ctx context.Context, _ struct{}) (none tool.Result, err error) {
	db, note, err := o.log(ctx)
	if err == nil && db == nil {
		err = tool.Errorf(tool.NotFound, "there is no audit log in %s", o.dir).Try("the first call of a tool begins it")
	}
	if err != nil {
		return none, err
	}
	v, err := o.keys()
	if err != nil {
		return none, err
	}
	report, err := db.Verify(ctx, o.dir, v)
	if err != nil {
		return none, err
	}
	// In JSON these are empty lists, not null.
	report.Problems = append([]Problem{}, report.Problems...)
	report.Notes = append([]Problem{}, report.Notes...)
	result := tool.Text(report.forPeople()).With(report)
	result.Failed = !report.OK()
	if note != "" {
		result = room.Beside(result, "%s", note)
	}
	return result, nil
}

// forPeople returns a line for each problem, and the verdict.
func (r Report) forPeople() string {
	var b strings.Builder
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "fail  %s\n", terminal.OneLine(p.String()))
	}
	for _, p := range r.Notes {
		fmt.Fprintf(&b, "note  %s\n", terminal.OneLine(p.String()))
	}
	verdict := "ok"
	if !r.OK() {
		verdict = "fail, " + text.Plural(len(r.Problems)+r.More, "problem")
	}
	fmt.Fprintf(&b, "%s: %s in %s, %d bytes", verdict, text.Plural(r.Records, "record"), text.Plural(r.Chains, "chain"),
		r.Bytes)
	return b.String()
}

// maxChecked is the number of records that the check reads, in about a second.
const maxChecked = 50_000

// check verifies the latest records.
func (o *operator) check(ctx context.Context, f *room.Findings) {
	if _, err := os.Stat(o.dir); err != nil {
		return // another check reports it
	}
	db, _, err := o.log(ctx)
	var report Report
	var v Vault
	if err == nil {
		v, err = o.keys()
	}
	if err == nil {
		report, err = db.VerifyLatest(ctx, o.dir, v, maxChecked)
	}
	switch {
	case err != nil:
		f.Fail("fix the store or the key, or choose another with --data or --store", "%v", err)
	case !report.OK():
		f.Fail("mcp-tools audit verify shows all; keep a copy, and find out who did it",
			"%s; the first: %s", text.Plural(len(report.Problems)+report.More, "problem"), report.Problems[0])
	case report.Unread > 0:
		f.OK("the last %d of %d records, unchanged; mcp-tools audit verify reads all", report.Records,
			report.Records+report.Unread)
	default:
		f.OK("%s, unchanged", text.Plural(report.Records, "record"))
	}
}
