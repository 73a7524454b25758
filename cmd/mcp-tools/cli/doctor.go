package cli

import (
	"io"
	"slices"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/cli/doctor"

	"github.com/spf13/cobra"
)

// A diagnosis is everything that was found, for programs.
type diagnosis struct {
	OK     bool             `json:"ok"`
	Checks []doctor.Finding `json:"checks"`
}

func (a *CLI) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Find out what does not work, and what to do about it",
		Long: `doctor looks at everything that mcp-tools needs: settings, data directory, store,
audit log, policy, tokens, sandboxes, addresses, certificates and clients, and starts a server
once, on a data directory of its own. It changes nothing, but that the record of
calls which killed processes have left is carried to the store. The exit code is
1 when something does not work.`,
		Example: `  mcp-tools doctor
  mcp-tools doctor --http 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem
  mcp-tools doctor --output json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings := doctor.Examine(cmd.Context(), &a.Env)
			sick := slices.ContainsFunc(findings, func(f doctor.Finding) bool { return f.State == doctor.Broken })
			err := a.show(diagnosis{!sick, findings}, func(w io.Writer) error { return a.printFindings(w, findings) })
			if err == nil && sick {
				return failed{}
			}
			return err
		},
	}
}

func (a *CLI) printFindings(w io.Writer, findings []doctor.Finding) error {
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
