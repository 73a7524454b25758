package skills

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// This file lets users see skills that others have published. The skill stays its owner's:
// new versions are seen at once, unless the grant names a version.

// Grant lets a user of an agent see a skill of an owner; an empty user stands for all users
// of the agent. Version 0 is always the latest. It is for operators.
func (l *Library) Grant(ctx context.Context, o tool.Owner, slug string, to tool.Owner, version int64) error {
	if o == to {
		return tool.Errorf(tool.Invalid, "the skill is already theirs").Try("name another user or agent")
	}
	return l.rows.grant(ctx, o, slug, func(t *store.Tx, id string) error {
		if version != 0 {
			if _, err := firstVersion(t, "s.id = $1 AND v.number = $2", id, version); err != nil {
				return err
			}
		}
		_, err := t.Exec(`INSERT INTO skill_grant (agent, usr, skill, version) VALUES ($1, $2, $3, $4)
			ON CONFLICT (agent, usr, skill) DO UPDATE SET version = excluded.version`, to.Agent, to.User, id, version)
		return err
	})
}

// Ungrant takes a grant back. It is for operators.
func (l *Library) Ungrant(ctx context.Context, o tool.Owner, slug string, from tool.Owner) error {
	return l.rows.grant(ctx, o, slug, func(t *store.Tx, id string) error {
		n, err := t.Exec("DELETE FROM skill_grant WHERE agent = $1 AND usr = $2 AND skill = $3", from.Agent, from.User,
			id)
		if err == nil && n == 0 {
			err = errNotFound
		}
		return err
	})
}

// grant changes the grants of a skill.
func (r rows) grant(ctx context.Context, o tool.Owner, slug string, change func(t *store.Tx, id string) error) error {
	err := r.store.Update(ctx, func(t *store.Tx) error {
		var id string
		err := t.Row("SELECT id FROM skill WHERE agent = $1 AND usr = $2 AND slug = $3 AND removed = 0",
			[]any{o.Agent, o.User, slug}, &id)
		if err != nil {
			return notFound(err)
		}
		if err := change(t, id); err != nil {
			return err
		}
		return t.Changed(Topic, id)
	})
	if errors.Is(err, errNotFound) {
		return tool.Errorf(tool.NotFound, "user %q of agent %q has no such skill, version or grant of %q", o.User,
			o.Agent,
			slug).Try("list the user's skills")
	}
	return err
}

// granted selects the versions of others' skills that a user sees: the pinned one, or the
// latest.
const granted = ` s.removed = 0 AND EXISTS (SELECT 1 FROM skill_grant g WHERE g.skill = s.id AND g.agent = $1
	AND g.usr IN ($2, '') AND (g.version = v.number OR g.version = 0 AND s.latest = v.number))`

// listGranted returns the skills of others that an owner sees, by name.
func listGranted(t *store.Tx, o tool.Owner) ([]Version, error) {
	return listVersions(t, granted+" ORDER BY s.slug, s.id, v.number DESC", o.Agent, o.User)
}

// findGranted returns a skill of others that an owner sees. A grant of the latest version
// covers all earlier ones.
func findGranted(t *store.Tx, o tool.Owner, slug string, number int64) (Version, error) {
	if number == 0 {
		return firstVersion(t, granted+" AND s.slug = $3 ORDER BY s.id, v.number DESC", o.Agent, o.User, slug)
	}
	return firstVersion(t, `s.removed = 0 AND s.slug = $3 AND v.number = $4 AND EXISTS (SELECT 1 FROM skill_grant g
		WHERE g.skill = s.id AND g.agent = $1 AND g.usr IN ($2, '') AND g.version IN ($4, 0)) ORDER BY s.id`,
		o.Agent, o.User, slug, number)
}

// grantStamp returns a text that changes with the skills of others that an owner sees.
func grantStamp(t *store.Tx, o tool.Owner) (stamp string, err error) {
	err = t.Each(`SELECT g.skill, g.version, s.latest, s.removed FROM skill_grant g JOIN skill s ON s.id = g.skill
		WHERE g.agent = $1 AND g.usr IN ($2, '') ORDER BY g.usr, g.skill`, []any{o.Agent, o.User},
		func(scan store.Scan) error {
			var id string
			var version, latest, removed int64
			err := scan(&id, &version, &latest, &removed)
			stamp += fmt.Sprint(id, version, " ", latest, removed != 0, " ")
			return err
		})
	return stamp, err
}
