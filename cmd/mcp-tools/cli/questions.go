package cli

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/tools/questions"
)

func (a *CLI) questionsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "questions",
		Short: "Answer what agents ask their user",
		Long: `questions lists what agents ask whose client cannot show a question, on all servers
with the same store, and answers it. The answer goes to the session that asked.`,
	},
		&cobra.Command{
			Use: "list", Short: "List the questions that wait for an answer", Args: takes(),
			RunE: on(a.withQuestions, a.listQuestions),
		},
		&cobra.Command{
			Use: "answer ID TEXT", Short: "Answer a question",
			Example: `  mcp-tools questions answer q-019f6b1e-5d0c-7b8e-9a52-3f2d7c1e0b44 'Use port 8080.'`,
			Args:    takes("ID", "TEXT"),
			RunE: on(a.withQuestions, func(ctx context.Context, q *questions.Questions, args []string) error {
				if err := q.Answer(ctx, args[0], args[1], app.SystemUser()); err != nil {
					return err
				}
				return a.say("the answer was sent")
			}),
		})
}

// withQuestions opens the questions in the store.
func (a *CLI) withQuestions(use func(*questions.Questions) error) error {
	return a.WithStore(func(s *store.Store) error { return use(questions.New(s, slog.New(slog.DiscardHandler))) })
}

func (a *CLI) listQuestions(ctx context.Context, q *questions.Questions, _ []string) error {
	list, err := q.List(ctx)
	if err != nil {
		return err
	}
	head := []string{"ID", "AGENT", "USER", "ASKED", "QUESTION", "OPTIONS"}
	return showList(a, list, "No question waits for an answer.", head, func(o questions.Open) []string {
		return []string{o.ID, o.Agent, o.User, store.FromMillis(o.Asked).Format(time.DateTime), short(o.Text, 80),
			strings.Join(o.Options, ", ")}
	})
}
