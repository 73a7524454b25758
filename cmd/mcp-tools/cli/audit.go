package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// auditExportCommand is no verb, because it prints bytes.
func (a *CLI) auditExportCommand() *cobra.Command {
	var format, since, until string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Export the audit log",
		Long: `export prints all records by time, as one JSON object on each line or as CSV. A
time is a date, a time (RFC 3339), or a duration before now: 90m, 7d.`,
		Example: `  mcp-tools audit export > calls.jsonl
  mcp-tools audit export --format csv --since 7d > week.csv
  mcp-tools audit export --since 2026-01-01 --until 2026-02-01`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("format", format, string(audit.JSONL), string(audit.CSV)); err != nil {
				return err
			}
			from, wrong := ago("since", since)
			to, alsoWrong := ago("until", until)
			if err := errors.Join(a.dataExists(), wrong, alsoWrong); err != nil {
				return err
			}
			return a.WithAuditLog(cmd.Context(), func(record *audit.DB) error {
				done, err := record.Export(cmd.Context(), a.Out, audit.Format(format), from, to)
				if err == nil && done.Skipped > 0 {
					fmt.Fprintf(a.Err,
						"%s skipped, because they are not valid records; mcp-tools audit verify lists them.\n",
						text.Plural(done.Skipped, "row"))
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", string(audit.JSONL), "jsonl or csv")
	cmd.Flags().StringVar(&since, "since", "", "only calls since this time")
	cmd.Flags().StringVar(&until, "until", "", "only calls before this time")
	offer(cmd, "format", completeWords(string(audit.JSONL), string(audit.CSV)))
	return cmd
}

// ago parses a time in the past. The empty text is the zero time.
func ago(flag, text string) (at time.Time, err error) {
	if text != "" {
		if at, err = clock.Ago(time.Now(), text); err != nil {
			err = app.Usagef("--%s is %q, %w", flag, text, err)
		}
	}
	return at, err
}
