package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Topic is the topic of changes of servers, lists, grants and requests in the change feed.
const Topic = "mcp"

// rows are the rows of the store.
type rows struct {
	servers map[string]Server
	lists   map[string]list
	grants  []Grant
	logins  map[string]bool // servers that want a login, as was seen at the last connection
}

// A list is the offer of a server and its accepted part.
type list struct {
	place    string
	protocol string // the revision that the server speaks
	program  string // name and version of the server
	offered  []Offered
	accepted []Offered
	refused  map[string]string // the digest of the change that an operator refused, by tool
	listed   time.Time
}

// held returns the changes that wait for an operator, and the changes that one has refused.
func (l list) held() (waiting, refused []Change) {
	for _, c := range changes(l.accepted, l.offered) {
		if l.refused[c.Tool] == c.digest() {
			refused = append(refused, c)
		} else {
			waiting = append(waiting, c)
		}
	}
	return waiting, refused
}

// read reads all rows. They are few: an operator adds them.
func read(ctx context.Context, s *store.Store) (r rows, err error) {
	r = rows{servers: make(map[string]Server), lists: make(map[string]list), logins: make(map[string]bool)}
	err = s.View(ctx, func(t *store.Tx) error {
		err := t.Each("SELECT name, config FROM mcp_server", nil, func(scan store.Scan) error {
			var name, config string
			if err := scan(&name, &config); err != nil {
				return err
			}
			var one Server
			if err := json.Unmarshal([]byte(config), &one); err != nil {
				return fmt.Errorf("the server %q: %w", name, err)
			}
			r.servers[name] = one
			return nil
		})
		if err != nil {
			return err
		}
		err = t.Each(listColumns, nil,
			func(scan store.Scan) error {
				name, one, err := scanList(scan)
				r.lists[name] = one
				return err
			})
		if err != nil {
			return err
		}
		err = t.Each("SELECT server FROM mcp_login_wanted", nil, func(scan store.Scan) error {
			var name string
			err := scan(&name)
			r.logins[name] = true
			return err
		})
		if err != nil {
			return err
		}
		r.grants, err = store.List(t, grantColumns+" ORDER BY server, agent, usr", nil, scanGrant)
		return err
	})
	return r, err
}

// keepWish keeps that a server wants a login, or that it wants none any more.
func keepWish(ctx context.Context, s *store.Store, name string, wants bool) error {
	return s.Update(ctx, func(t *store.Tx) error {
		text := "DELETE FROM mcp_login_wanted WHERE server = $1"
		if wants {
			text = "INSERT INTO mcp_login_wanted (server) VALUES ($1) ON CONFLICT (server) DO NOTHING"
		}
		if n, err := t.Exec(text, name); err != nil || n == 0 {
			return err
		}
		return t.Changed(Topic, name)
	})
}

const listColumns = "SELECT server, place, protocol, program, offered, accepted, refused, listed FROM mcp_list"

func scanList(scan store.Scan) (name string, l list, err error) {
	var offered, accepted, refused string
	var listed int64
	if err = scan(&name, &l.place, &l.protocol, &l.program, &offered, &accepted, &refused, &listed); err != nil {
		return name, l, err
	}
	l.listed = store.FromMillis(listed)
	err = errors.Join(json.Unmarshal([]byte(offered), &l.offered), json.Unmarshal([]byte(accepted), &l.accepted),
		json.Unmarshal([]byte(refused), &l.refused))
	return name, l, err
}

// keepList keeps the offer of a server. The first list of a server is accepted, since the
// operator has just chosen it; so is every list of a fully trusted server. It returns the tools
// that wait for an operator. Accepted tools are scrubbed once more, because a secret may have
// become known since.
func keepList(ctx context.Context, s *store.Store, name string, c Server, found list,
	scrubbed func([]Offered) []Offered,
) (waits []Change, err error) {
	err = s.Update(ctx, func(t *store.Tx) error {
		waits = nil
		if err := t.Lock(Topic + " " + name); err != nil {
			return err
		}
		_, known, err := readList(t, name)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		next := found
		next.place = c.place()
		next.accepted = scrubbed(known.accepted)
		if errors.Is(err, store.ErrNotFound) || known.place != next.place || c.Trust == TrustFull {
			next.accepted = found.offered
		}
		next.refused = known.refused
		var refused []Change
		waits, refused = next.held()
		next.refused = digests(refused) // a refusal ends with the change
		same := err == nil && known.place == next.place && known.protocol == next.protocol &&
			known.program == next.program && digestOfJSON(known.offered) == digestOfJSON(next.offered) &&
			digestOfJSON(known.accepted) == digestOfJSON(next.accepted) && maps.Equal(known.refused, next.refused)
		if err := writeList(t, name, next); err != nil || same {
			return err
		}
		return t.Changed(Topic, name)
	})
	return waits, err
}

func readList(t *store.Tx, name string) (string, list, error) {
	return scanList(func(into ...any) error {
		return t.Row(listColumns+" WHERE server = $1",
			[]any{name}, into...)
	})
}

func writeList(t *store.Tx, name string, l list) error {
	offered, err := json.Marshal(l.offered)
	if err != nil {
		return err
	}
	accepted, err := json.Marshal(l.accepted)
	if err != nil {
		return err
	}
	refused, err := json.Marshal(l.refused)
	if err != nil {
		return err
	}
	_, err = t.Exec(`INSERT INTO mcp_list (server, place, protocol, program, offered, accepted, refused, listed)
		VALUES ($1, $2, $3, $4, $5, $6, $7, {{now}}) ON CONFLICT (server) DO UPDATE SET place = excluded.place,
		protocol = excluded.protocol, program = excluded.program, offered = excluded.offered,
		accepted = excluded.accepted, refused = excluded.refused, listed = excluded.listed`,
		name, l.place, l.protocol, l.program, string(offered), string(accepted), string(refused))
	return err
}

// A decision is an operator's answer to changes of a server's tools.
type decision struct {
	server string
	tools  []string // none: all that wait
	accept bool     // otherwise they are refused
	seen   string   // identifies the changes that the operator saw, unless it is empty
}

// decide accepts or refuses changes of the present offer of a server, and returns them.
func decide(ctx context.Context, s *store.Store, d decision) (done []Change, err error) {
	err = s.Update(ctx, func(t *store.Tx) error {
		if err := t.Lock(Topic + " " + d.server); err != nil {
			return err
		}
		_, known, err := readList(t, d.server)
		if errors.Is(err, store.ErrNotFound) {
			return tool.Errorf(tool.NotFound, "the tools of the server %q are not known yet", d.server).
				Try("run mcp-tools bridge test %s", d.server)
		}
		if err != nil {
			return err
		}
		if done, err = d.changes(known); err != nil {
			return err
		}
		if d.seen != "" && d.seen != seenOf(done) {
			return tool.Errorf(tool.Conflict, "the server %q has changed its tools again", d.server).
				Try("look at the differences once more: nothing was accepted or refused")
		}
		known.decide(done, d.accept)
		if err := writeList(t, d.server, known); err != nil {
			return err
		}
		return t.Changed(Topic, d.server)
	})
	return done, err
}

// changes returns the changes that a decision is about.
func (d decision) changes(known list) ([]Change, error) {
	waiting, refused := known.held()
	if len(d.tools) == 0 {
		return waiting, nil
	}
	var found []Change
	for _, name := range d.tools {
		same := func(c Change) bool { return c.Tool == name }
		all := slices.Concat(waiting, refused)
		at := slices.IndexFunc(all, same)
		if at < 0 {
			return nil, tool.Errorf(tool.NotFound, "nothing of the tool %q of the server %q waits for an approval", name, d.server).
				Try("see mcp-tools bridge show %s", d.server)
		}
		if !slices.ContainsFunc(found, same) {
			found = append(found, all[at])
		}
	}
	return found, nil
}

// decide accepts changes, or refuses them.
func (l *list) decide(done []Change, accept bool) {
	refused := maps.Clone(l.refused)
	if refused == nil {
		refused = make(map[string]string)
	}
	byName := make(map[string]Offered)
	for _, o := range l.accepted {
		byName[o.Name] = o
	}
	for _, c := range done {
		delete(refused, c.Tool)
		switch {
		case !accept:
			refused[c.Tool] = c.digest()
		case c.After == nil:
			delete(byName, c.Tool)
		default:
			byName[c.Tool] = *c.After
		}
	}
	l.refused, l.accepted = refused, nil
	for _, o := range byName {
		l.accepted = append(l.accepted, o)
	}
	sortOffered(l.accepted)
}

// addServer adds a server, or replaces one of the same name if replace is set.
func addServer(ctx context.Context, s *store.Store, name string, c Server, by string, replace bool) error {
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return s.Update(ctx, func(t *store.Tx) error {
		text := `INSERT INTO mcp_server (name, config, created, created_by) VALUES ($1, $2, {{now}}, $3)
			ON CONFLICT (name) DO NOTHING`
		if replace {
			text = `INSERT INTO mcp_server (name, config, created, created_by) VALUES ($1, $2, {{now}}, $3)
				ON CONFLICT (name) DO UPDATE SET config = excluded.config, created_by = excluded.created_by`
		}
		n, err := t.Exec(text, name, string(body), by)
		if err != nil {
			return err
		}
		if n == 0 {
			return tool.Errorf(tool.Conflict, "there is a server %q already", name).
				Try("choose another name, or replace it with --replace")
		}
		return t.Changed(Topic, name)
	})
}

// removeServer removes a server with its list, its grants and its requests.
func removeServer(ctx context.Context, s *store.Store, name string) error {
	return s.Update(ctx, func(t *store.Tx) error {
		n, err := t.Exec("DELETE FROM mcp_server WHERE name = $1", name)
		if err != nil {
			return err
		}
		if n == 0 {
			return tool.Errorf(tool.NotFound, "no server %q was added with mcp-tools bridge", name).
				Try("see mcp-tools bridge list; servers of the settings are removed there")
		}
		for _, text := range []string{
			"DELETE FROM mcp_list WHERE server = $1", "DELETE FROM mcp_grant WHERE server = $1",
			"DELETE FROM mcp_request WHERE server = $1", "DELETE FROM mcp_login_wanted WHERE server = $1",
		} {
			if _, err := t.Exec(text, name); err != nil {
				return err
			}
		}
		return t.Changed(Topic, name)
	})
}
