package doctor

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/commands"
	"github.com/mcp-tools/mcp-tools/tools/exec/cli"
)

const checkOfCommands = "commands"

// checkCommands probes every sandbox, and finds out where the commands of each
// profile run.
func (c *checkup) checkCommands() {
	data, err := c.env.DataDir()
	if err != nil {
		return // checkData reports it
	}
	launchers, err := app.Launchers(c.settings.Config.Sandbox, data, nil, nil)
	if err != nil {
		c.fail(checkOfCommands, "fix sandbox.docker", "%v", err)
		return
	}
	tiers := sandbox.NewTiers(launchers...)
	for _, t := range tiers {
		f := t.Probe(c.ctx)
		switch {
		case f.Works && f.Advice == "":
			c.ok("sandbox", "%s", f.Text)
		case t.Isolates():
			c.warn("sandbox", f.Advice, "%s", f.Text)
		}
	}
	s := c.settings.Config.Sandbox
	for _, path := range slices.Concat(s.Read, s.Write) {
		if _, err := os.Stat(path); err != nil {
			c.warn("sandbox", "create it, or fix sandbox.read and sandbox.write", "commands need %s: %v", path,
				errors.Unwrap(err))
		}
	}
	c.checkMode("", app.SandboxPolicy(s, ""), tiers)
	for profile, mode := range s.Profiles {
		c.checkMode(" of the profile "+profile, app.SandboxPolicy(s, mode), tiers)
	}
	c.checkPrograms()
}

// checkMode finds out where commands run under a policy.
func (c *checkup) checkMode(whose string, p commands.Policy, tiers sandbox.Tiers) {
	if p.Mode == commands.Off {
		c.ok(checkOfCommands, "commands%s are disabled", whose)
		return
	}
	if t, _, err := tiers.Choose(c.ctx, string(p.Mode), p.Require...); err == nil {
		c.runsIn(whose, t)
		return
	}
	c.warn(checkOfCommands, "fix the sandbox above, or choose another with sandbox.mode; host has no isolation",
		"commands%s are refused: no sandbox (%s) isolates %s", whose, p.Mode, joined(p.Require))
}

func (c *checkup) runsIn(whose string, t *sandbox.Tier) {
	if !t.Isolates() {
		c.warn(checkOfCommands, "use a sandbox for agents that read untrusted content",
			"commands%s run on the host without isolation: as this user, with its files and network", whose)
		return
	}
	f, network := t.Probe(c.ctx), c.settings.Config.Sandbox.Network
	if !f.Proxy {
		network = "off, because a proxy does not work there"
	}
	c.ok(checkOfCommands, "commands%s run in the sandbox %s: it isolates %s; network: %s", whose, t.Name(),
		joined(f.Guarantees),
		network)
}

func joined(list []sandbox.Guarantee) string {
	if len(list) == 0 {
		return "nothing"
	}
	words := make([]string, len(list))
	for i, p := range list {
		words[i] = string(p)
	}
	return strings.Join(words, ", ")
}

// checkPrograms checks the programs with credentials.
func (c *checkup) checkPrograms() {
	list := app.Programs(c.settings.Config.Exec.Programs)
	for _, agent := range c.settings.Config.Exec.Agents {
		list = append(list, app.Programs(agent.Programs)...)
	}
	v, err := c.env.Vault(c.settings.Config)
	if err != nil {
		return // the check of the vault reports it
	}
	for _, p := range list {
		if err := cli.Inspect(c.ctx, p); err != nil {
			c.warn("programs", "fix exec.programs, or the file", "%s: %v", p.Name, err)
			continue
		}
		for _, name := range secretsOf(p) {
			value, err := v.Get(c.ctx, name)
			clear(value)
			if err != nil {
				c.warn("programs", fmt.Sprintf("mcp-tools secrets set %s", name), "%s: %v", p.Name, err)
			}
		}
		c.ok("programs", "%s has its credentials: %s", p.Name, strings.Join(secretsOf(p), ", "))
	}
}

func secretsOf(p cli.Program) []string {
	var names []string
	for _, table := range []map[string]string{p.Env, p.Files} {
		for _, name := range table {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
