package sessions

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// sessionStatus shows an agent its identity and its rights, or the state of another session. It
// sets labels and models.
type sessionStatus struct{ sessions *Sessions }

type sessionStatusArgs struct {
	Key   string `json:"session_key,omitempty" jsonschema:"key or label, default your own" alias:"key,session"`
	Label string `json:"label,omitempty" jsonschema:"sets the label" maxlen:"100"`
	Model string `json:"model,omitempty" jsonschema:"sets the model; \"default\" resets it" maxlen:"200"`
	About string `json:"about,omitempty" jsonschema:"what to show" enum:"session,system,environment" hidden:"true"`
	Name  string `json:"name,omitempty" jsonschema:"variable of the environment" hidden:"true" maxlen:"200"`
}

func (sessionStatus) Spec() tool.Spec {
	return tool.Spec{
		// A label and a model are notes about a session of the caller, so that setting them
		// counts as reading: callers with the right to read only have sessions too.
		Name: "session_status", Group: group, Title: "Session status", Risk: tool.Reads,
		Doc: "Returns who you are here, what you may do without asking, and how many calls are left; or the state " +
			"of a session.",
		Also: []string{"system_info", "env_get", "tool::system_info", "tool::env_get"},
		Means: map[string]string{
			"system_info": aboutSystem, "tool::system_info": aboutSystem, "env_get": aboutEnvironment,
			"tool::env_get": aboutEnvironment,
		},
		Repeats:  true,
		Output:   status{},
		Keywords: "who am i identity user profile permissions permitted allowed rights may limits quota calls left",
	}
}

// A status is the result of the tool for programs. Only the status of the own session has all
// fields of tool.SessionStatus.
type status struct {
	Session  string `json:"session"`
	Agent    string `json:"agent,omitempty"`
	User     string `json:"user,omitempty"`
	Provider string `json:"provider,omitempty"`
	Channel  string `json:"channel"`
	Chat     string `json:"chat,omitempty"`
	PeerKind string `json:"peer_kind,omitempty"`
	Topic    string `json:"topic,omitempty"`
	Sender   string `json:"sender,omitempty"`
	Depth    int    `json:"depth,omitempty"`
	Label    string `json:"label,omitempty"`
	Model    string `json:"model,omitempty"`
	Client   string `json:"client,omitempty"`
	Parent   string `json:"parent,omitempty"`
	Children int    `json:"children,omitempty"`
	Tokens   int64  `json:"tokens,omitempty"`
	tool.SessionStatus
}

const (
	aboutSystem      = `{"about":"system"}`
	aboutEnvironment = `{"about":"environment"}`
)

// environment shows the variables that the operator gives to commands, or one of them. The
// variables of this process are not shown.
func (t sessionStatus) environment(name string) (tool.Result, error) {
	all := t.sessions.Environment
	if name != "" {
		value, ok := all[name]
		if !ok {
			return tool.Result{}, tool.Errorf(tool.NotFound, "the operator shows no variable %q", name).
				Try("leave name out to see the variables that are shown")
		}
		return tool.Text(value), nil
	}
	if len(all) == 0 {
		return tool.Text("The operator shows no variables here."), nil
	}
	var b lines
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.add(name, all[name])
	}
	return tool.Text(b.String()), nil
}

// system describes the server's machine. Commands may run in a sandbox on another machine.
func (t sessionStatus) system(running tool.Running) tool.Result {
	var b lines
	b.add("System", runtime.GOOS+"/"+runtime.GOARCH)
	b.add("Processors", fmt.Sprint(runtime.NumCPU()))
	if running.Status != nil {
		b.add("Server", "mcp-tools "+running.Status().Version)
	}
	return tool.Text(b.String())
}

func (t sessionStatus) Do(ctx context.Context, a sessionStatusArgs) (tool.Result, error) {
	running := tool.RunningFrom(ctx)
	switch a.About {
	case "system":
		return t.system(running), nil
	case "environment":
		return t.environment(a.Name)
	}
	a.About = ""
	if a == (sessionStatusArgs{}) {
		return t.own(ctx, running)
	}
	row, err := t.sessions.find(ctx, running.Caller, a.Key)
	if err != nil {
		return tool.Result{}, err
	}
	note := ""
	if a.Label != "" || a.Model != "" {
		if note, err = t.set(ctx, running.Caller, &row, a); err != nil {
			return tool.Result{}, err
		}
	}
	st, err := t.of(ctx, row)
	if err != nil {
		return tool.Result{}, err
	}
	var b lines
	b.who(st)
	b.add("Client", st.Client)
	b.add("Tokens", fmt.Sprintf("%d read, %d written", row.TokensIn, row.TokensOut))
	b.add("Calls", fmt.Sprintf("%d, %d of them failed", row.Calls, row.Failed))
	b.add("Updated", row.Updated.UTC().Format(time.RFC3339))
	if !row.Open {
		b.add("Ended", row.Ended.UTC().Format(time.RFC3339))
	}
	return tool.Text(b.String() + note).With(st), nil
}

// own describes the session of the caller. It works without the store.
func (t sessionStatus) own(ctx context.Context, running tool.Running) (tool.Result, error) {
	c := running.Caller
	if running.Status == nil {
		return tool.Result{}, tool.Errorf(tool.Unavailable, "this call belongs to no session")
	}
	row, ok, err := t.sessions.Row(ctx, inbox.ToCaller(c))
	if err != nil {
		t.sessions.Log.Warn("session_status is incomplete: the store could not be read", "err", err)
	}
	if !ok {
		row.To, row.Channel, row.Parent = inbox.ToCaller(c), c.Channel, c.Parent
	}
	st, err := t.of(ctx, row)
	if err != nil {
		t.sessions.Log.Warn("session_status is incomplete: the store could not be read", "err", err)
	}
	st.SessionStatus, st.Provider, st.Depth = running.Status(), c.Provider, c.Depth
	st.Chat, st.PeerKind, st.Topic, st.Sender = c.ChatID, c.PeerKind, c.Topic, c.Sender
	var b lines
	b.who(st)
	b.add("Calls", fmt.Sprintf("%d, %d of them failed; %d more may be made at once",
		st.SessionStatus.Calls, st.Failed, st.Left))
	if !st.Since.IsZero() {
		b.add("Since", st.Since.UTC().Format(time.RFC3339))
	}
	b.add("Server", "mcp-tools "+st.Version)
	return tool.Text(b.String()).With(st), nil
}

// of returns the status of a row.
func (t sessionStatus) of(ctx context.Context, row Session) (status, error) {
	st := status{
		Session: row.Session, Agent: row.Agent, User: row.User, Provider: row.Provider, Channel: row.Channel,
		Depth: row.Depth, Label: row.Label, Model: row.Model, Client: row.Client, Parent: row.Parent,
		Tokens:        row.TokensIn + row.TokensOut,
		SessionStatus: tool.SessionStatus{Calls: int(row.Calls), Failed: int(row.Failed)},
	}
	children, err := t.sessions.where(ctx, "parent = $1 AND usr = $2", row.Session, row.User)
	st.Children = len(children)
	return st, err
}

// set changes the label and the model of a session that is the caller's or was started
// by it.
func (t sessionStatus) set(ctx context.Context, c tool.Caller, row *Session, a sessionStatusArgs) (string, error) {
	if !t.sessions.owns(ctx, c, *row) {
		return "", tool.Errorf(tool.Refused, "only the session itself, or one that started it, may change it").
			Try("ask with sessions_send")
	}
	row.Label = cmp.Or(tool.Line(a.Label), row.Label)
	if a.Model != "" {
		row.Model = tool.Line(a.Model)
	}
	if row.Model == "default" {
		row.Model = ""
	}
	err := t.sessions.Store.Update(ctx, func(tx *store.Tx) error {
		return setIn(tx, row.To, "label = $4, model = $5", row.Label, row.Model)
	})
	if a.Model != "" && row.Depth == 0 {
		return "\nThe client runs the model of this session; the name is only shown.", err
	}
	return "", err
}

// lines are lines with a name and a value.
type lines []string

func (b *lines) add(name, value string) {
	if value != "" {
		*b = append(*b, name+": "+value)
	}
}

func (b *lines) String() string { return strings.Join(*b, "\n") }

// who adds the lines of every session.
func (b *lines) who(st status) {
	b.add("Session", st.Session)
	b.add("Label", st.Label)
	b.add("Agent", st.Agent)
	b.add("User", st.User)
	if st.Profile != "" {
		b.add("Profile", fmt.Sprintf("%s, %d tools, autonomy %s", st.Profile, st.Tools, st.Autonomy))
	}
	b.add("Provider", st.Provider)
	b.add("Model", st.Model)
	b.add("Channel", st.Channel)
	b.add("Chat", strings.TrimSpace(st.Chat+" "+st.PeerKind))
	b.add("Topic", st.Topic)
	b.add("Sender", st.Sender)
	if st.Depth > 0 {
		b.add("Depth", fmt.Sprintf("%d, as a subagent", st.Depth))
	}
	b.add("Started by", st.Parent)
	if st.Children > 0 {
		b.add("Has started", fmt.Sprintf("%d sessions", st.Children))
	}
}

// owns reports whether a session belongs to a caller, or was started by it.
func (s *Sessions) owns(ctx context.Context, c tool.Caller, row Session) bool {
	const maxTree = 10
	for range maxTree {
		if row.Session == c.Key() {
			return row.Agent == c.Agent && row.User == c.User
		}
		if row.Parent == "" || row.User != c.User {
			return false
		}
		above, err := s.where(ctx, "key = $1 AND usr = $2", row.Parent, row.User)
		if err != nil || len(above) != 1 {
			return false
		}
		row = above[0]
	}
	return false
}
