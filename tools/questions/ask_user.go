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
		Doc:      "Asks the user and returns the answer. If they do not answer now, it comes to your inbox.",
		Also:     []string{"ask_followup_question", "AskUserQuestion"},
		Keywords: "question clarify human",
	}
}

func (x askUser) Do(ctx context.Context, a askUserArgs) (tool.Result, error) {
	answer, id, err := x.q.Ask(ctx, Question{Text: a.Question, Options: a.Options})
	if err != nil {
		return tool.Result{}, err
	}
	if answer == "" {
		return tool.Textf("The question %s waits for the user. The answer comes to your inbox: continue with other "+
			"work, or call wait with it. Do not ask again.", id), nil
	}
	return tool.Text(answer), nil
}
