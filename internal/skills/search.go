package skills

import (
	"context"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/skills"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

const someNames = 20 // that are told when nothing was found

// Search finds skills by their words; "" and "*" list them, those that the
// caller has used most first.
func (l *Library) Search(ctx context.Context, query string, limit int) (found skills.Found, err error) {
	err = l.look(ctx, func(v *view, o skill.Owner) error {
		uses, err := l.uses(ctx, o)
		if err != nil {
			return err
		}
		found.Total = len(v.items)
		if text := strings.TrimSpace(query); text == "" || text == "*" {
			list := v.sorted()
			slices.SortStableFunc(list, func(a, b item) int { return int(min(max(uses[b.slug]-uses[a.slug], -1), 1)) })
			found.More = len(list) > limit
			for _, i := range list[:min(limit, len(list))] {
				found.Hits = append(found.Hits, hit(i, uses))
			}
			return nil
		}
		result, err := l.search(ctx, v, query, limit)
		if err != nil {
			return err
		}
		found.More = result.More
		for _, h := range result.Hits {
			if i, ok := v.items[strings.TrimPrefix(h.ID, v.scope+"/")]; ok {
				found.Hits = append(found.Hits, hit(i, uses))
			}
		}
		if len(found.Hits) == 0 {
			for _, i := range v.sorted()[:min(someNames, len(v.items))] {
				found.Names = append(found.Names, i.slug)
			}
		}
		return nil
	})
	return found, err
}

func (l *Library) search(ctx context.Context, v *view, query string, limit int) (index.Result, error) {
	if len(v.items) == 0 {
		return index.Result{}, nil
	}
	var err error
	for range 2 { // the second time in another index
		var result index.Result
		if result, err = l.searchOnce(ctx, v, query, limit); err == nil || ctx.Err() != nil {
			return result, err
		}
		l.giveUp(v.in)
	}
	return index.Result{}, tool.Errorf(tool.Unavailable, "the index of skills cannot be used now").
		Try("list all with query *, or search again later").Because(err)
}

func (l *Library) searchOnce(ctx context.Context, v *view, query string, limit int) (index.Result, error) {
	if err := l.feed(ctx, v); err != nil {
		return index.Result{}, err
	}
	x, err := l.opened()
	if err != nil {
		return index.Result{}, err
	}
	return x.Search(ctx, index.Query{Text: query, Scopes: []string{v.scope}, Limit: limit})
}

// uses are how often the caller has used which skill.
func (l *Library) uses(ctx context.Context, o skill.Owner) (map[string]int64, error) {
	list, err := l.o.Rows.Uses(ctx, o)
	if err != nil {
		return nil, gone(err)
	}
	uses := make(map[string]int64, len(list))
	for _, u := range list {
		uses[u.Slug] = u.Count
	}
	return uses, nil
}

func hit(i item, uses map[string]int64) skills.Hit {
	return skills.Hit{
		Name: i.slug, Description: i.meta.Description, Tags: i.meta.Tags, Source: i.source(), Version: i.row.Number,
		Problem: i.problem, Uses: uses[i.slug],
	}
}
