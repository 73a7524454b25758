package skills

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

// Topic is the topic of published skills in the change feed. The keys are ids of skills.
const Topic = "skills"

// Limits of the skills that one owner publishes.
const (
	maxSkills     = 2000
	maxSkillBytes = 512 << 20
)

var (
	errTooMany  = errors.New("too many published skills")
	errNotFound = errors.New("no such skill")
)

// A Version is a version of a published skill.
type Version struct {
	ID              string // of the skill, the same for all its versions
	Owner           tool.Owner
	Slug            string
	Number          int64 // 1, 2, ...
	Latest          bool
	Digest          string
	Meta            skill.Meta
	Files           []skill.File
	Findings        []skill.Finding
	Size            int64
	Author, Session string
	Created         int64 // in milliseconds since 1970
}

// rows are the tables of published skills.
type rows struct {
	store  *store.Store
	unused func() bool // nothing was ever stored
}

const versionColumns = `s.id, s.agent, s.usr, s.slug, v.number, v.number = s.latest, v.digest, v.meta, v.files,
	v.findings, v.size, v.author, v.session, v.created FROM skill s JOIN skill_version v ON v.skill = s.id`

func scanVersion(scan store.Scan) (v Version, err error) {
	var meta, files, findings string
	err = scan(&v.ID, &v.Owner.Agent, &v.Owner.User, &v.Slug, &v.Number, &v.Latest, &v.Digest, &meta, &files, &findings,
		&v.Size, &v.Author, &v.Session, &v.Created)
	if err == nil {
		err = errors.Join(store.FromJSON(meta, &v.Meta), store.FromJSON(files, &v.Files),
			store.FromJSON(findings, &v.Findings))
	}
	return v, err
}

func listVersions(t *store.Tx, where string, args ...any) ([]Version, error) {
	return store.List(t, "SELECT "+versionColumns+" WHERE "+where, args, scanVersion)
}

// firstVersion returns the first of the versions that listVersions returns, or errNotFound.
func firstVersion(t *store.Tx, where string, args ...any) (Version, error) {
	list, err := listVersions(t, where, args...)
	if err == nil && len(list) == 0 {
		err = errNotFound
	}
	if err != nil {
		return Version{}, err
	}
	return list[0], nil
}

// notFound replaces the error of the store about a missing row.
func notFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return errNotFound
	}
	return err
}

// publish stores a draft as the next version of its skill. If the latest version is the same it returns that one, and
// isNew is false.
func (r rows) publish(ctx context.Context, d skill.Draft) (v Version, isNew bool, err error) {
	digest := d.Digest()
	err = r.store.Update(ctx, func(t *store.Tx) error {
		isNew = false
		bytes, err := lockOwner(t, d.Owner)
		if err != nil {
			return err
		}
		id, latest, err := findOrCreate(t, d)
		if err != nil {
			return err
		}
		v, err = firstVersion(t, "s.id = $1 AND v.number = $2", id, latest)
		if err == nil && v.Digest == digest {
			return restore(t, v.ID)
		} else if err != nil && !errors.Is(err, errNotFound) {
			return err
		}
		added, err := addBlobs(t, d)
		if err != nil {
			return err
		}
		if bytes+added > maxSkillBytes {
			return fmt.Errorf("%w: the maximum is %d bytes for all together", errTooMany, int64(maxSkillBytes))
		}
		_, err = t.Exec("UPDATE skill_owner SET bytes = bytes + $3 WHERE agent = $1 AND usr = $2",
			d.Owner.Agent, d.Owner.User, added)
		if err != nil {
			return err
		}
		isNew = true
		v, err = addVersion(t, id, latest+1, d, digest)
		return err
	})
	return v, isNew, err
}

// lockOwner makes other changes of the owner's skills wait until the transaction ends, and changes the stamp. It
// returns how many bytes the owner has.
func lockOwner(t *store.Tx, o tool.Owner) (bytes int64, err error) {
	err = t.Row(`INSERT INTO skill_owner (agent, usr, stamp, bytes) VALUES ($1, $2, 1, 0)
		ON CONFLICT (agent, usr) DO UPDATE SET stamp = skill_owner.stamp + 1 RETURNING bytes`,
		[]any{o.Agent, o.User}, &bytes)
	return bytes, err
}

// findOrCreate returns the skill of a draft, and the number of its latest version.
func findOrCreate(t *store.Tx, d skill.Draft) (id string, latest int64, err error) {
	err = t.Row("SELECT id, latest FROM skill WHERE agent = $1 AND usr = $2 AND slug = $3",
		[]any{d.Owner.Agent, d.Owner.User, d.Slug}, &id, &latest)
	if !errors.Is(err, store.ErrNotFound) {
		return id, latest, err
	}
	var count int
	err = t.Row("SELECT count(*) FROM skill WHERE agent = $1 AND usr = $2", []any{d.Owner.Agent, d.Owner.User}, &count)
	if err != nil {
		return "", 0, err
	}
	if count >= maxSkills {
		return "", 0, fmt.Errorf("%w: the maximum is %d", errTooMany, maxSkills)
	}
	id = store.NewID()
	_, err = t.Exec("INSERT INTO skill (id, agent, usr, slug, latest) VALUES ($1, $2, $3, $4, 0)",
		id, d.Owner.Agent, d.Owner.User, d.Slug)
	return id, 0, err
}

// restore makes a removed skill available again.
func restore(t *store.Tx, id string) error {
	n, err := t.Exec("UPDATE skill SET removed = 0 WHERE id = $1 AND removed <> 0", id)
	if err != nil || n == 0 {
		return err
	}
	return t.Changed(Topic, id)
}

// addBlobs stores the contents of files that the owner does not have yet, and returns their size.
func addBlobs(t *store.Tx, d skill.Draft) (added int64, err error) {
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

func addVersion(t *store.Tx, id string, number int64, d skill.Draft, digest string) (v Version, err error) {
	files := make([]skill.File, len(d.Files))
	for i, f := range d.Files {
		files[i] = f.File
	}
	var encoded [3]string
	for i, value := range []any{d.Meta, files, d.Findings} {
		if encoded[i], err = store.ToJSON(value, false); err != nil {
			return v, err
		}
	}
	_, err = t.Exec(`INSERT INTO skill_version
			(skill, number, digest, meta, files, findings, size, author, session, created)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, {{now}})`,
		id, number, digest, encoded[0], encoded[1], encoded[2], d.Size(), d.Author, d.Session)
	if err != nil {
		return v, err
	}
	if _, err = t.Exec("UPDATE skill SET latest = $2, removed = 0 WHERE id = $1", id, number); err != nil {
		return v, err
	}
	if err = t.Changed(Topic, id); err != nil {
		return v, err
	}
	return firstVersion(t, "s.id = $1 AND v.number = $2", id, number)
}

// remove removes a skill of the owner with all its versions. The error is errNotFound if there is none.
func (r rows) remove(ctx context.Context, o tool.Owner, slug string) error {
	return r.store.Update(ctx, func(t *store.Tx) error {
		if _, err := lockOwner(t, o); err != nil {
			return err
		}
		var id string
		err := t.Row(`UPDATE skill SET removed = {{now}}
			WHERE agent = $1 AND usr = $2 AND slug = $3 AND removed = 0 RETURNING id`,
			[]any{o.Agent, o.User, slug}, &id)
		if err != nil {
			return notFound(err)
		}
		return t.Changed(Topic, id)
	})
}

// stamp returns a text that changes whenever the skills that an owner sees change.
func (r rows) stamp(ctx context.Context, o tool.Owner) (stamp string, err error) {
	if r.unused() {
		return "", nil
	}
	err = r.store.View(ctx, func(t *store.Tx) error {
		stamp, err = readStamp(t, o)
		return err
	})
	return stamp, err
}

func readStamp(t *store.Tx, o tool.Owner) (stamp string, err error) {
	err = t.Each("SELECT usr, stamp FROM skill_owner WHERE agent = $1 AND usr IN ($2, '') ORDER BY usr",
		[]any{o.Agent, o.User}, func(scan store.Scan) error {
			var usr string
			var n int64
			err := scan(&usr, &n)
			stamp += fmt.Sprintf("%t%d ", usr == "", n)
			return err
		})
	if err != nil {
		return "", err
	}
	others, err := grantStamp(t, o)
	return stamp + others, err
}

// list returns the skills that an owner sees, and the stamp: the latest versions of the owner's and of shared
// skills, by name, then other skills.
func (r rows) list(ctx context.Context, o tool.Owner) (list []Version, stamp string, err error) {
	if r.unused() {
		return nil, "", nil
	}
	err = r.store.View(ctx, func(t *store.Tx) error {
		if stamp, err = readStamp(t, o); err != nil {
			return err
		}
		list, err = listVersions(t, `s.agent = $1 AND s.usr IN ($2, '') AND s.removed = 0 AND v.number = s.latest
			ORDER BY s.slug, s.usr DESC`, o.Agent, o.User)
		if err != nil {
			return err
		}
		others, err := listGranted(t, o)
		list = append(list, others...)
		return err
	})
	return list, stamp, err
}

// find returns a skill that an owner sees: the owner's, or the shared one, or one of others. Number 0 is the latest
// version. The error is errNotFound if there is none.
func (r rows) find(ctx context.Context, o tool.Owner, slug string, number int64) (v Version, err error) {
	err = r.store.View(ctx, func(t *store.Tx) error {
		v, err = firstVersion(t, `s.agent = $1 AND s.usr IN ($2, '') AND s.slug = $3 AND s.removed = 0
			AND (CAST($4 AS BIGINT) = 0 AND v.number = s.latest OR v.number = $4) ORDER BY s.usr DESC`,
			o.Agent, o.User, slug, number)
		if errors.Is(err, errNotFound) {
			v, err = findGranted(t, o, slug, number)
		}
		return err
	})
	return v, err
}

// blob returns the content of a file of the owner.
func (r rows) blob(ctx context.Context, o tool.Owner, digest string) (data []byte, err error) {
	err = r.store.View(ctx, func(t *store.Tx) error {
		return notFound(t.Row("SELECT content FROM skill_blob WHERE agent = $1 AND usr = $2 AND digest = $3",
			[]any{o.Agent, o.User, digest}, &data))
	})
	return data, err
}

// Owner returns the owner and the slug of a skill by the key of a change in the feed.
func (l *Library) Owner(ctx context.Context, id string) (o tool.Owner, slug string, err error) {
	err = l.rows.store.Row(ctx, "SELECT agent, usr, slug FROM skill WHERE id = $1", []any{id}, &o.Agent, &o.User, &slug)
	return o, slug, err
}
