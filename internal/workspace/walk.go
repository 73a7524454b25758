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
	maxHops  = 40   // linkCache on one way, as the system has it
	maxSteps = 5000 // linkNames, those in links included
)

// A walk goes down a path step by step. It asks at each step whether the caller
// may take it, before it looks whether there is anything.
type walk struct {
	view   *callerView
	ctx    context.Context
	given  string // for errors
	intent intent

	mount  *mount
	name   string    // where it is, beneath m
	steps  []string  // the steps to take, the next one last
	info   root.Info // get at
	exists bool

	firstMissing string // the first step that is not there; "" when all are
	blockedBy    string // a file where a directory should be
	protected    bool   // a step is protected
	links        int
	count        int
}

// newWalk begins a walk at a mount.
func (s *callerView) newWalk(ctx context.Context, m *mount, name, given string, in intent) *walk {
	k := &walk{view: s, ctx: ctx, given: given, intent: in}
	k.enter(m, name)
	return k
}

// enter goes on from the top of m.
func (k *walk) enter(m *mount, name string) {
	k.mount, k.name, k.info, k.exists, k.firstMissing, k.blockedBy = m, ".", m.id, true, "", ""
	k.push(name)
}

func (k *walk) push(name string) {
	steps := strings.Split(name, "/")
	slices.Reverse(steps)
	k.steps = append(k.steps, steps...)
}

// run takes all steps. The error is root.ErrLink when something moved.
func (k *walk) run() error {
	for len(k.steps) > 0 {
		if err := k.ctx.Err(); err != nil {
			return err
		}
		step := k.steps[len(k.steps)-1]
		k.steps = k.steps[:len(k.steps)-1]
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
		if k.count++; k.count > maxSteps {
			return tool.Errorf(tool.Invalid, "%q leads on for more than %d steps", k.given, maxSteps).Try("use a shorter path")
		}
	}
	return k.checkOverlaps()
}

// up goes to the directory above, which may be in another mount.
func (k *walk) up() error {
	if k.name == "." {
		slices.Reverse(k.steps)
		rest := strings.Join(k.steps, "/")
		k.steps = nil
		return k.jump(path.Dir(k.mount.realPath) + "/" + rest)
	}
	k.name = path.Dir(k.name)
	if k.firstMissing != "" {
		if _, still := within(k.firstMissing, k.name); still {
			return nil
		}
	}
	k.firstMissing, k.blockedBy = "", ""
	info, err := k.mount.root.Lstat(k.name)
	if err != nil {
		return movedError(err)
	}
	k.info, k.exists = info, true
	return nil
}

// down takes one step, and follows it when it is a link.
func (k *walk) down(step string) error {
	name := path.Join(k.name, step)
	if k.view.w.deniedInDir(k.mount, name) {
		return deniedError(k.given)
	}
	k.protected = k.protected || k.intent == toWrite && k.view.w.protected(k.mount, name)
	if isWindowsAlias(step) {
		return fileError(root.ErrName, k.given)
	}
	if k.exists && !k.info.Dir() {
		k.blockedBy = k.name
	}
	if !k.exists || k.blockedBy != "" {
		k.markMissing(name)
		return nil
	}
	info, err := k.mount.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		k.markMissing(name)
		return nil
	case err != nil:
		return movedError(err)
	case info.Link():
		return k.follow(name)
	case info.Dir() && k.view.isDataDir(info):
		return deniedError(k.given)
	}
	k.name, k.info = name, info
	return nil
}

func (k *walk) markMissing(name string) {
	if k.firstMissing == "" {
		k.firstMissing = name
	}
	k.name, k.info, k.exists = name, root.Info{}, false
}

// follow goes where a link leads, as far as the caller may.
func (k *walk) follow(link string) error {
	if k.links++; k.links > maxHops {
		return tool.Errorf(tool.Refused, "%q leads through more than %d links", k.given, maxHops).
			Try("its links go in a circle; use a file that is no link")
	}
	target, err := k.mount.root.Readlink(link)
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
	if m, name, ok := k.view.mountFor(abs, false); ok {
		k.enter(m, name)
		return nil
	}
	return k.view.outsideError(k.given)
}

// mountFor finds the mount that an absolute path is in: the innermost, when one
// is in another. Links of the disk lead to the disk only; what the caller wrote,
// which is lexical, may mean files that are elsewhere.
func (s *callerView) mountFor(abs string, lexical bool) (best *mount, name string, ok bool) {
	for _, try := range []string{cleanSlashes(abs), path.Clean(abs)} {
		for _, m := range s.mounts() {
			if below, in := m.relative(try); in && (m.root != nil || lexical) && (best == nil || len(m.realPath) > len(best.realPath)) {
				best, name = m, below
			}
		}
		if best != nil {
			return best, name, true
		}
	}
	return nil, "", false
}

// removeEmptyDirs takes out of a path what says nothing. What ".." means is known only
// where the links are.
func cleanSlashes(abs string) string {
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

// checkOverlaps gives a file to the innermost mount that it is in, and asks once more
// whether the caller may see it: each mount has its say about the whole name.
func (k *walk) checkOverlaps() error {
	if len(k.view.w.o.Roots) == 0 || k.mount.callerDir {
		return nil
	}
	abs := path.Join(k.mount.realPath, k.name)
	best, name := k.mount, k.name
	for _, m := range k.view.mounts() {
		below, ok := within(m.realPath, abs)
		if !ok || m.root == nil {
			continue
		}
		if k.view.w.denied(m, below) {
			return deniedError(k.given)
		}
		k.protected = k.protected || k.intent == toWrite && k.view.w.protected(m, below)
		if len(m.realPath) > len(best.realPath) {
			best, name = m, below
		}
	}
	if best == k.mount {
		return nil
	}
	for _, gone := range []*string{&k.firstMissing, &k.blockedBy} {
		if *gone == "" {
			continue
		}
		below, ok := within(best.realPath, path.Join(k.mount.realPath, *gone))
		if !ok {
			below = "." // the mount itself went away while we looked
		}
		*gone = below
	}
	k.mount, k.name = best, name
	return nil
}

// inDataDir reports whether a directory is the data directory under any name.
func (s *callerView) isDataDir(info root.Info) bool {
	return s.dataInfo.Ino != 0 && info.Dir() && sameFile(info, s.dataInfo)
}

// unstable is the error for a step that was a directory when it was taken.
func movedError(err error) error {
	if errors.Is(err, root.ErrLink) || notDir(err) {
		return root.ErrLink
	}
	return err
}
