package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Layout returns the caller's directories, and everything in them that commands
// must not see or change. It does not list symbolic links: for a command that
// follows one, the entry for its target counts. It reads only directories that
// have changed since the last call.
func (w *Workspace) Layout(ctx context.Context) (sandbox.Directories, error) {
	s, err := w.viewFor(ctx)
	if err != nil {
		return sandbox.Directories{}, err
	}
	for _, alias := range []string{cacheAlias, stateAlias} { // a sandbox cannot show later a file that is missing now
		if _, err := s.callerDir(alias, true); err != nil {
			s.w.o.Log.Debug("cannot make a directory of the caller", "alias", alias, "err", err)
		}
	}
	y := &survey{view: s, ctx: ctx}
	for _, m := range s.mounts() {
		if err := y.scan(m); err != nil {
			return sandbox.Directories{}, fileError(err, s.shownPath(m, "."))
		}
	}
	if err := y.addHardLinks(); err != nil {
		return sandbox.Directories{}, err
	}
	hidden := outermost(paths(y.hidden))
	g := sandbox.Directories{Dir: filepath.FromSlash(s.home.realPath), Hidden: hidden, Covered: y.identity()}
	g.Locked = slices.DeleteFunc(outermost(paths(y.locked)), func(p string) bool { return beneathAny(p, hidden) })
	for _, m := range s.mounts() {
		if m != s.home && !beneathAny(filepath.FromSlash(m.realPath), hidden) {
			g.Roots = append(g.Roots, sandbox.Root{
				Name: s.sandboxName(m), Path: filepath.FromSlash(m.realPath), Write: m.write,
			})
		}
	}
	return g, nil
}

// Dir resolves a directory that a model wrote, "" for the workspace. identity
// changes if another directory takes its place.
func (w *Workspace) Dir(ctx context.Context, given string) (dir, identity string, err error) {
	p, err := w.resolve(ctx, given, toList)
	switch {
	case err != nil:
		return "", "", err
	case p.source != nil || !p.exists:
		return "", "", notOnDisk()
	case !p.info.Dir():
		return "", "", tool.Errorf(tool.Invalid, "%q is a file, not a directory", p.shown).
			Try("name the directory to run in, such as %q", path.Dir(p.shown))
	}
	identity = strconv.FormatUint(p.info.Dev, 10) + ":" + strconv.FormatUint(p.info.Ino, 10)
	return filepath.FromSlash(path.Join(p.mount.realPath, p.name)), identity, nil
}

func notOnDisk() error {
	return tool.Errorf(tool.Unavailable, "these files are not on the disk, so commands cannot use them").
		Try("use the file tools")
}

// sandboxName returns the unique name of a root in a sandbox.
func (s *callerView) sandboxName(m *mount) string {
	if !strings.HasPrefix(m.label, "/") && !filepath.IsAbs(m.label) {
		return m.label
	}
	base := path.Base(m.realPath)
	if strings.ContainsAny(base, `/\:`) {
		base = "root"
	}
	taken := map[string]bool{workspaceAlias: true, cacheAlias: true, stateAlias: true}
	for _, r := range s.w.o.Roots {
		taken[r.Name] = true
	}
	for _, o := range s.mounts() {
		if o == m {
			break
		}
		if filepath.IsAbs(filepath.FromSlash(o.label)) {
			taken[s.sandboxName(o)] = true
		}
	}
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}

// A mountedFile is a name in a mount.
type mountedFile struct {
	mount *mount
	name  string
	mode  fs.FileMode
}

func (p mountedFile) path() string { return filepath.FromSlash(path.Join(p.mount.realPath, p.name)) }

func paths(spots []mountedFile) []string {
	out := make([]string, 0, len(spots))
	for _, p := range spots {
		out = append(out, p.path())
	}
	return out
}

// outermost sorts paths and removes paths within others.
func outermost(all []string) []string {
	slices.SortFunc(all, func(a, b string) int { return compareSteps(filepath.ToSlash(a), filepath.ToSlash(b)) })
	var kept []string
	for _, p := range all {
		if n := len(kept); n == 0 || !isBeneath(p, kept[n-1]) {
			kept = append(kept, p)
		}
	}
	return kept
}

func isBeneath(p, dir string) bool {
	_, ok := within(filepath.ToSlash(dir), filepath.ToSlash(p))
	return ok
}

func beneathAny(p string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return isBeneath(p, dir) })
}
