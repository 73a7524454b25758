package server

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Desk is where questions to a person lie that others than the client can
// answer, and where the rules are that persons have made. Of several answers
// the first counts.
type Desk interface {
	// Allowed names the rule under which the call may be made without asking.
	Allowed(ctx context.Context, p Petition) (rule string, ok bool, err error)
	// Attended reports whether somebody is there who may answer.
	Attended(ctx context.Context) bool
	// Ask lays a question out and returns its id, or ErrDeskFull.
	Ask(ctx context.Context, p Petition) (id string, err error)
	// Await returns nil when the question is open no more, or the end of ctx.
	Await(ctx context.Context, id string) error
	// Answer decides a question, unless somebody was faster.
	Answer(ctx context.Context, id string, w Word) error
	// Take uses up the word about exactly this call. ErrUnanswered means that
	// there is none, and that none will count from now on.
	Take(ctx context.Context, id string, p Petition) (Word, error)
	// Withdraw ends a question that nobody wants an answer to any more, not even
	// its caller.
	Withdraw(id string)
	// Past counts how often the very same call was made before. all is false
	// when there was no time to look at the whole record.
	Past(ctx context.Context, p Petition) (n int, all bool)
}

// What a Desk may say.
var (
	ErrDeskFull   = errors.New("too many questions are waiting")
	ErrUnanswered = errors.New("nobody answered in time")
)

// A Petition is a call that a person is asked about: what of it is shown, and
// what the answer is bound to. Its texts have been scrubbed, Args have not.
type Petition struct {
	Call    string // as the audit log knows it
	Tool    string
	Title   string
	Risk    tool.Risk
	Why     string
	Caller  tool.Caller
	Profile string
	Shown   string
	Facts   map[string]string
	Basis   string
	Digest  string
	Once    bool
	Args    json.RawMessage
	Expires time.Time
}

// A Word is what a person has said.
type Word struct {
	Allow   bool
	Scope   Scope // of a yes
	Reason  string
	Channel string
	By      string
}

// A Scope says how far a yes reaches.
type Scope string

// The scopes.
const (
	Once        Scope = "once"
	ForSession  Scope = "session"
	AlwaysScope Scope = "always"
)

// String is the word as the audit log has it.
func (w Word) String() string {
	text := w.Channel
	if w.By != "" {
		text += ":" + w.By
	}
	switch {
	case !w.Allow:
		return "denied " + text
	case w.Scope != Once:
		return text + " " + string(w.Scope)
	}
	return text
}

// A Wait says whether calls wait for somebody else than the client, when the
// client cannot ask anybody.
type Wait string

// The ways to wait. The zero Wait is not to.
const (
	WaitAttended Wait = "attended" // while somebody is there who may answer
	WaitAlways   Wait = "always"
)

// mayWait reports whether it makes sense to wait for the desk.
func (s *Server) mayWait(ctx context.Context, now *settings) bool {
	return s.Desk != nil && (now.ApprovalWait == WaitAlways || now.ApprovalWait == WaitAttended && s.Desk.Attended(ctx))
}
