package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/tools/bridge"
)

// bridgeLoginCommand returns the command for a login in a browser. After the login the command tests the server with
// the verb of its room.
func (a *CLI) bridgeLoginCommand(r *room.Room) *cobra.Command {
	return &cobra.Command{
		Use: "login NAME", Short: "Log in to a server with OAuth", Args: takes("NAME"),
		Long: `login prints an address to open in a browser, and waits until you have agreed there. The
browser comes back to a port of this machine. The tokens are kept in the vault, and are
renewed until the server takes them back.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			login := func(b *bridge.Bridge) error {
				return b.Login(cmd.Context(), args[0], func(address string) {
					fmt.Fprintf(a.Err, "Open this address in a browser of this machine, and agree there:\n\n  %s\n\n",
						address)
				})
			}
			err := a.withHost(func(h *room.Host) error { return a.WithBridge(h, login) })
			if err != nil {
				return err
			}
			fmt.Fprintln(a.Err, "logged in")
			test, _ := r.Verb("test")
			return (&verbCall{cli: a, room: r, verb: test, given: map[string]any{"name": args[0]}}).run(cmd, nil)
		},
	}
}
