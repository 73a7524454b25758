package cli

import (
	"fmt"
	"io"

	"github.com/mcp-tools/mcp-tools/internal/version"

	"github.com/spf13/cobra"
)

func (a *CLI) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "version prints the version, the commit and its date, and the system that the program was built for.",
		Example: `  mcp-tools version
  mcp-tools version --output json`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			r := version.This()
			return a.show(r, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, r)
				return err
			})
		},
	}
}
