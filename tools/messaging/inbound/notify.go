package inbound

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

// The events that notify people.
const (
	TaskDone     = "task_done"
	JobFailed    = "job_failed"
	ApprovalOpen = "approval_open"
	QuestionOpen = "question_open"
	BudgetUsed   = "budget"
)

// A Rule has the places that get notices of events.
type Rule struct {
	Events []string // none: all
	To     []Place  // the first one that can be reached gets it
	Agents []string // whose events; none: all
	// Debounce is the time during which equal events are collected into one notice.
	Debounce time.Duration
}

// Quiet are the hours of a day without notices: they wait until its end. Equal From and To mean
// no such hours.
type Quiet struct {
	From, To time.Duration // since midnight
	Zone     *time.Location
}

// end returns when the quiet hours end that a time is in, or the time.
func (q Quiet) end(now time.Time) time.Time {
	if q.From == q.To || q.Zone == nil {
		return now
	}
	local := now.In(q.Zone)
	at := func(days int, since time.Duration) time.Time {
		return time.Date(local.Year(), local.Month(), local.Day()+days, 0, int(since.Minutes()), 0, 0, q.Zone)
	}
	for day := -1; day <= 0; day++ {
		to := at(day, q.To)
		if q.To < q.From {
			to = at(day+1, q.To)
		}
		if !local.Before(at(day, q.From)) && local.Before(to) {
			return to
		}
	}
	return now
}

// An Event is an event that may notify people.
type Event struct {
	Kind  string // TaskDone, ...
	Agent string // whose it is
	Key   string // events of a kind with equal keys are equal
	Text  string // in one line
}

// Tell notifies people in the transaction of an event.
func (b *Inbound) Tell(t *store.Tx, e Event) error {
	if b == nil {
		return nil
	}
	for i, r := range b.Notify {
		if len(r.Events) > 0 && !slices.Contains(r.Events, e.Kind) ||
			len(r.Agents) > 0 && !slices.Contains(r.Agents, e.Agent) || len(r.To) == 0 {
			continue
		}
		ms, err := t.Now()
		if err != nil {
			return err
		}
		due := b.Quiet.end(store.FromMillis(ms))
		dest := make([]string, len(r.To))
		for i, p := range r.To {
			dest[i] = p.String()
		}
		names, err := store.ToJSON(dest, false)
		if err != nil {
			return err
		}
		words := text.Clip(tool.Visible(strings.Join(strings.Fields(e.Text), " ")), maxNotice)
		// Within the debounce time of an equal one it waits for the end of that.
		var waiting int
		var at int64
		if err := t.Row(`INSERT INTO chat_notice (id, dest, content, n, due, until, debounce)
			VALUES ($1, $2, $3, 1, $4, 0, $5) ON CONFLICT (id) DO UPDATE SET n = chat_notice.n + 1,
			content = excluded.content, dest = excluded.dest, debounce = excluded.debounce,
			due = CASE WHEN chat_notice.n > 0 THEN chat_notice.due ELSE {{max}}(excluded.due, chat_notice.until) END
			RETURNING n, due`, []any{
			digestOfParts(fmt.Sprint(i), names, e.Kind, e.Key), names, words, store.Millis(due),
			cmp.Or(r.Debounce, defaultDebounce).Milliseconds(),
		}, &waiting, &at); err != nil {
			return err
		}
		if waiting > 1 { // the first of equal events has added the job
			continue
		}
		if _, _, err := b.notices.Enqueue(t, jobs.New{Due: store.FromMillis(at), Attempts: jobs.AnyTimes}); err != nil {
			return err
		}
	}
	return nil
}

const (
	maxNotice = 500
	// maxNotices is how many notices one message has.
	maxNotices = 20
	// defaultDebounce is the time for rules that have none.
	defaultDebounce = 5 * time.Minute
)

// sendNotices sends the notices that are due, those to one place in one message. Each notice has a job, and there is
// nothing to do for a job whose notice another one has sent.
func (b *Inbound) sendNotices(ctx context.Context, _ *jobs.Held) error {
	err := b.Store.Update(ctx, func(t *store.Tx) error {
		type notice struct {
			id, dest, words string
			n               int
		}
		list, err := store.List(t, fmt.Sprintf(`SELECT id, dest, content, n FROM chat_notice
			WHERE n > 0 AND due <= {{now}} ORDER BY due, id LIMIT %d {{lock}}`, maxNotices), nil,
			func(scan store.Scan) (x notice, err error) {
				err = scan(&x.id, &x.dest, &x.words, &x.n)
				return x, err
			})
		if err != nil || len(list) == 0 {
			return err
		}
		lines := map[string][]string{}
		for _, x := range list {
			if x.n > 1 {
				x.words += fmt.Sprintf(" (%d times)", x.n)
			}
			lines[x.dest] = append(lines[x.dest], x.words)
			if _, err := t.Exec("UPDATE chat_notice SET n = 0, until = {{now}} + debounce WHERE id = $1",
				x.id); err != nil {
				return err
			}
		}
		for dest, words := range lines {
			var names []string
			if err := store.FromJSON(dest, &names); err != nil {
				return err
			}
			var places []Place
			for _, name := range names {
				if p, ok := ParsePlace(name); ok {
					places = append(places, p)
				}
			}
			if err := b.putFirst(t, places, chat.Message{
				Plain: true, Text: strings.Join(words, "\n"), Subject: text.Clip(words[0], 100),
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return &jobs.Again{After: retryEvery, Err: err}
	}
	return nil
}

// fallback is how long a place is tried before the next one.
const fallback = 20 * time.Second

// putFirst sends a message to the first place that can be reached. It leaves out places
// whose channel is not in the settings.
func (b *Inbound) putFirst(t *store.Tx, places []Place, m chat.Message) error {
	var posts []messaging.Post
	for _, p := range places {
		if _, ok := b.channel(p.Channel); !ok {
			continue
		}
		m.Chat, m.Thread = p.Chat, p.Thread
		posts = append(posts, messaging.Post{Channel: p.Channel, Message: m})
	}
	if len(posts) == 0 {
		b.Log.Warn("a notice cannot be sent to any of its chats", "chats", places)
		return nil
	}
	return b.putChain(t, posts, time.Now(), time.Time{})
}

// putChain puts the first post, with the others in its place if it fails. All but the last
// are tried for a short time only.
func (b *Inbound) putChain(t *store.Tx, posts []messaging.Post, now, until time.Time) error {
	for i := range posts {
		posts[i].Until = until
		if i < len(posts)-1 {
			posts[i].Until = now.Add(time.Duration(i+1) * fallback)
		}
	}
	first := posts[0]
	first.Else = posts[1:]
	_, _, err := b.Outbox.Put(t, first)
	return err
}
