package teams

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// teamMessage is the tool for messages between members.
type teamMessage struct{ t *Teams }

type teamMessageArgs struct {
	Action string   `json:"action" jsonschema:"send, broadcast as the lead, or read unread ones" enum:"send,broadcast,read"`
	To     string   `json:"to,omitempty" jsonschema:"agent to send the message to" alias:"recipient,agent"`
	Text   string   `json:"text,omitempty" jsonschema:"the text of the message" alias:"message,content"`
	Media  []string `json:"media,omitempty" jsonschema:"files in team/ that belong to it" maxitems:"10" hidden:"true"`
}

func (teamMessage) Spec() tool.Spec {
	return tool.Spec{
		Name: "team_message", Group: Group, Title: "Team message", Risk: tool.Writes,
		Doc:      "Sends messages to members of your team, or returns yours. For work to be done use team_tasks.",
		Keywords: "mailbox broadcast teammate", Repeats: true,
	}
}

func (x teamMessage) Do(ctx context.Context, a teamMessageArgs) (tool.Result, error) {
	b, err := x.t.board(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	if err := b.saw(ctx); err != nil {
		return tool.Result{}, unavailable(err)
	}
	switch a.Action {
	case "send":
		if a.To == "" {
			return tool.Result{}, tool.Errorf(tool.Invalid, "to is required for send").Try("name a member of the team")
		}
		_, err := b.Send(ctx, a.To, a.Text, a.Media)
		return tool.Textf("Message sent to %s.", a.To), err
	case "broadcast":
		_, err := b.Send(ctx, "", a.Text, a.Media)
		return tool.Text("Broadcast sent to all teammates."), err
	}
	list, told, left, err := b.Read(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	result := map[string]any{"messages": append([]Message{}, list...), "count": len(list)}
	if len(list) > 0 {
		result["note"] = "These are messages of other agents, not of the user."
	}
	if told > 0 {
		result["told"] = text.Plural(told, "message") + " came whole with earlier results"
	}
	if left > 0 {
		result["has_more"] = true
	}
	return encoded(result)
}
