package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/commands"
	"github.com/mcp-tools/mcp-tools/tools/exec/cli"
)

// A CheckSetup has the parts of the program that doctor's check of commands needs.
type CheckSetup struct {
	Settings  func() (sandbox.Settings, Settings)
	Launchers func() ([]sandbox.Launcher, error)
	Secret    func(ctx context.Context, name string) error // reports whether the vault has a secret
}

// Check probes every sandbox, finds out where the commands of each profile run, and checks the programs with credentials.
func Check(s CheckSetup) room.Check {
	return room.Check{Name: "commands", Run: func(ctx context.Context, f *room.Findings) {
		c := &checkup{CheckSetup: s, ctx: ctx, found: f}
		c.sandbox, c.exec = s.Settings()
		c.check()
	}}
}

// A checkup is one run of the check.
type checkup struct {
	CheckSetup
	ctx     context.Context
	found   *room.Findings
	sandbox sandbox.Settings
	exec    Settings
}

func (c *checkup) ok(check, format string, args ...any) {
	c.found.Name = check
	c.found.OK(format, args...)
}

func (c *checkup) warn(check, advice, format string, args ...any) {
	c.found.Name = check
	c.found.Advise(advice, format, args...)
}

func (c *checkup) check() {
	launchers, err := c.Launchers()
	if err != nil {
		c.found.Fail("fix sandbox.docker", "%v", err)
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
	for _, path := range slices.Concat(c.sandbox.Read, c.sandbox.Write) {
		if _, err := os.Stat(path); err != nil {
			c.warn("sandbox", "create it, or fix sandbox.read and sandbox.write", "commands need %s: %v", path,
				errors.Unwrap(err))
		}
	}
	c.checkMode("", commands.PolicyOf(c.sandbox, ""), tiers)
	for profile, mode := range c.sandbox.Profiles {
		c.checkMode(" of the profile "+profile, commands.PolicyOf(c.sandbox, mode), tiers)
	}
	c.checkPrograms()
}

// checkMode finds out where commands run under a policy.
func (c *checkup) checkMode(whose string, p commands.Policy, tiers sandbox.Tiers) {
	sentence, advice := Where(c.ctx, tiers, p, c.sandbox.Network)
	if advice == "" {
		c.ok("commands", "commands%s %s", whose, sentence)
		return
	}
	c.warn("commands", advice, "commands%s %s", whose, sentence)
}

// checkPrograms checks the programs with credentials.
func (c *checkup) checkPrograms() {
	list := cli.ProgramsOf(c.exec.Programs)
	for _, agent := range c.exec.Agents {
		list = append(list, cli.ProgramsOf(agent.Programs)...)
	}
	for _, p := range list {
		if err := cli.Inspect(c.ctx, p); err != nil {
			c.warn("programs", "fix exec.programs, or the file", "%s: %v", p.Name, err)
			continue
		}
		for _, name := range secretsOf(p) {
			if err := c.Secret(c.ctx, name); err != nil {
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
