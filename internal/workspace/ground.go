package workspace

import (
	"context"
	"fmt"
	iofs "io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/ignore"
)

// maxLayout bounds the names that a Ground lists: each costs something every
// time that a sandbox is made.
const maxLayout = 4000

// A Layout is what of the disk the commands of a caller are about. All paths
// are absolute and lead through no link.
type Layout struct {
	Dir    string // the workspace
	Roots  []LayoutRoot
	Hidden []string // files and directories in them that commands must not see
	Locked []string // likewise: must not change. What is hidden in them is in Hidden
}

// A LayoutRoot is a directory beside the workspace. No two have the same name.
type LayoutRoot struct {
	Name  string
	Path  string
	Write bool
}

// Layout looks through all that the caller sees. Links are not listed: a
// command that follows one meets what is said of the name that it leads to.
func (w *Workspace) Layout(ctx context.Context) (Layout, error) {
	s, err := w.viewFor(ctx)
	if err != nil {
		return Layout{}, err
	}
	if s.home.root == nil {
		return Layout{}, notOnDisk()
	}
	y := &survey{view: s, ctx: ctx}
	for _, m := range s.mounts() {
		if err := y.scan(m); err != nil {
			return Layout{}, fileError(err, s.shownPath(m, "."))
		}
	}
	if err := y.addHardLinks(); err != nil {
		return Layout{}, err
	}
	hidden := outermost(paths(y.hidden))
	g := Layout{Dir: filepath.FromSlash(s.home.realPath), Hidden: hidden}
	g.Locked = slices.DeleteFunc(outermost(paths(y.locked)), func(p string) bool { return beneathAny(p, hidden) })
	for _, m := range s.mounts() {
		if m != s.home && !beneathAny(filepath.FromSlash(m.realPath), hidden) {
			g.Roots = append(g.Roots, LayoutRoot{s.sandboxName(m), filepath.FromSlash(m.realPath), m.write})
		}
	}
	return g, nil
}

// Dir finds a directory that a model wrote, "" for the workspace. identity
// tells it from another that is put in its place.
func (w *Workspace) Dir(ctx context.Context, given string) (dir, identity string, err error) {
	p, err := w.resolve(ctx, given, toList)
	switch {
	case err != nil:
		return "", "", err
	case p.source != nil || !p.exists:
		return "", "", notOnDisk()
	case !p.info.Dir():
		return "", "", tool.Errorf(tool.Invalid, "%q is a file and not a directory", p.shown).
			Try("name the directory to run in, such as %q", path.Dir(p.shown))
	}
	identity = strconv.FormatUint(p.info.Dev, 10) + ":" + strconv.FormatUint(p.info.Ino, 10)
	return filepath.FromSlash(path.Join(p.mount.realPath, p.name)), identity, nil
}

func notOnDisk() error {
	return tool.Errorf(tool.Unavailable, "these files are not on a disk of this machine, so no command can run on them").
		Try("use the file tools")
}

// sandboxName is what tells a root from others where it is not known by its path.
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
	mode  iofs.FileMode
}

func (p mountedFile) path() string { return filepath.FromSlash(path.Join(p.mount.realPath, p.name)) }

func paths(spots []mountedFile) []string {
	out := make([]string, 0, len(spots))
	for _, p := range spots {
		out = append(out, p.path())
	}
	return out
}

// outermost sorts paths, and leaves out those that are in others.
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

// tooMany says which pattern is to blame.
func (y *survey) tooMany() error {
	list, of, setting := y.view.w.o.Deny, y.hidden, "deny"
	if len(y.locked) > len(y.hidden) {
		list, of, setting = y.view.w.o.Protect, y.locked, "protect"
	}
	worst, most := "", 0
	for _, pattern := range list {
		names, err := ignore.NewNames([]string{pattern})
		if err != nil || strings.HasPrefix(pattern, "!") {
			continue
		}
		hits := 0
		for _, p := range of {
			if names.Covers(p.name) || y.mount.coversPath(names, p.name) {
				hits++
			}
		}
		if hits > most {
			worst, most = pattern, hits
		}
	}
	blame := "workspace." + setting
	if worst != "" {
		blame = fmt.Sprintf("the pattern %q of %s", worst, blame)
	}
	return tool.Errorf(tool.TooLarge, "more than %d files have to be kept from commands, most because of %s", maxLayout, blame).
		Try("ask the operator to name the directories that they are in instead, with a slash at the end, or to make an exception with !")
}
