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

// maxGround bounds the names that a Ground lists: each costs something every
// time that a sandbox is made.
const maxGround = 4000

// A Ground is what of the disk the commands of a caller are about. All paths
// are absolute and lead through no link.
type Ground struct {
	Dir    string // the workspace
	Roots  []GroundRoot
	Hidden []string // files and directories in them that commands must not see
	Locked []string // likewise: must not change. What is hidden in them is in Hidden
}

// A GroundRoot is a directory beside the workspace. No two have the same name.
type GroundRoot struct {
	Name  string
	Path  string
	Write bool
}

// Ground looks through all that the caller sees. Links are not listed: a
// command that follows one meets what is said of the name that it leads to.
func (w *Workspace) Ground(ctx context.Context) (Ground, error) {
	s, err := w.space(ctx)
	if err != nil {
		return Ground{}, err
	}
	if s.home.root == nil {
		return Ground{}, notOnDisk()
	}
	y := &survey{s: s, ctx: ctx}
	for _, m := range s.mounts() {
		if err := y.look(m); err != nil {
			return Ground{}, said(err, s.show(m, "."))
		}
	}
	if err := y.addHardLinks(); err != nil {
		return Ground{}, err
	}
	hidden := outermost(paths(y.hidden))
	g := Ground{Dir: filepath.FromSlash(s.home.real), Hidden: hidden}
	g.Locked = slices.DeleteFunc(outermost(paths(y.locked)), func(p string) bool { return beneathAny(p, hidden) })
	for _, m := range s.mounts() {
		if m != s.home && !beneathAny(filepath.FromSlash(m.real), hidden) {
			g.Roots = append(g.Roots, GroundRoot{s.groundName(m), filepath.FromSlash(m.real), m.write})
		}
	}
	return g, nil
}

// Dir finds a directory that a model wrote, "" for the workspace. identity
// tells it from another that is put in its place.
func (w *Workspace) Dir(ctx context.Context, given string) (dir, identity string, err error) {
	p, err := w.find(ctx, given, toList)
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
	return filepath.FromSlash(path.Join(p.mount.real, p.name)), identity, nil
}

func notOnDisk() error {
	return tool.Errorf(tool.Unavailable, "these files are not on a disk of this machine, so no command can run on them").
		Try("use the file tools")
}

// groundName is what tells a root from others where it is not known by its path.
func (s *space) groundName(m *mount) string {
	if !strings.HasPrefix(m.label, "/") && !filepath.IsAbs(m.label) {
		return m.label
	}
	base := path.Base(m.real)
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
			taken[s.groundName(o)] = true
		}
	}
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}

// A spot is a name in a mount.
type spot struct {
	m    *mount
	name string
	mode iofs.FileMode
}

func (p spot) path() string { return filepath.FromSlash(path.Join(p.m.real, p.name)) }

func paths(spots []spot) []string {
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
	list, of, setting := y.s.w.o.Deny, y.hidden, "deny"
	if len(y.locked) > len(y.hidden) {
		list, of, setting = y.s.w.o.Protect, y.locked, "protect"
	}
	worst, most := "", 0
	for _, pattern := range list {
		names, err := ignore.NewNames([]string{pattern})
		if err != nil || strings.HasPrefix(pattern, "!") {
			continue
		}
		hits := 0
		for _, p := range of {
			if names.Covers(p.name) || y.m.coversPath(names, p.name) {
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
	return tool.Errorf(tool.TooLarge, "more than %d files have to be kept from commands, most because of %s", maxGround, blame).
		Try("ask the operator to name the directories that they are in instead, with a slash at the end, or to make an exception with !")
}
