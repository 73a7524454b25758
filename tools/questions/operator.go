package questions

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Room returns the verbs for operators to answer questions.
func Room() *room.Room {
	q := new(Questions)
	return &room.Room{
		Name: "questions", Title: "Answer questions of agents to their user",
		Doc: `questions lists the questions of agents whose client cannot show one, on all servers
with the same store, and answers it. The answer goes to the session that asked.`,
		Open: func(h *room.Host) error { *q = *New(h.Store, nil, nil); return nil },
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "list", Title: "List the questions that wait for an answer", Risk: tool.Reads, Where: room.Operator,
			}, q.list),
			room.Do(room.Verb{
				Name: "answer", Title: "Answer a question", Args: []string{"id", "text"}, Risk: tool.Writes,
				Where:   room.Operator,
				Example: `  mcp-tools questions answer q-019f6b1e-5d0c-7b8e-9a52-3f2d7c1e0b44 'Use port 8080.'`,
			}, q.answer),
		},
	}
}

func (q *Questions) list(ctx context.Context, _ struct{}) (tool.Result, error) {
	list, err := q.List(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	head := []string{"ID", "AGENT", "USER", "ASKED", "QUESTION", "OPTIONS"}
	return room.Rows(list, "No question waits for an answer.", head, func(o Open) []string {
		return []string{o.ID, o.Agent, o.User, store.FromMillis(o.Asked).Format(time.DateTime), terminal.Short(o.Text, 80),
			strings.Join(o.Options, ", ")}
	}), nil
}

type answerArgs struct {
	ID   string `json:"id" jsonschema:"the question, as in list"`
	Text string `json:"text" jsonschema:"the answer"`
}

func (q *Questions) answer(ctx context.Context, args answerArgs) (tool.Result, error) {
	err := q.Answer(ctx, args.ID, args.Text, room.By(ctx).Name)
	switch {
	case errors.Is(err, ErrNotOpen):
		err = tool.Errorf(tool.NotFound, "%v", err).Because(err)
	case errors.Is(err, errAnswer):
		err = tool.Errorf(tool.Invalid, "%v", err).Because(err)
	}
	return tool.Text("the answer was sent"), err
}
