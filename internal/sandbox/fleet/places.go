// Package fleet records in the store the machine of each sandbox that is on another machine, and the machines
// that get no more sandboxes.
//
// A sandbox has a row with a lease. Its server renews the lease while the sandbox is open, so every replica finds the
// sandboxes of all. A drained machine has a row too; launchers ask [Places.Drained] before they start a sandbox.
// Begin with [Places.Keep].
package fleet

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

const (
	// lease is how long a row is valid, and renewal the time between two renewals.
	lease, renewal = time.Minute, 20 * time.Second
	// fresh is how long the list of drained machines is used.
	fresh = 5 * time.Second
	// patience is how long a launcher waits for the store.
	patience = 3 * time.Second
)

// A Place is where a sandbox is.
type Place struct {
	ID      string    `json:"id"`
	Host    string    `json:"host"`
	Tier    string    `json:"tier"`
	Owner   string    `json:"owner"`
	Session string    `json:"session,omitempty"`
	Replica string    `json:"replica"` // the machine of the server
	Began   time.Time `json:"began"`
}

// Places has the rows for one server.
type Places struct {
	store   *store.Store
	log     *slog.Logger
	replica string

	mu      sync.Mutex
	open    map[string]bool // the sandboxes of this server
	renewer *time.Timer
	drained map[string]bool
	asked   time.Time
}

// New returns the places of a store. It reads nothing yet.
func New(s *store.Store, log *slog.Logger) *Places {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	return &Places{store: s, log: log, replica: name, open: map[string]bool{}}
}

// Drained reports whether a machine gets no more sandboxes. If the store does not answer, Drained returns the last
// known value.
func (p *Places) Drained(ctx context.Context, host string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.asked) > fresh {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		list, err := store.Select(ctx, p.store, "SELECT host FROM sandbox_drain", nil, store.One[string])
		if err != nil {
			p.log.Warn("the list of drained hosts could not be read", "err", err)
			return p.drained[host]
		}
		p.drained, p.asked = map[string]bool{}, time.Now()
		for _, name := range list {
			p.drained[name] = true
		}
	}
	return p.drained[host]
}

// Keep returns a launcher whose sandboxes on other machines have rows.
func (p *Places) Keep(l sandbox.Launcher) sandbox.Launcher { return keeper{l, p} }

type keeper struct {
	sandbox.Launcher
	places *Places
}

// Launch launches a sandbox, and adds a row if it is on another machine.
func (k keeper) Launch(ctx context.Context, s sandbox.Spec) (sandbox.Link, error) {
	link, err := k.Launcher.Launch(ctx, s)
	if c, ok := link.(sandbox.Carrier); ok && err == nil && c.Carries().Host != "" {
		k.places.add(ctx, Place{
			ID: s.ID, Host: c.Carries().Host, Tier: k.Name(), Owner: s.Owner, Session: s.Session, Replica: k.places.replica,
		})
		return kept{c, k.places, s.ID}, nil
	}
	return link, err
}

// A kept is a link whose sandbox has a row.
type kept struct {
	sandbox.Carrier
	places *Places
	id     string
}

// Close ends the sandbox, and removes its row.
func (k kept) Close() error {
	k.places.remove(k.id)
	return k.Carrier.Close()
}

// add adds a row. Without a row a sandbox works as well, but no other replica knows of it.
func (p *Places) add(ctx context.Context, at Place) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := p.store.Update(ctx, func(t *store.Tx) error {
		if _, err := t.Exec("DELETE FROM sandbox_place WHERE until < {{now}}"); err != nil {
			return err
		}
		_, err := t.Exec(`INSERT INTO sandbox_place (id, host, tier, owner, session, replica, began, until)
			VALUES ($1, $2, $3, $4, $5, $6, {{now}}, {{now}} + $7)`,
			at.ID, at.Host, at.Tier, at.Owner, at.Session, at.Replica, lease.Milliseconds())
		return err
	})
	if err != nil {
		p.log.Warn("the place of a sandbox could not be stored", "err", err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[at.ID] = true
	if p.renewer == nil {
		p.renewer = time.AfterFunc(renewal, p.renew)
	}
}

// renew renews the leases of this server while it has sandboxes.
func (p *Places) renew() {
	p.mu.Lock()
	ids := make([]string, 0, len(p.open))
	for id := range p.open {
		ids = append(ids, id)
	}
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), renewal)
	defer cancel()
	err := p.store.Update(ctx, func(t *store.Tx) error {
		for _, id := range ids {
			if _, err := t.Exec("UPDATE sandbox_place SET until = {{now}} + $1 WHERE id = $2", lease.Milliseconds(), id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		p.log.Warn("the places of sandboxes could not be renewed", "err", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.renewer = nil
	if len(p.open) > 0 {
		p.renewer = time.AfterFunc(renewal, p.renew)
	}
}

func (p *Places) remove(id string) {
	p.mu.Lock()
	known := p.open[id]
	delete(p.open, id)
	if len(p.open) == 0 && p.renewer != nil && p.renewer.Stop() {
		p.renewer = nil
	}
	p.mu.Unlock()
	if !known {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.store.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec("DELETE FROM sandbox_place WHERE id = $1", id)
		return err
	}); err != nil {
		p.log.Debug("the place of a sandbox could not be removed; it expires", "err", err)
	}
}

// List returns the sandboxes of all servers, by machine.
func List(ctx context.Context, s *store.Store) ([]Place, error) {
	return store.Select(ctx, s, `SELECT id, host, tier, owner, session, replica, began FROM sandbox_place
		WHERE until >= {{now}} ORDER BY host, began, id`, nil,
		func(scan store.Scan) (p Place, err error) {
			var began int64
			err = scan(&p.ID, &p.Host, &p.Tier, &p.Owner, &p.Session, &p.Replica, &began)
			p.Began = store.FromMillis(began)
			return p, err
		})
}

// Drain stops new sandboxes on a machine, for all servers.
func Drain(ctx context.Context, s *store.Store, host, by string) error {
	return s.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec(`INSERT INTO sandbox_drain (host, who, at) VALUES ($1, $2, {{now}}) ON CONFLICT (host) DO NOTHING`, host, by)
		return err
	})
}

// Undrain allows new sandboxes on a machine. It reports whether the machine was drained.
func Undrain(ctx context.Context, s *store.Store, host string) (was bool, err error) {
	err = s.Update(ctx, func(t *store.Tx) error {
		n, err := t.Exec("DELETE FROM sandbox_drain WHERE host = $1", host)
		was = n > 0
		return err
	})
	return was, err
}

// DrainedBy returns, for each drained machine, the person who drained it.
func DrainedBy(ctx context.Context, s *store.Store) (map[string]string, error) {
	all := map[string]string{}
	_, err := store.Select(ctx, s, "SELECT host, who FROM sandbox_drain", nil, func(scan store.Scan) (none struct{}, err error) {
		var host, who string
		if err = scan(&host, &who); err == nil {
			all[host] = who
		}
		return none, err
	})
	return all, err
}
