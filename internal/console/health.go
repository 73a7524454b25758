package console

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// healthData has the findings of the checks; nil before a person has asked for them.
type healthData struct {
	Run      bool
	Findings []room.Finding
}

// showHealth runs the checks when a person asks for them: some start programs.
func showHealth(r *Request) (any, error) {
	if r.URL.Query().Get("run") == "" {
		return healthData{}, nil
	}
	if !r.console.health.TryLock() {
		return nil, tool.Errorf(tool.Busy, "the checks run already, in another page").Try("load this page again in a moment")
	}
	defer r.console.health.Unlock()
	if r.console.Health != nil {
		return healthData{true, r.console.Health(r.Context())}, nil
	}
	return healthData{true, r.console.checks(r.Context())}, nil
}

// checks runs the checks of the rooms.
func (c *Console) checks(ctx context.Context) (found []room.Finding) {
	for _, one := range c.API.Rooms {
		for _, check := range one.Checks {
			if !check.Stored || !c.API.Host.Store.Missing() {
				found = append(found, one.Find(ctx, check, c.API.Host)...)
			}
		}
	}
	return found
}
