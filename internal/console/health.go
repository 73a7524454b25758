package console

import (
	"context"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/peers"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// healthData has the findings of the checks; nil before a person has asked for them.
type healthData struct {
	Run      bool
	Findings []room.Finding
	Audit    *verified // nil: this console has not verified the audit log yet
	Replicas []peers.Sign
	Outage   string // why the replicas are not known
}

// verified is the result of the last verification of the audit log.
type verified struct {
	At     time.Time // all records up to then were read
	Result *note
}

// showHealth runs the checks when a person asks for them: some start programs. It verifies the audit log only then too,
// because that reads all of it.
func showHealth(r *Request) (any, error) {
	var d healthData
	var err error
	query := r.URL.Query()
	if d.Run = query.Get("run") != ""; d.Run || query.Get("verify") != "" {
		if !r.console.health.TryLock() {
			return nil, tool.Errorf(tool.Busy, "the checks run already, in another page").Try("load this page again in a moment")
		}
		defer r.console.health.Unlock()
	}
	if query.Get("verify") != "" {
		if err := r.verify(); err != nil {
			return nil, err
		}
	}
	d.Audit = r.console.audit.Load()
	if !r.Store().Missing() {
		if d.Replicas, err = peers.Signs(r.Context(), r.Store()); err != nil {
			d.Outage = r.console.Scrub(message(err))
		}
	}
	switch {
	case !d.Run:
	case r.console.Health != nil:
		d.Findings = r.console.Health(r.Context())
	default:
		d.Findings = r.console.checks(r.Context())
	}
	return d, nil
}

// verify verifies the audit log, and keeps the result for this page.
func (r *Request) verify() error {
	at := time.Now()
	result, _, err := r.Call("audit", "verify", nil)
	if err != nil {
		return err
	}
	r.console.audit.Store(&verified{at, noteOf(result, false)})
	return nil
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
