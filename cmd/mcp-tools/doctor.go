package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// A state is how a check came out.
type state string

const (
	fine    state = "ok"
	warning state = "warn" // works, but its owner should know
	broken  state = "fail" // does not work
)

// A finding is one line of the doctor's.
type finding struct {
	Check  string `json:"check"`
	State  state  `json:"state"`
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"` // what to do
}

// A checkup is a doctor at work: what is known so far, and what was found.
// The checks are in doctor_house.go, doctor_door.go and doctor_start.go.
type checkup struct {
	app      *app
	ctx      context.Context
	settings *config.Loaded // nil when they are wrong
	view     *view          // nil when the settings or the policy are wrong
	data     string
	findings []finding
}

func (c *checkup) ok(check, format string, args ...any) {
	c.findings = append(c.findings, finding{check, fine, fmt.Sprintf(format, args...), ""})
}

func (c *checkup) warn(check, advice, format string, args ...any) {
	c.findings = append(c.findings, finding{check, warning, fmt.Sprintf(format, args...), advice})
}

func (c *checkup) fail(check, advice, format string, args ...any) {
	c.findings = append(c.findings, finding{check, broken, fmt.Sprintf(format, args...), advice})
}

// examine goes through all checks. Those that need the settings are left out
// when the settings are wrong.
func (c *checkup) examine() {
	c.ok("version", "%s", thisRelease())
	c.checkTerminal()
	c.checkSettings()
	c.checkData()
	if c.settings == nil {
		return
	}
	if c.checkStore() {
		c.checkAudit()
		c.checkTokens()
	}
	c.checkPolicy()
	c.checkWorkspace()
	c.checkAgents()
	c.checkVault()
	c.checkCommands()
	c.checkWeb()
	c.checkEmbeddings()
	c.checkHTTP()
	c.checkTLS()
	c.checkClients()
	if c.view != nil {
		c.checkStart()
	}
}

func (c *checkup) checkTerminal() {
	if c.app.painter(c.app.out).on {
		c.ok("terminal", "a terminal (%s), with colours; NO_COLOR=1 turns them off", oneLine(c.app.getenv("TERM")))
		return
	}
	c.ok("terminal", "no colours")
}

// A diagnosis is everything that was found, for programs.
type diagnosis struct {
	OK     bool      `json:"ok"`
	Checks []finding `json:"checks"`
}

func (a *app) doctorCommand() *cobra.Command {
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
			c := &checkup{app: a, ctx: cmd.Context()}
			c.examine()
			sick := slices.ContainsFunc(c.findings, func(f finding) bool { return f.State == broken })
			err := a.show(diagnosis{!sick, c.findings}, func(w io.Writer) error { return a.printFindings(w, c.findings) })
			if err == nil && sick {
				return failed{}
			}
			return err
		},
	}
}

func (a *app) printFindings(w io.Writer, findings []finding) error {
	var rows [][]string
	for _, f := range findings {
		text := f.Text
		if f.Advice != "" {
			text += " -> " + f.Advice
		}
		rows = append(rows, []string{string(f.State), f.Check, text})
	}
	return a.painter(w).columns(w, rows)
}

// unixModes reports whether the modes of files say who may use them.
func unixModes() bool { return runtime.GOOS != "windows" }
