package cli

import (
	"fmt"
	"io"
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
			RunE: func(cmd *cobra.Command, _ []string) error {
				return a.withQuestions(func(q *questions.Questions) error {
					list, err := q.List(cmd.Context())
					if err != nil {
						return err
					}
					return a.show(append([]questions.Open{}, list...),
						func(w io.Writer) error { return a.printOpenQuestions(w, list) })
				})
			},
		},
		&cobra.Command{
			Use: "answer ID TEXT", Short: "Answer a question",
			Example: `  mcp-tools questions answer q-019f6b1e-5d0c-7b8e-9a52-3f2d7c1e0b44 'Use port 8080.'`,
			Args:    takes("ID", "TEXT"),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.withQuestions(func(q *questions.Questions) error {
					if err := q.Answer(cmd.Context(), args[0], args[1], app.SystemUser()); err != nil {
						return err
					}
					return a.say("the answer was sent")
				})
			},
		})
}

// withQuestions opens the questions in the store.
func (a *CLI) withQuestions(use func(*questions.Questions) error) error {
	return a.WithStore(func(s *store.Store) error { return use(questions.New(s, slog.New(slog.DiscardHandler))) })
}

func (a *CLI) printOpenQuestions(w io.Writer, list []questions.Open) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "No question waits for an answer.")
		return err
	}
	rows := [][]string{{"ID", "AGENT", "USER", "ASKED", "QUESTION", "OPTIONS"}}
	for _, o := range list {
		rows = append(rows, []string{o.ID, o.Agent, o.User, store.FromMillis(o.Asked).Format(time.DateTime),
			short(o.Text, 80), strings.Join(o.Options, ", ")})
	}
	return a.painter(w).Columns(w, rows)
}
