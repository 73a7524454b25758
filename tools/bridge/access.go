package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Grant lets callers use a server, or takes that from them. An empty agent or user stands for
// all. Several grants count together: a denial wins, and each list narrows.
type Grant struct {
	Server, Agent, User string
	Terms
	At time.Time
	By string
}

// Terms are the terms of a grant.
type Terms struct {
	Denied    bool      `json:"denied,omitempty"` // the callers may not use the server
	Tools     []string  `json:"tools,omitempty"`  // names or patterns; nil for all
	Deny      []string  `json:"deny,omitempty"`
	Overrides Overrides `json:"overrides,omitzero"`
}

// Overrides replace settings of a server for the callers of a grant.
type Overrides struct {
	Environment map[string]string `json:"environment,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	Timeout     time.Duration     `json:"timeout,omitempty"`
}

const grantColumns = "SELECT server, agent, usr, body, granted, granted_by FROM mcp_grant"

func scanGrant(scan store.Scan) (g Grant, err error) {
	var body string
	var at int64
	if err = scan(&g.Server, &g.Agent, &g.User, &body, &at, &g.By); err != nil {
		return g, err
	}
	g.At = store.FromMillis(at)
	return g, json.Unmarshal([]byte(body), &g.Terms)
}

func (g Grant) covers(c tool.Caller) bool {
	return (g.Agent == "" || g.Agent == c.Agent) && (g.User == "" || g.User == c.User)
}

// access returns the settings of a server for a caller, and whether it may use a tool of it. An empty tool
// stands for any.
func (s *state) access(server *served, c tool.Caller, name string) (Server, bool) {
	settings := server.Server
	granted := settings.Access != AccessGranted
	for _, g := range s.grants { // those for all callers first, so that closer ones override them
		if g.Server != server.name || !g.covers(c) {
			continue
		}
		if g.Denied || name != "" && (matchesAny(g.Deny, name) || g.Tools != nil && !matchesAny(g.Tools, name)) {
			return settings, false
		}
		granted = true
		settings = settings.with(g.Overrides)
	}
	return settings, granted && !settings.Disabled
}

// setGrant writes a grant.
func setGrant(t *store.Tx, g Grant) error {
	body, err := json.Marshal(g.Terms)
	if err != nil {
		return err
	}
	_, err = t.Exec(`INSERT INTO mcp_grant (server, agent, usr, body, granted, granted_by)
		VALUES ($1, $2, $3, $4, {{now}}, $5) ON CONFLICT (server, agent, usr) DO UPDATE SET body = excluded.body,
		granted = excluded.granted, granted_by = excluded.granted_by`, g.Server, g.Agent, g.User, string(body), g.By)
	if err != nil {
		return err
	}
	return t.Changed(Topic, g.Server)
}

// Grant lets callers use a server, or denies it.
func (b *Bridge) Grant(ctx context.Context, g Grant) error {
	if _, err := b.server(ctx, g.Server); err != nil {
		return err
	}
	return b.changed(ctx, b.o.Store.Update(ctx, func(t *store.Tx) error { return setGrant(t, g) }))
}

// narrows reports whether a grant takes something from its callers, so that they may have more without it.
func (g Grant) narrows() bool { return g.Denied || g.Tools != nil || g.Deny != nil }

// Revoke removes a grant and returns it. A grant that narrows is removed only if wider is set: its callers may have
// more afterwards.
func (b *Bridge) Revoke(ctx context.Context, server, agent, user string, wider bool) (g Grant, err error) {
	err = b.o.Store.Update(ctx, func(t *store.Tx) (err error) {
		const where = " WHERE server = $1 AND agent = $2 AND usr = $3"
		args := []any{server, agent, user}
		g, err = scanGrant(func(into ...any) error { return t.Row(grantColumns+where, args, into...) })
		if errors.Is(err, store.ErrNotFound) {
			return tool.Errorf(tool.NotFound, "there is no such grant for the server %q", server).
				Try("see mcp-tools bridge show %s", server)
		}
		if err != nil {
			return err
		}
		if !wider && g.narrows() {
			return tool.Errorf(tool.Refused, "the grant takes tools of the server %q from callers, who could get them "+
				"without it (%s)", server, g).Try("run mcp-tools bridge revoke on the machine of the server")
		}
		if _, err := t.Exec("DELETE FROM mcp_grant"+where, args...); err != nil {
			return err
		}
		return t.Changed(Topic, server)
	})
	return g, b.changed(ctx, err)
}

// The statuses of a request.
const (
	Pending  = "pending"
	Approved = "approved"
	Rejected = "rejected"
)

// A Request is an agent's request for access to a server.
type Request struct {
	ID, Server, Agent, User string
	Tools                   []string // nil for all
	Reason                  string
	Status                  string
	Created, Reviewed       time.Time
	By, Note                string // of the review
}

// maxPending bounds the open requests of one caller.
const maxPending = 20

// requestBody is the content of a request.
type requestBody struct {
	Tools  []string `json:"tools,omitempty"`
	Reason string   `json:"reason"`
}

// ask keeps a request. A pending one of the caller for the server is replaced.
func (b *Bridge) ask(ctx context.Context, r Request) error {
	body, err := json.Marshal(requestBody{r.Tools, r.Reason})
	if err != nil {
		return err
	}
	return b.o.Store.Update(ctx, func(t *store.Tx) error {
		if err := t.Lock(fmt.Sprintf("%s request %s/%s", Topic, r.Agent, r.User)); err != nil {
			return err
		}
		var pending int
		err := t.Row(`SELECT count(*) FROM mcp_request WHERE agent = $1 AND usr = $2 AND status = 'pending'
			AND server <> $3`,
			[]any{r.Agent, r.User, r.Server}, &pending)
		if err != nil {
			return err
		}
		if pending >= maxPending {
			return tool.Errorf(tool.Busy, "%d requests wait for an operator already",
				pending).Try("wait for the answers")
		}
		n, err := t.Exec(`UPDATE mcp_request SET body = $1, created = {{now}} WHERE server = $2 AND agent = $3
			AND usr = $4 AND status = 'pending'`, string(body), r.Server, r.Agent, r.User)
		if err == nil && n == 0 {
			_, err = t.Exec(`INSERT INTO mcp_request (id, server, agent, usr, body, status, created)
				VALUES ($1, $2, $3, $4, $5, 'pending', {{now}})`,
				store.NewID(), r.Server, r.Agent, r.User, string(body))
		}
		return err
	})
}

// Requests lists the requests, the pending ones first.
func (b *Bridge) Requests(ctx context.Context) (all []Request, err error) {
	err = b.o.Store.View(ctx, func(t *store.Tx) error {
		all, err = store.List(t, `SELECT id, server, agent, usr, body, status, created, reviewed, reviewed_by, note
			FROM mcp_request ORDER BY CASE status WHEN 'pending' THEN 0 ELSE 1 END, created DESC, id`, nil,
			func(scan store.Scan) (r Request, err error) {
				var body string
				var created, reviewed int64
				if err = scan(&r.ID, &r.Server, &r.Agent, &r.User, &body, &r.Status, &created, &reviewed, &r.By,
					&r.Note); err != nil {
					return r, err
				}
				r.Created, r.Reviewed = store.FromMillis(created), store.FromMillis(reviewed)
				var said requestBody
				err = json.Unmarshal([]byte(body), &said)
				r.Tools, r.Reason = said.Tools, said.Reason
				return r, err
			})
		return err
	})
	return all, err
}

// Review decides a request, once, and grants the access if it is approved. tools replace the
// tools of the request unless they are nil.
func (b *Bridge) Review(ctx context.Context, id string, approve bool, tools []string, by, note string) (g Grant,
	err error,
) {
	err = b.o.Store.Update(ctx, func(t *store.Tx) error {
		status := Rejected
		if approve {
			status = Approved
		}
		var body string
		err := t.Row("SELECT server, agent, usr, body FROM mcp_request WHERE id = $1", []any{id}, &g.Server, &g.Agent,
			&g.User, &body)
		if errors.Is(err, store.ErrNotFound) {
			return tool.Errorf(tool.NotFound, "there is no request %q", id).Try("see mcp-tools bridge requests list")
		}
		if err != nil {
			return err
		}
		n, err := t.Exec(`UPDATE mcp_request SET status = $1, reviewed = {{now}}, reviewed_by = $2, note = $3
			WHERE id = $4 AND status = 'pending'`, status, by, note, id)
		if err != nil {
			return err
		}
		if n == 0 {
			return tool.Errorf(tool.Conflict, "the request %q was decided already",
				id).Try("see mcp-tools bridge requests list")
		}
		if !approve {
			return nil
		}
		var said requestBody
		if err := json.Unmarshal([]byte(body), &said); err != nil {
			return err
		}
		g.By, g.Terms = by, Terms{Tools: said.Tools}
		if tools != nil {
			g.Tools = tools
		}
		return setGrant(t, g)
	})
	return g, b.changed(ctx, err)
}

// requestAccess is the tool for requests for access.
type requestAccess struct{ b *Bridge }

type requestAccessArgs struct {
	Server string   `json:"server" jsonschema:"name of a server"`
	Reason string   `json:"reason" jsonschema:"your purpose" maxlen:"500"`
	Tools  []string `json:"tools,omitempty" jsonschema:"tools that you need, default all"`
}

// RequestTool is the name of the tool for requests for access.
const RequestTool = "mcp_request_access"

func (requestAccess) Spec() tool.Spec {
	return tool.Spec{
		Name: RequestTool, Group: "mcp", Title: "Request access to a server", Risk: tool.Writes,
		Doc: "Asks the operator for access to an MCP server. The answer comes later: its tools appear.",
	}
}

func (t requestAccess) Do(ctx context.Context, a requestAccessArgs) (tool.Result, error) {
	s, c := t.b.now(), tool.CallerFrom(ctx)
	closed := s.closedTo(c)
	if !slices.Contains(closed, a.Server) {
		missing := tool.Errorf(tool.NotFound, "there is no server %q that you could ask for", a.Server)
		if len(closed) > 0 {
			missing = missing.Try("there are %s", strings.Join(closed, ", "))
		}
		return tool.Result{}, missing
	}
	err := t.b.ask(ctx, Request{Server: a.Server, Agent: c.Agent, User: c.User, Tools: a.Tools, Reason: a.Reason})
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text("The operator has the request. If it is approved, the tools of the server appear in your list."),
		nil
}

// closedTo lists the servers that a caller cannot use and could ask for.
func (s *state) closedTo(c tool.Caller) (names []string) {
	for _, one := range s.ordered {
		if one.Disabled || one.Access != AccessGranted {
			continue
		}
		if _, ok := s.access(one, c, ""); !ok {
			names = append(names, one.name)
		}
	}
	return names
}
