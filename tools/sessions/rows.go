package sessions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Session is a party that talks to the server through one connection, in one chat, or as one
// subagent.
type Session struct {
	inbox.To
	Name     string // the session of the caller: the audit log has its calls under it
	Channel  string
	Client   string // the program, as it names itself
	Label    string
	Provider string
	Model    string // "" is the default
	Parent   string // the key of the session that has started it
	Depth    int
	tool.Use
	Created, Updated, Ended time.Time
	Open                    bool // it may still take messages
}

const (
	columns = `agent, usr, key, session, channel, client, label, provider, model, parent, depth, calls, failed,
		tokens_in,
		tokens_out, created, updated, ended, ended = 0`
	// alive selects sessions of live processes, and subagents: these survive their process.
	alive = `(depth > 0 OR host IN (SELECT id FROM session_host WHERE until > {{now}})
		AND updated > {{now}} - 86400000)`
)

func scanSession(scan store.Scan) (s Session, err error) {
	var created, updated, ended int64
	err = scan(&s.Agent, &s.User, &s.Session, &s.Name, &s.Channel, &s.Client, &s.Label, &s.Provider, &s.Model,
		&s.Parent,
		&s.Depth, &s.Calls, &s.Failed, &s.TokensIn, &s.TokensOut, &created, &updated, &ended, &s.Open)
	s.Created, s.Updated, s.Ended = store.FromMillis(created), store.FromMillis(updated), store.FromMillis(ended)
	return s, err
}

// save adds to the row of a caller's session, and makes it if there is none.
func save(t *store.Tx, c tool.Caller, use tool.Use, host string) error {
	_, err := t.Exec(`INSERT INTO session AS s (agent, usr, key, session, channel, client, provider, parent, depth,
			calls,
			failed, tokens_in, tokens_out, host, created, updated)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, {{now}}, {{now}})
		ON CONFLICT (key, agent, usr) DO UPDATE SET session = excluded.session,
			client = CASE WHEN excluded.client = '' THEN s.client ELSE excluded.client END,
			provider = CASE WHEN excluded.provider = '' THEN s.provider ELSE excluded.provider END,
			calls = s.calls + excluded.calls, failed = s.failed + excluded.failed,
			tokens_in = s.tokens_in + excluded.tokens_in, tokens_out = s.tokens_out + excluded.tokens_out,
			host = excluded.host, updated = excluded.updated, ended = CASE WHEN s.depth > 0 THEN s.ended ELSE 0 END`,
		c.Agent, c.User, c.Key(), c.Session, c.Channel, use.Client, c.Provider, c.Parent, c.Depth, use.Calls,
		use.Failed,
		use.TokensIn, use.TokensOut, host)
	return err
}

// Begin makes the row of a session that an [Engine] starts for c. c has a Depth and a Parent.
func (s *Sessions) Begin(t *store.Tx, c tool.Caller, label, model string) error {
	if err := save(t, c, tool.Use{}, s.host); err != nil {
		return err
	}
	return setIn(t, inbox.ToCaller(c), "label = $4, model = $5", label, model)
}

// End ends a session, and moves its undelivered messages to another one.
func (s *Sessions) End(t *store.Tx, of, heir inbox.To) error {
	if err := errors.Join(setIn(t, of, "ended = {{now}}"), t.Changed(inbox.SessionTopic, of.String())); err != nil {
		return err
	}
	return inbox.Move(t, of, heir)
}

// setIn changes columns of a session. The parameters of set begin with $4.
func setIn(t *store.Tx, of inbox.To, set string, args ...any) error {
	_, err := t.Exec("UPDATE session SET "+set+" WHERE key = $1 AND agent = $2 AND usr = $3",
		append([]any{of.Session, of.Agent, of.User}, args...)...)
	return err
}

// Row returns the row of a session. ok is false if there is none.
func (s *Sessions) Row(ctx context.Context, of inbox.To) (row Session, ok bool, err error) {
	list, err := s.where(ctx, "key = $1 AND agent = $2 AND usr = $3", of.Session, of.Agent, of.User)
	if err != nil || len(list) == 0 {
		return Session{}, false, err
	}
	return list[0], true, nil
}

func (s *Sessions) where(ctx context.Context, where string, args ...any) (list []Session, err error) {
	if s.Store.Unused() {
		return nil, nil
	}
	list, err = store.Select(ctx, s.Store, "SELECT "+columns+" FROM session WHERE "+where, args, scanSession)
	if err != nil {
		return nil, fmt.Errorf("reading sessions: %w", err)
	}
	return list, nil
}

// closeDead ends the sessions whose process has ended or that were not used for a day, and
// gives their undelivered messages to the next session of their owner.
func closeDead(t *store.Tx) error {
	var dead []inbox.To
	err := t.Each(`UPDATE session SET ended = {{now}} WHERE ended = 0 AND NOT `+alive+` RETURNING agent, usr, key`, nil,
		func(scan store.Scan) error {
			var to inbox.To
			err := scan(&to.Agent, &to.User, &to.Session)
			dead = append(dead, to)
			return err
		})
	if err != nil {
		return err
	}
	for _, of := range dead {
		if err := t.Changed(inbox.SessionTopic, of.String()); err != nil {
			return err
		}
		if err := inbox.Move(t, of, inbox.To{Owner: of.Owner}); err != nil {
			return err
		}
	}
	return nil
}

// over returns the condition for sessions that have ended, also if no process has noted the end yet.
func (s *Sessions) over(args *[]any) string {
	ended := "(ended > 0 OR NOT " + alive
	if killed := s.killed(); len(killed) > 0 {
		ended += " OR depth = 0 AND host IN (" + store.Params(args, killed...) + ")"
	}
	return ended + ")"
}

// Dead returns the names of the sessions that have ended, also if no process has noted the end yet.
func (s *Sessions) Dead(ctx context.Context) (map[string]bool, error) {
	if s.Store.Unused() {
		return nil, nil
	}
	var args []any
	names, err := store.Select(ctx, s.Store, "SELECT session FROM session GROUP BY session HAVING min(CASE WHEN "+
		s.over(&args)+" THEN 1 ELSE 0 END) = 1", args, store.One[string])
	dead := make(map[string]bool, len(names))
	for _, name := range names {
		dead[name] = true
	}
	return dead, err
}

const (
	keepEnded = 30 * 24 * time.Hour
	keepHost  = time.Hour
)

// Sweep removes sessions that ended a month ago, and processes that ended.
func (s *Sessions) Sweep(ctx context.Context) error {
	return s.Store.Update(ctx, func(t *store.Tx) error {
		if _, err := t.Exec("DELETE FROM session_host WHERE until < {{now}} - $1",
			keepHost.Milliseconds()); err != nil {
			return err
		}
		if err := closeDead(t); err != nil {
			return err
		}
		_, err := t.Exec("DELETE FROM session WHERE ended > 0 AND updated < {{now}} - $1", keepEnded.Milliseconds())
		return err
	})
}
