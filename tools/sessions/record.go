package sessions

import (
	"context"
	"maps"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// used is the unsaved use of a session.
type used struct {
	caller tool.Caller
	use    tool.Use
	ended  bool
}

const (
	saveEvery = 3 * time.Second // at most
	lastSave  = 3 * time.Second // for the last save of a process
	// lookEvery is how often a process looks for killed ones on its machine, by their locks.
	lookEvery = 30 * time.Second
	// hostLease is how long a process on another machine counts as alive after it was killed there, and beatEvery how
	// often a process with sessions renews it. On one machine the locks decide sooner, and alone with SQLite: then the
	// lease is everLease.
	hostLease = 10 * time.Minute
	beatEvery = 4 * time.Minute
	everLease = 100 * 365 * 24 * time.Hour
	// maxUnsaved bounds the sessions that a process keeps in memory.
	maxUnsaved = 10_000
)

// Used adds to the use of a caller's session. It does not wait: Run saves it. Calls of the
// command line belong to no session.
func (s *Sessions) Used(c tool.Caller, use tool.Use) { s.note(c, use, false) }

// Ended notes that the session of a caller has ended.
func (s *Sessions) Ended(c tool.Caller) {
	to := inbox.ToCaller(c)
	s.mu.Lock()
	known := s.open[to] || s.unsaved[to] != nil
	s.mu.Unlock()
	if known && c.ChatID == "" { // a chat has several connections
		s.note(c, tool.Use{}, true)
	}
}

func (s *Sessions) note(c tool.Caller, use tool.Use, ended bool) {
	to := inbox.ToCaller(c)
	if to.Session == "" || c.Channel == "cli" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.unsaved[to]
	if u == nil {
		if len(s.unsaved) >= maxUnsaved {
			return
		}
		u = new(used)
		s.unsaved[to] = u
	}
	if use.Client != "" {
		u.use.Client = use.Client
	}
	u.caller, u.ended = c, ended
	u.use.Calls, u.use.Failed = u.use.Calls+use.Calls, u.use.Failed+use.Failed
	u.use.TokensIn, u.use.TokensOut = u.use.TokensIn+use.TokensIn, u.use.TokensOut+use.TokensOut
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

// Run saves the use of sessions until ctx ends: soon after the first call, then every few
// seconds. A process without sessions writes nothing.
func (s *Sessions) Run(ctx context.Context) {
	beat := time.NewTicker(lookEvery)
	defer beat.Stop()
	for ctx.Err() == nil {
		select {
		case <-s.dirty:
			s.saveLogged(ctx)
			_ = clock.Sleep(ctx, saveEvery) // the loop ends with ctx
		case <-beat.C:
			s.beat(ctx)
		case <-ctx.Done():
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSave)
	defer cancel()
	s.saveLogged(last)
	s.leave(last)
	s.unhold()
}

func (s *Sessions) saveLogged(ctx context.Context) {
	if err := s.save(ctx); err != nil && ctx.Err() == nil {
		s.Log.Warn("the use of sessions could not be saved yet", "err", err)
	}
}

// save writes the unsaved use.
func (s *Sessions) save(ctx context.Context) error {
	s.mu.Lock()
	work := s.unsaved
	s.unsaved = map[inbox.To]*used{}
	first := len(s.open) == 0
	s.mu.Unlock()
	if len(work) == 0 {
		return nil
	}
	begun := time.Now()
	var killed []string
	if first {
		s.hold(ctx)
		killed = s.killed()
	}
	err := s.Store.Update(ctx, func(t *store.Tx) error {
		if first {
			if err := s.renew(t, killed); err != nil {
				return err
			}
		}
		for to, u := range work {
			if err := save(t, u.caller, u.use, s.host); err != nil {
				return err
			}
			if u.ended {
				if err := s.End(t, to, inbox.To{Owner: to.Owner}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil && first {
		s.forget(killed)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && first {
		s.renewed = begun
	}
	for to, u := range work {
		switch {
		case err != nil:
			s.putBack(to, u)
		case u.ended:
			delete(s.open, to)
		case len(s.open) < maxUnsaved:
			s.open[to] = true
		}
	}
	return err
}

// putBack merges use that could not be saved with newer use.
func (s *Sessions) putBack(to inbox.To, u *used) {
	if since := s.unsaved[to]; since != nil {
		u.caller, u.ended = since.caller, since.ended
		u.use.Calls, u.use.Failed = u.use.Calls+since.use.Calls, u.use.Failed+since.use.Failed
		if since.use.Client != "" {
			u.use.Client = since.use.Client
		}
		u.use.TokensIn, u.use.TokensOut = u.use.TokensIn+since.use.TokensIn, u.use.TokensOut+since.use.TokensOut
	}
	s.unsaved[to] = u
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

// renew extends the lease of this process, and closes the sessions of dead processes: their
// lease has expired, or they were killed.
func (s *Sessions) renew(t *store.Tx, killed []string) error {
	if err := bury(t, killed); err != nil {
		return err
	}
	until := hostLease
	if s.locksDecide() {
		until = everLease
	}
	_, err := t.Exec(`INSERT INTO session_host (id, until) VALUES ($1, {{now}} + $2)
		ON CONFLICT (id) DO UPDATE SET until = excluded.until`, s.host, until.Milliseconds())
	if err != nil {
		return err
	}
	return closeDead(t)
}

// locksDecide reports whether all processes that use the store see the lock of this one.
func (s *Sessions) locksDecide() bool {
	s.holding.Lock()
	defer s.holding.Unlock()
	return s.locked && s.Store.Engine() == "sqlite"
}

// beat closes the sessions of killed processes, and renews the lease of this one.
func (s *Sessions) beat(ctx context.Context) {
	s.mu.Lock()
	idle, renewed := len(s.open) == 0, s.renewed
	s.mu.Unlock()
	killed := s.killed()
	if idle || len(killed) == 0 && (s.locksDecide() || time.Since(renewed) < beatEvery) {
		return
	}
	begun := time.Now()
	err := s.Store.Update(ctx, func(t *store.Tx) error { return s.renew(t, killed) })
	switch {
	case err == nil:
		s.mu.Lock()
		s.renewed = begun
		s.mu.Unlock()
		s.forget(killed)
	case ctx.Err() == nil:
		s.Log.Warn("other processes may take this one for dead: its lease could not be renewed", "err", err)
	}
}

// leave closes the sessions of this process at its end.
func (s *Sessions) leave(ctx context.Context) {
	s.mu.Lock()
	open := maps.Clone(s.open)
	s.mu.Unlock()
	if len(open) == 0 {
		return
	}
	err := s.Store.Update(ctx, func(t *store.Tx) error {
		if _, err := t.Exec("DELETE FROM session_host WHERE id = $1", s.host); err != nil {
			return err
		}
		return closeDead(t)
	})
	if err != nil {
		s.Log.Warn("the sessions of this process could not be closed; others will close them", "err", err)
	}
}
