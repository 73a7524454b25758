// Package sessions knows the callers of the server: connections, subagents and chats, each with
// its key, its label and its use. Its tools list sessions, show their history, send messages
// between them, and wait for events.
//
// It knows the rows of sessions and the inbox. It knows neither transports nor how a subagent
// runs: an [Engine] does. Begin with [Sessions], then send.go.
package sessions

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const group = "sessions"

// Tools lists the tools of the group.
func Tools(s *Sessions) []tool.Tool {
	return []tool.Tool{
		tool.New(sessionStatus{s}),
		tool.New(sessionsList{s}),
		tool.New(sessionsHistory{s}),
		tool.New(sessionsSend{s}),
		tool.New(wait{s}),
	}
}

// An Engine runs sessions that have a model of their own. Messages are in their
// inboxes: see [inbox.Inbox.Take] and [Sessions.Answer].
type Engine interface {
	// Wake makes a session continue, because a message has arrived. It reports
	// whether the session can: one that has ended cannot.
	Wake(ctx context.Context, to inbox.To) (ok bool, err error)
	// Turns returns the conversation of a session, the oldest turn first. ok is false
	// for a session that the engine does not know.
	Turns(ctx context.Context, of inbox.To) (turns []Turn, ok bool, err error)
}

// A Turn is a message of a conversation.
type Turn struct {
	ID   string    `json:"id,omitempty"`
	Role string    `json:"role"` // user, assistant, tool, or agent for a message of another session
	From string    `json:"from,omitempty"`
	Text string    `json:"content"`
	At   time.Time `json:"at,omitzero"`
}

// Options configure Sessions.
type Options struct {
	Store      *store.Store
	Inbox      *inbox.Inbox
	Audit      *audit.DB         // for the calls of a session
	Visibility func() Visibility // of the settings
	// Dir has the locks of the processes that use the store from this machine. If it is
	// empty, the sessions of a killed process end when its lease does.
	Dir string
	// Environment are the variables that the operator gives to commands. It may be nil.
	Environment map[string]string
	Log         *slog.Logger // nil: silent
}

// Sessions has the operations on sessions. Its methods may be called concurrently.
type Sessions struct {
	Options
	Engine Engine // nil: no session has a model; set before the first call

	host  string // the id of this process
	dirty chan struct{}

	holding sync.Mutex // guards the lock of this process
	release func()     // of the lock; nil: none was taken yet
	locked  bool       // it was taken

	mu      sync.Mutex
	renewed time.Time // the lease of this process
	unsaved map[inbox.To]*used
	open    map[inbox.To]bool // sessions of this process that are in the store
}

// New returns the sessions in a store.
func New(o Options) *Sessions {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Sessions{
		Options: o, host: store.NewID(), dirty: make(chan struct{}, 1),
		unsaved: map[inbox.To]*used{}, open: map[inbox.To]bool{},
	}
}
