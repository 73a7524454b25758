package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/load"
)

func (a *CLI) loadCommand() *cobra.Command {
	var file, tokenFile, tokenEnv string
	var agents int
	var length time.Duration
	var print bool
	cmd := &cobra.Command{
		Use:   "load URL",
		Short: "Measure a server with many agents at once",
		Long: `load calls tools of a server over HTTP as many agents would, and prints how many calls
a second the server answered, how long they took, and which failed. It helps to find out
how large a machine must be. Only the URL that you name is called.

A plan says how many agents there are, how long they think between two calls, and what
they call. Without --plan it is a small one that changes nothing on the server;
--print-plan prints it. Calls of a plan do what they say: use a server and a token for
tests. All agents have one token, so limits for one user apply to all of them together,
such as 100 sessions. With --tokens they take the tokens of a file in turn.`,
		Example: `  mcp-tools load http://127.0.0.1:8080/mcp
  mcp-tools load --print-plan >plan.yaml
  mcp-tools load https://host.example.com/mcp --plan plan.yaml --agents 200 --for 5m`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if print {
				fmt.Fprint(a.Out, load.DefaultPlan)
				return nil
			}
			if len(args) == 0 {
				return app.Usagef("name the URL of the server, such as http://127.0.0.1:8080/mcp")
			}
			text := []byte(load.DefaultPlan)
			if file != "" {
				var err error
				if text, err = os.ReadFile(file); err != nil {
					return app.UsageError{Err: err}
				}
			}
			plan, err := load.Read(text)
			if err != nil {
				return app.UsageError{Err: err}
			}
			plan.Agents, plan.For = cmp.Or(agents, plan.Agents), cmp.Or(length, plan.For)
			plan.Ramp = min(plan.Ramp, plan.For)
			target := load.Target{URL: args[0]}
			if token := a.Getenv(tokenEnv); token != "" {
				target.Tokens = []string{token}
			}
			if tokenFile != "" {
				text, err := os.ReadFile(tokenFile)
				if err != nil {
					return app.UsageError{Err: err}
				}
				target.Tokens = strings.Fields(string(text))
			}
			report, err := load.Run(cmd.Context(), target, plan)
			if err != nil {
				return app.UsageError{Err: err}
			}
			if asJSON, err := a.asJSON(); err != nil || asJSON {
				if err != nil {
					return err
				}
				return json.NewEncoder(a.Out).Encode(report)
			}
			a.showLoad(report)
			if report.Answered() == 0 {
				return fmt.Errorf("%s answered no call", args[0])
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&file, "plan", "", "file with the plan")
	f.BoolVar(&print, "print-plan", false, "print the plan that is used without --plan, as one to start with")
	f.IntVar(&agents, "agents", 0, "agents at a time, in place of the plan's")
	f.DurationVar(&length, "for", 0, "how long, in place of the plan's time")
	f.StringVar(&tokenFile, "tokens", "", "file with tokens, one a line, which the agents take in turn")
	f.StringVar(&tokenEnv, "token-env", config.EnvToken, "environment variable with the token")
	return cmd
}

// showLoad prints a report for people.
func (a *CLI) showLoad(r load.Report) {
	fmt.Fprintf(a.Out, "%d agents, %.1f s, %d calls, %.1f calls/s\n\n", r.Agents, r.Seconds, r.Calls, r.Rate)
	const row = "%-24s %8v %8v %9v %9v %9v %9v\n"
	fmt.Fprintf(a.Out, row, "REQUEST", "COUNT", "FAILED", "P50 MS", "P90 MS", "P99 MS", "MAX MS")
	ms := func(v float64) string { return fmt.Sprintf("%.1f", v) }
	for _, one := range r.Rows {
		fmt.Fprintf(a.Out, row, one.Name, one.Count, one.Failed, ms(one.P50), ms(one.P90), ms(one.P99), ms(one.Max))
	}
	if len(r.Errors) > 0 {
		fmt.Fprintln(a.Out, "\nERRORS")
		for _, kind := range slices.Sorted(maps.Keys(r.Errors)) {
			fmt.Fprintf(a.Out, "%8d  %s\n", r.Errors[kind], kind)
		}
	}
}
