package server

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// SessionRows keep the sessions of clients over HTTP, so that any replica can go on with one that another has opened.
type SessionRows interface {
	Save(ctx context.Context, id string, body []byte) error
	// Load returns nil if there is no such session.
	Load(ctx context.Context, id string) ([]byte, error)
	Remove(ctx context.Context, id string) error
}

// rowsTimeout limits how long a request waits for the row of its session.
const rowsTimeout = 3 * time.Second

// A sessionRow is the state of a session that other replicas need: the owner, and the client's declarations about
// itself.
type sessionRow struct {
	Agent, User, Profile, Workspace, Token, Transport string

	Client       string
	Version      string
	Capabilities mcp.ClientCapabilities
}

func rowOf(s *session) sessionRow {
	c, a, client := s.access.Caller, s.access, s.clientInfo()
	return sessionRow{c.Agent, c.User, c.Profile, c.Workspace, a.Token, a.Transport, client.name, client.version,
		client.capabilities}
}

// save writes the row of a session that was opened. Without it the session belongs to this replica.
func (t *sessionTable) save(ctx context.Context, s *session) {
	if t.server.Rows == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rowsTimeout)
	defer cancel()
	body, err := json.Marshal(rowOf(s))
	if err == nil {
		err = t.server.Rows.Save(ctx, s.id, body)
	}
	if err != nil {
		t.server.log.Warn("other replicas do not know a session", "err", err)
	}
}

// adopt goes on with a session that another replica has opened for the caller a, at the same path; nil if there is none.
func (t *sessionTable) adopt(ctx context.Context, id string, a Access) *session {
	if t.server.Rows == nil || len(id) > 64 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rowsTimeout)
	defer cancel()
	body, err := t.server.Rows.Load(ctx, id)
	var row sessionRow
	if err == nil && body != nil {
		err = json.Unmarshal(body, &row)
	}
	if err != nil {
		t.server.log.Warn("the session of another replica cannot be read", "err", err)
	}
	if err != nil || body == nil {
		return nil
	}
	of := Access{Transport: row.Transport, Token: row.Token}
	of.Caller.Agent, of.Caller.User, of.Caller.Profile, of.Caller.Workspace = row.Agent, row.User, row.Profile, row.Workspace
	if !sameOwner(of, a) {
		return nil
	}
	return t.add(a, id, client{name: row.Client, version: row.Version, capabilities: row.Capabilities, initialized: true})
}

// forget removes the row of a session that has ended.
func (t *sessionTable) forget(ctx context.Context, s *session) {
	if t.server.Rows == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rowsTimeout)
	defer cancel()
	if err := t.server.Rows.Remove(ctx, s.id); err != nil {
		t.server.log.Warn("the row of a session stays", "err", err)
	}
}
