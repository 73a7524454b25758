// Package doctor finds problems on this machine, and suggests solutions. It knows the
// requirements of the program, and changes nothing. Begin with Examine.
package doctor

import (
	"context"
	"log/slog"

	"github.com/mcp-tools/mcp-tools/internal/version"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
)

// Examine runs all checks. Checks that need the settings are left out when the
// settings are wrong.
func Examine(ctx context.Context, env *app.Env) []room.Finding {
	c := &checkup{env: env, ctx: ctx}
	c.examine()
	return c.found.List
}

// A checkup is one run of the checks, with the findings so far.
type checkup struct {
	env      *app.Env
	ctx      context.Context
	settings *app.Loaded // nil when they are wrong
	view     *app.View   // nil when the settings or the policy are wrong
	data     string
	found    room.Findings
}

func (c *checkup) of(check string) *room.Findings {
	c.found.Name = check
	return &c.found
}

func (c *checkup) ok(check, format string, args ...any) { c.of(check).OK(format, args...) }

func (c *checkup) warn(check, advice, format string, args ...any) {
	c.of(check).Advise(advice, format, args...)
}

func (c *checkup) fail(check, advice, format string, args ...any) {
	c.of(check).Fail(advice, format, args...)
}

// examine runs all checks, in the order of the report.
func (c *checkup) examine() {
	c.ok("version", "%s", version.This())
	c.checkTerminal()
	c.checkSettings()
	c.checkData()
	if c.settings == nil {
		return
	}
	c.checkRooms()
	c.checkPolicy()
	c.checkWorkspace()
	c.checkHTTP()
	c.checkTLS()
	c.checkClients()
	if c.view != nil {
		c.checkStart()
	}
}

// checkRooms runs the checks that the rooms declare.
func (c *checkup) checkRooms() {
	if _, err := c.env.DataDir(); err != nil {
		return // checkData reports it
	}
	err := c.env.WithStore(func(s *store.Store) error {
		host, usable := &room.Host{Store: s, Data: c.env.DataDir, Log: slog.New(slog.DiscardHandler)}, false
		for _, r := range c.env.Rooms() {
			for _, check := range r.Checks {
				if check.Stored && !usable {
					continue
				}
				found := r.Find(c.ctx, check, host)
				c.found.List = append(c.found.List, found...)
				if check.Name == "store" { // the first
					usable = found[0].State != room.Broken
				}
			}
		}
		return nil
	})
	if err != nil {
		c.fail("store", "correct store.dsn, or set the secret that it refers to", "%v", err)
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
