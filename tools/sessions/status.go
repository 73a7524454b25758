package sessions

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// sessionStatus shows an agent its identity here and what it may do.
type sessionStatus struct{}

type sessionStatusArgs struct{}

func (sessionStatus) Spec() tool.Spec {
	return tool.Spec{
		Name: "session_status", Group: group, Title: "Session status", Risk: tool.Reads,
		Doc:      "Returns who you are here, what you may do without asking, and how many calls are left.",
		Repeats:  true,
		Output:   status{},
		Keywords: "who am i identity user profile permissions permitted allowed rights may limits quota calls left",
	}
}

// A status is the result of the tool for programs.
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
	tool.SessionStatus
}

func (sessionStatus) Do(ctx context.Context, _ sessionStatusArgs) (tool.Result, error) {
	running := tool.RunningFrom(ctx)
	if running.Status == nil {
		return tool.Result{}, tool.Errorf(tool.Unavailable, "this call belongs to no session")
	}
	c, s := running.Caller, running.Status()
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	line("Session", c.Session)
	line("Agent", c.Agent)
	line("User", c.User)
	line("Profile", fmt.Sprintf("%s, %d tools, autonomy %s", s.Profile, s.Tools, s.Autonomy))
	line("Provider", c.Provider)
	line("Channel", c.Channel)
	line("Chat", strings.TrimSpace(c.ChatID+" "+c.PeerKind))
	line("Topic", c.Topic)
	line("Sender", c.Sender)
	if c.Depth > 0 {
		line("Depth", fmt.Sprintf("%d, as a subagent", c.Depth))
	}
	line("Calls", fmt.Sprintf("%d, %d of them failed; %d more may be made at once", s.Calls, s.Failed, s.Left))
	if !s.Since.IsZero() {
		line("Since", s.Since.UTC().Format(time.RFC3339))
	}
	line("Server", "mcp-tools "+s.Version)
	return tool.Text(strings.TrimSuffix(b.String(), "\n")).With(status{
		c.Session, c.Agent, c.User, c.Provider, c.Channel, c.ChatID, c.PeerKind, c.Topic, c.Sender, c.Depth, s,
	}), nil
}
