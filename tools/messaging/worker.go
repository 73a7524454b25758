package messaging

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
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
	attempt, doubt    int // finished attempts, and attempts that may have sent the message
	created           time.Time
	sender            inbox.To
}

const rowColumns = "id, post, channel, attempt, doubt, created, agent, usr, session, body"

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

// open reads the row of a job, if it was neither sent nor given up.
func open(t *store.Tx, id string) (r row, found bool, err error) {
	list, err := store.List(t, "SELECT "+rowColumns+" FROM outbox WHERE id = $1 AND ended = 0 {{lock}}", []any{id},
		scanRow)
	if err != nil || len(list) == 0 {
		return row{}, false, err
	}
	return list[0], true, nil
}

// An outcome is the result of a job.
type outcome struct {
	Sent chat.Sent
	Kind chat.Kind `json:",omitempty"` // of the failure
}

// do sends a row once. When the process ends, the attempt goes on for a little.
func (o *Outbox) do(ctx context.Context, h *jobs.Held) (result string, err error) {
	var r row
	var found bool
	if err := o.Store.Update(context.WithoutCancel(ctx), func(t *store.Tx) (err error) {
		r, found, err = open(t, h.ID)
		return err
	}); err != nil {
		return "", &jobs.Again{After: firstWait, Err: err}
	}
	if !found {
		return "{}", nil
	}
	// The processes of unfinished attempts have died, perhaps after they had sent the message.
	r.doubt += h.Attempt - 1 - r.attempt
	limit := o.Lease
	if r.File != nil {
		limit += perPiece * time.Duration((r.File.Size+piece-1)/piece)
	}
	working, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit*9/10)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), jobs.ErrLost) {
			cancel()
		}
		time.AfterFunc(min(grace, limit), cancel)
	})()
	sent, err := o.protected(working, r)
	out := outcome{Sent: sent}
	if err != nil {
		err = o.failure(r, h.Attempt, err)
		out.Kind = chat.KindOf(err)
	}
	text, encoding := json.Marshal(out)
	return string(text), errors.Join(err, encoding)
}

// failure converts the error of an attempt to the error of its job: one to try again, or one with the problem as its
// text.
func (o *Outbox) failure(r row, attempt int, failed error) error {
	e := (*chat.Error)(nil)
	if !errors.As(failed, &e) {
		e = &chat.Error{Kind: chat.Unknown, Text: failed.Error()}
	}
	problem := text.Clip(o.Scrub(e.Error()), 500)
	wait := min(firstWait<<min(attempt-1, 10), maxWait)
	switch e.Kind {
	case chat.Busy:
		wait = max(e.After, time.Second)
	case chat.Unknown:
		r.doubt++
	case chat.Down:
	default:
		return &chat.Error{Kind: e.Kind, Text: problem}
	}
	until := r.Until
	if until.IsZero() {
		until = r.created.Add(givenUp)
	}
	if time.Now().Add(wait).After(until) {
		return &chat.Error{Kind: e.Kind, Text: "it was given up: " + problem}
	}
	return &jobs.Again{After: wait, Err: errors.New(problem), Also: func(t *store.Tx) error {
		_, err := t.Exec("UPDATE outbox SET attempt = $2, doubt = $3, problem = $4 WHERE id = $1", r.id, attempt, r.doubt,
			problem)
		return errors.Join(err, t.Changed(Topic, r.post))
	}}
}

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

// ended writes the outcome of a row, in the transaction that ends its job.
func (o *Outbox) ended(t *store.Tx, j jobs.Job) error {
	r, found, err := open(t, j.ID)
	if err != nil || !found || j.State == jobs.Cancelled {
		return err
	}
	r.attempt = j.Attempt
	var out outcome
	if err := store.FromJSON(j.Result, &out); err != nil {
		return err
	}
	if j.State == jobs.Failed {
		return o.fail(t, r, out.Kind, j.Reason)
	}
	ref, err := json.Marshal(out.Sent)
	if err != nil {
		return err
	}
	if _, err := t.Exec(`UPDATE outbox SET state = 'sent', ended = {{now}}, problem = '', message = $2, ref = $3,
		attempt = $4 WHERE id = $1`, r.id, out.Sent.ID, string(ref), r.attempt); err != nil {
		return err
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

// fail ends a post; some of its parts may have been sent. Its sender gets an event, unless a
// substitute message is put in its place.
func (o *Outbox) fail(t *store.Tx, r row, kind chat.Kind, problem string) error {
	const set = "UPDATE outbox SET state = 'failed', ended = {{now}}, "
	if _, err := t.Exec(set+"problem = $2, attempt = $3 WHERE id = $1", r.id, problem, r.attempt); err != nil {
		return err
	}
	later, err := store.List(t, set+`problem = 'an earlier part could not be sent' WHERE post = $1 AND ended = 0
		RETURNING id`, []any{r.post}, store.One[string])
	if err != nil {
		return err
	}
	for _, id := range later {
		if _, err := o.queue(r.channel).Cancel(t, id, "an earlier part could not be sent"); err != nil {
			return err
		}
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

// putElse puts the substitute message for a post if nothing of the post was delivered.
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

// sweep deletes messages that ended long ago, and ends messages that no process can send.
func (o *Outbox) sweep(ctx context.Context, _ *jobs.Held) (string, error) {
	return "", o.Store.Update(ctx, func(t *store.Tx) error {
		if _, err := t.Exec("DELETE FROM outbox WHERE ended > 0 AND ended < {{now}} - $1",
			kept.Milliseconds()); err != nil {
			return err
		}
		lost, err := store.List(t, `SELECT `+rowColumns+` FROM outbox WHERE ended = 0 AND created < {{now}} - $1
			AND id IN (SELECT id FROM job WHERE state = 'queued' AND run_at < {{now}} - $1)`,
			[]any{2 * givenUp.Milliseconds()}, scanRow)
		for _, r := range lost {
			if _, err := o.queue(r.channel).Cancel(t, r.id, "no process could send it"); err != nil {
				return err
			}
			if err := o.fail(t, r, chat.Down, "no process could send it"); err != nil {
				return err
			}
		}
		return err
	})
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
