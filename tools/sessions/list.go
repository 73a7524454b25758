package sessions

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// sessionsList lists the sessions that a session may see.
type sessionsList struct{ sessions *Sessions }

type sessionsListArgs struct {
	Limit    int      `json:"limit,omitempty" jsonschema:"sessions to return, default 20" max:"200" min:"0"`
	Active   int      `json:"active_minutes,omitempty" jsonschema:"only those used in the last minutes" min:"0" hidden:"true"`
	Kinds    []string `json:"kinds,omitempty" jsonschema:"only these channels" hidden:"true"`
	Messages int      `json:"message_limit,omitempty" jsonschema:"ignored" hidden:"true"`
}

const defaultListed = 20

func (sessionsList) Spec() tool.Spec {
	return tool.Spec{
		Name: "sessions_list", Group: group, Title: "List sessions", Risk: tool.Reads,
		Doc:     "Lists sessions, the last used first: key, label, client, state, use.",
		Repeats: true, Hints: tool.Hints{Idempotent: true},
		Keywords: "agents clients connections who", Output: listed{},
	}
}

// listed is the result of the tool for programs.
type listed struct {
	Count    int       `json:"count"`
	Sessions []summary `json:"sessions"`
}

type summary struct {
	Key     string    `json:"key"`
	Label   string    `json:"label,omitempty"`
	User    string    `json:"user,omitempty"`
	Client  string    `json:"client,omitempty"`
	Model   string    `json:"model,omitempty"`
	Parent  string    `json:"parent,omitempty"`
	Open    bool      `json:"open"`
	Calls   int64     `json:"calls"`
	Tokens  int64     `json:"tokens"`
	Updated time.Time `json:"updated"`
}

func (t sessionsList) Do(ctx context.Context, a sessionsListArgs) (tool.Result, error) {
	c := tool.CallerFrom(ctx)
	if _, err := t.sessions.own(ctx, c); err != nil {
		return tool.Result{}, err
	}
	if a.Limit <= 0 {
		a.Limit = defaultListed
	}
	where, args, level := t.sessions.visible(c)
	where += fmt.Sprintf(" AND updated >= {{now}} - $%d", len(args)+1)
	minutes := int64(a.Active)
	if minutes == 0 {
		minutes = int64(keepEnded / time.Minute)
	}
	args = append(args, minutes*time.Minute.Milliseconds())
	for i, kind := range a.Kinds {
		join := " OR "
		if i == 0 {
			join = " AND ("
		}
		args = append(args, kind)
		where += fmt.Sprintf("%schannel = $%d", join, len(args))
	}
	if len(a.Kinds) > 0 {
		where += ")"
	}
	rows, err := t.sessions.where(ctx, fmt.Sprintf("%s ORDER BY updated DESC, key LIMIT %d", where, a.Limit), args...)
	if err != nil {
		return tool.Result{}, err
	}
	out := listed{Count: len(rows), Sessions: []summary{}}
	lines := []string{text.Plural(len(rows), "session") + ":"}
	for _, row := range rows {
		out.Sessions = append(out.Sessions, summary{
			row.Session, row.Label, row.User, row.Client, row.Model, row.Parent, row.Open, row.Calls,
			row.TokensIn + row.TokensOut, row.Updated.UTC(),
		})
		lines = append(lines, lineOf(row, c, level))
	}
	return tool.Text(strings.Join(lines, "\n")).With(out), nil
}

// lineOf describes a session in one line.
func lineOf(row Session, c tool.Caller, level Visibility) string {
	var b strings.Builder
	b.WriteString("- " + row.Session)
	if row.Session == c.Key() && row.User == c.User {
		b.WriteString(" (you)")
	}
	if row.Label != "" {
		fmt.Fprintf(&b, " %q", row.Label)
	}
	state := "open"
	if !row.Open {
		state = "ended"
	}
	for _, part := range []string{state, row.Client, row.Model} {
		if part != "" {
			b.WriteString(", " + part)
		}
	}
	if level == All {
		b.WriteString(", user " + row.User)
	}
	if row.Parent != "" {
		b.WriteString(", started by " + row.Parent)
	}
	fmt.Fprintf(&b, ", %s, %d tokens, %s", text.Plural(int(row.Calls), "call"), row.TokensIn+row.TokensOut,
		row.Updated.UTC().Format(time.RFC3339))
	return b.String()
}
