// Package teams lets agents work together: a team has members, a board of tasks, messages and
// files. A member is an agent in any client: in a terminal, in an editor, on another machine.
// All of them see one board, because it is in the store.
//
// It knows teams, their rows and the rights of members. Members get notices in their inboxes.
// The package does not know how an agent without a client is started (Options.Start), nor how a
// person is asked (Options.Ask).
//
// Every change of a task is one conditional statement on its status, so that of any number of processes one
// succeeds. The states are: pending, blocked (waits for other tasks), in_progress (a member holds it for a time),
// in_review, and at the end completed, cancelled or failed. A task that its assignee does not begin becomes stale.
//
// Begin with board.go, the caller's place in a team; tasks.go and moves.go have the tasks,
// recover.go has tasks without a client, admin.go the operations of operators.
package teams

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/questions"
)

// Group is the group of the tools. It is not listed to agents without a team.
const Group = "teams"

// Topic is the topic of teams and members in the change feed. Keys are ids of teams.
const Topic = "team"

// Tools returns the tools of the group.
func Tools(t *Teams) []tool.Tool {
	return []tool.Tool{
		tool.New(teamTasks{t}),
		tool.New(teamMessage{t}),
		tool.New(workspaceDir{t}),
	}
}

// Options are the dependencies of Teams.
type Options struct {
	Store *store.Store
	// Unused reports whether nothing was ever stored; then there are no teams, and the store is not opened.
	Unused func() bool
	// Start starts an agent for a task, unless a client of the agent is connected. ctx is the
	// context of a call of the lead: the agent works for the lead. Nil: members are clients
	// only.
	Start func(ctx context.Context, s Start) error
	// Describe returns the purpose of an agent, "" if it is not known. Nil: no purpose is
	// known.
	Describe func(ctx context.Context, agent string) string
	// Ask puts a question of a member to a person. Nil: questions are refused.
	Ask func(ctx context.Context, q questions.Question) (answer string, err error)
	// Done is called in the transaction that completes or fails a task. It may be nil.
	Done func(t *store.Tx, lead, task, text string) error
	// Withdraw withdraws the questions about a task.
	Withdraw func(t *store.Tx, task string) error
	Inbox    *inbox.Inbox // confirms that messages were read; nil: they are read once the call has run
	Log      *slog.Logger
}

// A Start is an agent to be started for a task.
type Start struct {
	Agent string
	Task  string // the task of the agent
	Ref   string // of the run, for [Teams.RunEnded]
	// Claim gives the task to the session of the agent, in the transaction that starts it.
	Claim func(tx *store.Tx, session string) error
}

// Teams are all teams of a store. Its methods may be called concurrently.
type Teams struct {
	o Options

	mu      sync.Mutex
	members map[string]bool // the agents in active teams; nil if unknown
}

// New returns the teams of a store. It opens nothing.
func New(o Options) *Teams {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Teams{o: o}
}

// unused reports whether there cannot be a team.
func (t *Teams) unused() bool {
	return t == nil || t.o.Store == nil || t.o.Unused != nil && t.o.Unused()
}

// Has reports whether an agent is a member of a team. It reads the store once, and again after Forget. If the store
// cannot be read it returns true: calls find out.
func (t *Teams) Has(agent string) bool {
	if agent == "" || t.unused() {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.members == nil {
		ctx, cancel := context.WithTimeout(context.Background(), membersTimeout)
		defer cancel()
		members := map[string]bool{}
		err := t.o.Store.View(ctx, func(x *store.Tx) error {
			list, err := store.List(x, "SELECT agent FROM team_member WHERE active", nil, store.One[string])
			for _, agent := range list {
				members[agent] = true
			}
			return err
		})
		if err != nil {
			return true
		}
		t.members = members
	}
	return t.members[agent]
}

// membersTimeout bounds how long a list of tools waits for the store.
const membersTimeout = 3 * time.Second

// Forget makes Has read the store again.
func (t *Teams) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.members = nil
}
