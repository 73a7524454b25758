package sessions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// sessionsHistory shows the messages and the calls of a session.
type sessionsHistory struct{ sessions *Sessions }

type sessionsHistoryArgs struct {
	Key    string `json:"session_key,omitempty" jsonschema:"key or label, default your own" alias:"key,session,label"`
	Limit  int    `json:"limit,omitempty" jsonschema:"messages to return, default 20" min:"0" max:"200"`
	Offset int    `json:"offset,omitempty" jsonschema:"newer messages to leave out" min:"0" max:"100000" hidden:"true"`
	Tools  bool   `json:"include_tools,omitempty" jsonschema:"also the latest calls"`
}

const (
	defaultHistory = 20
	maxHistory     = 80 << 10 // bytes
)

func (sessionsHistory) Spec() tool.Spec {
	return tool.Spec{
		Name: "sessions_history", Group: group, Title: "Session history", Risk: tool.Reads,
		Doc: "Returns the latest messages of a session, oldest first, and on request its calls with digests. Texts " +
			"of others are quoted with >.",
		Hints: tool.Hints{Idempotent: true}, Keywords: "transcript conversation log", Output: history{},
	}
}

// A history is the result of the tool for programs.
type history struct {
	Key      string `json:"session_key"`
	Messages []Turn `json:"messages"`
	Calls    []made `json:"calls,omitempty"`
	Count    int    `json:"count"`
}

// made is a call of a session, from the audit log.
type made struct {
	Tool         string    `json:"tool"`
	Outcome      string    `json:"outcome"`
	At           time.Time `json:"at"`
	Milliseconds float64   `json:"duration_ms"`
	Args         string    `json:"args_digest,omitempty"`
	Result       string    `json:"result_digest,omitempty"`
}

func (t sessionsHistory) Do(ctx context.Context, a sessionsHistoryArgs) (tool.Result, error) {
	row, err := t.sessions.find(ctx, tool.CallerFrom(ctx), a.Key)
	if err != nil {
		return tool.Result{}, err
	}
	if a.Limit <= 0 {
		a.Limit = defaultHistory
	}
	turns, older, err := t.sessions.turns(ctx, row, a.Limit, a.Offset)
	if err != nil {
		return tool.Result{}, err
	}
	out := history{Key: row.Session, Messages: []Turn{}}
	var lines []string
	size := 0
	for i, turn := range slices.Backward(turns) { // the newest ones if not all fit
		line := lineOfTurn(turn)
		if size += len(line); size > maxHistory {
			older, turns = true, turns[i+1:]
			break
		}
		lines = append(lines, line)
		turn.Text, _ = beginning(turn.Text, maxShown)
		out.Messages = append(out.Messages, turn)
	}
	slices.Reverse(lines)
	slices.Reverse(out.Messages)
	out.Count = len(out.Messages)
	head := fmt.Sprintf("%s of %s", text.Plural(out.Count, "message"), row.Session)
	if older {
		head += fmt.Sprintf("; for older ones send offset %d", a.Offset+out.Count)
	}
	lines = append([]string{head + ":"}, lines...)
	if a.Tools {
		if out.Calls, err = t.sessions.calls(ctx, row, a.Limit); err != nil {
			return tool.Result{}, err
		}
		lines = append(lines, text.Plural(len(out.Calls), "call")+", turns of the last seconds may be missing:")
		for _, call := range out.Calls {
			lines = append(lines, fmt.Sprintf("- %s %s %s, %.0f ms, arguments %.8s, result %.8s",
				call.At.UTC().Format(time.RFC3339), call.Tool, call.Outcome, call.Milliseconds, call.Args, call.Result))
		}
	}
	return tool.Text(strings.Join(lines, "\n")).With(out), nil
}

func lineOfTurn(turn Turn) string {
	who := turn.Role
	if turn.From != "" {
		who += " " + turn.From
	}
	if turn.ID != "" {
		who += ", message " + turn.ID
	}
	return fmt.Sprintf("%s %s:\n%s", turn.At.UTC().Format(time.RFC3339), who, quoted(turn.Text))
}

// turns returns messages of a session, the oldest first, without the newest ones up to
// offset, and whether there are older ones.
func (s *Sessions) turns(ctx context.Context, row Session, limit, offset int) (list []Turn, older bool, err error) {
	if s.Engine != nil && row.Depth > 0 {
		all, ok, err := s.Engine.Turns(ctx, row.To)
		if err != nil {
			return nil, false, err
		}
		if ok {
			end := max(len(all)-offset, 0)
			from := max(end-limit, 0)
			return all[from:end], from > 0, nil
		}
	}
	events, err := s.Inbox.Messages(ctx, row.To, limit+1, offset)
	if err != nil {
		return nil, false, err
	}
	if len(events) > limit {
		older, events = true, events[:limit]
	}
	for _, e := range slices.Backward(events) {
		list = append(list, Turn{ID: e.ID, Role: "agent", From: e.From, Text: e.Text, At: e.At})
	}
	return list, older, nil
}

// calls returns the latest calls of a session from the audit log.
func (s *Sessions) calls(ctx context.Context, row Session, limit int) (list []made, err error) {
	rows, err := s.Audit.TailSince(ctx, limit, row.Created.Add(-time.Minute), func(r *audit.Row) bool {
		return r.Session == row.Name && r.Agent == row.Agent && r.User == row.User && r.Phase == audit.Done
	})
	for _, r := range rows {
		list = append(list, made{r.Tool, r.Outcome, r.Time, r.Duration, r.ArgsDigest, r.ResultDigest})
	}
	return list, err
}
