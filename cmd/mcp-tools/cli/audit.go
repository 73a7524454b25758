package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/config"
)

func (a *CLI) auditCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "audit",
		Short: "Read and verify the audit log",
		Long: `audit reads the audit log of all calls in the store, to which all processes with
this store write. Records that killed processes have left in the data directory are
copied to the store first.`,
	}, a.auditTailCommand(), a.auditVerifyCommand(), a.auditExportCommand())
}

// A selection filters records.
type selection struct {
	tool, agent, outcome, call string
}

func (s selection) shows(r *audit.Row) bool {
	return (s.tool == "" || s.tool == r.Tool || s.tool == r.Alias) &&
		(s.agent == "" || s.agent == r.Agent) &&
		(s.call == "" || s.call == r.Call || s.call == r.Parent) &&
		(s.outcome == "" || s.outcome == r.Outcome)
}

func (a *CLI) auditTailCommand() *cobra.Command {
	var only selection
	var count int
	var follow bool
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Show the last calls",
		Long: `tail prints the last calls of all processes, the latest last: the time, the outcome,
the tool, the caller, the transport, the duration, and what the call was about, such as
its command, path or address; of a call that was asked about its id, which --call takes. A call that changes something has
two records: its intent before it ran, which is shown while there is no outcome, and its
outcome. With --output json each record is an object on one line.`,
		Example: `  mcp-tools audit tail
  mcp-tools audit tail -n 100 --outcome refused
  mcp-tools audit tail -f --tool datetime --output json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if count < 0 {
				return app.Usagef("-n is %d, it must be 0 or more", count)
			}
			each, err := a.rowPrinter()
			if err != nil {
				return err
			}
			if follow {
				return ended(cmd.Context(), a.follow(cmd.Context(), count, only.shows, each))
			}
			return a.WithAuditLog(cmd.Context(), func(record *audit.DB) error {
				rows, err := record.Tail(cmd.Context(), count, only.shows)
				if wanted, _ := a.asJSON(); !wanted {
					rows = withoutDoneIntents(rows)
				}
				for i := 0; err == nil && i < len(rows); i++ {
					err = each(rows[i])
				}
				return err
			})
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&count, "lines", "n", 20, "number of calls")
	flags.BoolVarP(&follow, "follow", "f", false, "print new calls as they are made, until interrupted")
	flags.StringVar(&only.tool, "tool", "", "only calls of this tool")
	flags.StringVar(&only.agent, "agent", "", "only calls of this agent")
	flags.StringVar(&only.outcome, "outcome", "", "only calls with this outcome: ok, asked, refused, invalid, ...")
	flags.StringVar(&only.call, "call", "", "only the records of the call with this id, and of calls that it made")
	offer(cmd, "tool", completeFirst(toolNames))
	return cmd
}

// withoutDoneIntents leaves out the intents of calls whose outcome is there too.
func withoutDoneIntents(rows []audit.Row) []audit.Row {
	done := make(map[string]bool)
	for _, r := range rows {
		if r.Phase != audit.Intent && r.Call != "" {
			done[r.Call] = true
		}
	}
	return slices.DeleteFunc(rows, func(r audit.Row) bool { return r.Phase == audit.Intent && done[r.Call] })
}

// follow waits until there is a store, and prints records as they come.
func (a *CLI) follow(ctx context.Context, count int, only audit.Filter, each func(audit.Row) error) error {
	const lookEvery = 250 * time.Millisecond
	for {
		waits := false
		err := a.WithAuditLog(ctx, func(record *audit.DB) error {
			if waits = record == nil; waits {
				return nil
			}
			return record.Follow(ctx, count, only, each)
		})
		if err != nil || !waits {
			return err
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ended returns nil if err is the cancellation of ctx: an interrupt is not a
// failure.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// rowPrinter prints rows as they come, for a person below a heading.
func (a *CLI) rowPrinter() (func(audit.Row) error, error) {
	wanted, err := a.asJSON()
	if wanted {
		e := json.NewEncoder(a.Out)
		e.SetEscapeHTML(false)
		return func(r audit.Row) error { return e.Encode(r) }, nil
	}
	paint := a.painter(a.Out)
	heading := fmt.Sprintf("%-19s  %-11s  %-18s  %s\n", "TIME", "OUTCOME", "TOOL", "CALLER, TRANSPORT, DURATION, WHAT")
	return func(r audit.Row) error {
		_, err := fmt.Fprintln(a.Out, heading+rowLine(r, paint))
		heading = ""
		return err
	}, err
}

// rowLine formats a record for a person: time, outcome, tool and caller.
func rowLine(r audit.Row, paint terminal.Painter) string {
	outcome := r.Outcome
	if r.Phase == audit.Intent {
		outcome = "intent"
	}
	who := r.User
	if r.Agent != "" {
		who = r.Agent + "/" + r.User
	}
	line := fmt.Sprintf("%s  %s%*s  %-18s  %s  %s", r.Time.Local().Format(time.DateTime),
		paint.Word(outcome), max(0, 11-len(outcome)), "", terminal.OneLine(r.Tool), terminal.OneLine(who), r.Transport)
	if r.Phase != audit.Intent {
		line += fmt.Sprintf("  %.1fms", r.Duration)
	}
	if r.About != "" {
		line += "  " + text.Clip(terminal.OneLine(r.About), 80)
	}
	if r.Outcome == "asked" || r.Phase == audit.Intent {
		line += "  call " + r.Call
	}
	if r.Error != "" {
		line += "  " + text.Clip(terminal.OneLine(r.Error), 120)
	}
	return line
}

func (a *CLI) auditVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Check that the audit log was not changed",
		Long: `verify reads the whole audit log and checks its hash chains. It finds records that
were changed, inserted, moved or removed without the key (audit.key in the data
directory), and journals that could not be copied to the store. Chains that another
machine has sealed with its own key are checked without the key, and noted. The exit
code is 1 if there are problems.`,
		Example: `  mcp-tools audit verify
  mcp-tools audit verify --output json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := a.DataDir()
			if err != nil {
				return err
			}
			var report audit.Report
			err = a.WithAuditLog(cmd.Context(), func(record *audit.DB) (err error) {
				if record == nil {
					return fmt.Errorf("there is no audit log in %s; the first call of a tool begins it", dir)
				}
				report, err = record.Verify(cmd.Context(), dir)
				return err
			})
			if err != nil {
				return err
			}
			// In JSON these are empty lists, not null.
			report.Problems = append([]audit.Problem{}, report.Problems...)
			report.Notes = append([]audit.Problem{}, report.Notes...)
			if err := a.show(report, func(w io.Writer) error { return a.printReport(w, report) }); err != nil {
				return err
			}
			if !report.OK() {
				return failed{}
			}
			return nil
		},
	}
}

func (a *CLI) printReport(w io.Writer, r audit.Report) error {
	paint := a.painter(w)
	for _, p := range r.Problems {
		if _, err := fmt.Fprintf(w, "%s  %s\n", paint.Word("fail"), terminal.OneLine(p.String())); err != nil {
			return err
		}
	}
	for _, p := range r.Notes {
		if _, err := fmt.Fprintf(w, "note  %s\n", terminal.OneLine(p.String())); err != nil {
			return err
		}
	}
	verdict := paint.Word("ok")
	if !r.OK() {
		verdict = paint.Word("fail") + ", " + text.Plural(len(r.Problems)+r.More, "problem")
	}
	_, err := fmt.Fprintf(w, "%s: %s in %s, %d bytes\n", verdict,
		text.Plural(r.Records, "record"), text.Plural(r.Chains, "chain"), r.Bytes)
	return err
}

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
			now := time.Now()
			from, err := ago("since", since, now)
			if err != nil {
				return err
			}
			to, err := ago("until", until, now)
			if err != nil {
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
func ago(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	return moment(flag, text, func(d time.Duration) time.Time { return now.Add(-d) })
}

// moment parses a date, a time, or a duration from now.
func moment(flag, text string, from func(time.Duration) time.Time) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	var d config.Duration
	if err := d.UnmarshalText([]byte(text)); err != nil {
		return time.Time{}, app.Usagef(
			"--%s is %q, it must be a date (2026-01-31), a time (2026-01-31T09:00:00Z) or a duration (12h, 30d)",
			flag, text,
		)
	}
	return from(time.Duration(d)), nil
}
