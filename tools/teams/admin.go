package teams

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// This file has the operations of operators. No tool can call them.

// A MemberRow is a member of a team.
type MemberRow struct {
	Agent  string `json:"agent"`
	Role   Role   `json:"role"`
	Active bool   `json:"active"`
	Joined int64  `json:"joined"`
	Seen   int64  `json:"seen"` // when it last used a tool of the team; 0 for never
}

const memberColumns = "agent, role, active, joined, seen"

func scanMember(scan store.Scan) (m MemberRow, err error) {
	err = scan(&m.Agent, &m.Role, &m.Active, &m.Joined, &m.Seen)
	return m, err
}

// members lists the active members, the lead first.
func (b *board) members(t *store.Tx) ([]MemberRow, error) {
	return store.List(t, "SELECT "+memberColumns+` FROM team_member WHERE team = $1 AND active
		ORDER BY CASE role WHEN 'lead' THEN 0 ELSE 1 END, agent`, []any{b.team.ID}, scanMember)
}

// Errors of operators.
var (
	ErrNoTeam = errors.New("there is no such team; mcp-tools teams list shows all")
	errName   = errors.New("the name of a team or agent has from 1 to 100 printable characters")
)

func checkName(name string) error {
	if name == "" || utf8.RuneCountInString(name) > 100 || !utf8.ValidString(name) ||
		strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Errorf("%.100q: %w", name, errName)
	}
	return nil
}

// Create makes a team with its lead.
func (t *Teams) Create(ctx context.Context, team Team, lead string) error {
	if err := errors.Join(checkName(team.Name), checkName(lead)); err != nil {
		return err
	}
	settings, err := store.ToJSON(team.Settings, false)
	if err != nil {
		return err
	}
	return t.o.Store.Update(ctx, func(x *store.Tx) error {
		id := store.NewID()
		n, err := x.Exec(`INSERT INTO team (id, name, description, status, settings, created_by, created, tasks)
			VALUES ($1, $2, $3, 'active', $4, $5, {{now}}, 0) ON CONFLICT (name) DO NOTHING`, id, team.Name,
			team.Description, settings, team.CreatedBy)
		if err == nil && n == 0 {
			err = fmt.Errorf("there is a team %q already; choose another name", team.Name)
		}
		if err != nil {
			return err
		}
		return join(x, id, lead, Lead)
	})
}

// join adds an agent to a team, or changes its role. A new lead makes the former one a member.
func join(x *store.Tx, team, agent string, role Role) error {
	var other string
	err := x.Row(`SELECT t.name FROM team_member m JOIN team t ON t.id = m.team
		WHERE m.agent = $1 AND m.active AND m.team <> $2`, []any{agent, team}, &other)
	if err == nil {
		return fmt.Errorf("agent %q is in the team %q; remove it there first", agent, other)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if role == Lead {
		_, err = x.Exec("UPDATE team_member SET role = 'member' WHERE team = $1 AND role = 'lead'", team)
	} else {
		err = keepLead(x, team, agent)
	}
	if err != nil {
		return err
	}
	if _, err := x.Exec(`INSERT INTO team_member (team, agent, role, active, joined, seen)
		VALUES ($1, $2, $3, TRUE, {{now}}, 0)
		ON CONFLICT (team, agent) DO UPDATE SET role = excluded.role, active = TRUE`, team, agent, role); err != nil {
		return err
	}
	return x.Changed(Topic, team)
}

// keepLead returns an error if an agent leads the team.
func keepLead(x *store.Tx, team, agent string) error {
	var n int
	err := x.Row(`SELECT count(*) FROM team_member WHERE team = $1 AND agent = $2 AND active AND role = 'lead'`,
		[]any{team, agent}, &n)
	if err == nil && n > 0 {
		err = fmt.Errorf("agent %q leads the team; make another agent the lead first", agent)
	}
	return err
}

// inTeam runs f in a transaction, with a team that is active and locked.
func (t *Teams) inTeam(ctx context.Context, name string, f func(x *store.Tx, team Team) error) error {
	return t.o.Store.Update(ctx, func(x *store.Tx) error {
		if _, err := x.Exec("UPDATE team SET tasks = tasks WHERE name = $1", name); err != nil {
			return err
		}
		team, err := teamNamed(x, name)
		if err != nil {
			return err
		}
		if team.Status != "active" {
			return fmt.Errorf("the team %q is archived", name)
		}
		return f(x, team)
	})
}

const teamColumns = "id, name, description, status, settings, created_by, created"

func scanTeam(scan store.Scan) (t Team, err error) {
	var settings string
	if err = scan(&t.ID, &t.Name, &t.Description, &t.Status, &settings, &t.CreatedBy, &t.Created); err == nil {
		err = store.FromJSON(settings, &t.Settings)
	}
	return t, err
}

func teamNamed(x *store.Tx, name string) (Team, error) {
	list, err := store.List(x, "SELECT "+teamColumns+" FROM team WHERE name = $1", []any{name}, scanTeam)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%q: %w", name, ErrNoTeam)
	}
	if err != nil {
		return Team{}, err
	}
	return list[0], nil
}

// Add adds an agent to a team, or changes its role.
func (t *Teams) Add(ctx context.Context, name, agent string, role Role) error {
	if err := checkName(agent); err != nil {
		return err
	}
	return t.inTeam(ctx, name, func(x *store.Tx, team Team) error { return join(x, team.ID, agent, role) })
}

// Remove removes an agent from a team, and gives back the tasks that it holds.
func (t *Teams) Remove(ctx context.Context, name, agent string) error {
	err := t.inTeam(ctx, name, func(x *store.Tx, team Team) error {
		if err := keepLead(x, team.ID, agent); err != nil {
			return err
		}
		n, err := x.Exec("UPDATE team_member SET active = FALSE WHERE team = $1 AND agent = $2 AND active", team.ID,
			agent)
		if err == nil && n == 0 {
			err = fmt.Errorf("agent %q is not in the team %q", agent, name)
		}
		if err != nil {
			return err
		}
		if _, err := x.Exec(`UPDATE team_task SET assignee = '', updated = {{now}} WHERE team = $1 AND assignee = $2
			AND status NOT IN ('completed', 'cancelled', 'failed')`, team.ID, agent); err != nil {
			return err
		}
		return x.Changed(Topic, team.ID)
	})
	if err != nil {
		return err
	}
	return t.each(ctx, "status = 'in_progress' AND owner = $2 AND team = (SELECT id FROM team WHERE name = $3)",
		func(c *change, k Task) error { return c.giveBack(k, "it left the team") }, agent, name)
}

// Set changes the description and the settings of a team.
func (t *Teams) Set(ctx context.Context, name string, change func(*Team) error) error {
	return t.inTeam(ctx, name, func(x *store.Tx, team Team) error {
		if err := change(&team); err != nil {
			return err
		}
		settings, err := store.ToJSON(team.Settings, false)
		if err != nil {
			return err
		}
		if _, err := x.Exec("UPDATE team SET description = $1, settings = $2 WHERE id = $3", team.Description,
			settings, team.ID); err != nil {
			return err
		}
		return x.Changed(Topic, team.ID)
	})
}

// Archive ends a team: its agents are free for others, and its board is kept.
func (t *Teams) Archive(ctx context.Context, name string) error {
	return t.inTeam(ctx, name, func(x *store.Tx, team Team) error {
		for _, text := range []string{
			"UPDATE team SET status = 'archived' WHERE id = $1",
			"UPDATE team_member SET active = FALSE WHERE team = $1",
			`UPDATE team_task SET status = 'cancelled', session = '', lock_until = 0, start_at = 0, updated = {{now}}
				WHERE team = $1 AND status NOT IN ('completed', 'cancelled', 'failed')`,
		} {
			if _, err := x.Exec(text, team.ID); err != nil {
				return err
			}
		}
		return x.Changed(Topic, team.ID)
	})
}

// A Summary is a team as operators see it.
type Summary struct {
	Team
	Members []MemberRow      `json:"members"`
	Tasks   map[Status]int64 `json:"tasks"` // how many in each state
}

// Overview returns all teams, or the one of a name.
func (t *Teams) Overview(ctx context.Context, name string) (all []Summary, err error) {
	err = t.o.Store.View(ctx, func(x *store.Tx) error {
		teams, err := store.List(x, "SELECT "+teamColumns+" FROM team WHERE $1 = '' OR name = $1 ORDER BY name",
			[]any{name}, scanTeam)
		if err != nil {
			return err
		}
		all = nil
		for _, team := range teams {
			one := Summary{Team: team, Tasks: map[Status]int64{}}
			if one.Members, err = (&board{team: team}).members(x); err != nil {
				return err
			}
			err = x.Each("SELECT status, count(*) FROM team_task WHERE team = $1 GROUP BY status", []any{team.ID},
				func(scan store.Scan) error {
					var status Status
					var n int64
					err := scan(&status, &n)
					one.Tasks[status] = n
					return err
				})
			if err != nil {
				return err
			}
			all = append(all, one)
		}
		return nil
	})
	if err == nil && name != "" && len(all) == 0 {
		err = fmt.Errorf("%q: %w", name, ErrNoTeam)
	}
	return all, err
}

// saw notes that a member is there, at most once in seenEvery.
func (b *board) saw(ctx context.Context) error {
	var seen int64
	if err := b.o.Store.Row(ctx, "SELECT seen FROM team_member WHERE team = $1 AND agent = $2",
		[]any{b.team.ID, b.agent}, &seen); err != nil || time.Since(store.FromMillis(seen)) < seenEvery {
		return ignoreMissing(err)
	}
	return b.o.Store.Update(ctx, func(x *store.Tx) error {
		_, err := x.Exec("UPDATE team_member SET seen = {{now}} WHERE team = $1 AND agent = $2", b.team.ID, b.agent)
		return err
	})
}

// seenEvery is how exactly it is known when a member was last there.
const seenEvery = time.Minute
