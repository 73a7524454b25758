package cli

import (
	"fmt"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"
)

func (a *CLI) uiCommand() *cobra.Command {
	stay := false
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Open the console in a browser: questions, calls, and a page for each noun",
		Long: `ui serves the console on a free port of this machine, for the processes of all clients
with the same data directory, and opens it in a browser with a link. The link counts
once, within five minutes. Ctrl-C ends the console.`,
		Example: "  mcp-tools ui\n  mcp-tools ui --no-open",
		Args:    noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := a.ServeConsole(cmd.Context(), func(link string) {
				fmt.Fprintf(a.Out, "The console is open until Ctrl-C. This link opens it once, within 5 minutes:\n%s\n", link)
				if !stay {
					a.openBrowser(link)
				}
			})
			return ended(cmd.Context(), err)
		},
	}
	cmd.Flags().BoolVar(&stay, "no-open", false, "print the link only, and start no browser")
	return cmd
}

// openBrowser opens a page in the browser of the desktop. Without one the person uses the
// link that was printed.
func (a *CLI) openBrowser(link string) {
	var cmd *exec.Cmd
	switch {
	case runtime.GOOS == "darwin":
		cmd = exec.Command("open", link)
	case runtime.GOOS == "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", link)
	case a.Getenv("DISPLAY") == "" && a.Getenv("WAYLAND_DISPLAY") == "":
		return
	default:
		cmd = exec.Command("xdg-open", link)
	}
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }() // the link is printed in any case
	}
}
