package app

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/server"
)

// Desk lays the server's questions out for the other ways to answer them.
type Desk struct {
	Store *approvals.Store
	Log   *audit.DB
}

func asked(p server.Petition) approvals.Call {
	c := p.Caller
	return approvals.Call{
		Call: p.Call, Tool: p.Tool, Title: p.Title, Risk: p.Risk.String(), Why: p.Why,
		Principal: c.Principal(), Agent: c.Agent, User: c.User, Session: c.Session, Profile: p.Profile, Workspace: c.Workspace,
		Shown: p.Shown, Facts: p.Facts, Basis: p.Basis, Digest: p.Digest, Once: p.Once, Args: p.Args,
	}
}

func (d Desk) Allowed(ctx context.Context, p server.Petition) (string, bool, error) {
	rule, ok, err := d.Store.Allowed(ctx, asked(p))
	return rule.ID, ok, err
}

// Attended is false where nobody can find out: then nobody could answer either.
func (d Desk) Attended(ctx context.Context) bool {
	there, err := d.Store.Attended(ctx)
	return there && err == nil
}

func (d Desk) Ask(ctx context.Context, p server.Petition) (string, error) {
	id, err := d.Store.Ask(ctx, asked(p), p.Expires)
	if errors.Is(err, approvals.ErrTooMany) {
		err = server.ErrDeskFull
	}
	return id, err
}

func (d Desk) Await(ctx context.Context, id string) error { return d.Store.Await(ctx, id) }

func (d Desk) Answer(ctx context.Context, id string, w server.Word) error {
	_, err := d.Store.Answer(ctx, id, approvals.Answer{Allow: w.Allow, Scope: approvals.Scope(w.Scope), Reason: w.Reason},
		approvals.Approver{Name: w.By, Channel: w.Channel})
	return err
}

func (d Desk) Take(ctx context.Context, id string, p server.Petition) (server.Word, error) {
	got, err := d.Store.Take(ctx, id, asked(p))
	if errors.Is(err, approvals.ErrExpired) || errors.Is(err, approvals.ErrUnknown) {
		err = server.ErrUnanswered
	}
	return server.Word{Allow: got.Allow, Scope: server.Scope(got.Scope), Reason: got.Reason, Channel: got.Channel, By: got.By}, err
}

// Withdraw cannot fail in a way that matters: a question that stays has no
// taker, and goes when its time is over.
func (d Desk) Withdraw(id string) { _ = d.Store.Withdraw(context.Background(), id) }

// pastPatience is how long the record may keep a question waiting.
const pastPatience = 300 * time.Millisecond

func (d Desk) Past(ctx context.Context, p server.Petition) (n int, all bool) {
	ctx, cancel := context.WithTimeout(ctx, pastPatience)
	defer cancel()
	past, err := CountPast(ctx, d.Log, asked(p))
	return past.Equal, err == nil
}

// PastCalls is what the record says of calls like one: those with the very same
// arguments, and those of the tool. Of arguments the record has only a digest
// of all together, so calls that fit a pattern cannot be told from others.
type PastCalls struct{ Equal, OfTool int }

func CountPast(ctx context.Context, record *audit.DB, c approvals.Call) (p PastCalls, err error) {
	p.Equal, p.OfTool, err = record.Count(ctx, c.Tool, c.Agent, c.User, c.Digest)
	return p, err
}

// NewDesk opens the store of questions. Its Close withdraws what this process
// still asks.
func NewDesk(o approvals.Options, log *audit.DB) Desk { return Desk{approvals.New(o), log} }

// Close withdraws the open questions.
func (d Desk) Close() error { return d.Store.Close() }

// ServeApprovals answers /approvals for the tokens that may decide.
func (d Desk) ServeApprovals(w http.ResponseWriter, r *http.Request, who server.Identity) {
	d.Store.Serve(w, r, approvals.Approver{Agent: who.Agent, User: who.User, Name: who.ID, Channel: "http"})
}

// approvalWait translates the setting.
func approvalWait(setting string) server.Wait {
	switch setting {
	case "always":
		return server.WaitAlways
	case "attended":
		return server.WaitAttended
	}
	return ""
}
