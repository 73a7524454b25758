package workspace

import (
	"context"
	"errors"
	iofs "io/fs"
	"path"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
	"github.com/mcp-tools/mcp-tools/internal/workspace/tree"
)

// maxListed bounds how many names one call looks at.
const maxListed = 1_000_000

// An tree is what a call that lists or searches looks through: a directory
// with all that is in it, or one file.
type subtree struct {
	w *Workspace
	location
	hasRoutes   bool                   // the files of routes may be here, and hide those of the disk
	served      map[string]*servedFile // by their names from the mount's root
	overlapping []*mount               // links that names in the area may be in, too
	filtered    bool                   // an index left out files in which there is no match
}

// A servedFile is one that a Source serves.
type servedFile struct {
	size     int64
	modified time.Time
	source   Source
}

func (v *servedFile) info() root.Info {
	return root.Info{Mode: 0o644, Size: v.size, Modified: v.modified, Links: 1}
}

// tree finds what path names, and what is there beside the disk.
func (w *Workspace) subtree(ctx context.Context, path string) (*subtree, error) {
	p, err := w.resolve(ctx, path, toList)
	if err != nil {
		return nil, err
	}
	a := &subtree{w: w, location: p, hasRoutes: p.mount.home && len(w.o.Routes) > 0, served: map[string]*servedFile{}}
	if a.overlapping, err = w.overlaps(ctx, p.mount); err != nil {
		return nil, err
	}
	if p.mount.source != nil {
		if err := a.addServed(ctx, p.mount.source, func(ctx context.Context, name string) bool { return !a.hiddenByRoute(ctx, name) }); err != nil {
			return nil, err
		}
	}
	if a.hasRoutes {
		for _, r := range w.o.Routes {
			if err := a.addServed(ctx, r.Source, r.Serves); err != nil {
				return nil, err
			}
		}
	}
	if a.source != nil && a.name != "." && len(a.served) == 0 {
		return nil, tool.Errorf(tool.NotFound, "no file or directory %q", a.shown).Try("list the directory above to see what there is")
	}
	return a, nil
}

func (a *subtree) addServed(ctx context.Context, s Source, serves func(context.Context, string) bool) error {
	files, err := s.List(ctx, a.name)
	if err != nil {
		return err
	}
	for _, f := range files {
		if a.covers(f.Name) && serves(ctx, f.Name) && !a.w.denied(a.mount, f.Name) {
			a.served[f.Name] = &servedFile{f.Size, f.Modified, s}
		}
	}
	return nil
}

// covers reports whether a name is in the area.
func (a *subtree) covers(name string) bool {
	return a.name == "." || name == a.name || strings.HasPrefix(name, a.name+"/")
}

// onDisk reports whether there is a directory to walk.
func (a *subtree) onDisk() bool { return a.source == nil && a.mount.source == nil && a.info.Dir() }

// options complete those of a walk.
func (a *subtree) options(ctx context.Context, o tree.Options) tree.Options {
	o.Dir = a.name
	o.Skip = func(name string, _ bool) bool {
		return a.w.deniedInDir(a.mount, name) || a.deniedByOverlap(name) || a.hiddenByRoute(ctx, name)
	}
	return o
}

// deniedByOverlap reports whether another mount denies a name of the area's.
func (a *subtree) deniedByOverlap(name string) bool {
	return a.mount.anyOverlap(a.overlapping, name, a.w.denied)
}

// hiddenByRoute reports whether a file of the disk is hidden by a route.
func (a *subtree) hiddenByRoute(ctx context.Context, name string) bool {
	if !a.hasRoutes {
		return false
	}
	for _, r := range a.w.o.Routes {
		if r.Serves(ctx, name) {
			return true
		}
	}
	return false
}

// relative is a name of the mount as seen from the area.
func (a *subtree) relative(name string) string {
	if a.name == "." {
		return name
	}
	if name == a.name {
		return path.Base(name)
	}
	return strings.TrimPrefix(name, a.name+"/")
}

// shownPath is what the caller should call a name of the mount.
func (a *subtree) shownPath(name string) string {
	switch {
	case name == a.name:
		return a.shown
	case a.shown == ".":
		return display(a.relative(name))
	}
	return path.Join(a.shown, display(a.relative(name)))
}

// shownPaths is call for many.
func (a *subtree) shownPaths(names []string) []string {
	out := make([]string, 0, len(names))
	for _, name := range names {
		out = append(out, a.shownPath(name))
	}
	return out
}

var errTooMany = errors.New("too many names")

// listError puts why a walk failed into words.
func (a *subtree) listError(err error) error {
	switch {
	case errors.Is(err, errTooMany):
		return tool.Errorf(tool.TooLarge, "there are more than %d names in %q", maxListed, a.shown).
			Try("choose a directory further down")
	case errors.Is(err, iofs.ErrNotExist):
		return tool.Errorf(tool.NotFound, "the directory %q is gone", a.shown).Try("list the directory above")
	case errors.Is(err, iofs.ErrPermission):
		return tool.Errorf(tool.Refused, "the system does not let the directory %q be read", a.shown).Try("choose another")
	case notDir(err):
		err = root.ErrLink // it was a directory a moment ago
	}
	return fileError(err, a.shown)
}
