package skills

import (
	"context"
	"errors"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

// Share lets all users of the agent see a skill of one of them, as it is in its
// latest version. It is for operators, and says which version it has there.
func (l *Library) Share(ctx context.Context, o skill.Owner, slug string) (skill.Row, error) {
	row, err := l.o.Rows.Find(ctx, o, slug, 0)
	if errors.Is(err, skill.ErrNone) || err == nil && row.Owner != o {
		return skill.Row{}, tool.Errorf(tool.NotFound, "user %q of agent %q has no skill %q", o.User, o.Agent, slug).
			Try("list the user's skills")
	}
	if err != nil {
		return skill.Row{}, gone(err)
	}
	files, err := l.contents(ctx, item{slug: slug, row: row})
	if err != nil {
		return skill.Row{}, err
	}
	shared, _, err := l.keep(ctx, skill.Draft{
		Owner: o.Shared(), Slug: slug, Meta: row.Meta, Files: files, Findings: row.Findings, Author: row.Author, Session: row.Session,
	})
	return shared, err
}

// Remove takes a skill of an owner's away, with all its versions. It is for
// operators.
func (l *Library) Remove(ctx context.Context, o skill.Owner, slug string) error {
	err := l.o.Rows.Remove(ctx, o, slug)
	if errors.Is(err, skill.ErrNone) {
		return tool.Errorf(tool.NotFound, "user %q of agent %q has no skill %q", o.User, o.Agent, slug).Try("list the user's skills")
	}
	return err
}

// List returns the published skills that an owner sees. It is for operators.
func (l *Library) List(ctx context.Context, o skill.Owner) ([]skill.Row, error) {
	list, _, err := l.o.Rows.List(ctx, o)
	return list, err
}
