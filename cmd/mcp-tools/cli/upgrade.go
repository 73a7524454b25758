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
		Use:   "upgrade --check [FILE ...]",
		Short: "Say whether there is a newer release",
		Long: `upgrade --check asks the URL of the setting upgrade.url for the newest release. It is
the only command that does, and nothing asks by itself. It checks the signature of the
release's checksums with the public key that is built in, or upgrade.public_key, and the
digests of files of the release that are given. The program does not replace itself:
install the new version the way you installed this one. docs/upgrade.md says what a new
version does to the store and the settings, and how to go back.`,
		Example: `  mcp-tools upgrade --check
  mcp-tools upgrade --check mcp-tools_1.2.3_linux_amd64.tar.gz
  mcp-tools upgrade --check --output json`,
		RunE: func(cmd *cobra.Command, files []string) error {
			if !check {
				return app.Usagef("mcp-tools does not replace itself: install the new version the way you installed " +
					"this one; upgrade --check says whether there is one")
			}
			latest, err := a.LatestRelease(cmd.Context(), files)
			if err != nil {
				return err
			}
			return a.show(latest, func(w io.Writer) error {
				text := fmt.Sprintf("%s is the newest release, and this is %s.", latest.Latest, latest.Current)
				if latest.Newer {
					text = fmt.Sprintf("There is a newer release: %s. This is %s.\n%s", latest.Latest, latest.Current,
						latest.URL)
				}
				if latest.Signed {
					text += "\nIts checksums are signed with the key of the releases."
				} else {
					text += "\nIts signature is not checked: there is no public key; see upgrade.public_key."
				}
				for _, file := range latest.Files {
					text += fmt.Sprintf("\n%s is the file of the release.", file)
				}
				_, err := fmt.Fprintln(w, terminal.ForReader(w, text))
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "ask upgrade.url for the newest release")
	return cmd
}
