// Package inbound receives messages of people in chats, and asks people there.
//
// A message is stored, once, before the service learns that it has arrived. A message goes to the receiver that an
// operator has bound its chat to: the inbox of an agent, of a session or of the lead of a team, or an agent that
// answers by itself. Messages of other chats get a code for the operator, and nothing else. Approvals and questions go
// to the approvers of the settings; their answers count once, in the transaction that stores them.
//
// Text from outside is data: it is bounded, cleaned, marked where a model reads it, and decides nothing. The rights of
// a person depend on the service's id of the person alone.
//
// Any number of processes do this with one store. One of them pulls a channel at a time, see receive.go. Work that
// is due later is jobs: of chats with messages that wait for an answer, of notices, and of the deletion of old rows.
// Begin with accept.go, the way of an event; people.go has approvals and questions, answer.go agents that answer,
// notify.go notices.
package inbound

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/questions"
)

// Options are the needs of an Inbound.
type Options struct {
	Store    *store.Store
	Jobs     *jobs.Loop // nil: one of its own
	Outbox   *messaging.Outbox
	Accounts *messaging.Accounts
	Rules

	Approvals *approvals.Store
	Questions *questions.Questions
	// Lead returns the agent that leads a team.
	Lead func(t *store.Tx, team string) (agent string, err error)
	// Start starts an agent that answers. Nil: there is no model, so messages wait in the
	// inbox.
	Start func(ctx context.Context, r Run) error
	// Record records the decisions of people. It may be nil.
	Record func(ctx context.Context, r Record)
	Log    *slog.Logger // nil: silent
}

// Rules name the receivers of messages, the approvers, and the receivers of notices. The zero value receives nothing
// that is not paired.
type Rules struct {
	// Receive has the way of messages for each channel of the settings: off, pull, hook, or ""
	// for the needed one.
	Receive   map[string]string
	Bindings  []Binding
	Approvers []Approver
	Notify    []Rule
	Quiet     Quiet
}

// RulesOf returns the rules of the settings.
func RulesOf(m messaging.Settings) (o Rules) {
	o.Receive = make(map[string]string)
	for name, c := range m.Channels {
		o.Receive[name] = c.Receive
	}
	for _, b := range m.Bindings {
		at, ok := ParsePlace(b.Chat)
		if !ok { // *
			at = Place{Channel: b.Chat, Chat: b.Chat}
		}
		o.Bindings = append(o.Bindings, Binding{
			Chat: at, Agent: b.Agent, User: b.User, Team: b.Team, Session: b.Session, Profile: b.Profile,
			Answer: b.Answer, Tools: b.Tools,
		})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Approvers)) {
		o.Approvers = append(o.Approvers, Approver{Name: name, At: places(m.Approvers[name])})
	}
	for _, n := range m.Notify {
		o.Notify = append(o.Notify, Rule{
			Events: n.Events, To: places(n.To), Agents: n.Agents, Debounce: n.Debounce,
		})
	}
	o.Quiet = Quiet{From: timeOfDay(m.QuietHours.From), To: timeOfDay(m.QuietHours.To),
		Zone: time.Local}
	if zone, err := time.LoadLocation(m.QuietHours.Zone); err == nil && m.QuietHours.Zone != "" {
		o.Quiet.Zone = zone
	}
	return o
}

func places(targets []string) (list []Place) {
	for _, target := range targets {
		if at, ok := ParsePlace(target); ok {
			list = append(list, at)
		}
	}
	return list
}

// timeOfDay reads a valid time of day from the settings, such as 22:30.
func timeOfDay(clock string) time.Duration {
	at, err := time.Parse("15:04", clock)
	if err != nil {
		return 0
	}
	return time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
}

// A Record is something that a person has done in a chat, for the audit log.
type Record struct {
	Person  string // an approver, or CHANNEL:ID
	Channel string
	Action  string // answer an approval, answer a question or pair
	About   string // the id of its subject
	Outcome string // ok or refused
	Why     string // it was refused
}

// An Approver is a person with the right to answer approvals and questions.
type Approver struct {
	Name string
	// At are the chats of the person, in the order of trying. The service's id of the person is
	// one of them.
	At []Place
}

// A Place is a chat, or a topic or thread in it.
type Place struct{ Channel, Chat, Thread string }

// String returns the place as settings name it.
func (p Place) String() string {
	if p.Thread == "" {
		return p.Channel + ":" + p.Chat
	}
	return p.Channel + ":" + p.Chat + topicMark + p.Thread
}

const topicMark = ":topic:"

// ParsePlace parses the result of String.
func ParsePlace(text string) (p Place, ok bool) {
	p.Channel, p.Chat, ok = strings.Cut(text, ":")
	p.Chat, p.Thread, _ = strings.Cut(p.Chat, topicMark)
	return p, ok && p.Channel != "" && p.Chat != ""
}

// An Inbound receives and asks. Its methods may be called concurrently.
type Inbound struct {
	Options
	me    string // the id of this process
	lease time.Duration
	marks tool.Marks
	full  chan struct{} // of requests of hooks at once

	answers, notices, sweeps *jobs.Queue

	mu     sync.Mutex
	ctx    context.Context // of acknowledgements
	stop   context.CancelFunc
	closed bool
	acks   sync.WaitGroup
}

// New returns an Inbound. It does nothing until Run, or until a service calls.
func New(o Options) *Inbound {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Record == nil {
		o.Record = func(context.Context, Record) {}
	}
	b := &Inbound{
		Options: o, me: store.NewID(), lease: pullLease, marks: tool.NewMarks(), full: make(chan struct{}, maxHooks),
	}
	b.ctx, b.stop = context.WithCancel(context.Background())
	queue := func(kind string, do func(context.Context, *jobs.Held) error) *jobs.Queue {
		return &jobs.Queue{
			Store: o.Store, Loop: o.Jobs, Kind: kind, Always: true, Log: o.Log,
			Do: func(ctx context.Context, h *jobs.Held) (string, error) { return "", do(ctx, h) },
		}
	}
	b.answers, b.notices, b.sweeps = queue("chat answer", b.answer), queue("chat notice", b.sendNotices),
		queue("chat sweep", b.sweep)
	b.answers.Ended, b.answers.Slots = b.unanswered, answerSlots
	b.sweeps.Every = sweepEvery
	return b
}

// Close waits for running work.
func (b *Inbound) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.stop()
	b.acks.Wait()
	return nil
}

// Run receives, asks, answers and notifies until ctx ends.
func (b *Inbound) Run(ctx context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	working.Go(func() { b.receive(ctx) })
	working.Go(func() { b.notices.Run(ctx) })
	working.Go(func() { b.sweeps.Run(ctx) })
	if b.Start != nil {
		working.Go(func() { b.answers.Run(ctx) })
	}
	if len(b.Approvers) > 0 || len(b.Notify) > 0 {
		working.Go(func() { b.ask(ctx) })
	}
}

const (
	sweepEvery = time.Hour
	// answerSlots is how many agents a process starts at once.
	answerSlots = 4
)

func (b *Inbound) warn(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		b.Log.Warn(what, "err", err)
	}
}

// How long rows are kept.
const (
	keepEvents    = 7 * 24 * time.Hour // services repeat for a day at most
	keepMessages  = 7 * 24 * time.Hour
	keepFiles     = 7 * 24 * time.Hour
	keepQuestions = 24 * time.Hour // after their end
)

// sweep removes old rows.
func (b *Inbound) sweep(ctx context.Context, _ *jobs.Held) error {
	return b.Store.Update(ctx, func(t *store.Tx) error {
		for _, one := range []struct {
			text string
			age  time.Duration
		}{
			{"DELETE FROM chat_event WHERE at < {{now}} - $1", keepEvents},
			{"DELETE FROM chat_message WHERE run = '-' AND at < {{now}} - $1", keepMessages},
			{"DELETE FROM chat_file WHERE at < {{now}} - $1", keepFiles},
			{`DELETE FROM chat_question WHERE state = 'closed' AND at < {{now}} - $1 AND NOT EXISTS
				(SELECT 1 FROM ask WHERE ask.id = chat_question.about AND ask.state = 'open')`,
				keepQuestions},
			{"DELETE FROM chat_pairing WHERE since < {{now}} - $1", pairingDay},
			{"DELETE FROM chat_notice WHERE n = 0 AND until < {{now}} - $1", 0},
		} {
			if _, err := t.Exec(one.text, one.age.Milliseconds()); err != nil {
				return err
			}
		}
		return nil
	})
}

// channel returns a channel that can be used.
func (b *Inbound) channel(name string) (chat.Channel, bool) {
	c, err := b.Accounts.Channel(name)
	return c, err == nil
}
