package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

// SkillTopic is the topic under which changes of published skills are told,
// with the ids of the skills as keys.
const SkillTopic = "skills"

// Skills are the rows of published skills.
type Skills struct{ store *Store }

// Skills gives access to published skills.
func (s *Store) Skills() Skills { return Skills{s} }

// What one owner can have.
const (
	mostSkills     = 2000
	mostSkillBytes = 512 << 20
)

// Publish keeps a draft as the next version of its skill. It is not new when
// the latest version is just the same.
func (s Skills) Publish(ctx context.Context, d skill.Draft) (row skill.Row, isNew bool, err error) {
	sum := d.Digest()
	err = s.store.Update(ctx, func(t *Tx) error {
		isNew = false
		bytes, err := hold(t, d.Owner)
		if err != nil {
			return err
		}
		id, latest, err := skillFor(t, d)
		if err != nil {
			return err
		}
		row, err = oneSkill(t, "s.id = $1 AND v.number = $2", id, latest)
		if err == nil && row.Digest == sum {
			return bringBack(t, row.ID)
		} else if err != nil && !errors.Is(err, skill.ErrNone) {
			return err
		}
		added, err := keepBlobs(t, d)
		if err != nil {
			return err
		}
		if bytes+added > mostSkillBytes {
			return fmt.Errorf("%w: together they may have %d bytes", skill.ErrFull, int64(mostSkillBytes))
		}
		_, err = t.Exec("UPDATE skill_owner SET bytes = bytes + $3 WHERE agent = $1 AND usr = $2", d.Owner.Agent, d.Owner.User, added)
		if err != nil {
			return err
		}
		isNew = true
		row, err = addVersion(t, id, latest+1, d, sum)
		return err
	})
	return row, isNew, err
}

// lockAndEmpty makes others wait who change what the owner has, and says how many
// bytes that is.
func hold(t *Tx, o skill.Owner) (bytes int64, err error) {
	err = t.Row(`INSERT INTO skill_owner (agent, usr, stamp, bytes) VALUES ($1, $2, 1, 0)
		ON CONFLICT (agent, usr) DO UPDATE SET stamp = skill_owner.stamp + 1 RETURNING bytes`, []any{o.Agent, o.User}, &bytes)
	return bytes, err
}

func skillFor(t *Tx, d skill.Draft) (id string, latest int64, err error) {
	err = t.Row("SELECT id, latest FROM skill WHERE agent = $1 AND usr = $2 AND slug = $3",
		[]any{d.Owner.Agent, d.Owner.User, d.Slug}, &id, &latest)
	if !errors.Is(err, ErrNotFound) {
		return id, latest, err
	}
	var count int
	if err := t.Row("SELECT count(*) FROM skill WHERE agent = $1 AND usr = $2", []any{d.Owner.Agent, d.Owner.User}, &count); err != nil {
		return "", 0, err
	}
	if count >= mostSkills {
		return "", 0, fmt.Errorf("%w: there may be %d", skill.ErrFull, mostSkills)
	}
	id = NewID()
	_, err = t.Exec("INSERT INTO skill (id, agent, usr, slug, latest) VALUES ($1, $2, $3, $4, 0)", id, d.Owner.Agent, d.Owner.User, d.Slug)
	return id, 0, err
}

// bringBack brings a skill back that was removed.
func bringBack(t *Tx, id string) error {
	n, err := t.Exec("UPDATE skill SET removed = 0 WHERE id = $1 AND removed <> 0", id)
	if err != nil || n == 0 {
		return err
	}
	return t.Changed(SkillTopic, id)
}

func keepBlobs(t *Tx, d skill.Draft) (added int64, err error) {
	for _, f := range d.Files {
		data := f.Data
		if data == nil {
			data = []byte{}
		}
		n, err := t.Exec(`INSERT INTO skill_blob (agent, usr, digest, content) VALUES ($1, $2, $3, $4)
			ON CONFLICT (agent, usr, digest) DO NOTHING`, d.Owner.Agent, d.Owner.User, f.Digest, data)
		if err != nil {
			return 0, err
		}
		added += n * f.Size
	}
	return added, nil
}

func addVersion(t *Tx, id string, number int64, d skill.Draft, sum string) (row skill.Row, err error) {
	files := make([]skill.File, len(d.Files))
	for i, f := range d.Files {
		files[i] = f.File
	}
	var texts [3]string
	for i, value := range []any{d.Meta, files, d.Findings} {
		if texts[i], err = ToJSON(value, false); err != nil {
			return row, err
		}
	}
	_, err = t.Exec(`INSERT INTO skill_version (skill, number, digest, meta, files, findings, size, author, session, created)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, {{now}})`,
		id, number, sum, texts[0], texts[1], texts[2], d.Size(), d.Author, d.Session)
	if err != nil {
		return row, err
	}
	if _, err = t.Exec("UPDATE skill SET latest = $2, removed = 0 WHERE id = $1", id, number); err != nil {
		return row, err
	}
	if err = t.Changed(SkillTopic, id); err != nil {
		return row, err
	}
	return oneSkill(t, "s.id = $1 AND v.number = $2", id, number)
}

// Remove makes a skill of the owner's be gone, with all its versions. Without
// one the error is [skill.ErrNone].
func (s Skills) Remove(ctx context.Context, o skill.Owner, slug string) error {
	return s.store.Update(ctx, func(t *Tx) error {
		if _, err := hold(t, o); err != nil {
			return err
		}
		var id string
		err := t.Row("UPDATE skill SET removed = {{now}} WHERE agent = $1 AND usr = $2 AND slug = $3 AND removed = 0 RETURNING id",
			[]any{o.Agent, o.User, slug}, &id)
		if err != nil {
			return noSkill(err)
		}
		return t.Changed(SkillTopic, id)
	})
}
