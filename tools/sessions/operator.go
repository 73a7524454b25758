package sessions

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Room returns the verbs for operators to see the sessions of all agents. open returns the sessions in the store of
// a host.
func Room(open func(*room.Host) (*Sessions, error)) *room.Room {
	o := new(operator)
	return &room.Room{
		Name: "sessions", Title: "See the sessions of all agents",
		Doc: `sessions shows the callers of the servers on this store: clients, chats and subagents, each
with its use. A session is kept for a month after its end. mcp-tools pause --session
stops one.`,
		Open: func(h *room.Host) (err error) { o.Sessions, err = open(h); return err },
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "list", Title: "List the sessions, the last used first", Risk: tool.Reads, Where: room.Operator,
				Example: "  mcp-tools sessions list --open\n  mcp-tools sessions list --agent builder --limit 10",
			}, o.list),
			room.Do(room.Verb{
				Name: "show", Title: "Show a session: its use, its latest calls and messages", Args: []string{"key"},
				Risk: tool.Reads, Where: room.Operator, Complete: o.keys,
			}, o.show),
		},
	}
}

// operator has the verbs of sessions.
type operator struct{ *Sessions }

// A Summary is a session as the operator sees it.
type Summary struct {
	Key     string    `json:"key"`
	Agent   string    `json:"agent,omitempty"`
	User    string    `json:"user,omitempty"`
	Name    string    `json:"session"` // the name of its calls in the audit log
	Channel string    `json:"channel"`
	Client  string    `json:"client,omitempty"`
	Label   string    `json:"label,omitempty"`
	Model   string    `json:"model,omitempty"`
	Parent  string    `json:"parent,omitempty"`
	Open    bool      `json:"open"`
	Calls   int64     `json:"calls"`
	Failed  int64     `json:"failed"`
	Tokens  int64     `json:"tokens"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
}

// summaries returns the sessions that a condition selects. Sessions of killed processes count as
// ended.
func (o *operator) summaries(ctx context.Context, where string, args ...any) (rows []Session, list []Summary, err error) {
	if rows, err = o.where(ctx, where, args...); err != nil || len(rows) == 0 {
		return nil, nil, err
	}
	args = nil
	over, err := o.where(ctx, "ended = 0 AND "+o.over(&args), args...)
	if err != nil {
		return nil, nil, err
	}
	dead := map[inbox.To]bool{}
	for _, r := range over {
		dead[r.To] = true
	}
	for _, r := range rows {
		list = append(list, Summary{
			Key: r.Session, Agent: r.Agent, User: r.User, Name: r.Name, Channel: r.Channel, Client: r.Client, Label: r.Label,
			Model: r.Model, Parent: r.Parent, Open: r.Open && !dead[r.To], Calls: r.Calls, Failed: r.Failed,
			Tokens: r.TokensIn + r.TokensOut, Created: r.Created.UTC(), Updated: r.Updated.UTC(),
		})
	}
	return rows, list, nil
}

type listArgs struct {
	Agent string `json:"agent,omitempty" jsonschema:"only this agent"`
	User  string `json:"user,omitempty" jsonschema:"only this user"`
	Open  bool   `json:"open,omitempty" jsonschema:"only sessions that have not ended"`
	Limit int    `json:"limit,omitempty" jsonschema:"sessions to list" default:"50" min:"1" max:"1000"`
}

func (o *operator) list(ctx context.Context, a listArgs) (tool.Result, error) {
	_, all, err := o.summaries(ctx, "(agent = $1 OR $1 = '') AND (usr = $2 OR $2 = '') ORDER BY updated DESC, key, agent, usr",
		a.Agent, a.User)
	if err != nil {
		return tool.Result{}, err
	}
	var list []Summary
	for _, s := range all {
		if (s.Open || !a.Open) && len(list) < a.Limit {
			list = append(list, s)
		}
	}
	head := []string{"KEY", "AGENT", "USER", "STATE", "CLIENT", "CALLS", "TOKENS", "LAST USED", "LABEL"}
	return room.Rows(list, "There are no sessions.", head, func(s Summary) []string {
		return []string{
			s.Key, cmp.Or(s.Agent, "-"), cmp.Or(s.User, "-"), s.state(), cmp.Or(s.Client, s.Channel), fmt.Sprint(s.Calls),
			fmt.Sprint(s.Tokens), s.Updated.Local().Format(time.DateTime), s.Label,
		}
	}), nil
}

func (s Summary) state() string {
	if s.Open {
		return "open"
	}
	return "ended"
}

// keys lists the keys of the sessions that were used last.
func (o *operator) keys(ctx context.Context) (list []string, err error) {
	rows, err := o.where(ctx, "TRUE ORDER BY updated DESC, key LIMIT 50")
	for _, r := range rows {
		list = append(list, r.Session+"\t"+strings.TrimSpace(r.Agent+" "+r.User+" "+r.Label))
	}
	return list, err
}

type showArgs struct {
	Key   string `json:"key" jsonschema:"the session, as in list"`
	Agent string `json:"agent,omitempty" jsonschema:"its agent, if several have the key"`
	User  string `json:"user,omitempty" jsonschema:"its user, if several have the key"`
}

// A Detail is a session with its latest calls and messages.
type Detail struct {
	Summary
	Made     []made `json:"latest_calls"`
	Messages []Turn `json:"messages"`
}

const (
	shownCalls    = 20
	shownMessages = 10
)

func (o *operator) show(ctx context.Context, a showArgs) (none tool.Result, err error) {
	rows, list, err := o.summaries(ctx, "key = $1 AND (agent = $2 OR $2 = '') AND (usr = $3 OR $3 = '')", a.Key, a.Agent,
		a.User)
	switch {
	case err != nil:
		return none, err
	case len(rows) == 0:
		return none, tool.Errorf(tool.NotFound, "there is no session %q", a.Key).Try("mcp-tools sessions list shows the keys")
	case len(rows) > 1:
		return none, tool.Errorf(tool.Conflict, "%d agents or users have a session %q", len(rows), a.Key).
			Try("add --agent and --user, as in mcp-tools sessions list")
	}
	d := Detail{Summary: list[0], Messages: []Turn{}}
	if d.Made, err = o.calls(ctx, rows[0], shownCalls); err != nil {
		return none, err
	}
	turns, _, err := o.turns(ctx, rows[0], shownMessages, 0)
	if err != nil {
		return none, err
	}
	d.Messages = append(d.Messages, turns...)
	return room.Said(d, "%s", d.forPeople()), nil
}

func (d Detail) forPeople() string {
	var b strings.Builder
	for _, line := range [][2]string{
		{"Key", d.Key}, {"Agent", d.Agent}, {"User", d.User}, {"Session", d.Name}, {"State", d.state()}, {"Channel", d.Channel},
		{"Client", d.Client}, {"Label", d.Label}, {"Model", d.Model}, {"Started by", d.Parent},
		{"Began", d.Created.Local().Format(time.DateTime)}, {"Last used", d.Updated.Local().Format(time.DateTime)},
		{"Use", fmt.Sprintf("%s, %d failed, %d tokens", text.Plural(int(d.Calls), "call"), d.Failed, d.Tokens)},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", line[0], tool.Visible(tool.Line(line[1])))
		}
	}
	if len(d.Made) > 0 {
		rows := [][]string{{"AT", "CALL", "OUTCOME", "TOOK"}}
		for _, c := range d.Made {
			took := time.Duration(c.Milliseconds * float64(time.Millisecond)).Round(time.Millisecond)
			rows = append(rows, []string{c.At.Local().Format(time.DateTime), c.Tool, c.Outcome, took.String()})
		}
		b.WriteString("\n" + terminal.Table(rows))
	}
	for _, m := range d.Messages {
		fmt.Fprintf(&b, "\n%s %s: %s\n", m.At.Local().Format(time.DateTime), strings.TrimSpace(m.Role+" "+m.From),
			tool.Visible(text.Clip(m.Text, maxShown)))
	}
	return b.String()
}
