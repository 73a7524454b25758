package docker

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// most is the maximum number of separate mounts in a container.
const most = 2000

// names are the protected names, as they were before the start.
type names struct {
	hidden  []string // as commands see them
	locked  []string
	anchors []anchor
	seen    map[string]stamp
	watch   bool
}

// An anchor is a directory that contains a hidden or locked name. It is mounted on
// itself, so that no command can rename it.
type anchor struct {
	bind   int
	rel    string
	inside string
}

// survey finds the hidden and locked names, and the directories above them. For a
// remote engine it uses the names without checks.
func survey(local bool, w sandbox.Spec, log *slog.Logger) (names, error) {
	n := names{seen: map[string]stamp{}, watch: local}
	if err := checkBinds(local, w); err != nil {
		return names{}, err
	}
	anchored := map[string]bool{}
	for _, list := range []struct {
		paths []string
		into  *[]string
		keep  bool
	}{{w.Hidden, &n.hidden, false}, {w.Locked, &n.locked, true}} {
		for _, p := range list.paths {
			b, rel := enclosing(w.Binds, p)
			if b < 0 {
				continue // commands do not see it
			}
			there, err := n.walk(w.Binds[b].Host, rel)
			if err != nil {
				return names{}, err
			}
			if !there {
				if list.keep {
					log.Warn("a protected name does not exist or is a link, so it is not protected", "name",
						filepath.Base(p))
				}
				continue
			}
			*list.into = append(*list.into, insideOf(w.Binds[b], rel))
			if !local || !w.Binds[b].Write {
				continue
			}
			for dir := filepath.Dir(rel); dir != "."; dir = filepath.Dir(dir) {
				at := insideOf(w.Binds[b], dir)
				if !anchored[at] {
					anchored[at] = true
					n.anchors = append(n.anchors, anchor{b, dir, at})
				}
			}
		}
	}
	if len(n.hidden)+len(n.locked)+len(n.anchors) > most {
		return names{}, tool.Errorf(tool.TooLarge,
			"the workspace has more than %d places that commands must not see or change", most).
			Try("use fewer such rules, or a smaller workspace")
	}
	return n, nil
}

func insideOf(b sandbox.Bind, rel string) string { return path.Join(b.Inside, filepath.ToSlash(rel)) }

// enclosing returns the bind that contains p: the innermost one.
func enclosing(binds []sandbox.Bind, p string) (int, string) {
	best, bestRel := -1, ""
	for i, b := range binds {
		rel, ok := below(b.Host, p)
		if ok && (best < 0 || len(b.Host) > len(binds[best].Host)) {
			best, bestRel = i, rel
		}
	}
	return best, bestRel
}

// below returns the relative path from dir to p, if p is in dir.
func below(dir, p string) (string, bool) {
	rel, err := filepath.Rel(dir, p)
	if err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return rel, true
}

// walk records each directory on the path. It refuses links on the path; there is
// false if the last name does not exist or is a link.
func (n names) walk(dir, rel string) (there bool, err error) {
	if !n.watch {
		return true, nil
	}
	at := dir
	steps := strings.Split(rel, string(filepath.Separator))
	for i, step := range steps {
		at = filepath.Join(at, step)
		st, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, unavailable("a protected file of the workspace cannot be looked at").Because(err)
		}
		link := st.Mode()&fs.ModeSymlink != 0
		if link && i < len(steps)-1 {
			return false, tool.Errorf(tool.Conflict, "a protected file of the workspace is behind a link").
				Try("call again; if it stays so, replace the link by its target")
		}
		n.seen[at] = stampOf(st)
		if link {
			return false, nil
		}
	}
	return true, nil
}

// still reports whether all names still denote the same files.
func (n names) still() bool {
	for p, was := range n.seen {
		st, err := os.Lstat(p)
		if err != nil || stampOf(st) != was {
			return false
		}
	}
	return true
}
