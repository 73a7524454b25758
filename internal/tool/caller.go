package tool

import (
	"context"
	"strings"
	"time"
)

// A Caller identifies the agent and the user that a call is made for. The identity
// comes from the transport (flags, a token, a verified claim), never from arguments.
type Caller struct {
	Agent     string // the agent's key
	User      string // the person behind it
	Provider  string // the model provider, when known
	Channel   string // where the conversation takes place: "stdio", "http", a chat platform
	ChatID    string // the chat within the channel
	PeerKind  string // "direct" or "group"
	Session   string // one conversation; the key of limits, loops and results
	Depth     int    // 0 for an agent, 1 and more for its subagents
	Leaf      bool   // a subagent that may not start others
	Profile   string // the policy profile that was chosen; "" is the operator's default
	Workspace string // the directory that it works in
}

// Principal returns the name of the owner of what a call stores. Two callers never
// have the same one, also if their names contain a slash.
func (c Caller) Principal() string {
	return escaped(c.Agent) + "/" + escaped(c.User)
}

func escaped(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "%", "%25"), "/", "%2F")
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
	Report  Reporter // nil for none
	Answers Answers  // to what the tool asked before
	// Status returns the status of the caller's session; nil outside of a server.
	Status func() SessionStatus
}

// A SessionStatus is the state of a caller's session.
type SessionStatus struct {
	Since         time.Time // of its first call
	Calls, Failed int
	Tools         int // that the caller sees
	Left          int // calls that may be made at once, now
	Profile       string
	Autonomy      string
	Version       string // of the server
}

type runningKey struct{}

// With returns a context for one call. r must not change afterwards.
func With(ctx context.Context, r *Running) context.Context {
	return context.WithValue(ctx, runningKey{}, r)
}

// CallerFrom returns the caller of the running call. Outside a call it is the
// zero Caller, which owns nothing and may do nothing.
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
