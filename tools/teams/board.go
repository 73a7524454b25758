package teams

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Role is the role of a member in its team.
type Role string

// The roles.
const (
	Lead     Role = "lead"     // creates and decides; a team has one
	Member   Role = "member"   // does the tasks
	Reviewer Role = "reviewer" // approves and rejects too, and does not change the files of the team
)

// A Team is a row of its table.
type Team struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Status      string   `json:"status"` // active or archived
	Settings    Settings `json:"settings"`
	CreatedBy   string   `json:"created_by"`
	Created     int64    `json:"created"` // in milliseconds since 1970
}

// Settings are the settings of one team. The zero Settings have the defaults.
type Settings struct {
	AllowUsers    []string `json:"allow_users,omitempty"` // none: all
	DenyUsers     []string `json:"deny_users,omitempty"`
	AllowChannels []string `json:"allow_channels,omitempty"` // stdio, http, ...; none: all
	DenyChannels  []string `json:"deny_channels,omitempty"`
	// Isolated gives each user a board and files of their own.
	Isolated bool `json:"isolated,omitempty"`
	// Quiet are the kinds of notices that the lead does not get: completed, failed, review, progress, file, ...
	Quiet []string `json:"quiet,omitempty"`
	// EscalationActions are the actions of team_tasks that members leave to the lead: with RejectMode they are
	// refused, with ReviewMode the lead is notified too, and complete hands the result to the lead.
	EscalationActions []string `json:"escalation_actions,omitempty"`
	EscalationMode    string   `json:"escalation_mode,omitempty"` // "" is ReviewMode
	// LockMinutes is how long a member holds a task without progress.
	LockMinutes int `json:"lock_minutes,omitempty"`
	// FollowupMinutes are between reminders of a question, and FollowupMax bounds their number; 0 means no limit.
	FollowupMinutes int `json:"followup_minutes,omitempty"`
	FollowupMax     int `json:"followup_max,omitempty"`
}

// The modes of escalation.
const (
	ReviewMode = "review"
	RejectMode = "reject"
)

// EscalationActions returns the actions that can be left to the lead.
func EscalationActions() []string {
	return []string{"claim", "complete", "comment", "attach", "ask_user"}
}

const (
	lockMinutes     = 30
	followupMinutes = 30
)

func (s Settings) lock() time.Duration { return minutes(s.LockMinutes, lockMinutes) }

func (s Settings) followup() time.Duration { return minutes(s.FollowupMinutes, followupMinutes) }

func minutes(n, otherwise int) time.Duration {
	if n <= 0 {
		n = otherwise
	}
	return time.Duration(n) * time.Minute
}

// admits returns an error if the policy of the team refuses a caller. Denied comes first. A subagent comes through
// the checked channel of its parent.
func (s Settings) admits(c tool.Caller) error {
	may := func(name string, allow, deny []string) bool {
		return !slices.Contains(deny, name) && (len(allow) == 0 || slices.Contains(allow, name))
	}
	switch {
	case !may(c.User, s.AllowUsers, s.DenyUsers):
		return tool.Errorf(tool.Refused, "the access policy of this team does not allow user %q", c.User).
			Try("ask the operator of the team")
	case c.Depth == 0 && !may(c.Channel, s.AllowChannels, s.DenyChannels):
		return tool.Errorf(tool.Refused, "the access policy of this team does not allow channel %q", c.Channel).
			Try("ask the operator of the team")
	}
	return nil
}

// A board is the board of one team as one member sees it: the member's seat.
type board struct {
	*Teams
	team    Team
	agent   string
	role    Role
	lead    string // the agent that leads the team
	name    string // the user that has this board; "" if all users share it
	user    string
	session string // of the holder of the caller's claims
	from    string // the key of the caller's session; "" for the server
}

const seatQuery = `SELECT t.id, t.name, t.description, t.status, t.settings, t.created_by, t.created, m.role,
	coalesce((SELECT l.agent FROM team_member l WHERE l.team = t.id AND l.active AND l.role = 'lead'), '')
	FROM team_member m JOIN team t ON t.id = m.team WHERE m.agent = $1 AND m.active AND t.status = 'active'`

// board returns the board of the caller's team. Everything that cannot be determined is a refusal.
func (t *Teams) board(ctx context.Context) (*board, error) {
	o, err := tool.OwnerFrom(ctx)
	if err != nil {
		return nil, err
	}
	if o.Agent == "" || t.unused() {
		return nil, notInTeam()
	}
	c := tool.CallerFrom(ctx)
	b := &board{Teams: t, agent: o.Agent, user: o.User, session: c.Session, from: c.Key()}
	var settings string
	err = t.o.Store.Row(ctx, seatQuery, []any{o.Agent}, &b.team.ID, &b.team.Name, &b.team.Description, &b.team.Status,
		&settings, &b.team.CreatedBy, &b.team.Created, &b.role, &b.lead)
	if errors.Is(err, store.ErrNotFound) {
		return nil, notInTeam()
	}
	if err != nil {
		return nil, unavailable(err)
	}
	if err := store.FromJSON(settings, &b.team.Settings); err != nil {
		return nil, tool.Errorf(tool.Refused, "the settings of this team cannot be read").
			Try("ask the operator of the team").Because(err)
	}
	if b.team.Settings.Isolated {
		b.name = o.User
	}
	return b, b.team.Settings.admits(c)
}

func notInTeam() error {
	return tool.Errorf(tool.Refused, "this agent is not part of any team").
		Try("work without team tools; an operator adds agents with mcp-tools teams add")
}

func unavailable(err error) error {
	var known *tool.Error
	if errors.As(err, &known) {
		return err
	}
	return tool.Errorf(tool.Unavailable, "the board cannot be reached at the moment").Try("call again").Because(err)
}

// mustLead returns an error unless the caller leads the team.
func (b *board) mustLead() error {
	if b.role != Lead {
		return tool.Errorf(tool.Refused, "only the team lead can perform this action").
			Try("send a message to %s with team_message", b.lead)
	}
	return nil
}

// mustDecide returns an error unless the caller leads the team or reviews for it.
func (b *board) mustDecide() error {
	if b.role != Reviewer {
		return b.mustLead()
	}
	return nil
}

// update runs f in a transaction. f may run several times.
func (b *board) update(ctx context.Context, f func(*change) error) error {
	err := b.o.Store.Update(ctx, func(x *store.Tx) error { return f(&change{Tx: x, board: b}) })
	if errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err != nil {
		return unavailable(err)
	}
	if b.role == Lead && b.o.Start != nil {
		if err := b.startAgents(ctx); err != nil { // the change is made, and the next call of the lead tries again
			b.o.Log.Warn("assignees of tasks could not be started", "err", err)
		}
	}
	return nil
}

// A change is a transaction that changes a board.
type change struct {
	*store.Tx
	*board
}

// event records a change of a task.
func (c *change) event(task, action, detail string) error {
	_, err := c.Exec(`INSERT INTO team_event (id, task, agent, action, detail, at)
		VALUES ($1, $2, $3, $4, $5, {{now}})`, store.NewID(), task, c.agent, action, detail)
	return errors.Join(err, c.Changed(taskTopic, task))
}

// tell puts a notice about a task into the inbox of a member, unless that is the caller itself.
func (c *change) tell(agent, task, text string) error {
	return c.notify(agent, inbox.Event{Kind: inbox.Task, Subject: task, Text: text})
}

// notify is tell for an event, whose ID names the entry that can be settled later.
func (c *change) notify(agent string, e inbox.Event) error {
	if agent == "" || agent == c.agent {
		return nil
	}
	e.From = c.from
	_, err := inbox.Add(c.Tx, c.inboxOf(agent), e)
	return err
}

// inboxOf returns the inbox of a member.
func (b *board) inboxOf(agent string) inbox.To {
	return inbox.To{
		Owner: tool.Owner{Agent: agent, User: cmp.Or(b.name, inbox.AnyUser)}, Session: inbox.AnySession,
	}
}

// tellLead is tell for the lead. The lead may have switched off some kinds.
func (c *change) tellLead(kind, key, text string) error {
	if (kind == "completed" || kind == "failed") && c.o.Done != nil {
		if err := c.o.Done(c.Tx, c.lead, key, text); err != nil {
			return err
		}
	}
	if slices.Contains(c.team.Settings.Quiet, kind) {
		return nil
	}
	return c.tell(c.lead, key, text)
}
