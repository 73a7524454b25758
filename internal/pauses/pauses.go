// Package pauses is the emergency stop. A pause is a row of the store that names an
// agent, a session, or all callers. All processes on the store refuse the calls that it
// covers, and end what runs already, until the row is removed.
//
// Begin with [Watch]. A server asks it about each call.
package pauses

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

// Topic is the topic of pauses in the change feed.
const Topic = "pause"

// A Pause names the callers that must not call. Without an agent it covers all agents, and
// without a session all sessions.
type Pause struct {
	Agent   string    `json:"agent,omitempty"`
	Session string    `json:"session,omitempty"`
	Reason  string    `json:"reason"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

// covers reports whether the pause is for a caller that works for the agents.
func (p Pause) covers(session string, agents ...string) bool {
	if p.Session != "" && p.Session != session {
		return false
	}
	for _, agent := range agents {
		if p.Agent == "" || p.Agent == agent {
			return true
		}
	}
	return false
}

// Add adds a pause, or replaces the pause of the same agent and session.
func Add(ctx context.Context, s *store.Store, p Pause) error {
	return s.Update(ctx, func(t *store.Tx) error {
		if _, err := t.Exec(`INSERT INTO pause (agent, session, reason, who, at) VALUES ($1, $2, $3, $4, {{now}})
			ON CONFLICT (agent, session) DO UPDATE SET reason = excluded.reason, who = excluded.who, at = excluded.at`,
			p.Agent, p.Session, p.Reason, p.By); err != nil {
			return err
		}
		return changed(t)
	})
}

// Remove removes the pause of an agent and a session, or all pauses if all is set. It
// returns how many there were.
func Remove(ctx context.Context, s *store.Store, agent, session string, all bool) (n int64, err error) {
	err = s.Update(ctx, func(t *store.Tx) error {
		n, err = t.Exec("DELETE FROM pause WHERE $1 OR agent = $2 AND session = $3", all, agent, session)
		if err != nil || n == 0 {
			return err
		}
		return changed(t)
	})
	return n, err
}

// changed notifies watches, and the queues of jobs that must stop or may begin.
func changed(t *store.Tx) error {
	return errors.Join(t.Changed(Topic, ""), t.Changed(jobs.Topic, ""))
}

// List returns all pauses, the oldest first.
func List(ctx context.Context, s *store.Store) (list []Pause, err error) {
	return store.Select(ctx, s, "SELECT agent, session, reason, who, at FROM pause ORDER BY at, agent, session", nil,
		func(scan store.Scan) (p Pause, err error) {
			var at int64
			err = scan(&p.Agent, &p.Session, &p.Reason, &p.By, &at)
			p.At = store.FromMillis(at)
			return p, err
		})
}
