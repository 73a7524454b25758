package questions

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// askUser is the tool that asks the user.
type askUser struct{ q *Questions }

type askUserArgs struct {
	Question string   `json:"question" jsonschema:"question that the user reads" alias:"text,message,prompt"`
	Options  []string `json:"options,omitempty" jsonschema:"answers to choose from" alias:"choices" maxitems:"20"`
}

func (askUser) Spec() tool.Spec {
	return tool.Spec{
		Name: "ask_user", Group: "sessions", Title: "Ask the user", Risk: tool.Reads,
		Doc:      "Asks the user and returns the answer. A later answer comes to your inbox. If this client cannot show it, ask in your reply.",
		Also:     []string{"ask_followup_question", "AskUserQuestion"},
		Keywords: "question clarify human",
	}
}

func (x askUser) Do(ctx context.Context, a askUserArgs) (tool.Result, error) {
	answer, id, err := x.q.Ask(ctx, Question{Text: a.Question, Options: a.Options})
	if err != nil {
		return tool.Result{}, err
	}
	if running := tool.RunningFrom(ctx); answer == "" && !isOnPage(running.Answers) && (running.Can == nil || !running.Can(tool.Person)) {
		return tool.Textf("The question %s waits for the user, but this client cannot show it: ask it in your reply. An "+
			"answer given %s comes to your inbox.", id, x.q.wayToAnswer(id)), nil
	}
	if answer == "" {
		return tool.Textf("The question %s waits for the user. The answer comes to your inbox: continue with other "+
			"work, or call wait with it. Do not ask again.", id), nil
	}
	return tool.Text(answer), nil
}

// wayToAnswer returns how the user answers a question that the client cannot show.
func (q *Questions) wayToAnswer(id string) string {
	if q.Page != nil {
		if page := q.Page(id); page != "" {
			return "on " + page
		}
	}
	return "in mcp-tools ui, or with mcp-tools questions answer " + id + " TEXT,"
}
