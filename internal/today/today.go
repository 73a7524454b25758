// Package today describes the work of agents on a day in plain words: the timeline of the verb today and of the
// console.
//
// It reads the audit log and the history of files, joins them by the ids of calls, folds calls that belong together
// into events, and lists running calls. It makes and records nothing. Arguments in the audit log are scrubbed; the
// contents of files are not, so [Diffs] scrubs them before they are shown.
//
// Begin with [Reader.Day].
package today

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
)

// A Day is the work of agents on a day.
type Day struct {
	Date     string    `json:"date"` // 2026-01-31
	Calls    int       `json:"calls"`
	Agents   []string  `json:"agents"`   // that made calls on the day, whatever the query selects
	Names    []string  `json:"names"`    // of their sessions, likewise
	Sessions []Session `json:"sessions"` // in the order of their first calls
	Running  []Running `json:"running"`  // now, whatever the day is
}

// A Session is the work of one session of an agent.
type Session struct {
	Agent     string    `json:"agent,omitempty"`
	User      string    `json:"user,omitempty"`
	Session   string    `json:"session,omitempty"`
	Transport string    `json:"transport,omitempty"`
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Calls     int       `json:"calls"`
	Failed    int       `json:"failed,omitempty"`
	Refused   int       `json:"refused,omitempty"`
	Commands  int       `json:"commands,omitempty"`
	Files     int       `json:"files,omitempty"`  // that were changed
	Tokens    int       `json:"tokens,omitempty"` // of language models
	Cost      float64   `json:"cost,omitempty"`   // likewise, in dollars
	Events    []Event   `json:"events"`
	Earlier   int       `json:"earlier,omitempty"` // events that Query.Limit leaves out
}

// An Event is a call, or several that belong together.
type Event struct {
	From    time.Time `json:"from"`
	To      time.Time `json:"to,omitzero"` // of the last call, if there are several
	Kind    Kind      `json:"kind"`
	Text    string    `json:"text"`
	State   State     `json:"state"`
	Note    string    `json:"note,omitempty"`  // the end, and the person who decided
	Times   int       `json:"times,omitempty"` // equal calls, if there are several
	Items   []Item    `json:"items,omitempty"` // the subjects of several calls
	Changes []Change  `json:"changes,omitempty"`
	Calls   []string  `json:"calls"` // ids for mcp-tools audit tail --call; the first maxCalls
}

// A State is how an event ended.
type State string

// The states.
const (
	Done    State = "done"
	Failed  State = "failed"
	Refused State = "refused"
	Asked   State = "asked"   // an unanswered question
	Runs    State = "running" // it has not ended
	Lost    State = "lost"    // the server ended during the call
)

// An Item is the subject of one or several calls of an event.
type Item struct {
	Text   string `json:"text"`
	Times  int    `json:"times,omitempty"` // if not once
	Failed string `json:"failed,omitempty"`
}

// A Change is the change of a file by an event.
type Change struct {
	ID       string `json:"id"` // of the last change of the file, for undo
	File     string `json:"file"`
	Action   string `json:"action"`            // created, created and changed, changed or removed
	Times    int    `json:"times,omitempty"`   // if not once
	Several  bool   `json:"several,omitempty"` // there were changes before the last
	Added    int    `json:"added"`             // lines, if Counted
	Removed  int    `json:"removed"`           // likewise
	Counted  bool   `json:"counted"`           // false for contents that are not text, large, or not kept
	Undone   string `json:"undone,omitempty"`
	UndoneBy string `json:"undone_by,omitempty"` // the operator who has undone it, "" for an agent
	Undoable bool   `json:"undoable"`            // if the file has not changed since
	Shown

	first, last history.FileRecord
}

// A Running is work that goes on now.
type Running struct {
	Kind    string    `json:"kind"` // call, command or the kind of a job, such as subagent
	ID      string    `json:"id"`   // of the call or the job
	Agent   string    `json:"agent,omitempty"`
	User    string    `json:"user,omitempty"`
	Session string    `json:"session,omitempty"`
	Since   time.Time `json:"since"`
	Text    string    `json:"text"`
}

// A Query selects a part of a day. Empty fields select all.
type Query struct {
	Day            time.Time // any time of the day, in the location of the reader
	Agent, Session string
	Kind           Kind
	Limit          int // events of a session, the latest; 0: all
}

// episode is how far the calls of one event may be apart. Calls in between do not end an event.
const episode = 5 * time.Minute

// Limits of the lists of an event.
const (
	maxCalls = 100
	maxItems = 200
	maxTools = 5 // in its text
)

// A Reader reads days. It keeps the records of the last one, and reads only new records when it is asked again: so a
// page of a day with many calls can be loaded at each event. It may be used by several goroutines.
type Reader struct {
	Log     *audit.DB      // nil: there is none yet
	History *history.Store // nil: there is no data directory on this machine
	// Jobs returns the jobs that run; nil: none are looked for.
	Jobs func(context.Context) ([]Running, error)

	mu     sync.Mutex
	date   string // of the kept events
	kept   dayLog
	cursor *audit.Cursor // behind the kept events
	book   history.State // of the changes that are kept
}

// A dayLog has the records that a day is made of.
type dayLog struct {
	rows    []audit.Row
	changes map[string][]history.LoggedChange // by call, the latest first
	open    map[string]bool                   // chains of processes that run
	ended   map[string]bool                   // see endsOf; nil: not known
}

// Day returns the events of a day, and the running calls.
func (r *Reader) Day(ctx context.Context, q Query) (Day, error) {
	log, err := r.read(ctx, q)
	if err != nil {
		return Day{}, err
	}
	day := log.day(q)
	if r.Jobs != nil {
		jobs, err := r.Jobs(ctx)
		if err != nil {
			return day, err
		}
		for _, j := range jobs {
			if q.shows(j.Agent, j.Session) {
				day.Running = append(day.Running, j)
			}
		}
	}
	return day, nil
}

func (q Query) shows(agent, session string) bool {
	return (q.Agent == "" || agent == q.Agent) && (q.Session == "" || session == q.Session)
}

// bounds returns the beginning of the day and of the next one.
func (q Query) bounds() (from, until time.Time) {
	y, m, d := q.Day.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, q.Day.Location()), time.Date(y, m, d+1, 0, 0, 0, 0, q.Day.Location())
}

// read returns the records that a day is made of.
func (r *Reader) read(ctx context.Context, q Query) (log dayLog, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from, until := q.bounds()
	if date := from.Format(time.RFC3339); date != r.date {
		r.date, r.kept, r.book, r.cursor = date, dayLog{}, history.State{}, nil
	}
	if err = r.readCalls(ctx, from, until); err == nil {
		err = r.readChanges(ctx, from)
	}
	if err != nil {
		r.date = "" // a part may be missing
		return log, err
	}
	r.kept.open, err = r.running(ctx)
	return r.kept, err
}

// readCalls reads the records of the day that are new.
func (r *Reader) readCalls(ctx context.Context, from, until time.Time) (err error) {
	if r.Log == nil {
		return nil
	}
	if r.cursor == nil {
		if r.cursor, err = r.Log.NewCursor(ctx); err != nil {
			return err
		}
		_, err = r.Log.Between(ctx, from, until, func(row *audit.Row) error {
			if r.cursor.Passed(row) {
				r.kept.rows = append(r.kept.rows, *row)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	fresh, err := r.cursor.Next(ctx)
	if err != nil {
		return err
	}
	fresh = slices.DeleteFunc(fresh, func(row audit.Row) bool { return row.Time.Before(from) || !row.Time.Before(until) })
	if len(fresh) > 0 {
		rows := append(slices.Clone(r.kept.rows), fresh...) // others may still read the former ones
		slices.SortStableFunc(rows, func(a, b audit.Row) int { return a.Time.Compare(b.Time) })
		r.kept.rows = rows
	}
	return nil
}

// running returns the chains of running processes that have calls or commands without an end.
func (r *Reader) running(ctx context.Context) (map[string]bool, error) {
	ended := endsOf(r.kept.rows)
	r.kept.ended = ended
	chains := make(map[string]bool)
	for i := range r.kept.rows {
		row := &r.kept.rows[i]
		if row.Phase == audit.Intent && !ended[row.Call] || background(row.End) && !ended[commandOf(row.Call)] {
			chains[row.Chain] = false
		}
	}
	for chain := range chains {
		running, err := r.Log.Running(ctx, chain)
		if err != nil {
			return nil, err
		}
		chains[chain] = running
	}
	return chains, nil
}

// endsOf returns the calls that have an outcome, and those whose command in the background has ended.
func endsOf(rows []audit.Row) map[string]bool {
	ended := make(map[string]bool, len(rows))
	for i := range rows {
		r := &rows[i]
		if r.Outcome != "asked" && r.Phase == audit.Done {
			ended[r.Call] = true
		}
		if r.Kind == "command" {
			ended[commandOf(r.Parent)] = true
		}
	}
	return ended
}

// commandOf returns the name in endsOf of the command in the background that a call has started.
func commandOf(call string) string { return "command of " + call }

// clockSlack is longer than a change takes from its record in the history to the end of its call.
const clockSlack = time.Minute

// readChanges reads the changes of files since a time, by the call that made them.
func (r *Reader) readChanges(ctx context.Context, since time.Time) error {
	if r.History == nil {
		return nil
	}
	since = since.Add(-clockSlack)
	book := r.History.State(ctx, since)
	if r.kept.changes != nil && book == r.book {
		return nil
	}
	byCall := make(map[string][]history.LoggedChange)
	err := r.History.Each(ctx, "", func(c history.LoggedChange) bool {
		byCall[c.Call] = append(byCall[c.Call], c)
		return c.Time.After(since)
	})
	if err == nil {
		r.kept.changes, r.book = byCall, book
	}
	return err
}

// day folds the calls of a day into events.
func (l dayLog) day(q Query) Day {
	b := &builder{log: l, words: phrases(), sessions: map[sessionKey]*builtSession{}, calls: map[string]*builtEvent{},
		answered: map[questionKey]int{}, ended: l.ended}
	if b.ended == nil {
		b.ended = endsOf(l.rows)
	}
	for i := range l.rows {
		if r := &l.rows[i]; r.Outcome == "asked" {
			b.answered[keyOfQuestion(r)] = 0
		}
	}
	for i := range l.rows {
		b.answer(&l.rows[i], 1)
	}
	day := Day{Sessions: []Session{}, Running: []Running{}}
	from, _ := q.bounds()
	day.Date = from.Format(time.DateOnly)
	for i := range l.rows {
		if r := &l.rows[i]; q.shows(r.Agent, r.Session) {
			b.add(r)
		}
	}
	day.Agents, day.Names = l.names()
	for _, s := range b.order {
		s.finish()
		if s.choose(q); len(s.Events) == 0 {
			continue
		}
		day.Calls += s.Calls
		day.Sessions = append(day.Sessions, s.Session)
	}
	day.Running = append(day.Running, b.running...)
	return day
}

// names returns the agents and the sessions of the day, sorted.
func (l dayLog) names() (agents, sessions []string) {
	seen := map[[2]string]bool{}
	agents, sessions = []string{}, []string{}
	for i := range l.rows {
		r := &l.rows[i]
		for j, name := range [2]string{r.Agent, r.Session} {
			key := [2]string{[2]string{"agent", "session"}[j], name}
			if name == "" || seen[key] {
				continue
			}
			seen[key] = true
			if j == 0 {
				agents = append(agents, name)
			} else {
				sessions = append(sessions, name)
			}
		}
	}
	slices.Sort(agents)
	slices.Sort(sessions)
	return agents, sessions
}

// choose leaves out the events that a query does not select.
func (s *builtSession) choose(q Query) {
	if q.Kind != "" {
		s.Events = slices.DeleteFunc(s.Events, func(e Event) bool { return e.Kind != q.Kind })
	}
	if more := len(s.Events) - q.Limit; q.Limit > 0 && more > 0 {
		s.Events, s.Earlier = s.Events[more:], more
	}
}

type sessionKey struct{ agent, user, session string }

// A questionKey is a call that is made again when its question is answered.
type questionKey struct{ session, tool, digest string }

func keyOfQuestion(r *audit.Row) questionKey { return questionKey{r.Session, r.Tool, r.ArgsDigest} }

// A builder folds calls into events, in the order of time.
type builder struct {
	log      dayLog
	words    map[string]phrase
	sessions map[sessionKey]*builtSession
	order    []*builtSession
	last     *builtSession          // of the record before
	calls    map[string]*builtEvent // commands in the background, by their call
	answered map[questionKey]int    // calls to come that are not questions
	ended    map[string]bool        // see endsOf
	running  []Running
}

// A builtSession is a session with the events that calls may still join.
type builtSession struct {
	Session
	key    sessionKey
	events []*builtEvent
	open   map[eventKey]*builtEvent
}

// An eventKey is equal for calls that belong to one event.
type eventKey struct {
	kind  Kind
	state State
	what  string // the key that tells apart the events of a kind
}

// A builtEvent is an event whose text is not written yet.
type builtEvent struct {
	Event
	tool    string          // of the first call
	tools   []toolUse       // in the order of their first calls
	items   map[itemKey]int // place in Items
	changed map[string]int  // by the path of the file
	call    string          // of a command in the background
	since   time.Time
}

type itemKey struct{ about, failure string }

// A toolUse counts the calls of a tool in an event.
type toolUse struct {
	phrase phrase
	n      int
	failed int
	about  []string // of the first call that is about something
}

// answer counts a call that may be one that was made again after its question.
func (b *builder) answer(r *audit.Row, n int) {
	if len(b.answered) == 0 || r.Outcome == "asked" || r.Phase != audit.Done {
		return
	}
	key := keyOfQuestion(r)
	if count, asked := b.answered[key]; asked {
		b.answered[key] = count + n
	}
}

// add adds a record.
func (b *builder) add(r *audit.Row) {
	b.answer(r, -1)
	if r.Kind == "command" {
		b.endCommand(r)
		return
	}
	if r.Kind == "console" && r.Outcome == "ok" { // a login: no agent did anything
		return
	}
	if r.Phase == audit.Intent && b.ended[r.Call] || r.Outcome == "asked" && b.answered[keyOfQuestion(r)] > 0 {
		return // another record says how it ended
	}
	s := b.session(r)
	state := b.stateOf(r)
	words, known := b.words[r.Tool]
	if !known || r.Kind != "" {
		words = phraseOf(r.Kind, r.Tool)
	}
	s.count(r, state, words.kind)
	if state == Runs {
		b.running = append(b.running, runningCall(r))
	}
	changes := b.log.changes[r.Call]
	e := s.event(r, eventKey{words.kind, state, ""}.of(r, words, len(changes) > 0))
	e.add(r, words, state, changes)
	if background(r.End) && words.kind == Command {
		e.call = r.Call
		b.calls[r.Call] = e
		switch {
		case b.ended[commandOf(r.Call)]:
		case !b.log.open[r.Chain]:
			e.State, e.Note = Lost, "it ended with its server"
		default:
			e.State = Runs
			one := runningCall(r)
			one.Kind = "command"
			b.running = append(b.running, one)
		}
	}
}

// background reports whether the end of a record is that a command continues.
func background(end string) bool { return strings.HasPrefix(end, "runs in the background") }

// endCommand notes how a command in the background has ended.
func (b *builder) endCommand(r *audit.Row) {
	if e := b.calls[r.Parent]; e != nil {
		took := time.Duration(r.Duration * float64(time.Millisecond))
		e.Note = r.End + " after " + brief(took)
		if e.To = r.Time; r.End != "exit code 0" && r.End != "ended on request" {
			e.State = Failed
		}
	}
}

// runningCall describes a call that has not ended.
func runningCall(r *audit.Row) Running {
	return Running{Kind: "call", ID: r.Call, Agent: r.Agent, User: r.User, Session: r.Session, Since: r.Time,
		Text: strings.TrimSpace(r.Tool + " " + r.About)}
}

// session returns the session of a record.
func (b *builder) session(r *audit.Row) *builtSession {
	key := sessionKey{r.Agent, r.User, r.Session}
	if b.last != nil && b.last.key == key {
		b.last.To = r.Time
		return b.last
	}
	s := b.sessions[key]
	if s == nil {
		s = &builtSession{key: key, open: map[eventKey]*builtEvent{}}
		s.Agent, s.User, s.Session.Session, s.Transport, s.From = r.Agent, r.User, r.Session, r.Transport, r.Time
		b.sessions[key], b.order = s, append(b.order, s)
	}
	s.To, b.last = r.Time, s
	return s
}

// count counts a call of the session.
func (s *builtSession) count(r *audit.Row, state State, kind Kind) {
	s.Tokens += r.Tokens
	s.Cost += r.Cost
	if r.Kind != "" {
		return
	}
	s.Calls++
	switch state {
	case Failed:
		s.Failed++
	case Refused:
		s.Refused++
	}
	if kind == Command && state != Refused {
		s.Commands++
	}
}

// stateOf returns how a call ended.
func (b *builder) stateOf(r *audit.Row) State {
	switch {
	case r.Phase == audit.Intent && b.log.open[r.Chain]:
		return Runs
	case r.Phase == audit.Intent:
		return Lost
	case r.Outcome == "asked":
		return Asked
	case r.Outcome == "refused":
		return Refused
	case r.Outcome != "ok" && r.Outcome != "cached", r.End != "" && r.End != "exit code 0" && !background(r.End):
		return Failed
	}
	return Done
}

// of returns the key of the event that a call belongs to. Changes that failed stand alone: they have changed nothing.
func (k eventKey) of(r *audit.Row, words phrase, changed bool) eventKey {
	switch {
	case k.state == Runs || k.state == Lost || k.state == Asked || background(r.End):
		k.what = r.Call
	case k.kind == Look && k.state != Refused, k.kind == Memory && k.state != Refused:
		k.state = Done // its items name the failed calls
	case k.kind == Files && k.state == Done:
	case k.kind == Web && k.state == Done:
	case k.kind == Files:
		k.what = words.many // several failed edits are one event
	case k.kind == Model:
		k.what = r.Tool
	default:
		k.what = r.Tool + "\x00" + r.About + "\x00" + reason(r)
		if changed && k.kind != Command {
			k.what = r.Call
		}
	}
	return k
}

// event returns the event for a call: one that it joins, or a new one.
func (s *builtSession) event(r *audit.Row, key eventKey) *builtEvent {
	if e := s.open[key]; e != nil && r.Time.Sub(e.since) < episode {
		e.To = r.Time
		return e
	}
	e := &builtEvent{Event: Event{Calls: []string{}}, items: map[itemKey]int{}, changed: map[string]int{}, since: r.Time}
	e.tool, e.From, e.Kind, e.State = r.Tool, r.Time, key.kind, key.state
	s.open[key], s.events = e, append(s.events, e)
	return e
}

// add adds a call to the event.
func (e *builtEvent) add(r *audit.Row, words phrase, state State, changes []history.LoggedChange) {
	if r.Call != "" && len(e.Calls) < maxCalls {
		e.Calls = append(e.Calls, r.Call)
	}
	e.Times++
	i := slices.IndexFunc(e.tools, func(u toolUse) bool { return u.phrase == words })
	if i < 0 {
		i = len(e.tools)
		e.tools = append(e.tools, toolUse{phrase: words})
	}
	use := &e.tools[i]
	use.n++
	failure := ""
	if state == Failed || state == Refused {
		use.failed++
		failure = reason(r)
	}
	if r.About != "" {
		if use.about == nil {
			use.about = []string{r.About}
		}
		e.item(r.About, failure)
	}
	if note := noteOf(r, state); note != "" && !strings.Contains(e.Note, note) && len(e.Note) < 400 {
		e.Note = strings.TrimPrefix(e.Note+"; "+note, "; ")
	}
	for _, c := range slices.Backward(changes) { // the earliest first
		for _, f := range c.Files {
			e.change(c, f)
		}
	}
}

// item counts the subject of a call.
func (e *builtEvent) item(about, failure string) {
	key := itemKey{about, failure}
	i, seen := e.items[key]
	if !seen {
		if len(e.Items) == maxItems {
			return
		}
		i = len(e.Items)
		e.items[key] = i
		e.Items = append(e.Items, Item{Text: about, Failed: failure})
	}
	e.Items[i].Times++
}

// change adds the change of a file. Several changes of a file are shown as one, from the first to the last.
func (e *builtEvent) change(c history.LoggedChange, f history.FileRecord) {
	i, seen := e.changed[f.Path()]
	if !seen || e.Changes[i].Undone != c.Undone {
		i = len(e.Changes)
		e.changed[f.Path()] = i
		e.Changes = append(e.Changes, Change{File: string(f.Shown), Undone: c.Undone, UndoneBy: c.UndoneBy, first: f})
	}
	e.Changes[i].become(c, f)
	e.Changes[i].Times++
}

// become adds the next change of the file.
func (one *Change) become(c history.LoggedChange, f history.FileRecord) {
	one.ID, one.last = c.ID, f
	one.Undoable = c.Undone == "" && !f.External && (f.Before == nil || f.Before.Kept)
	switch before, after := one.first.Before, f.After; {
	case before == nil && after == nil:
		one.Action = "created and removed"
	case before == nil && one.Times > 0:
		one.Action = "created and changed"
	case before == nil:
		one.Action = "created"
	case after == nil:
		one.Action = "removed"
	default:
		one.Action = "changed"
	}
}

// noteOf returns the end of a call, unless it is the expected one, and the approver.
func noteOf(r *audit.Row, state State) string {
	var parts []string
	if by := decision(r.Approval); by != "" {
		parts = append(parts, by)
	}
	switch state {
	case Failed, Refused:
		if why := reason(r); !denied(r) {
			parts = append(parts, why)
		}
	case Asked:
		parts = append(parts, "a person was asked and has not answered")
	case Lost:
		parts = append(parts, "the server ended during the call")
	case Done:
		if background(r.End) {
			parts = append(parts, r.End)
		}
	}
	return strings.Join(parts, "; ")
}

// decision names the approver of a call, from Approval of its record: "denied elicitation", "cli:ann session",
// "rule x7", "write files outside, question abcd".
func decision(approval string) string {
	_, last, several := strings.Cut(approval, ", ")
	if !several {
		last = approval
	}
	switch by, no := strings.CutPrefix(last, "denied "); {
	case last == "":
		return ""
	case no:
		return "a person denied it (" + by + ")"
	case last == "unanswered":
		return "nobody answered"
	case last == "changed":
		return "it had changed after the approval"
	case strings.HasPrefix(last, "question "):
		return ""
	case strings.HasPrefix(last, "rule "):
		return "allowed by " + last
	default:
		return "a person allowed it (" + last + ")"
	}
}

// denied reports whether a person has denied the call.
func denied(r *audit.Row) bool {
	return strings.HasPrefix(r.Approval, "denied ") || strings.Contains(r.Approval, ", denied ")
}

// maxReason is the longest reason of a failure that is shown, in bytes.
const maxReason = 160

// reason returns why a call failed, in one clause.
func reason(r *audit.Row) string {
	if denied(r) {
		return "denied"
	}
	if r.Error == "" {
		return cmp.Or(r.End, strings.ReplaceAll(r.Outcome, "_", " "))
	}
	why := strings.TrimPrefix(r.Error, r.Outcome+": ")
	why, _, _ = strings.Cut(why, "; ")
	return text.Clip(why, maxReason)
}

// finish writes the texts of the events.
func (s *builtSession) finish() {
	for _, e := range s.events {
		if e.Times == 1 && e.tools[0].failed == 1 && e.State == Done {
			e.State = Failed
		}
		e.Text = e.text()
		if e.Times == 1 || len(e.tools) > 1 || len(e.Items) != 1 {
			e.Times = 0 // the text has the numbers
		}
		if len(e.Items) < 2 {
			e.Items = nil
		}
		for i := range e.Items {
			if e.Items[i].Times == 1 {
				e.Items[i].Times = 0
			}
		}
		for i := range e.Changes {
			if e.Changes[i].Several = e.Changes[i].Times > 1; e.Changes[i].Action == "created and changed" {
				e.Changes[i].Times-- // it was created once
			}
			if e.Changes[i].Times == 1 {
				e.Changes[i].Times = 0
			}
		}
		if (e.Kind == Look || e.Kind == Memory) && len(e.Items) > 0 {
			e.Note = "" // the items have it
		}
		if !e.To.After(e.From) {
			e.To = time.Time{}
		}
		s.Events = append(s.Events, e.Event)
	}
	files := make(map[string]bool)
	for _, e := range s.Events {
		for _, c := range e.Changes {
			files[c.first.Path()] = true
		}
	}
	s.Files = len(files)
}

// text describes the calls of the event.
func (e *builtEvent) text() string {
	if e.State == Runs {
		return progressive(e.said())
	}
	return e.said()
}

func (e *builtEvent) said() string {
	if e.State == Refused || e.State == Asked {
		u := e.tools[0]
		return strings.TrimSpace(e.tool + " " + strings.Join(u.about, ", "))
	}
	if e.Kind == Files && len(e.Changes) > 1 {
		return "changed " + text.Plural(len(e.Changes), "file")
	}
	if e.Kind == Files && len(e.Changes) == 1 && e.Changes[0].Several {
		return "changed " + e.Changes[0].File
	}
	if len(e.tools) == 1 && len(e.Items) == 1 { // the same call several times
		return e.tools[0].phrase.say(1, e.tools[0].about)
	}
	var parts []string
	for i, u := range e.tools {
		if i == maxTools {
			rest := 0
			for _, u := range e.tools[i:] {
				rest += u.n
			}
			parts = append(parts, "and made "+text.Plural(rest, "other call"))
			break
		}
		part := u.phrase.say(u.n, u.about)
		if u.failed > 0 && e.State == Done {
			part += " (" + failures(u) + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// failures counts the failed calls of a tool.
func failures(u toolUse) string {
	if u.failed == u.n {
		return "failed"
	}
	return text.Plural(u.failed, "time", "times") + " without success"
}

// brief returns a duration with the units that matter.
func brief(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
