// Package doctor finds out what does not work on this machine, and what to do
// about it. It knows what the program needs, and changes nothing. Begin with
// Examine.
package doctor

import (
	"context"
	"fmt"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/terminal"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// A State is the outcome of a check.
type State string

const (
	Fine    State = "ok"
	Warning State = "warn" // works, but the operator should know
	Broken  State = "fail" // does not work
)

// A Finding is the result of one check.
type Finding struct {
	Check  string `json:"check"`
	State  State  `json:"state"`
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"` // what to do
}

// Examine runs all checks. Checks that need the settings are left out when the
// settings are wrong.
func Examine(ctx context.Context, env *app.Env) []Finding {
	c := &checkup{env: env, ctx: ctx}
	c.examine()
	return c.findings
}

// A checkup is one run of the checks: what is known so far, and what was found.
type checkup struct {
	env      *app.Env
	ctx      context.Context
	settings *config.Loaded // nil when they are wrong
	view     *app.View      // nil when the settings or the policy are wrong
	data     string
	findings []Finding
}

func (c *checkup) ok(check, format string, args ...any) {
	c.findings = append(c.findings, Finding{check, Fine, fmt.Sprintf(format, args...), ""})
}

func (c *checkup) warn(check, advice, format string, args ...any) {
	c.findings = append(c.findings, Finding{check, Warning, fmt.Sprintf(format, args...), advice})
}

func (c *checkup) fail(check, advice, format string, args ...any) {
	c.findings = append(c.findings, Finding{check, Broken, fmt.Sprintf(format, args...), advice})
}

// examine runs all checks, in the order of the report.
func (c *checkup) examine() {
	c.ok("version", "%s", app.ThisRelease())
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
	c.checkDocuments()
	c.checkEmbeddings()
	c.checkModels()
	c.checkMediaPrograms()
	c.checkProviders()
	c.checkMessaging()
	c.checkHTTP()
	c.checkTLS()
	c.checkClients()
	if c.view != nil {
		c.checkStart()
	}
}

func (c *checkup) checkTerminal() {
	if terminal.NewPainter(c.env.Out, c.env.Getenv).On() {
		c.ok("terminal", "a terminal (%s), with colours; NO_COLOR=1 turns them off",
			terminal.OneLine(c.env.Getenv("TERM")))
		return
	}
	c.ok("terminal", "no colours")
}
