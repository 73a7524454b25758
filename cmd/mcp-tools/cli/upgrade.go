package cli

import (
	"fmt"
	"io"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/terminal"

	"github.com/spf13/cobra"
)

func (a *CLI) upgradeCommand() *cobra.Command {
	check := false
	cmd := &cobra.Command{
		Use:   "upgrade --check",
		Short: "Say whether there is a newer release",
		Long: `upgrade --check asks the URL of the setting upgrade.url for the newest release. It is
the only command that does, and nothing asks by itself. The program does not replace
itself: install the new version the way you installed this one. docs/upgrade.md says
what a new version does to the store and the settings, and how to go back.`,
		Example: `  mcp-tools upgrade --check
  mcp-tools upgrade --check --output json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !check {
				return app.Usagef("mcp-tools does not replace itself: install the new version the way you installed " +
					"this one; upgrade --check says whether there is one")
			}
			latest, err := a.LatestRelease(cmd.Context())
			if err != nil {
				return err
			}
			return a.show(latest, func(w io.Writer) error {
				text := fmt.Sprintf("%s is the newest release, and this is %s.", latest.Latest, latest.Current)
				if latest.Newer {
					text = fmt.Sprintf("There is a newer release: %s. This is %s.\n%s", latest.Latest, latest.Current,
						latest.URL)
				}
				_, err := fmt.Fprintln(w, terminal.ForReader(w, text))
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "ask upgrade.url for the newest release")
	return cmd
}
