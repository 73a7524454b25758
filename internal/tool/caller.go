package tool

import (
	"cmp"
	"context"
	"strings"
	"time"
	"unicode/utf8"
)

// A Caller identifies the agent and the user that a call is made for. The identity comes from the transport (flags, a
// token, a verified claim), never from arguments. A tool gets it with [CallerFrom], and rows of a caller are stored
// under its [Caller.Principal]: the agent and its user.
type Caller struct {
	Agent     string // the agent's key
	User      string // the person behind it
	Provider  string // the model provider, when known
	Channel   string // where the conversation takes place: "stdio", "http", a chat platform
	ChatID    string // the chat within the channel
	PeerKind  string // "direct" or "group"; "" is direct
	Topic     string // the topic or thread within the chat
	Sender    string // the writer in a group chat, if it is not the user
	Session   string // one conversation; the key of limits, loops and results
	Depth     int    // 0 for an agent, 1 and more for its subagents
	Leaf      bool   // a subagent that may not start others
	Apart     bool   // a subagent that works in a workspace of its own
	Parent    string // the key of the session that started this one; "" for none
	Profile   string // the policy profile that was chosen; "" is the operator's default
	Workspace string // the directory that it works in
}

// Person returns the speaker: the sender in a group chat, else the user.
func (c Caller) Person() string { return cmp.Or(c.Sender, c.User) }

// Principal returns the name of the owner of stored things. Two callers never have the same
// one, also if their names contain a slash.
func (c Caller) Principal() string {
	return escaped(c.Agent) + "/" + escaped(c.User)
}

// MainAgent stands for an agent without a name, in keys of sessions.
const MainAgent = "main"

// Key returns the name of the caller's session for other sessions:
//
//	agent:<agent>:<channel>:<session>             a connection
//	agent:<agent>:<channel>:<peer kind>:<chat>    a chat, and :topic:<topic> in it
//	agent:<agent>:subagent:<session>              a subagent
//
// Parts are escaped, so that two sessions have different keys. It is "" for a
// caller without a session.
func (c Caller) Key() string {
	agent := keyPart(cmp.Or(c.Agent, MainAgent))
	switch {
	case c.Session == "" && (c.ChatID == "" || c.Depth > 0):
		return ""
	case c.Depth > 0:
		return "agent:" + agent + ":subagent:" + keyPart(c.Session)
	case c.ChatID != "":
		chat := "agent:" + agent + ":" + keyPart(c.Channel) + ":" + keyPart(cmp.Or(c.PeerKind, "direct")) + ":" +
			keyPart(c.ChatID)
		if c.Topic != "" {
			chat += ":topic:" + keyPart(c.Topic)
		}
		return chat
	}
	return "agent:" + agent + ":" + keyPart(cmp.Or(c.Channel, "local")) + ":" +
		keyPart(strings.TrimPrefix(c.Session, c.Channel+"-"))
}

// Delegated reports whether c is a subagent that another agent has started.
func (c Caller) Delegated() bool {
	return c.Depth > 0 && c.Parent != "" &&
		!strings.HasPrefix(c.Parent, "agent:"+keyPart(cmp.Or(c.Agent, MainAgent))+":")
}

// Account returns the name for counting slots of the server: the user, or the agent if there is
// no user. All agents and sessions of a user share the slots.
func (c Caller) Account() string {
	if c.User != "" {
		return "user " + c.User
	}
	return "agent " + c.Agent
}

// keyPart escapes a part of the key of a session. Every call makes keys, so a part
// without special characters costs no memory.
func keyPart(name string) string { return escapedFor(name, ":", "%3A") }

func escaped(name string) string { return escapedFor(name, "/", "%2F") }

func escapedFor(name, separator, escape string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "%", "%25"), separator, escape)
}

// A Use is the use of a session, added to earlier use.
type Use struct {
	Client              string // name and version of the program, when known
	Calls, Failed       int64
	TokensIn, TokensOut int64 // that the model has read and written; estimates for connections
}

// A Reporter receives the progress of a running call.
type Reporter interface {
	// Progress reports how far the call is. A total of zero means unknown.
	Progress(done, total float64, message string)
}

// Running is the only value in the context of a call.
type Running struct {
	Caller  Caller
	Tool    string   // its name
	Call    string   // the id that the audit log knows it by
	Script  string   // the id of the call that makes this one while it runs; "" for none
	Report  Reporter // nil for none
	Answers Answers  // to earlier questions of the tool
	Tasks   bool     // the client follows tasks, so the result may have one
	Apps    bool     // the client shows MCP Apps, so the result may have a View
	Remote  bool     // another replica has let the call in
	// Can reports whether the client can show a question; nil: it cannot.
	Can func(Medium) bool
	// Status returns the status of the caller's session; nil outside of a server.
	Status func() SessionStatus
	// Usable lists the tools that the caller may use; nil outside of a server.
	Usable func() []Tool
	// Idle gives the slot of the call back; see the function Idle. Nil outside of a server.
	Idle func()
	// Grant returns the rights of the call, for work that outlasts it. It is nil outside of a
	// server.
	Grant func() Grant
	// Ends are the functions to call when the tool has run; see AtEnd. Nil outside of a server.
	Ends *Ends
}

// Idle says that the running call only waits from now on, for a person, another session or
// a process. It no longer counts among the calls that run at once, so call it right before
// the wait, and do nothing after the wait that takes long.
func Idle(ctx context.Context) {
	if call, _ := ctx.Value(runningKey{}).(*Running); call != nil && call.Idle != nil {
		call.Idle()
	}
}

// A SessionStatus is the state of a caller's session.
type SessionStatus struct {
	Since    time.Time `json:"since,omitzero"` // of its first call
	Calls    int       `json:"calls"`
	Failed   int       `json:"failed"`
	Tools    int       `json:"tools"` // that the caller sees
	Left     int       `json:"left"`  // calls that may be made at once, now
	Profile  string    `json:"profile"`
	Autonomy string    `json:"autonomy"`
	Version  string    `json:"version"` // of the server
}

type runningKey struct{}

// With returns a context for one call. r must not change afterwards.
func With(ctx context.Context, r *Running) context.Context {
	return context.WithValue(ctx, runningKey{}, r)
}

// CallerFrom returns the caller of the running call. Outside a call it is the zero Caller: it
// owns nothing and may do nothing.
func CallerFrom(ctx context.Context) Caller {
	if call, _ := ctx.Value(runningKey{}).(*Running); call != nil {
		return call.Caller
	}
	return Caller{}
}

// RunningFrom returns the call that ctx belongs to. Outside a call it is the zero
// Running.
func RunningFrom(ctx context.Context) Running {
	if call, _ := ctx.Value(runningKey{}).(*Running); call != nil {
		return *call
	}
	return Running{}
}

// Viewed reports whether the client of the running call shows MCP Apps. For other clients a tool need not make the
// View of its result.
func Viewed(ctx context.Context) bool { return RunningFrom(ctx).Apps }

// ReporterFrom returns the Reporter of the running call, or nil.
func ReporterFrom(ctx context.Context) Reporter {
	if call, _ := ctx.Value(runningKey{}).(*Running); call != nil {
		return call.Report
	}
	return nil
}

// Progress reports how far the running call is, if it has a Reporter.
func Progress(ctx context.Context, done, total float64, message string) {
	if report := ReporterFrom(ctx); report != nil {
		report.Progress(done, total, message)
	}
}

// An Owner owns stored data: one user of an agent or, with an empty User, all users of the agent together.
type Owner struct{ Agent, User string }

// Shared returns the owner of the data that all users of the agent see.
func (o Owner) Shared() Owner { return Owner{Agent: o.Agent} }

// OwnerFrom returns the owner of things that the running call stores. It refuses a call without
// a caller, and names that a database cannot store.
func OwnerFrom(ctx context.Context) (Owner, error) {
	c := CallerFrom(ctx)
	names := c.Agent + c.User + c.Session
	if c == (Caller{}) || strings.ContainsRune(names, 0) || !utf8.ValidString(names) {
		return Owner{}, Errorf(Refused, "this call has no caller with a usable name").
			Try("ask the operator to configure an agent or user name")
	}
	return Owner{Agent: c.Agent, User: c.User}, nil
}
