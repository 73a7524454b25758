package app

import (
	"context"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/pauses"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/server"
)

// revokedEvery is how often tokens are checked while calls or commands of theirs run.
const revokedEvery = time.Second

// revocations end calls and commands whose token is no longer valid, or whose profile no longer exists. Requests check
// their token themselves; this is about running calls and commands. Each process that shares the store does it for its
// own.
type revocations struct {
	app  *App
	wake chan struct{} // see soon; it has room for one
	stop context.CancelFunc
	ctx  context.Context
	done sync.WaitGroup

	mu    sync.Mutex
	calls map[*grantedCall]bool
}

type grantedCall struct {
	access *server.Access
	end    context.CancelCauseFunc
}

func (a *App) newRevocations() *revocations {
	r := &revocations{app: a, wake: make(chan struct{}, 1), calls: make(map[*grantedCall]bool)}
	r.ctx, r.stop = context.WithCancel(context.Background())
	r.done.Go(r.watch)
	return r
}

// Close stops checking.
func (r *revocations) Close() error {
	r.stop()
	r.done.Wait()
	return nil
}

// enter ends a call when its token is revoked, until leave is called.
func (r *revocations) enter(a *server.Access, end context.CancelCauseFunc) (leave func()) {
	c := &grantedCall{a, end}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[c] = true
	r.soon()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.calls, c)
	}
}

// soon checks once, and goes on while anything runs for a token.
func (r *revocations) soon() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// enter returns the function that lets calls in, as long as their token is valid and no operator has paused them.
func (a *App) enter(pauses *pauses.Watch) server.Enter {
	return func(ctx context.Context, who *server.Access, end context.CancelCauseFunc) (leave func(), err error) {
		agents := []string{who.Caller.Agent}
		for _, outer := range who.Within {
			agents = append(agents, outer.Agent)
		}
		unpaused, err := pauses.Enter(ctx, end, who.Caller.Session, agents...)
		if err != nil || who.Token == "" {
			return unpaused, err
		}
		ended := a.revocations.enter(who, end)
		return func() { ended(); unpaused() }, nil
	}
}

// watch checks when soon was called, and then as long as something runs for a token.
func (r *revocations) watch() {
	ticker := time.NewTicker(revokedEvery)
	defer ticker.Stop()
	for {
		select {
		case <-r.wake:
		case <-r.ctx.Done():
			return
		}
		ticker.Reset(revokedEvery)
		for running := true; running; {
			select {
			case <-ticker.C:
				running = r.sweep()
			case <-r.ctx.Done():
				return
			}
		}
		ticker.Stop()
	}
}

// sweep checks each token once, and ends calls and commands of invalid tokens. It reports whether anything runs for a
// token.
func (r *revocations) sweep() (running bool) {
	type key struct{ token, profile, outermost string }
	known := make(map[key]string)
	why := func(g tool.Grant) string {
		running = running || g.Token != ""
		k := key{token: g.Token, profile: g.Caller.Profile}
		if len(g.Within) > 0 {
			k.outermost = g.Within[0].Profile
		}
		reason, ok := known[k]
		if !ok {
			reason = r.app.invalid(r.ctx, g)
			known[k] = reason
		}
		return reason
	}
	r.app.commands.EndGranted(why)
	r.mu.Lock()
	calls := make([]*grantedCall, 0, len(r.calls))
	for c := range r.calls {
		calls = append(calls, c)
	}
	r.mu.Unlock()
	for _, c := range calls {
		a := c.access
		if reason := why(tool.Grant{Caller: a.Caller, Within: a.Within, Token: a.Token}); reason != "" {
			c.end(tool.Errorf(tool.Refused, "the call was stopped: %s", reason).
				Try("stop here and tell the user"))
		}
	}
	return running
}

// invalid returns the reason why work under a grant has to end, or "".
func (a *App) invalid(ctx context.Context, g tool.Grant) string {
	if g.Caller.Profile != "" {
		if _, err := a.rules.load().policy.ResolveProfile(g.Caller.Profile); err != nil {
			return "the profile of its caller no longer exists"
		}
	}
	reason, err := a.revoked(ctx, g)
	if err != nil && ctx.Err() == nil {
		a.log.Warn("a token cannot be checked while something of its caller runs; trying again", "err", err)
	}
	if err != nil || reason == "" {
		return ""
	}
	return "the token of its caller " + reason
}
