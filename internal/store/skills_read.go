package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

const skillColumns = `s.id, s.agent, s.usr, s.slug, v.number, v.number = s.latest, v.digest, v.meta, v.files, v.findings, v.size,
	v.author, v.session, v.created FROM skill s JOIN skill_version v ON v.skill = s.id`

func scanSkill(scan func(...any) error) (r skill.Row, err error) {
	var meta, files, findings string
	err = scan(&r.ID, &r.Owner.Agent, &r.Owner.User, &r.Slug, &r.Number, &r.Latest, &r.Digest, &meta, &files, &findings, &r.Size,
		&r.Author, &r.Session, &r.Created)
	if err == nil {
		err = errors.Join(FromJSON(meta, &r.Meta), FromJSON(files, &r.Files), FromJSON(findings, &r.Findings))
	}
	return r, err
}

func eachSkill(t *Tx, where string, args ...any) (list []skill.Row, err error) {
	err = t.Each("SELECT "+skillColumns+" WHERE "+where, args, func(scan func(...any) error) error {
		r, err := scanSkill(scan)
		list = append(list, r)
		return err
	})
	return list, err
}

func oneSkill(t *Tx, where string, args ...any) (skill.Row, error) {
	list, err := eachSkill(t, where, args...)
	if err == nil && len(list) == 0 {
		err = skill.ErrNone
	}
	if err != nil {
		return skill.Row{}, err
	}
	return list[0], nil
}

func noSkill(err error) error {
	if errors.Is(err, ErrNotFound) {
		return skill.ErrNone
	}
	return err
}

// Stamp is another one whenever something changed about the skills that an
// owner sees.
func (s Skills) Stamp(ctx context.Context, o skill.Owner) (stamp string, err error) {
	err = s.store.View(ctx, func(t *Tx) error {
		stamp, err = skillStamp(t, o)
		return err
	})
	return stamp, err
}

func skillStamp(t *Tx, o skill.Owner) (stamp string, err error) {
	err = t.Each("SELECT usr, stamp FROM skill_owner WHERE agent = $1 AND usr IN ($2, '') ORDER BY usr", []any{o.Agent, o.User},
		func(scan func(...any) error) error {
			var usr string
			var n int64
			err := scan(&usr, &n)
			stamp += fmt.Sprintf("%t%d ", usr == "", n)
			return err
		})
	return stamp, err
}

// List returns the latest versions of all skills that an owner sees, in the
// order of their names, the owner's before shared ones; and the stamp.
func (s Skills) List(ctx context.Context, o skill.Owner) (list []skill.Row, stamp string, err error) {
	err = s.store.View(ctx, func(t *Tx) error {
		if stamp, err = skillStamp(t, o); err != nil {
			return err
		}
		list, err = eachSkill(t, `s.agent = $1 AND s.usr IN ($2, '') AND s.removed = 0 AND v.number = s.latest
			ORDER BY s.slug, s.usr DESC`, o.Agent, o.User)
		return err
	})
	return list, stamp, err
}

// Find returns a skill that an owner sees, the owner's before the shared one:
// the latest version when number is 0. Without one the error is [skill.ErrNone].
func (s Skills) Find(ctx context.Context, o skill.Owner, slug string, number int64) (row skill.Row, err error) {
	err = s.store.View(ctx, func(t *Tx) error {
		row, err = oneSkill(t, `s.agent = $1 AND s.usr IN ($2, '') AND s.slug = $3 AND s.removed = 0
			AND (CAST($4 AS BIGINT) = 0 AND v.number = s.latest OR v.number = $4) ORDER BY s.usr DESC`, o.Agent, o.User, slug, number)
		return err
	})
	return row, err
}

// Blob returns what is in a file of a skill of the owner's.
func (s Skills) Blob(ctx context.Context, o skill.Owner, digest string) (data []byte, err error) {
	err = s.store.View(ctx, func(t *Tx) error {
		return noSkill(t.Row("SELECT content FROM skill_blob WHERE agent = $1 AND usr = $2 AND digest = $3", []any{o.Agent, o.User, digest}, &data))
	})
	return data, err
}

// Used counts a use.
func (s Skills) Used(ctx context.Context, u skill.Use) error {
	return s.store.Update(ctx, func(t *Tx) error {
		_, err := t.Exec(`INSERT INTO skill_use (agent, usr, slug, source, number, uses, first, latest, session)
			VALUES ($1, $2, $3, $4, $5, 1, {{now}}, {{now}}, $6)
			ON CONFLICT (agent, usr, slug, source, number) DO UPDATE
			SET uses = skill_use.uses + 1, latest = {{now}}, session = $6`,
			u.Owner.Agent, u.Owner.User, u.Slug, u.Source, u.Number, u.Session)
		return err
	})
}

// Uses returns what an owner has used, and how often.
func (s Skills) Uses(ctx context.Context, o skill.Owner) (list []skill.Uses, err error) {
	err = s.store.View(ctx, func(t *Tx) error {
		list = list[:0]
		return t.Each("SELECT slug, CAST(sum(uses) AS BIGINT), max(latest) FROM skill_use WHERE agent = $1 AND usr = $2 GROUP BY slug",
			[]any{o.Agent, o.User}, func(scan func(...any) error) error {
				var u skill.Uses
				err := scan(&u.Slug, &u.Count, &u.Latest)
				list = append(list, u)
				return err
			})
	})
	return list, err
}

// Owner says whose skill it is that a change is about.
func (s Skills) Owner(ctx context.Context, id string) (o skill.Owner, slug string, err error) {
	err = s.store.View(ctx, func(t *Tx) error {
		return t.Row("SELECT agent, usr, slug FROM skill WHERE id = $1", []any{id}, &o.Agent, &o.User, &slug)
	})
	return o, slug, err
}
