package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Options configure an Inbox.
type Options struct {
	Store *store.Store
	// Lease is the time for which taken and unconfirmed events are kept for their call. It must
	// be longer than the writing of a response. 0 is the default.
	Lease time.Duration
	Log   *slog.Logger // nil: silent
}

const (
	defaultLease = 40 * time.Second
	// maxTaken is how many events are delivered at once.
	maxTaken = 20
	// maxListed is how many events List returns at most.
	maxListed = 200
)

// An Inbox reads the inboxes of all sessions. Its methods may be called
// concurrently.
type Inbox struct {
	store *store.Store
	lease time.Duration
	log   *slog.Logger

	mu      sync.Mutex
	taken   map[string][]string    // ids of events, by the call that took them
	waiting map[To]int             // calls of Wait
	empty   map[To]<-chan struct{} // receivers without events, until the channel is closed
}

// New returns the inboxes in a store.
func New(o Options) *Inbox {
	if o.Lease == 0 {
		o.Lease = defaultLease
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Inbox{
		store: o.Store, lease: o.Lease, log: o.Log,
		taken: map[string][]string{}, waiting: map[To]int{}, empty: map[To]<-chan struct{}{},
	}
}

// Send adds an event in a new transaction, and returns its id.
func (b *Inbox) Send(ctx context.Context, to To, e Event) (id string, err error) {
	err = b.store.Update(ctx, func(t *store.Tx) error {
		id, err = Add(t, to, e)
		return err
	})
	return id, err
}

// A Filter selects events: those with one of the names as their kind, subject,
// sender, id, or as the message that they answer. The empty Filter selects all.
type Filter []string

func (f Filter) sql(args *[]any) string {
	if len(f) == 0 {
		return ""
	}
	var names []string
	for _, column := range []string{"kind", "subject", "sender", "reply", "id"} {
		names = append(names, column+" IN ("+store.In(args, f)+")")
	}
	return " AND (" + strings.Join(names, " OR ") + ")"
}

const columns = "id, agent, usr, session, kind, subject, sender, reply, turn, content, data, made, tries, delivered"

func scanEvent(scan store.Scan) (e Event, err error) {
	var data string
	var made, tries, delivered int64
	err = scan(&e.ID, &e.To.Agent, &e.To.User, &e.To.Session, &e.Kind, &e.Subject, &e.From, &e.Reply, &e.Turn, &e.Text,
		&data, &made, &tries, &delivered)
	if err != nil {
		return e, err
	}
	e.At, e.Again, e.Delivered = time.Unix(0, made), tries > 0, delivered > 0
	return e, store.FromJSON(data, &e.Data)
}

// Take returns the oldest events for a caller, at most twenty, and binds them to a
// call. They are not delivered again if [Inbox.Sent] confirms the call in time.
func (b *Inbox) Take(ctx context.Context, c tool.Caller, call string, f Filter) (events []Event, err error) {
	to := ToCaller(c)
	if to.Session == "" || b.store.Unused() || b.isEmpty(to) {
		return nil, nil
	}
	changed := b.store.Wait(Topic) // before reading, so that no change is missed
	of, args := mine(c)
	open := of + " AND delivered = 0"
	ready := open + " AND until <= {{now}}" + f.sql(&args)
	var some, bound bool
	if err := b.store.View(ctx, func(t *store.Tx) error { // most calls find nothing and write nothing
		return t.Row("SELECT EXISTS (SELECT 1 "+ready+"), EXISTS (SELECT 1 "+open+")", args, &some, &bound)
	}); err != nil {
		return nil, fmt.Errorf("reading the inbox: %w", err)
	}
	if !some {
		if !bound { // events that another call has taken may be delivered again
			b.rememberEmpty(to, changed)
		}
		return nil, nil
	}
	if err := b.store.Update(ctx, func(t *store.Tx) error {
		events, err = store.List(t, fmt.Sprintf("SELECT %s %s ORDER BY made LIMIT %d {{skip}}", columns, ready,
			maxTaken), args, scanEvent)
		if err != nil || len(events) == 0 {
			return err
		}
		set := []any{call, b.lease.Milliseconds()}
		_, err = t.Exec("UPDATE inbox SET call = $1, until = {{now}} + $2, tries = tries + 1 WHERE id IN ("+
			store.In(&set, ids(events))+")", set...)
		return err
	}); err != nil {
		return nil, fmt.Errorf("reading the inbox: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(events) > 0 {
		b.taken[call] = append(b.taken[call], ids(events)...)
	}
	return events, nil
}

// Read settles an event whose receiver learns of it by the result of a call, as [Settle] does. The event counts as
// delivered when [Inbox.Sent] confirms the call: if the server dies before that, it is delivered again.
func (b *Inbox) Read(t *store.Tx, to To, id, call string) (shown bool, err error) {
	shown, open, err := told(t, to, id)
	if err != nil || !open {
		return shown, err
	}
	id = idOf(to, id)
	if _, err = t.Exec("UPDATE inbox SET call = $1, until = {{now}} + $2, tries = tries + 1 WHERE id = $3",
		call, b.lease.Milliseconds(), id); err != nil {
		return false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.taken[call], id) { // the transaction may have been tried before
		b.taken[call] = append(b.taken[call], id)
	}
	return false, nil
}

// mine selects the events of a caller's session.
func mine(c tool.Caller) (from string, args []any) {
	args = []any{c.Agent, c.User}
	return "FROM inbox WHERE agent = $1 AND usr IN ($2, '" + AnyUser + "') AND session IN (" +
		store.In(&args, sessionsFor(c)) + ")", args
}

func ids(events []Event) []string {
	list := make([]string, len(events))
	for i, e := range events {
		list[i] = e.ID
	}
	return list
}

// isEmpty reports whether there is certainly nothing for a receiver.
func (b *Inbox) isEmpty(to To) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	changed, known := b.empty[to]
	if !known {
		return false
	}
	select {
	case <-changed:
		delete(b.empty, to)
		return false
	default:
		return true
	}
}

// rememberEmpty notes that there was nothing for a receiver before changed was
// closed.
func (b *Inbox) rememberEmpty(to To, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.empty) >= maxEmpty {
		clear(b.empty)
	}
	b.empty[to] = changed
}

// maxEmpty bounds the memory for receivers without events.
const maxEmpty = 10_000

// Sent settles the events that a call has taken: if its response was written the events are
// delivered, else the next call gets them. Calls that took nothing cost nothing.
func (b *Inbox) Sent(ctx context.Context, c tool.Caller, call string, written bool) {
	b.mu.Lock()
	taken := b.taken[call]
	delete(b.taken, call)
	b.mu.Unlock()
	if len(taken) == 0 {
		return
	}
	args := []any{call}
	change := "until = 0, tries = tries - 1"
	if written {
		args = append(args, c.Key())
		change = "delivered = {{now}}, session = $2"
	}
	err := b.store.Update(context.WithoutCancel(ctx), func(t *store.Tx) error {
		args := slices.Clone(args)
		_, err := t.Exec("UPDATE inbox SET "+change+" WHERE call = $1 AND delivered = 0 AND id IN ("+
			store.In(&args, taken)+")", args...)
		if err == nil && !written {
			err = t.Changed(Topic, ToCaller(c).String())
		}
		return err
	})
	if err != nil {
		b.log.Warn("delivered events could not be marked, so they will be delivered again", "err", err)
	}
}

// Took reports whether a call has taken events.
func (b *Inbox) Took(call string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.taken[call]) > 0
}

// Line takes the events and returns them in a few lines for the end of the result of a call. It
// returns "" if there are none, or if another call of the session waits for them.
func (b *Inbox) Line(ctx context.Context, c tool.Caller, call string) string {
	b.mu.Lock()
	waited := b.waiting[ToCaller(c)] > 0
	b.mu.Unlock()
	if waited || !b.store.InUse() { // no result waits for the store to be opened
		return ""
	}
	events, err := b.Take(ctx, c, call, nil)
	if err != nil {
		if ctx.Err() == nil {
			b.log.Warn("events could not be read, so a client gets them later", "err", err)
		}
		return ""
	}
	return Lines(events)
}

// Lines returns events in one line each, "" for none.
func Lines(events []Event) string {
	if len(events) == 0 {
		return ""
	}
	lines := []string{text.Plural(len(events), "thing") + " happened:"}
	for _, e := range events {
		lines = append(lines, "- "+e.Line())
	}
	if len(events) == maxTaken {
		lines = append(lines, "There may be more: they come with your next result, or with wait.")
	}
	return strings.Join(lines, "\n")
}

// ErrNothing is the error of Wait if no event came within the limit.
var ErrNothing = errors.New("nothing has happened")

// Wait waits until there is an event for a caller, then takes it and others that
// are there. The error is ErrNothing when the limit has passed.
func (b *Inbox) Wait(ctx context.Context, c tool.Caller, call string, f Filter, limit time.Duration) ([]Event, error) {
	to := ToCaller(c)
	b.count(to, 1)
	defer b.count(to, -1)
	defer b.store.Urgent()()
	over := time.NewTimer(limit)
	defer over.Stop()
	// Events that another process has taken and not confirmed can be taken when its lease ends.
	again := time.NewTicker(max(b.lease/8, time.Millisecond))
	defer again.Stop()
	for {
		changed := b.store.Wait(Topic)
		events, err := b.Take(ctx, c, call, f)
		if err != nil || len(events) > 0 {
			return events, err
		}
		select {
		case <-changed:
		case <-again.C:
		case <-over.C:
			return nil, ErrNothing
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (b *Inbox) count(to To, change int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting[to] += change; b.waiting[to] == 0 {
		delete(b.waiting, to)
	}
}

// List returns the latest events of a caller's session, delivered or not, the oldest
// first. It takes none.
func (b *Inbox) List(ctx context.Context, c tool.Caller, limit int) (events []Event, err error) {
	to := ToCaller(c)
	if to.Session == "" || b.store.Unused() {
		return nil, nil
	}
	of, args := mine(c)
	events, err = store.Select(ctx, b.store, fmt.Sprintf("SELECT %s %s ORDER BY made DESC LIMIT %d", columns, of,
		min(limit, maxListed)), args, scanEvent)
	slices.Reverse(events)
	return events, err
}

// Move gives the undelivered events of a session to another receiver, because the session has
// ended. If the receiver is a session that has ended too, the next session of its owner gets them.
func Move(t *store.Tx, from, to To) error {
	to, err := receiver(t, to)
	if err != nil {
		return err
	}
	n, err := t.Exec(`UPDATE inbox SET agent = $1, usr = $2, session = $3
		WHERE agent = $4 AND usr = $5 AND session = $6 AND delivered = 0`,
		to.Agent, to.User, to.Session, from.Agent, from.User, from.Session)
	if err != nil || n == 0 {
		return err
	}
	return t.Changed(Topic, to.String())
}

// Count returns how many events a receiver did not get yet.
func Count(t *store.Tx, to To) (n int, err error) {
	err = t.Row("SELECT count(*) FROM inbox WHERE agent = $1 AND usr = $2 AND session = $3 AND delivered = 0",
		[]any{to.Agent, to.User, to.Session}, &n)
	return n, err
}

// LastMessage returns the last message between two sessions that is not older than age,
// or the zero Event. It counts messages to the owner of either.
func LastMessage(t *store.Tx, one, other To, age time.Duration) (last Event, err error) {
	const between = "kind = 'message' AND agent = $%d AND usr = $%d AND session IN ($%d, '') AND sender = $%d"
	where := "(" + fmt.Sprintf(between, 1, 2, 3, 6) + " OR " + fmt.Sprintf(between, 4, 5, 6, 3) + ")"
	list, err := store.List(t, "SELECT "+columns+" FROM inbox WHERE "+where+" AND made > $7 ORDER BY made DESC LIMIT 1",
		[]any{one.Agent, one.User, one.Session, other.Agent, other.User, other.Session,
			time.Now().Add(-age).UnixNano()}, scanEvent)
	if err != nil || len(list) == 0 {
		return Event{}, err
	}
	return list[0], nil
}

// Messages returns messages to and from a session, the newest first, without the newest
// ones up to offset.
func (b *Inbox) Messages(ctx context.Context, of To, limit, offset int) (list []Event, err error) {
	if b.store.Unused() {
		return nil, nil
	}
	return store.Select(ctx, b.store, "SELECT "+columns+` FROM inbox WHERE kind = 'message' AND usr = $2
		AND (agent = $1 AND session = $3 OR sender = $3) ORDER BY made DESC LIMIT $4 OFFSET $5`,
		[]any{of.Agent, of.User, of.Session, limit, offset}, scanEvent)
}

const (
	toldAge   = 30 * 24 * time.Hour
	untoldAge = 90 * 24 * time.Hour
)

// Sweep removes events that were delivered a month ago, and events without a session to take
// them.
func (b *Inbox) Sweep(ctx context.Context) error {
	return b.store.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec("DELETE FROM inbox WHERE delivered > 0 AND delivered < {{now}} - $1 OR made < $2",
			toldAge.Milliseconds(), time.Now().Add(-untoldAge).UnixNano())
		return err
	})
}
