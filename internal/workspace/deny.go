package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
	"github.com/mcp-tools/mcp-tools/internal/workspace/ignore"
)

// patterns are the names that the operator denies or protects. A pattern that
// begins with a slash or ~ means an absolute path as well as a name in each
// root.
type patterns struct {
	names *ignore.Names
	paths []string
}

// nameRules are all patterns of a workspace. A mount keeps the patterns of its opening.
type nameRules struct {
	deny, protect         patterns
	locks                 commandLocks
	denyList, protectList []string // as the operator wrote them
	digest                string   // of the denied names
}

// SetNames changes Deny and Protect of the options. Calls that are running keep the
// former ones.
func (w *Workspace) SetNames(deny, protect []string) error {
	if old := w.rules.Load(); old != nil && slices.Equal(old.denyList, deny) && slices.Equal(old.protectList, protect) {
		return nil
	}
	r := &nameRules{denyList: deny, protectList: protect}
	all := slices.Clone(deny)
	for _, path := range w.o.Private {
		all = append(all, escapePattern(filepath.ToSlash(path)), escapePattern(filepath.ToSlash(pastLinks(path))))
	}
	var err error
	if r.deny, err = newPatterns(all, w.o.Home); err != nil {
		return fmt.Errorf("deny patterns: %w", err)
	}
	if r.protect, err = newPatterns(protect, w.o.Home); err != nil {
		return fmt.Errorf("protect patterns: %w", err)
	}
	if r.locks, err = newCommandLocks(protect, w.o.Home); err != nil {
		return fmt.Errorf("protect patterns: %w", err)
	}
	sum := sha256.Sum256([]byte(strings.Join(slices.Concat(deny, w.o.Private), "\n") + "\x00" + w.o.Data + "\x00" +
		w.o.Home))
	r.digest = hex.EncodeToString(sum[:])
	w.rules.Store(r)
	return nil
}

func newPatterns(list []string, home string) (patterns, error) {
	var names, paths []string
	for _, pattern := range list {
		body, not := strings.CutPrefix(pattern, "!")
		sign := pattern[:len(pattern)-len(body)]
		switch {
		case not && body == "" || pattern == "":
			return patterns{}, fmt.Errorf("pattern %q is empty", pattern)
		case not:
			sign = "!"
		}
		if body == "~" || strings.HasPrefix(body, "~/") {
			if home != "" {
				paths = append(paths, sign+escapePattern(filepath.ToSlash(home))+body[1:])
			}
			continue
		}
		names = append(names, pattern)
		if strings.HasPrefix(body, "/") {
			paths = append(paths, pattern)
		}
	}
	p := patterns{paths: paths}
	var err error
	if p.names, err = ignore.NewNames(names); err == nil {
		_, err = ignore.NewNames(paths)
	}
	return p, err
}

// forMount returns the patterns for absolute paths that can match within a
// mount, or nil. A pattern that covers the mount itself is left out: the
// operator can only have meant a name within it.
func (p patterns) forMount(m *mount) *ignore.Names {
	var inside []string
	for _, pattern := range p.paths {
		alone, err := ignore.NewNames([]string{pattern})
		if err == nil && !alone.Covers(withoutSlash(filepath.ToSlash(m.path))) &&
			!alone.Covers(withoutSlash(m.realPath)) {
			inside = append(inside, pattern)
		}
	}
	if inside == nil {
		return nil
	}
	names, err := ignore.NewNames(inside)
	if err != nil {
		return nil // cannot happen: newPatterns compiles all of them
	}
	return names
}

// withoutSlash turns an absolute path into a name relative to the root directory.
func withoutSlash(path string) string { return strings.TrimPrefix(path, "/") }

// escapePattern returns a pattern that matches only the text itself.
func escapePattern(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(strings.TrimSuffix(text, "/"))
}

// coversPath reports whether patterns for absolute paths cover a file.
func (m *mount) coversPath(paths *ignore.Names, name string) bool {
	return paths != nil && (paths.Covers(withoutSlash(path.Join(filepath.ToSlash(m.path), name))) ||
		paths.Covers(withoutSlash(path.Join(m.realPath, name))))
}

// denied reports whether callers must not see a file, because of its name or of
// a directory that contains it. Temporary files of changes are always denied.
func (w *Workspace) denied(m *mount, name string) bool {
	return w.inDataDir(m, name) || history.Temporary(path.Base(name)) || m.rules.deny.names.Covers(name) ||
		m.coversPath(m.deny, name)
}

// deniedInDir is like denied for a name in a directory that is known not to be
// denied. Walks of a tree use it.
func (w *Workspace) deniedInDir(m *mount, name string) bool {
	return w.inDataDir(m, name) || history.Temporary(path.Base(name)) || m.rules.deny.names.CoversInDir(name) ||
		m.coversPath(m.deny, name)
}

// protected reports whether callers must not change a file.
func (w *Workspace) protected(m *mount, name string) bool {
	return m.rules.protect.names.Covers(name) || m.coversPath(m.protect, name)
}

// inDataDir reports whether a name is in the data directory.
func (w *Workspace) inDataDir(m *mount, name string) bool {
	if m.forbidden {
		return true
	}
	if m.dataName == "" || len(name) < len(m.dataName) {
		return false
	}
	n := len(m.dataName)
	_, ok := within(m.dataName, name)
	return ok || strings.EqualFold(name[:n], m.dataName) && (len(name) == n || name[n] == '/')
}
