package messaging

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/markup"
)

// Topic is the topic of the change feed for messages that are added or end. Its keys are the
// ids of posts.
const Topic = "outbox"

// An Action is a change of a message.
type Action string

// The actions.
const (
	Send   Action = "send"
	Edit   Action = "edit"
	Delete Action = "delete"
	React  Action = "react"
)

// A Post is something to send, or a change of a message that was sent.
type Post struct {
	Channel string       // its name in the settings
	Action  Action       // "" is Send
	Message chat.Message // the message to send. A long text is sent in parts; File is nil
	Files   []chat.File  // the text goes with the first one if it fits, else it follows
	// At is the message for the other actions. With Of, the id of a post, it is the first
	// message of that post; the post may still wait.
	At     chat.Ref
	Of     string
	Emoji  string // of React
	Remove bool   // likewise: the reaction is removed
	// Contact is the id of the sender's contact that is written to, or "".
	Contact string
	// Sender gets an event if the post cannot be delivered. Zero: no event is sent.
	Sender inbox.To
	Once   string    // of posts with the same text only the first is sent; "" for none
	Due    time.Time // not before; zero: now
	Until  time.Time // it is given up then; zero: after a day
	Else   []Post    // if it cannot be delivered, the first of these is sent instead
}

// A State is the state of a post or of one of its parts.
type State string

// The states. The last two are final.
const (
	Queued  State = "queued"
	Sending State = "sending"
	Sent    State = "sent"
	Failed  State = "failed"
)

// Final reports whether nothing happens any more.
func (s State) Final() bool { return s == Sent || s == Failed }

// A Report is how far a post is.
type Report struct {
	ID       string
	Channel  string
	Chat     string
	Text     string // the beginning
	State    State
	Refs     []chat.Ref // of the messages that were sent
	Notes    []string   // one sentence for each part of the message that was sent in another form, or not at all
	Problem  string     // of the last attempt
	Due      time.Time  // of the next attempt
	Created  time.Time
	Attempts int
}

// OutboxOptions configure an Outbox.
type OutboxOptions struct {
	Store    *store.Store
	Accounts *Accounts
	Scrub    func(string) string
	Jobs     *jobs.Loop // nil: one of its own
	// Lease is how long an attempt may take, and a message waits after the process has died that sent it; 0 is a minute,
	// and the lease of jobs.
	Lease time.Duration
	Slots int          // messages of a channel that this process sends at once, each to another chat; 0 is 8
	Log   *slog.Logger // nil: silent
}

// An Outbox sends messages. They are rows of the store, each with a job of the same id: a message that was put there is
// sent although processes die, by any process that runs the outbox.
type Outbox struct {
	OutboxOptions
	queues map[string]*jobs.Queue // by channel
	sweeps *jobs.Queue
	lease  time.Duration // of the jobs; 0 is their default

	mu   sync.Mutex
	last int64 // of the ids
}

// NewOutbox returns the outbox of a store. It sends nothing until Start.
func NewOutbox(o OutboxOptions) *Outbox {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Scrub == nil {
		o.Scrub = func(text string) string { return text }
	}
	lease := o.Lease
	o.Lease = cmp.Or(o.Lease, time.Minute)
	o.Slots = cmp.Or(o.Slots, 8)
	if o.Jobs == nil {
		o.Jobs = jobs.NewLoop(o.Store, o.Log)
	}
	b := &Outbox{OutboxOptions: o, lease: lease, queues: map[string]*jobs.Queue{}}
	for _, name := range o.Accounts.Names() {
		b.queues[name] = b.queue(name)
	}
	b.sweeps = &jobs.Queue{
		Store: o.Store, Loop: o.Jobs, Kind: "sweep outbox", Do: b.sweep, Every: sweepEvery, Always: true, Log: o.Log,
	}
	return b
}

// queue returns the queue of a channel.
func (o *Outbox) queue(channel string) *jobs.Queue {
	return &jobs.Queue{
		Store: o.Store, Loop: o.Jobs, Kind: jobKind + channel, Do: o.do, Ended: o.ended, Always: true, Slots: o.Slots,
		Lease: o.lease, Log: o.Log,
	}
}

const jobKind = "outbox " // before the name of the channel

// Start begins to send the messages that are due, also of other processes.
func (o *Outbox) Start() {
	if len(o.queues) == 0 {
		return
	}
	o.sweeps.Start()
	for _, q := range o.queues {
		q.Start()
	}
}

// Close waits a little for the attempts that were begun, and begins no others.
func (o *Outbox) Close() error {
	var closing sync.WaitGroup
	closing.Go(func() { _ = o.sweeps.Close() }) // queues have no errors
	for _, q := range o.queues {
		closing.Go(func() { _ = q.Close() })
	}
	closing.Wait()
	return nil
}

const (
	// maxParts is how many parts a post has at most.
	maxParts = 50
	// piece is the size of the rows that files are kept in.
	piece = 1 << 20
	// givenUp is how long a message is tried.
	givenUp = 24 * time.Hour
)

// An item is one part of a post, as its row has it.
type item struct {
	Action  Action
	Message chat.Message
	File    *storedFile `json:",omitempty"`
	At      chat.Ref    `json:",omitzero"`
	Of      string      `json:",omitempty"`
	Emoji   string      `json:",omitempty"`
	Remove  bool        `json:",omitempty"`
	Contact string      `json:",omitempty"`
	Until   time.Time
	Else    []Post `json:",omitempty"`
}

// A storedFile is a file whose content is in the table outbox_file.
type storedFile struct {
	Name, MIME string
	Size       int64
	Voice      bool
}

// newIDs returns n ids that sort after all earlier ids of this process.
func (o *Outbox) newIDs(n int) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = max(o.last+1, time.Now().UnixMicro())
	ids := make([]string, n)
	random := rand.Uint32()
	for i := range ids {
		ids[i] = fmt.Sprintf("%013x%08x%02x", o.last, random, i)
	}
	return ids
}

// NewID returns an id that sorts after all earlier ids of this process.
func (o *Outbox) NewID() string { return o.newIDs(1)[0] }

// Put adds a post in a transaction, and returns its id. It is sent after the commit. If there
// is one with the same Once, added is false.
func (o *Outbox) Put(t *store.Tx, p Post) (id string, added bool, err error) {
	items, err := o.items(p)
	if err != nil {
		return "", false, err
	}
	ids := o.newIDs(len(items))
	for i, it := range items {
		added, err := o.insert(t, p, ids[0], ids[i], it, i == 0)
		if err != nil {
			return "", false, err
		}
		if !added {
			err := t.Row("SELECT post FROM outbox WHERE once = $1", []any{p.Once}, &id)
			return id, false, err
		}
		if it.File != nil {
			if err := putFile(t, ids[i], p.Files[i]); err != nil {
				return "", false, err
			}
		}
	}
	return ids[0], true, t.Changed(Topic, ids[0])
}

func (o *Outbox) insert(t *store.Tx, p Post, post, id string, it item, first bool) (added bool, err error) {
	body, err := json.Marshal(it)
	if err != nil {
		return false, err
	}
	var once any
	if first && p.Once != "" {
		once = p.Once
	}
	chatID := it.Message.Chat
	if p.Of != "" { // in the order of that chat
		if err := t.Row("SELECT chat FROM outbox WHERE id = $1", []any{p.Of}, &chatID); err != nil {
			return false, err
		}
	}
	n, err := t.Exec(`INSERT INTO outbox
		(id, post, once, channel, chat, body, state, agent, usr, session, created)
		VALUES ($1, $2, $3, $4, $5, $6, 'queued', $7, $8, $9, {{now}}) ON CONFLICT (once) DO NOTHING`, id, post, once,
		p.Channel, chatID, string(body), p.Sender.Agent, p.Sender.User, p.Sender.Session)
	if err != nil || n == 0 {
		return false, err
	}
	_, added, err = o.queues[p.Channel].Enqueue(t, jobs.New{
		ID: id, Lane: jobKind + p.Channel + " " + chatID, Due: p.Due, Attempts: jobs.AnyTimes,
	})
	return added, err
}

// putFile stores the content of a file.
func putFile(t *store.Tx, id string, f chat.File) error {
	from, err := f.Open()
	if err != nil {
		return err
	}
	defer from.Close()
	buffer := make([]byte, min(piece, f.Size+1))
	var size int64
	for n := 0; ; n++ {
		got, err := io.ReadFull(from, buffer)
		if got > 0 {
			if _, err := t.Exec("INSERT INTO outbox_file (id, n, data) VALUES ($1, $2, $3)", id, n,
				buffer[:got]); err != nil {
				return err
			}
			size += int64(got)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if size != f.Size {
		return tool.Errorf(tool.Conflict, "the file %s has changed while it was read", f.Name).Try("send it again")
	}
	return nil
}

// items returns the parts of a post: its files, then the rest of the text.
func (o *Outbox) items(p Post) (items []item, err error) {
	channel, err := o.Accounts.Channel(p.Channel)
	if err != nil {
		return nil, err
	}
	can := channel.Abilities()
	it := item{Action: cmp.Or(p.Action, Send), Message: p.Message, Contact: p.Contact, Until: p.Until, Else: p.Else}
	it.Message.File, it.Message.Text = nil, o.Scrub(p.Message.Text)
	if it.Action != Send {
		it.At, it.Of, it.Emoji, it.Remove = p.At, p.Of, p.Emoji, p.Remove
		it.Message.Chat, it.Message.Thread = cmp.Or(p.At.Chat, p.Message.Chat), cmp.Or(p.At.Thread, p.Message.Thread)
		if o.length(channel, it.Message, it.Message.Text) > can.MaxText {
			return nil, tool.Errorf(tool.TooLarge, "the text is longer than a message of %s can be", p.Channel).
				Try("shorten it, or send the rest as a new message")
		}
		return []item{it}, nil
	}
	if it.Message.Chat == "" {
		return nil, tool.Errorf(tool.Invalid, "a message has no target").Try("name one")
	}
	for i, f := range p.Files {
		if can.MaxFile == 0 {
			return nil, tool.Errorf(tool.Invalid, "%s takes no files", p.Channel).Try("send the text without files")
		}
		if f.Size > can.MaxFile {
			return nil, tool.Errorf(tool.TooLarge, "the file %s has %s, %s takes files of at most %s", f.Name,
				text.Bytes(f.Size), p.Channel, text.Bytes(can.MaxFile)).Try("send a smaller one")
		}
		with := it
		with.File = &storedFile{Name: f.Name, MIME: f.MIME, Size: f.Size, Voice: f.Voice}
		if i > 0 || o.length(channel, it.Message, withMark(it.Message.Text)) > can.MaxCaption {
			with.Message.Text = ""
		} else {
			it.Message.Text = ""
		}
		with.Message.Buttons, with.Message.Poll = nil, nil
		items = append(items, with)
	}
	if it.Message.Text == "" && it.Message.Poll == nil && len(items) > 0 {
		return items, nil
	}
	fits := func(part string) bool { // also with the mark, if it has to be sent again
		return o.length(channel, it.Message, withMark(part)) <= can.MaxText
	}
	parts := splitter(it.Message.Plain)(it.Message.Text, fits)
	if len(parts) == 0 { // a poll
		parts = []string{""}
	}
	if len(items)+len(parts) > maxParts {
		return nil, tool.Errorf(tool.TooLarge, "the message would be sent in %d parts, the maximum is %d",
			len(items)+len(parts), maxParts).Try("send a file, or less")
	}
	for i, part := range parts {
		with := it
		with.Message.Text = part
		if i < len(parts)-1 {
			with.Message.Buttons, with.Message.Poll = nil, nil
		}
		items = append(items, with)
	}
	return items, nil
}

func splitter(plain bool) func(string, func(string) bool) []string {
	if plain {
		return markup.SplitPlain
	}
	return markup.Split
}

// length returns how long the service finds a text.
func (o *Outbox) length(c chat.Channel, m chat.Message, part string) int {
	if m.Plain {
		return markup.Length(chat.Escape(c, part))
	}
	return markup.Length(c.Render(part))
}

// Report reads how far a post is. Without one the error is [store.ErrNotFound].
func (o *Outbox) Report(ctx context.Context, id string) (r Report, err error) {
	err = o.Store.View(ctx, func(t *store.Tx) error {
		list, err := reports(t, "post = $1", id)
		if err == nil && len(list) == 0 {
			err = store.ErrNotFound
		}
		if err == nil {
			r = list[0]
			err = r.behind(t)
		}
		return err
	})
	return r, err
}

// behind adds to the report of an unattempted post the earlier message of the chat that it waits for, and the time
// of its next attempt.
func (r *Report) behind(t *store.Tx) error {
	if r.State.Final() || r.Problem != "" {
		return nil
	}
	var problem string
	var left int64
	err := t.Row(`SELECT problem, run_at - {{now}} FROM outbox JOIN job ON job.id = outbox.id
		WHERE outbox.ended = 0 AND channel = $1 AND chat = $2 AND outbox.id < $3 ORDER BY outbox.id LIMIT 1`, []any{r.Channel, r.Chat, r.ID}, &problem, &left)
	if errors.Is(err, store.ErrNotFound) || err == nil && problem == "" {
		return nil
	}
	r.Problem = fmt.Sprintf("it follows an earlier message of this chat, which is tried again in %s: %s",
		time.Duration(max(left, 0)*int64(time.Millisecond)).Round(time.Second), problem)
	return err
}

// SentBy reports whether an owner has sent a message of a chat. The service or the owner may have named the
// chat.
func (o *Outbox) SentBy(ctx context.Context, owner tool.Owner, channel string, at chat.Ref) (is bool, err error) {
	if o.Store.Unused() {
		return false, nil
	}
	err = o.Store.View(ctx, func(t *store.Tx) error {
		is = false
		return t.Each("SELECT chat, ref FROM outbox WHERE channel = $1 AND message = $2 AND agent = $3 AND usr = $4",
			[]any{channel, at.ID, owner.Agent, owner.User}, func(scan store.Scan) error {
				var named, encoded string
				var sent chat.Sent
				if err := scan(&named, &encoded); err != nil {
					return err
				}
				is = is || named == at.Chat || store.FromJSON(encoded, &sent) == nil && sent.Chat == at.Chat
				return nil
			})
	})
	return is, err
}

// ReportOnce reads how far the post with a Once is, in a transaction. Without one the error is
// [store.ErrNotFound].
func ReportOnce(t *store.Tx, once string) (Report, error) {
	list, err := reports(t, "post IN (SELECT post FROM outbox WHERE once = $1)", once)
	if err != nil || len(list) == 0 {
		return Report{}, cmp.Or(err, store.ErrNotFound)
	}
	return list[0], nil
}

// reports returns the posts whose rows match.
func reports(t *store.Tx, where string, args ...any) (list []Report, err error) {
	err = t.Each(`SELECT post, channel, chat, body,
			CASE WHEN job.state = 'running' AND outbox.ended = 0 THEN 'sending' ELSE outbox.state END,
			coalesce(job.run_at, 0), coalesce(job.attempt, outbox.attempt), ref, problem, outbox.created
		FROM outbox LEFT JOIN job ON job.id = outbox.id WHERE `+where+` ORDER BY outbox.id`, args, func(scan store.Scan) error {
		var r Report
		var body, ref string
		var due, created int64
		if err := scan(&r.ID, &r.Channel, &r.Chat, &body, &r.State, &due, &r.Attempts, &ref, &r.Problem,
			&created); err != nil {
			return err
		}
		var it item
		var sent chat.Sent
		if err := errors.Join(store.FromJSON(body, &it), store.FromJSON(ref, &sent)); err != nil {
			return err
		}
		r.Text, r.Due, r.Created = text.Clip(it.summary(), maxSummary), store.FromMillis(due), store.FromMillis(created)
		r.Notes = sent.Notes
		if sent.ID != "" {
			r.Refs = []chat.Ref{sent.Ref}
		}
		if n := len(list); n > 0 && list[n-1].ID == r.ID {
			list[n-1].add(r)
		} else {
			list = append(list, r)
		}
		return nil
	})
	return list, err
}

// maxSummary bounds the beginning of a text in a report, in bytes.
const maxSummary = 200

// summary describes a part in one line.
func (it item) summary() string {
	words := it.Message.Text
	if it.File != nil {
		words = strings.TrimSpace("file " + it.File.Name + " " + words)
	}
	if it.Message.Poll != nil {
		words = strings.TrimSpace(words + " poll: " + it.Message.Poll.Question)
	}
	if it.Action != Send {
		words = strings.TrimSpace(string(it.Action) + " " + it.Emoji + " " + words)
	}
	return strings.Join(strings.Fields(words), " ")
}

// add adds the outcome of a further part.
func (r *Report) add(part Report) {
	r.Refs, r.Notes = append(r.Refs, part.Refs...), append(r.Notes, part.Notes...)
	r.Attempts, r.Problem = max(r.Attempts, part.Attempts), cmp.Or(r.Problem, part.Problem)
	if r.State == Sent || part.State == Failed {
		r.State, r.Due = part.State, part.Due
	}
}

// Settled waits until a post has ended or the limit has passed, and returns its state. It starts
// the outbox, because there may be no other process that sends.
func (o *Outbox) Settled(ctx context.Context, id string, limit time.Duration) (Report, error) {
	o.Start()
	defer o.Store.Urgent()()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		changed := o.Store.Wait(Topic)
		r, err := o.Report(ctx, id)
		if err != nil || r.State.Final() {
			return r, err
		}
		select {
		case <-changed:
		case <-timer.C:
			return r, nil
		case <-ctx.Done():
			return r, context.Cause(ctx)
		}
	}
}

// List returns the latest posts, the newest first.
func (o *Outbox) List(ctx context.Context, limit int) (list []Report, err error) {
	err = o.Store.View(ctx, func(t *store.Tx) error {
		list, err = reports(t, "post IN (SELECT post FROM outbox WHERE id = post ORDER BY id DESC LIMIT $1)", limit)
		return err
	})
	slices.Reverse(list)
	return list, err
}

// Late returns how many messages should have been sent minutes ago: then no process sends them.
func Late(ctx context.Context, s *store.Store) (late int, err error) {
	err = s.Row(ctx, `SELECT count(*) FROM outbox JOIN job ON job.id = outbox.id
		WHERE outbox.ended = 0 AND run_at < {{now}} - $1`, []any{(5 * time.Minute).Milliseconds()}, &late)
	return late, err
}
