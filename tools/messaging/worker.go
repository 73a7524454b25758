package messaging

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/chat"
	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

const (
	// perPiece is how much longer an attempt may take for each MiB of a file.
	perPiece = 10 * time.Second
	// grace is how long an attempt may go on when the process ends.
	grace = 5 * time.Second
	// An attempt that failed is repeated after firstWait, twice as long after each further
	// one, and at most maxWait.
	firstWait = 2 * time.Second
	maxWait   = 10 * time.Minute
	// kept is how long messages are kept after their end.
	kept = 7 * 24 * time.Hour
	// sweepEvery is the time between two deletions of old messages.
	sweepEvery = time.Hour
)

// sentAgain is the mark of a message that may have arrived before.
const sentAgain = "(sent again: the first attempt may have arrived)"

// A row is a part of a post that this process sends.
type row struct {
	item
	id, post, channel string
	attempt, doubt    int
	created           time.Time
	sender            inbox.To
}

// run sends what is due, until the context ends and the attempts that were begun have ended.
func (o *Outbox) run(ctx context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	working.Go(func() { o.sweep(ctx) })
	free := make(chan struct{}, o.Slots)
	for ctx.Err() == nil {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return
		}
		r, err := o.claim(ctx)
		if err != nil {
			<-free
			if ctx.Err() == nil {
				o.Log.Warn("cannot read the outbox; trying again", "err", err)
				_ = clock.Sleep(ctx, firstWait)
			}
			continue
		}
		working.Go(func() {
			defer func() { <-free }()
			o.attempt(ctx, r)
		})
	}
}

// claim takes the row that is due first. It waits until there is one.
func (o *Outbox) claim(ctx context.Context) (r row, err error) {
	var args []any
	query := "SELECT due - {{now}} FROM outbox WHERE " + o.ready(&args) + " ORDER BY due LIMIT 1"
	err = o.Store.Claim(ctx, Topic, query, args, func(ctx context.Context) (taken bool, err error) {
		list, err := o.take(ctx)
		if len(list) > 0 {
			r = list[0]
		}
		return len(list) > 0, err
	})
	return r, err
}

// ready selects the rows that come next in their chats, of the channels that this process has.
func (o *Outbox) ready(args *[]any) string {
	return `ended = 0 AND channel IN (` + store.In(args, o.Accounts.Names()) + `) AND NOT EXISTS (
		SELECT 1 FROM outbox AS other WHERE other.ended = 0 AND other.channel = outbox.channel
			AND other.chat = outbox.chat AND other.id < outbox.id)`
}

// take begins an attempt. The lease of another one that has expired leaves a doubt: its process
// has died, perhaps after it had sent the message.
func (o *Outbox) take(ctx context.Context) (list []row, err error) {
	args := []any{o.Lease.Milliseconds(), perPiece.Milliseconds()}
	ready := o.ready(&args)
	err = o.Store.Update(ctx, func(t *store.Tx) (err error) {
		list, err = store.List(t, `WITH next AS MATERIALIZED (
				SELECT id FROM outbox WHERE due <= {{now}} AND `+ready+` ORDER BY due LIMIT 1 {{skip}})
			UPDATE outbox SET doubt = doubt + CASE WHEN state = 'sending' THEN 1 ELSE 0 END,
				state = 'sending', attempt = attempt + 1, due = {{now}} + $1 +
					$2 * (SELECT count(*) FROM outbox_file WHERE outbox_file.id = outbox.id)
			WHERE id IN (SELECT id FROM next)
			RETURNING id, post, channel, attempt, doubt, created, agent, usr, session, body`, args, scanRow)
		return err
	})
	return list, err
}

func scanRow(scan store.Scan) (r row, err error) {
	var created int64
	var body string
	if err := scan(&r.id, &r.post, &r.channel, &r.attempt, &r.doubt, &created, &r.sender.Agent, &r.sender.User,
		&r.sender.Session, &body); err != nil {
		return r, err
	}
	r.created = store.FromMillis(created)
	return r, json.Unmarshal([]byte(body), &r.item)
}

// attempt sends a row once, and writes what came of it.
func (o *Outbox) attempt(ctx context.Context, r row) {
	lease := o.Lease
	if r.File != nil {
		lease += perPiece * time.Duration((r.File.Size+piece-1)/piece)
	}
	working, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease*9/10)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(min(grace, lease), cancel) })()
	sent, err := o.protected(working, r)
	writing, done := context.WithTimeout(context.WithoutCancel(ctx), o.Lease)
	defer done()
	for {
		failure := o.Store.Update(writing, func(t *store.Tx) error { return o.finish(t, r, sent, err) })
		switch {
		case failure == nil || errors.Is(failure, errLost):
			return
		case writing.Err() != nil: // the lease expires
			o.Log.Warn("cannot write what became of a message", "id", r.id, "err", failure)
			return
		}
		_ = clock.Sleep(writing, time.Second)
	}
}

// errLost means that another process has the row.
var errLost = errors.New("another process sends the message")

// protected sends a row. A panic is an error of the service.
func (o *Outbox) protected(ctx context.Context, r row) (sent chat.Sent, err error) {
	defer func() {
		if p := recover(); p != nil {
			o.Log.Error("sending a message panicked", "id", r.id, "panic", p)
			err = &chat.Error{Kind: chat.Refused, Text: "an internal error ended it"}
		}
	}()
	return o.send(ctx, r)
}

// again reports whether a row may be sent although an earlier attempt may have succeeded.
func (r row) again(can chat.Abilities) bool {
	return r.Action != Send || time.Since(r.created) < can.Dedupes
}

// send makes the request.
func (o *Outbox) send(ctx context.Context, r row) (chat.Sent, error) {
	if !r.Until.IsZero() && time.Now().After(r.Until) {
		return chat.Sent{}, &chat.Error{Kind: chat.Refused, Text: "it was not delivered in time"}
	}
	c, err := o.Accounts.Channel(r.channel)
	if err != nil {
		return chat.Sent{}, &chat.Error{Kind: chat.Down, Text: err.Error()}
	}
	if r.Action != Send {
		return o.change(ctx, c, r)
	}
	can := c.Abilities()
	m := r.Message
	m.Key = r.id
	if r.doubt > 0 && !r.again(can) {
		if r.doubt > 1 {
			return chat.Sent{}, &chat.Error{Kind: chat.Refused,
				Text: "two attempts were interrupted; it may have arrived"}
		}
		m = marked(m, r.File, can)
	}
	if r.File != nil {
		m.File = &chat.File{
			Name: r.File.Name, MIME: r.File.MIME, Size: r.File.Size, Voice: r.File.Voice,
			Open: func() (io.ReadCloser, error) { return &pieces{ctx: ctx, store: o.Store, id: r.id}, nil },
		}
		if r.doubt > 0 && !r.again(can) && can.MaxCaption == 0 {
			m.File.Name = "sent-again-" + m.File.Name
		}
	}
	return c.Send(ctx, m)
}

// marked returns a message that says that it may have arrived before.
func marked(m chat.Message, f *storedFile, can chat.Abilities) chat.Message {
	if m.Poll != nil {
		poll := *m.Poll
		poll.Question, m.Poll = sentAgain+" "+poll.Question, &poll
	}
	if m.Poll == nil && f == nil || m.Text != "" || f != nil && can.MaxCaption > 0 {
		m.Text = withMark(m.Text)
	}
	return m
}

func withMark(words string) string {
	if words == "" {
		return sentAgain
	}
	return sentAgain + "\n\n" + words
}

// change does another action than sending.
func (o *Outbox) change(ctx context.Context, c chat.Channel, r row) (chat.Sent, error) {
	at := r.At
	if r.Of != "" {
		report, err := o.Report(ctx, r.Of)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return chat.Sent{}, &chat.Error{Kind: chat.Down, Text: "the outbox cannot be read", Cause: err}
		}
		if len(report.Refs) == 0 {
			return chat.Sent{}, &chat.Error{Kind: chat.Refused, Text: "the message that it is about was not sent"}
		}
		at = report.Refs[0]
	}
	switch r.Action {
	case Edit:
		if e, ok := c.(chat.Editor); ok {
			return chat.Sent{Ref: at}, e.Edit(ctx, at, r.Message)
		}
	case Delete:
		if d, ok := c.(chat.Deleter); ok {
			return chat.Sent{}, d.Delete(ctx, at)
		}
	case React:
		if e, ok := c.(chat.Reactor); ok {
			return chat.Sent{}, e.React(ctx, at, r.Emoji, r.Remove)
		}
	}
	return chat.Sent{}, &chat.Error{
		Kind: chat.Cannot, Text: fmt.Sprintf("%s has no action %s", o.Accounts.Kind(r.channel), r.Action),
	}
}

// finish writes what came of an attempt.
func (o *Outbox) finish(t *store.Tx, r row, sent chat.Sent, failure error) error {
	const own = "id = $1 AND attempt = $2 AND state = 'sending'"
	if failure == nil {
		ref, err := json.Marshal(sent)
		if err != nil {
			return err
		}
		n, err := t.Exec(`UPDATE outbox SET state = 'sent', ended = {{now}}, problem = '', message = $3, ref = $4
			WHERE `+own, r.id, r.attempt, sent.ID, string(ref))
		if err != nil || n == 0 {
			return cmp.Or(err, errLost)
		}
		if r.Contact != "" {
			if _, err := t.Exec("UPDATE contact SET talked = {{now}} WHERE agent = $1 AND usr = $2 AND id = $3",
				r.sender.Agent, r.sender.User, r.Contact); err != nil {
				return err
			}
		}
		if err := forgetFile(t, "id = $1", r.id); err != nil {
			return err
		}
		return t.Changed(Topic, r.post)
	}
	e := (*chat.Error)(nil)
	if !errors.As(failure, &e) {
		e = &chat.Error{Kind: chat.Unknown, Text: failure.Error()}
	}
	problem := text.Clip(o.Scrub(e.Error()), 500)
	wait, doubt := min(firstWait<<min(r.attempt-1, 10), maxWait), 0
	switch e.Kind {
	case chat.Busy:
		wait = max(e.After, time.Second)
	case chat.Unknown:
		doubt = 1
	case chat.Down:
	default:
		return o.fail(t, r, e.Kind, problem)
	}
	until := r.Until
	if until.IsZero() {
		until = r.created.Add(givenUp)
	}
	if time.Now().Add(wait).After(until) {
		return o.fail(t, r, e.Kind, "it was given up: "+problem)
	}
	n, err := t.Exec(`UPDATE outbox SET state = 'queued', due = {{now}} + $3, doubt = doubt + $4, problem = $5
		WHERE `+own, r.id, r.attempt, wait.Milliseconds(), doubt, problem)
	if err != nil || n == 0 {
		return cmp.Or(err, errLost)
	}
	return t.Changed(Topic, r.post)
}

// fail ends a post, of which some parts may have been sent. Its sender gets an event, or what is
// to be sent in its place is.
func (o *Outbox) fail(t *store.Tx, r row, kind chat.Kind, problem string) error {
	const set = "UPDATE outbox SET state = 'failed', ended = {{now}}, "
	n, err := t.Exec(set+"problem = $3 WHERE id = $1 AND attempt = $2 AND state = 'sending'", r.id, r.attempt, problem)
	if err != nil || n == 0 {
		return cmp.Or(err, errLost)
	}
	if _, err := t.Exec(set+"problem = 'an earlier part could not be sent' WHERE post = $1 AND ended = 0",
		r.post); err != nil {
		return err
	}
	if err := forgetFile(t, "id IN (SELECT id FROM outbox WHERE post = $1)", r.post); err != nil {
		return err
	}
	if r.Contact != "" && kind != chat.Denied {
		if _, err := t.Exec(`UPDATE contact SET cooldown = {{now}} + $4 WHERE agent = $1 AND usr = $2 AND id = $3`,
			r.sender.Agent, r.sender.User, r.Contact, cooldown.Milliseconds()); err != nil {
			return err
		}
	}
	if instead, err := o.putElse(t, r); err != nil || instead {
		return cmp.Or(err, t.Changed(Topic, r.post))
	}
	if r.sender != (inbox.To{}) {
		if _, err := inbox.Add(t, r.sender, inbox.Event{
			ID: "outbox " + r.post, Kind: inbox.Delivery, Subject: r.post,
			Text: fmt.Sprintf("the message to %s:%s was not delivered: %s; it began: %s", r.channel, r.Message.Chat,
				problem, text.Clip(r.summary(), maxSummary)),
		}); err != nil {
			return err
		}
	}
	return t.Changed(Topic, r.post)
}

// putElse puts what is sent instead of a post of which nothing was delivered.
func (o *Outbox) putElse(t *store.Tx, r row) (put bool, err error) {
	var sent int
	if err := t.Row("SELECT count(*) FROM outbox WHERE post = $1 AND state = 'sent'", []any{r.post},
		&sent); err != nil || sent > 0 {
		return false, err
	}
	for i, other := range r.Else {
		other.Else = r.Else[i+1:]
		if _, err := o.items(other); err != nil {
			continue // its channel may not exist any more
		}
		_, _, err := o.Put(t, other)
		return err == nil, err
	}
	return false, nil
}

func forgetFile(t *store.Tx, where, id string) error {
	_, err := t.Exec("DELETE FROM outbox_file WHERE "+where, id)
	return err
}

// sweep deletes what ended long ago, and ends what no process sends.
func (o *Outbox) sweep(ctx context.Context) {
	for wait := 30 * time.Second; clock.Sleep(ctx, wait) == nil; wait = sweepEvery {
		err := o.Store.Update(ctx, func(t *store.Tx) error {
			if _, err := t.Exec("DELETE FROM outbox WHERE ended > 0 AND ended < {{now}} - $1",
				kept.Milliseconds()); err != nil {
				return err
			}
			lost, err := store.List(t, `UPDATE outbox SET state = 'sending', attempt = attempt + 1
				WHERE ended = 0 AND due < {{now}} - $1 AND created < {{now}} - $1
				RETURNING id, post, channel, attempt, doubt, created, agent, usr, session, body`,
				[]any{2 * givenUp.Milliseconds()}, scanRow)
			for _, r := range lost {
				if err := o.fail(t, r, chat.Down, "no process could send it"); err != nil && !errors.Is(err, errLost) {
					return err
				}
			}
			return err
		})
		if err != nil && ctx.Err() == nil {
			o.Log.Warn("cannot delete old messages", "err", err)
		}
	}
}

// pieces reads the file of a row.
type pieces struct {
	ctx   context.Context
	store *store.Store
	id    string
	n     int
	rest  []byte
}

// Read reads on, and fetches the next piece when it has to.
func (p *pieces) Read(into []byte) (int, error) {
	if len(p.rest) == 0 {
		err := p.store.Row(p.ctx, "SELECT data FROM outbox_file WHERE id = $1 AND n = $2", []any{p.id, p.n}, &p.rest)
		if errors.Is(err, store.ErrNotFound) {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
		p.n++
	}
	n := copy(into, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// Close does nothing: each piece is read by itself.
func (p *pieces) Close() error { return nil }
