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
	a, err := w.subtree(ctx, q.Path)
	if err != nil {
		return search.Found{}, err
	}
	names, unread, err := a.toSearch(ctx, q, m, filter)
	if err != nil {
		return search.Found{}, a.listError(err)
	}
	found, err := m.Search(ctx, a.contents(ctx), names)
	if err != nil {
		return search.Found{}, err
	}
	if a.filtered && len(found.Files) == 0 {
		all, _, _ := a.indexedFiles(ctx, nil, func(name string) bool { return filter.Keep(a.relative(name)) })
		found.Searched = max(found.Searched, len(all))
	}
	for i := range found.Files {
		found.Files[i].Name = a.shownPath(found.Files[i].Name)
	}
	found.Unlisted = a.shownPaths(unread)
	return found, nil
}

// toSearch are the files that a search has to look at. One that was asked for
// by its name is looked at whatever globs and ignore files say.
func (a *subtree) toSearch(ctx context.Context, q SearchQuery, m *search.Matcher, filter *ignore.Filter) (names, unread []string, err error) {
	keep := func(name string) bool { return filter.Keep(a.relative(name)) }
	if a.onDisk() {
		names, unread, err = a.files(ctx, tree.Options{
			Hidden: q.Hidden, Ignored: q.Ignored,
			Enter: func(dir string) bool { return dir == a.name || filter.Enter(a.relative(dir)) },
		}, m.Regexp(), keep)
		return a.withServed(names, q.Hidden, keep), unread, err
	}
	if a.source != nil && a.served[a.name] == nil {
		return a.withServed(nil, q.Hidden, keep), nil, nil
	}
	if a.source == nil && !a.info.Regular() {
		return nil, nil, fileError(root.ErrSpecial, a.shown)
	}
	return []string{a.name}, nil, nil
}

// contents is where the files of the area are read from.
func (a *subtree) contents(ctx context.Context) search.Source {
	s := search.Source{Root: a.mount.root, CheckLinks: func(name string, info root.Info) bool {
		return a.w.checkLinks(ctx, location{mount: a.mount, name: name, shown: a.shownPath(name)}, info) == nil
	}}
	if len(a.served) > 0 {
		s.Virtual = func(name string) ([]byte, bool) {
			v := a.served[name]
			if v == nil {
				return nil, false
			}
			content, _, err := v.source.Read(ctx, name)
			return content, err == nil
		}
	}
	return s
}
