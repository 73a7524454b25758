package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/server"
)

// desk lays the server's questions out for the other ways to answer them.
type desk struct {
	store *approvals.Store
	past  *audit.DB
}

func asked(p server.Petition) approvals.Call {
	c := p.Caller
	return approvals.Call{
		Call: p.Call, Tool: p.Tool, Title: p.Title, Risk: p.Risk.String(), Why: p.Why,
		Principal: c.Principal(), Agent: c.Agent, User: c.User, Session: c.Session, Profile: p.Profile, Workspace: c.Workspace,
		Shown: p.Shown, Facts: p.Facts, Basis: p.Basis, Digest: p.Digest, Once: p.Once, Args: p.Args,
	}
}

func (d desk) Allowed(ctx context.Context, p server.Petition) (string, bool, error) {
	rule, ok, err := d.store.Allowed(ctx, asked(p))
	return rule.ID, ok, err
}

// Attended is false where nobody can find out: then nobody could answer either.
func (d desk) Attended(ctx context.Context) bool {
	there, err := d.store.Attended(ctx)
	return there && err == nil
}

func (d desk) Ask(ctx context.Context, p server.Petition) (string, error) {
	id, err := d.store.Ask(ctx, asked(p), p.Expires)
	if errors.Is(err, approvals.ErrTooMany) {
		err = server.ErrDeskFull
	}
	return id, err
}

func (d desk) Await(ctx context.Context, id string) error { return d.store.Await(ctx, id) }

func (d desk) Answer(ctx context.Context, id string, w server.Word) error {
	_, err := d.store.Answer(ctx, id, approvals.Answer{Allow: w.Allow, Scope: approvals.Scope(w.Scope), Reason: w.Reason},
		approvals.Approver{Name: w.By, Channel: w.Channel})
	return err
}

func (d desk) Take(ctx context.Context, id string, p server.Petition) (server.Word, error) {
	got, err := d.store.Take(ctx, id, asked(p))
	if errors.Is(err, approvals.ErrExpired) || errors.Is(err, approvals.ErrUnknown) {
		err = server.ErrUnanswered
	}
	return server.Word{Allow: got.Allow, Scope: server.Scope(got.Scope), Reason: got.Reason, Channel: got.Channel, By: got.By}, err
}

// Withdraw cannot fail in a way that matters: a question that stays has no
// taker, and goes when its time is over.
func (d desk) Withdraw(id string) { _ = d.store.Withdraw(context.Background(), id) }

// pastPatience is how long the record may keep a question waiting.
const pastPatience = 300 * time.Millisecond

func (d desk) Past(ctx context.Context, p server.Petition) (n int, all bool) {
	ctx, cancel := context.WithTimeout(ctx, pastPatience)
	defer cancel()
	past, err := countPast(ctx, d.past, asked(p))
	return past.equal, err == nil
}

// past is what the record says of calls like one: those with the very same
// arguments, and those of the tool. Of arguments the record has only a digest
// of all together, so calls that fit a pattern cannot be told from others.
type past struct{ equal, ofTool int }

func countPast(ctx context.Context, record *audit.DB, c approvals.Call) (p past, err error) {
	p.equal, p.ofTool, err = record.Count(ctx, c.Tool, c.Agent, c.User, c.Digest)
	return p, err
}

// openDesk makes the place for questions. What this process still asks when it
// ends is withdrawn.
func (h *house) openDesk() desk {
	d := desk{store: approvals.New(approvals.Options{DB: h.store, Unused: h.unused, Log: h.log}), past: audit.NewDB(h.store)}
	h.onClose(d.store.Close)
	return d
}

// serveApprovals answers /approvals for the tokens that may decide.
func (d desk) serveApprovals(w http.ResponseWriter, r *http.Request, who server.Identity) {
	d.store.Serve(w, r, approvals.Approver{Agent: who.Agent, User: who.User, Name: who.ID, Channel: "http"})
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

// withApprovals opens the approvals for one use on the command line.
func (a *app) withApprovals(use func(*approvals.Store, approvals.Approver) error) error {
	return a.withStore(func(s *store.Store, unused func() bool) error {
		return use(approvals.New(approvals.Options{DB: s, Unused: unused}), approvals.Approver{Name: systemUser(), Channel: "cli"})
	})
}

// mistake makes what a person said wrongly a mistake in the command line.
func mistake(err error) error {
	if wrong := (approvals.RuleError{}); errors.As(err, &wrong) {
		return usageError{wrong}
	}
	return err
}
