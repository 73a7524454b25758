package skills

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/skills"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

// Use returns a skill and counts the use.
func (l *Library) Use(ctx context.Context, name string, version int64) (skills.Skill, error) {
	i, err := l.find(ctx, name, version)
	if err != nil {
		return skills.Skill{}, err
	}
	s, err := l.open(ctx, i)
	if err != nil {
		return skills.Skill{}, err
	}
	o, err := owner(ctx)
	if err != nil {
		return skills.Skill{}, err
	}
	use := skill.Use{Owner: o, Slug: i.slug, Source: i.source(), Number: i.row.Number, Session: tool.CallerFrom(ctx).Session}
	if err := l.o.Rows.Used(ctx, use); err != nil { // the instructions are of more use than the count
		l.o.Log.Warn("the use of a skill was not counted", "err", err)
	}
	return s, nil
}

// mostVersion is beyond what anybody publishes.
const mostVersion = 1 << 31

// find finds a skill by its name. A version is that of a published one, also
// when another one comes first.
func (l *Library) find(ctx context.Context, name string, version int64) (found item, err error) {
	if version < 0 || version >= mostVersion {
		return item{}, tool.Errorf(tool.Invalid, "there is no version %d", version).Try("leave it out for the latest")
	}
	err = l.look(ctx, func(v *view, o skill.Owner) error {
		i, ok := v.items[name]
		if !ok {
			i, ok = v.items[skill.Slug(name)]
		}
		if !ok {
			return noSkill(name, v)
		}
		found = i
		if version == 0 {
			return nil
		}
		row, err := l.o.Rows.Find(ctx, o, i.slug, version)
		if errors.Is(err, skill.ErrNone) {
			return tool.Errorf(tool.NotFound, "%s has no published version %d", i.slug, version).Try("leave the version out")
		}
		if err != nil {
			return gone(err)
		}
		found = item{slug: i.slug, meta: row.Meta, row: row}
		return nil
	})
	return found, err
}

func noSkill(name string, v *view) error {
	const most = 200
	if len(name) > most {
		name = name[:most]
	}
	err := tool.Errorf(tool.NotFound, "there is no skill %q", name)
	names := make([]string, 0, len(v.items))
	for _, i := range v.sorted() {
		names = append(names, i.slug)
	}
	if near := tool.Nearest(name, names); near != "" {
		return err.Try("did you mean %q?", near)
	}
	return err.Try("call skill_search to see what there is")
}

// open reads a skill's instructions as they are now.
func (l *Library) open(ctx context.Context, i item) (s skills.Skill, err error) {
	text, err := l.read(ctx, i, skill.Main, skill.MostMain)
	if err != nil {
		return s, cannot(i.slug, err)
	}
	meta, body, err := skill.Parse(string(text))
	if err != nil {
		return s, cannot(i.slug, err)
	}
	s = skills.Skill{Name: i.slug, Source: i.source(), Version: i.row.Number, Meta: meta, Instructions: body, Dir: i.dir()}
	for _, other := range i.others {
		where := other.source()
		if n := other.row.Number; n > 0 {
			where = fmt.Sprintf("%s, version %d", where, n)
		}
		s.Hides = append(s.Hides, where)
	}
	if i.place == nil {
		s.By, s.Created, s.Findings = i.row.Author, time.UnixMilli(i.row.Created), i.row.Findings
		for _, f := range i.row.Files {
			if f.Path != skill.Main {
				s.Files = append(s.Files, f)
			}
		}
		return s, nil
	}
	s.OnDisk, s.Findings = true, l.guard().Look(skill.Main, string(text))
	if s.Files, s.MoreFiles, err = i.place.files(ctx, i.slug); err != nil && ctx.Err() != nil {
		return s, context.Cause(ctx)
	}
	return s, nil
}

// dir is what file tools call the skill's directory.
func (i item) dir() string {
	if i.place != nil {
		return i.place.called(i.slug)
	}
	return servedDir(i.slug, i.row.Number)
}

// read returns a file of a skill.
func (l *Library) read(ctx context.Context, i item, name string, most int64) ([]byte, error) {
	if i.place != nil {
		return i.place.read(ctx, i.slug, name, most)
	}
	for _, f := range i.row.Files {
		if f.Path == name {
			data, err := l.o.Rows.Blob(ctx, i.row.Owner, f.Digest)
			if err != nil {
				return nil, gone(err)
			}
			return data, nil
		}
	}
	return nil, tool.Errorf(tool.NotFound, "skill %s has no file %q", i.slug, name).Try("use_skill lists its files")
}

// unreadable words why a file cannot be read, without telling where it is.
func unreadable(err error) error {
	var known *tool.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, errLong):
		return tool.Errorf(tool.TooLarge, "%s has more than %d bytes", skill.Main, skill.MostMain)
	}
	return tool.Errorf(tool.Unavailable, "%s cannot be read", skill.Main).Because(err)
}

func cannot(slug string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e := tool.AsError(unreadable(err))
	return tool.Errorf(e.Kind, "skill %s cannot be used: %s", slug, e.What).Because(err).Try("mend its %s, or use another skill", skill.Main)
}
