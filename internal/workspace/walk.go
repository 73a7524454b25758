package workspace

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

const (
	maxHops  = 40   // links on one way, as the system has it
	maxSteps = 5000 // names, those in links included
)

// A walk goes down a path step by step. It asks at each step whether the caller
// may take it, before it looks whether there is anything.
type walk struct {
	s     *space
	ctx   context.Context
	given string // for errors
	in    intent

	m      *mount
	at     string    // where it is, beneath m
	todo   []string  // the steps to take, the next one last
	info   root.Info // of at
	exists bool

	gap     string // the first step that is not there; "" when all are
	blocked string // a file where a directory should be
	kept    bool   // a step is protected
	hops    int
	taken   int
}

// from begins a walk at a mount.
func (s *space) from(ctx context.Context, m *mount, name, given string, in intent) *walk {
	k := &walk{s: s, ctx: ctx, given: given, in: in}
	k.enter(m, name)
	return k
}

// enter goes on from the top of m.
func (k *walk) enter(m *mount, name string) {
	k.m, k.at, k.info, k.exists, k.gap, k.blocked = m, ".", m.id, true, "", ""
	k.push(name)
}

func (k *walk) push(name string) {
	steps := strings.Split(name, "/")
	slices.Reverse(steps)
	k.todo = append(k.todo, steps...)
}

// run takes all steps. The error is root.ErrLink when something moved.
func (k *walk) run() error {
	for len(k.todo) > 0 {
		if err := k.ctx.Err(); err != nil {
			return err
		}
		step := k.todo[len(k.todo)-1]
		k.todo = k.todo[:len(k.todo)-1]
		var err error
		switch step {
		case "", ".":
			continue
		case "..":
			err = k.up()
		default:
			err = k.down(step)
		}
		if err != nil {
			return err
		}
		if k.taken++; k.taken > maxSteps {
			return tool.Errorf(tool.Invalid, "%q leads on for more than %d steps", k.given, maxSteps).Try("use a shorter path")
		}
	}
	return k.settle()
}

// up goes to the directory above, which may be in another mount.
func (k *walk) up() error {
	if k.at == "." {
		slices.Reverse(k.todo)
		rest := strings.Join(k.todo, "/")
		k.todo = nil
		return k.jump(path.Dir(k.m.real) + "/" + rest)
	}
	k.at = path.Dir(k.at)
	if k.gap != "" {
		if _, still := within(k.gap, k.at); still {
			return nil
		}
	}
	k.gap, k.blocked = "", ""
	info, err := k.m.root.Lstat(k.at)
	if err != nil {
		return moved(err)
	}
	k.info, k.exists = info, true
	return nil
}

// down takes one step, and follows it when it is a link.
func (k *walk) down(step string) error {
	name := path.Join(k.at, step)
	if k.s.w.deniedLast(k.m, name) {
		return deniedError(k.given)
	}
	k.kept = k.kept || k.in == toWrite && k.s.w.protected(k.m, name)
	if strange(step) {
		return said(root.ErrName, k.given)
	}
	if k.exists && !k.info.Dir() {
		k.blocked = k.at
	}
	if !k.exists || k.blocked != "" {
		k.miss(name)
		return nil
	}
	info, err := k.m.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		k.miss(name)
		return nil
	case err != nil:
		return moved(err)
	case info.Link():
		return k.follow(name)
	case info.Dir() && k.s.isData(info):
		return deniedError(k.given)
	}
	k.at, k.info = name, info
	return nil
}

func (k *walk) miss(name string) {
	if k.gap == "" {
		k.gap = name
	}
	k.at, k.info, k.exists = name, root.Info{}, false
}

// follow goes where a link leads, as far as the caller may.
func (k *walk) follow(link string) error {
	if k.hops++; k.hops > maxHops {
		return tool.Errorf(tool.Refused, "%q leads through more than %d links", k.given, maxHops).
			Try("its links go in a circle; use a file that is no link")
	}
	target, err := k.m.root.Readlink(link)
	if err != nil {
		return root.ErrLink // it was one a moment ago
	}
	if target = filepath.ToSlash(target); !filepath.IsAbs(target) {
		k.push(target)
		return nil
	}
	return k.jump(target)
}

// jump goes on from an absolute path.
func (k *walk) jump(abs string) error {
	if m, name, ok := k.s.reach(abs, false); ok {
		k.enter(m, name)
		return nil
	}
	return k.s.outside(k.given)
}

// reach finds the mount that an absolute path is in: the innermost, when one
// is in another. Links of the disk lead to the disk only; what the caller wrote,
// which is lexical, may mean files that are elsewhere.
func (s *space) reach(abs string, lexical bool) (best *mount, name string, ok bool) {
	for _, try := range []string{tidy(abs), path.Clean(abs)} {
		for _, m := range s.mounts() {
			if below, in := m.below(try); in && (m.root != nil || lexical) && (best == nil || len(m.real) > len(best.real)) {
				best, name = m, below
			}
		}
		if best != nil {
			return best, name, true
		}
	}
	return nil, "", false
}

// tidy takes out of a path what says nothing. What ".." means is known only
// where the links are.
func tidy(abs string) string {
	var steps []string
	for _, step := range strings.Split(abs, "/") {
		if step != "" && step != "." {
			steps = append(steps, step)
		}
	}
	if strings.HasPrefix(abs, "/") {
		return "/" + strings.Join(steps, "/")
	}
	return strings.Join(steps, "/")
}

// settle gives a file to the innermost mount that it is in, and asks once more
// whether the caller may see it: each mount has its say about the whole name.
func (k *walk) settle() error {
	if len(k.s.w.o.Roots) == 0 || k.m.ours {
		return nil
	}
	abs := path.Join(k.m.real, k.at)
	best, name := k.m, k.at
	for _, m := range k.s.mounts() {
		below, ok := within(m.real, abs)
		if !ok || m.root == nil {
			continue
		}
		if k.s.w.denied(m, below) {
			return deniedError(k.given)
		}
		k.kept = k.kept || k.in == toWrite && k.s.w.protected(m, below)
		if len(m.real) > len(best.real) {
			best, name = m, below
		}
	}
	if best == k.m {
		return nil
	}
	for _, gone := range []*string{&k.gap, &k.blocked} {
		if *gone == "" {
			continue
		}
		below, ok := within(best.real, path.Join(k.m.real, *gone))
		if !ok {
			below = "." // the mount itself went away while we looked
		}
		*gone = below
	}
	k.m, k.at = best, name
	return nil
}

// isData reports whether a directory is the data directory under any name.
func (s *space) isData(info root.Info) bool {
	return s.data.Ino != 0 && info.Dir() && sameFile(info, s.data)
}

// moved is the error for a step that was a directory when it was taken.
func moved(err error) error {
	if errors.Is(err, root.ErrLink) || notDir(err) {
		return root.ErrLink
	}
	return err
}
