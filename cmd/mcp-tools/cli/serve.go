package cli

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func (a *CLI) serveCommand() *cobra.Command {
	stdio := false
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve tools over stdio (the default) or HTTP",
		Long: `serve answers MCP requests: those of the one client that started it over
stdio, or with --http those of many clients, each with a token.`,
		Example: `  mcp-tools serve --profile coding --workspace ~/src/project
  mcp-tools serve --http 127.0.0.1:8080
  mcp-tools serve --http 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem --sse`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer survivePipes()()
			program, err := a.Open(cmd.Context())
			if err != nil {
				return err
			}
			defer program.Close()
			return program.Serve(cmd.Context(), stdio)
		},
	}
	cmd.Flags().BoolVar(&stdio, "stdio", false, "serve stdio although the settings name an HTTP address")
	return cmd
}

// survivePipes lets a write to a pipe that nobody reads fail. Go's default is
// to die of it, in the middle of whatever runs: for lack of a reader of the log.
func survivePipes() (stop func()) {
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	return func() { signal.Stop(broken) }
}
