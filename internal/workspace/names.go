package workspace

import (
	"context"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/workspace/tree"
)

// linkNames lists the files of the disk that keep takes, by name. Where there is
// an index it tells which; re, if it is not nil, leaves out files in which it
// cannot match.
func (a *subtree) files(ctx context.Context, o tree.Options, re *syntax.Regexp, keep func(name string) bool) (files, unread []string, err error) {
	indexed := !o.Hidden && !o.Ignored
	if indexed {
		if names, unread, ok := a.indexedFiles(ctx, re, keep); ok {
			a.filtered = re != nil
			return names, unread, nil
		}
	}
	begun := time.Now()
	files, unread, err = tree.Files(ctx, a.mount.root, a.options(ctx, o), keep)
	if err == nil && len(files) > maxListed {
		err = errTooMany
	}
	if err == nil && indexed {
		a.w.indexes.maybeStart(a.mount, len(files), time.Since(begun))
	}
	return files, unread, err
}

func (a *subtree) indexedFiles(ctx context.Context, re *syntax.Regexp, keep func(name string) bool) (names, unread []string, ok bool) {
	x := a.w.indexes.get(a.mount)
	if x == nil {
		return nil, nil, false
	}
	var all []string
	if re != nil {
		all, ok = x.Candidates(ctx, a.name, re)
	} else {
		all, ok = x.Files(ctx, a.name)
	}
	if !ok {
		return nil, nil, false
	}
	for _, name := range all {
		if keep(name) && !a.deniedByOverlap(name) && !a.hiddenByRoute(ctx, name) {
			names = append(names, name)
		}
	}
	unread = slices.DeleteFunc(slices.Clone(x.Unread(a.name)), a.deniedByOverlap)
	return names, unread, true
}

// withServed adds the files that Sources serve to those of the disk.
func (a *subtree) withServed(names []string, hidden bool, keep func(name string) bool) []string {
	n := len(names)
	for name := range a.served {
		if keep(name) && (hidden || !hasHiddenStep(a.relative(name))) {
			names = append(names, name)
		}
	}
	if len(names) > n {
		slices.SortFunc(names, strings.Compare)
	}
	return names
}
