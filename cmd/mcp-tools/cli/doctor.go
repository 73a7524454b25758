package cli

import (
	"io"
	"slices"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/cli/doctor"
	"github.com/mcp-tools/mcp-tools/internal/room"

	"github.com/spf13/cobra"
)

// A diagnosis is the result of all checks as JSON.
type diagnosis struct {
	OK     bool           `json:"ok"`
	Checks []room.Finding `json:"checks"`
}

func (a *CLI) doctorCommand() *cobra.Command {
	var address, tokenEnv string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find problems on this machine, and suggest solutions",
		Long: `doctor checks everything that mcp-tools needs: settings, data directory, store,
audit log, policy, tokens, sandboxes, addresses, certificates and clients. It also
starts a server once, with a temporary data directory. It changes nothing, except
that records of killed processes are copied to the store. The exit code is 1 if
something does not work.

With --url it checks a running server instead, as a client sees it.`,
		Example: `  mcp-tools doctor
  mcp-tools doctor --http 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem
  mcp-tools doctor --url https://host.example.com/mcp --token-env MCP_TOOLS_TOKEN
  mcp-tools doctor --output json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var findings []room.Finding
			switch token := a.Getenv(tokenEnv); {
			case tokenEnv != "" && token == "":
				return app.Usagef("the environment variable %s is not set", tokenEnv)
			case address != "":
				findings = doctor.ExamineURL(cmd.Context(), address, token)
			default:
				findings = doctor.Examine(cmd.Context(), &a.Env)
			}
			sick := slices.ContainsFunc(findings, func(f room.Finding) bool { return f.State == room.Broken })
			err := a.show(diagnosis{!sick, findings}, func(w io.Writer) error { return a.printFindings(w, findings) })
			if err == nil && sick {
				return failed{}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&address, "url", "", "address of a running server, such as https://host/mcp")
	cmd.Flags().StringVar(&tokenEnv, "token-env", "", "environment variable with the token for --url")
	return cmd
}

func (a *CLI) printFindings(w io.Writer, findings []room.Finding) error {
	var rows [][]string
	for _, f := range findings {
		text := f.Text
		if f.Advice != "" {
			text += " -> " + f.Advice
		}
		rows = append(rows, []string{string(f.State), f.Check, text})
	}
	return a.painter(w).Columns(w, rows)
}
