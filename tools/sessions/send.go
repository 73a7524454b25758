package sessions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// sessionsSend sends a message to another session.
type sessionsSend struct{ sessions *Sessions }

type sessionsSendArgs struct {
	To      string `json:"to,omitempty" jsonschema:"key or label of a session, or an agent: its next session" alias:"session_key,key,session"`
	Message string `json:"message" jsonschema:"text of the message" alias:"content,text" maxlen:"102400"`
	Timeout int    `json:"timeout,omitempty" jsonschema:"seconds to wait for the answer, default 0" alias:"timeout_seconds" min:"0" max:"300"`

	Label   string `json:"label,omitempty" jsonschema:"label of a session" hidden:"true"`
	Agent   string `json:"agent,omitempty" jsonschema:"name of an agent" alias:"target_agent_id" hidden:"true"`
	AgentID string `json:"agent_id,omitempty" jsonschema:"the agent, if agent is empty" hidden:"true"`
}

func (sessionsSend) Spec() tool.Spec {
	return tool.Spec{
		Name: "sessions_send", Group: group, Title: "Send to a session", Risk: tool.Writes,
		Doc: `Sends a message to another session, which gets it with its next result, marked as from an agent.
Its answer arrives the same way. After 5 answers in a row an exchange ends; the message REPLY_SKIP ends it at once.`,
		Also: []string{"agent_send", "tool::agent_send"}, Timeout: maxWait + 10*time.Second,
		Keywords: "message agent tell ask reply", Output: sent{},
	}
}

// sent is the result of the tool for programs.
type sent struct {
	Status string `json:"status"` // accepted, answered or ended
	Key    string `json:"session_key,omitempty"`
	ID     string `json:"id,omitempty"`
	Answer string `json:"answer,omitempty"`
}

const (
	maxWait    = 5 * time.Minute
	maxTurns   = 5
	exchange   = 10 * time.Minute // after this time a message begins a new exchange
	maxWaiting = 1000             // messages that a receiver did not get yet
	replySkip  = "REPLY_SKIP"
)

// fromOwner is the data of a message: its sender, for the answer.
type fromOwner struct {
	Agent string `json:"agent"`
	User  string `json:"user"`
}

func (t sessionsSend) Do(ctx context.Context, a sessionsSendArgs) (tool.Result, error) {
	running := tool.RunningFrom(ctx)
	c := running.Caller
	to, err := t.receiver(ctx, c, a)
	if err != nil {
		return tool.Result{}, err
	}
	shown := to.Session
	if shown == "" {
		shown = "the next session of agent " + agentName(to.Agent)
	}
	switch strings.TrimSpace(a.Message) {
	case "":
		return tool.Result{}, tool.Errorf(tool.Invalid, "the message is empty")
	case replySkip:
		return tool.Text("The exchange has ended; nothing was sent.").With(sent{Status: "ended", Key: to.Session}), nil
	}
	id, err := t.sessions.send(ctx, c, to, a.Message)
	if err != nil {
		return tool.Result{}, err
	}
	if a.Timeout > 0 {
		return t.answer(ctx, running, sent{Status: "accepted", Key: to.Session, ID: id},
			time.Duration(a.Timeout)*time.Second)
	}
	return tool.Textf("Sent to %s as message %s.", shown, id).With(sent{Status: "accepted", Key: to.Session, ID: id}),
		nil
}

// receiver returns the receiver of a message.
func (t sessionsSend) receiver(ctx context.Context, c tool.Caller, a sessionsSendArgs) (to inbox.To, err error) {
	if a.Agent == "" && a.To == "" && a.Label == "" {
		a.Agent = a.AgentID
	}
	given := 0
	for _, name := range []string{a.To, a.Label, a.Agent} {
		if name != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return to, tool.Errorf(tool.Invalid, "one receiver must be given with to, not %d", given).
			Try("call sessions_list to see the keys and labels")
	case a.Agent != "":
		return t.sessions.agent(ctx, c, a.Agent)
	}
	row, err := t.sessions.find(ctx, c, a.To+a.Label)
	switch {
	case err != nil:
		if to, failed := t.sessions.agent(ctx, c, a.To); a.To != "" && failed == nil {
			return to, nil
		}
		return to, err
	case row.To == inbox.ToCaller(c):
		return to, tool.Errorf(tool.Invalid, "this is your own session").Try("choose another one of sessions_list")
	case row.Open:
		return row.To, nil
	case row.Depth > 0:
		return to, tool.Errorf(tool.Conflict, "the subagent %s has ended", row.Session).Try("start another one")
	}
	return inbox.To{Owner: row.Owner}, nil // the next session of its owner gets it
}

// agent returns the receiver for an agent whose sessions a caller may see.
func (s *Sessions) agent(ctx context.Context, c tool.Caller, name string) (to inbox.To, err error) {
	if _, err = s.own(ctx, c); err != nil {
		return to, err
	}
	where, args, level := s.visible(c)
	if level == Self || level == Tree {
		return to, tool.Errorf(tool.Refused, "you may write to single sessions only").
			Try("call sessions_list to see their keys")
	}
	stored := name
	if name == tool.MainAgent {
		stored = ""
	}
	rows, err := s.where(ctx, where+" AND agent IN ($5, $6) AND usr = $3 ORDER BY updated DESC LIMIT 1",
		append(args, name, stored)...)
	if err != nil {
		return to, err
	}
	if len(rows) == 0 {
		return to, tool.Errorf(tool.NotFound, "there is no agent %q that you may write to", text.Clip(name, 200)).
			Try("call sessions_list to see the sessions of agents")
	}
	return inbox.To{Owner: rows[0].Owner}, nil
}

func agentName(name string) string {
	if name == "" {
		return tool.MainAgent
	}
	return name
}

// send adds a message to an inbox, unless the exchange has gone on for too long or too
// many messages wait there, and wakes the receiver if it has a model.
func (s *Sessions) send(ctx context.Context, c tool.Caller, to inbox.To, message string) (id string, err error) {
	wait, err := s.Store.Take(ctx, "message "+c.Principal()+" "+c.Key()+" "+to.String(),
		store.Rate{Times: 10, Period: time.Minute, Burst: 10})
	if err != nil {
		return "", err
	}
	if wait > 0 {
		return "", tool.Errorf(tool.Busy, "more than 10 messages a minute to one session").
			Try("wait %s, and say more in one message", wait.Round(time.Second))
	}
	err = s.Store.Update(ctx, func(t *store.Tx) error {
		e := inbox.Event{
			Kind: inbox.Message, From: c.Key(), Text: message, Data: fromOwner{c.Agent, c.User},
		}
		before, err := inbox.LastMessage(t, inbox.ToCaller(c), to, exchange)
		if err != nil {
			return err
		}
		if e.Turn = before.Turn; before.From != "" && before.From != c.Key() {
			e.Reply, e.Turn = before.ID, before.Turn+1
		}
		if e.Turn > maxTurns {
			return tool.Errorf(tool.Refused, "this exchange has had %d answers", maxTurns).
				Try("end it: tell the user the outcome; a new one can begin in %s", exchange)
		}
		waiting, err := inbox.Count(t, to)
		if err != nil {
			return err
		}
		if waiting >= maxWaiting {
			return tool.Errorf(tool.Busy, "%d messages wait for that session already", waiting).
				Try("try again when it was active")
		}
		id, err = inbox.Add(t, to, e)
		return err
	})
	if err != nil || s.Engine == nil {
		return id, err
	}
	if _, err := s.Engine.Wake(ctx, to); err != nil {
		s.Log.Warn("a session was not woken for a message; it finds it later", "err", err)
	}
	return id, nil
}

// Answer sends the answer of a session that an [Engine] runs to the sender of a message.
func (s *Sessions) Answer(ctx context.Context, c tool.Caller, to inbox.Event, answer string) error {
	data, _ := to.Data.(map[string]any)
	agent, _ := data["agent"].(string)
	user, ok := data["user"].(string)
	if to.Kind != inbox.Message || !ok {
		return errors.New("only messages of sessions can be answered")
	}
	_, err := s.Inbox.Send(ctx, inbox.To{Owner: tool.Owner{Agent: agent, User: user}, Session: to.From}, inbox.Event{
		ID: "answer to " + to.ID, Kind: inbox.Message, From: c.Key(), Reply: to.ID, Turn: to.Turn + 1, Text: answer,
		Data: fromOwner{c.Agent, c.User},
	})
	return err
}

// answer waits for the answer to a message.
func (t sessionsSend) answer(ctx context.Context, running tool.Running, s sent, limit time.Duration) (tool.Result,
	error) {
	tool.Idle(ctx)
	events, err := t.sessions.Inbox.Wait(ctx, running.Caller, running.Call, inbox.Filter{s.ID}, limit)
	if errors.Is(err, inbox.ErrNothing) {
		return tool.Textf("Sent as message %s. There was no answer within %s; it arrives later.", s.ID, limit).With(s),
			nil
	}
	if err != nil {
		return tool.Result{}, err
	}
	s.Status = "answered"
	s.Answer = events[0].Text
	return tool.Text(inFull(events)).With(s), nil
}

// inFull writes events with their whole text.
func inFull(events []inbox.Event) string {
	var b strings.Builder
	for i, e := range events {
		if i > 0 {
			b.WriteString("\n")
		}
		long := e.Text
		e.Text = ""
		b.WriteString(e.Line())
		if long != "" {
			fmt.Fprintf(&b, ":\n%s", quoted(long))
		}
	}
	return b.String()
}

// quoted puts a mark before each line of a text that another session has written, so
// that no line of it passes for ours.
func quoted(long string) string {
	clean, _ := tool.Clean(long)
	clean, left := beginning(clean, maxShown)
	lines := "> " + strings.ReplaceAll(clean, "\n", "\n> ")
	if left > 0 {
		lines += fmt.Sprintf("\n[%d more bytes]", left)
	}
	return lines
}

// maxShown bounds the text of one message, in characters.
const maxShown = 4000

// beginning returns the first characters of a text, and how many bytes are left.
func beginning(text string, characters int) (head string, left int) {
	for i := range text {
		if characters == 0 {
			return text[:i], len(text) - i
		}
		characters--
	}
	return text, 0
}
