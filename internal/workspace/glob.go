package workspace

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/ignore"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
	"github.com/mcp-tools/mcp-tools/internal/workspace/tree"
)

// Glob finds files by their names.
func (w *Workspace) Glob(ctx context.Context, q GlobQuery) (Listing, error) {
	if strings.TrimSpace(q.Pattern) == "" {
		return Listing{}, tool.Errorf(tool.Invalid, "the pattern is empty").Try("write **/*.go for all Go files")
	}
	dir, pattern := splitGlob(q.Path, q.Pattern)
	a, err := w.subtree(ctx, dir)
	if err != nil {
		return Listing{}, err
	}
	glob, err := ignore.CompileGlob(pattern)
	if err != nil {
		return Listing{}, err
	}
	found, unread, err := a.matching(ctx, q, glob)
	if err != nil {
		return Listing{}, a.listError(err)
	}
	l := Listing{Dir: a.shown, More: max(0, len(found)-q.Limit), Unlisted: a.shownPaths(unread)}
	if q.Newest {
		a.newestFirst(ctx, found)
	}
	for _, f := range found[:min(q.Limit, len(found))] {
		l.Entries = append(l.Entries, Entry{Name: a.shownPath(f.name)})
	}
	return l, nil
}

// splitGlob moves the directories that a pattern names first into the path:
// there they may be absolute, or go through links.
func splitGlob(dir, pattern string) (in, rest string) {
	steps := strings.Split(pattern, "/")
	n := 0
	for n < len(steps)-1 && !strings.ContainsAny(steps[n], `*?[{\`) {
		n++
	}
	prefix, rest := strings.Join(steps[:n], "/"), strings.Join(steps[n:], "/")
	switch {
	case n == 0:
		return dir, rest
	case prefix == "": // the pattern is absolute
		return "/", rest
	case strings.HasPrefix(prefix, "/") || strings.HasPrefix(prefix, "~"):
		return prefix, rest
	}
	return path.Join(dir, prefix), rest
}

// matching returns the files of the area that match, by name.
func (a *subtree) matching(ctx context.Context, q GlobQuery, glob *ignore.Glob) (found []candidate, unread []string, err error) {
	keep := func(name string) bool { return glob.Match(a.relative(name)) }
	var names []string
	if a.onDisk() {
		names, unread, err = a.files(ctx, tree.Options{
			Hidden: q.Hidden || hasHiddenStep(q.Pattern), Ignored: q.Ignored,
			Enter: func(dir string) bool { return dir == a.name || glob.MayContain(a.relative(dir)) },
		}, nil, keep)
		if err != nil {
			return nil, nil, err
		}
	}
	names = a.withServed(names, q.Hidden || hasHiddenStep(q.Pattern), keep)
	found = make([]candidate, len(names))
	for i, name := range names {
		found[i] = candidate{name: name, served: a.served[name]}
	}
	return found, unread, nil
}

// hasHiddenStep reports whether a pattern names something that begins with a dot.
func hasHiddenStep(pattern string) bool {
	return strings.Contains("/"+strings.TrimPrefix(pattern, "./"), "/.")
}

func (a *subtree) newestFirst(ctx context.Context, found []candidate) {
	type dated struct {
		candidate
		root.Info
	}
	all := make([]dated, len(found))
	for i, info := range a.infos(ctx, found) {
		all[i] = dated{found[i], info}
	}
	slices.SortStableFunc(all, func(x, y dated) int { return y.Modified.Compare(x.Modified) })
	for i := range all {
		found[i] = all[i].candidate
	}
}
