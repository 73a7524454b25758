package cli

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func (a *CLI) serveCommand() *cobra.Command {
	stdio, jobsOnly := false, false
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve tools over stdio (the default) or HTTP",
		Long: `serve answers MCP requests: of the client that started it over stdio, or with
--http of many clients, each with a token.`,
		Example: `  mcp-tools serve --profile coding --workspace ~/src/project
  mcp-tools serve --http 127.0.0.1:8080
  mcp-tools serve --http 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem --sse
  mcp-tools serve --jobs-only`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer survivePipes()()
			program, err := a.Open(cmd.Context())
			if err != nil {
				return err
			}
			defer program.Close()
			if jobsOnly {
				return program.ServeJobs(cmd.Context())
			}
			return program.Serve(cmd.Context(), stdio)
		},
	}
	cmd.Flags().BoolVar(&stdio, "stdio", false, "serve stdio even if the settings have an HTTP address")
	cmd.Flags().BoolVar(&jobsOnly, "jobs-only", false,
		"answer no requests: run scheduled jobs and subagents, until a signal ends it")
	cmd.MarkFlagsMutuallyExclusive("stdio", "jobs-only")
	return cmd
}

// survivePipes makes writing to a closed pipe an error. By default it would end
// the process, for example when the client closes stderr.
func survivePipes() (stop func()) {
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	return func() { signal.Stop(broken) }
}
