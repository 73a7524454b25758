package workspace

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/workspace/ignore"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
	"github.com/mcp-tools/mcp-tools/internal/workspace/search"
	"github.com/mcp-tools/mcp-tools/internal/workspace/tree"
)

// Search finds lines in files.
func (w *Workspace) Search(ctx context.Context, q SearchQuery) (search.Found, error) {
	m, err := search.Compile(search.Query{
		Pattern: q.Pattern, Literal: q.Literal, IgnoreCase: q.IgnoreCase, Word: q.Word, Multiline: q.Multiline,
		Mode: q.Mode, Context: q.Context, Limit: q.Limit, Offset: q.Offset,
	})
	if err != nil {
		return search.Found{}, err
	}
	filter, err := ignore.NewFilter(q.Globs, q.Types)
	if err != nil {
		return search.Found{}, err
	}
	a, err := w.area(ctx, q.Path)
	if err != nil {
		return search.Found{}, err
	}
	names, unread, err := a.toSearch(ctx, q, m, filter)
	if err != nil {
		return search.Found{}, a.unlistable(err)
	}
	found, err := m.Search(ctx, a.contents(ctx), names)
	if err != nil {
		return search.Found{}, err
	}
	if a.fewer && len(found.Files) == 0 {
		all, _, _ := a.indexed(ctx, nil, func(name string) bool { return filter.Keep(a.relative(name)) })
		found.Searched = max(found.Searched, len(all))
	}
	for i := range found.Files {
		found.Files[i].Name = a.call(found.Files[i].Name)
	}
	found.Unlisted = a.calls(unread)
	return found, nil
}

// toSearch are the files that a search has to look at. One that was asked for
// by its name is looked at whatever globs and ignore files say.
func (a *area) toSearch(ctx context.Context, q SearchQuery, m *search.Matcher, filter *ignore.Filter) (names, unread []string, err error) {
	keep := func(name string) bool { return filter.Keep(a.relative(name)) }
	if a.onDisk() {
		names, unread, err = a.names(ctx, tree.Options{
			Hidden: q.Hidden, Ignored: q.Ignored,
			Enter: func(dir string) bool { return dir == a.name || filter.Enter(a.relative(dir)) },
		}, m.Regexp(), keep)
		return a.withVirtual(names, q.Hidden, keep), unread, err
	}
	if a.source != nil && a.virtual[a.name] == nil {
		return a.withVirtual(nil, q.Hidden, keep), nil, nil
	}
	if a.source == nil && !a.info.Regular() {
		return nil, nil, said(root.ErrSpecial, a.shown)
	}
	return []string{a.name}, nil, nil
}

// contents is where the files of the area are read from.
func (a *area) contents(ctx context.Context) search.Source {
	s := search.Source{Root: a.mount.root, Gate: func(name string, info root.Info) bool {
		return a.w.checkLinks(ctx, place{mount: a.mount, name: name, shown: a.call(name)}, info) == nil
	}}
	if len(a.virtual) > 0 {
		s.Virtual = func(name string) ([]byte, bool) {
			v := a.virtual[name]
			if v == nil {
				return nil, false
			}
			content, _, err := v.source.Read(ctx, name)
			return content, err == nil
		}
	}
	return s
}
