package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/tools/bridge"
)

// bridgeLoginCommand returns the command for a login in a browser. After the login the command tests the server with
// the verb of its room.
func (a *CLI) bridgeLoginCommand(r *room.Room) *cobra.Command {
	var id, secret string
	cmd := &cobra.Command{
		Use: "login NAME", Short: "Log in to a server with OAuth", Args: takes("NAME"),
		Long: `login prints an address to open in a browser, and waits until you have agreed there. The
browser comes back to a port of this machine. The tokens are kept in the vault, and are
renewed until the server takes them back.

With --client-id and --client-secret-file no person is asked: the server's operator has
made them for a machine (client credentials).`,
		Example: "  mcp-tools bridge login github\n  mcp-tools bridge login builds --client-id 3FxPq0aZ --client-secret-file secret.txt",
		RunE: func(cmd *cobra.Command, args []string) error {
			if (id == "") != (secret == "") {
				return app.Usagef("--client-id and --client-secret-file belong together")
			}
			login := func(b *bridge.Bridge) error {
				if id != "" {
					text, err := os.ReadFile(secret)
					if err != nil {
						return err
					}
					return b.LoginMachine(cmd.Context(), args[0], id, strings.TrimSpace(string(text)))
				}
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
	cmd.Flags().StringVar(&id, "client-id", "", "id of a machine at the authorization server of the server")
	cmd.Flags().StringVar(&secret, "client-secret-file", "", "file with the secret of the machine")
	return cmd
}
