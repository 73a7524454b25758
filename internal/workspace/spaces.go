package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// What callers write before names in directories that are not the workspace.
const (
	workspaceAlias = "workspace_dir"
	cacheAlias     = "file_cache_dir"
	stateAlias     = "file_state_dir"
)

// Where commands in a container see the workspace, and the other directories
// by their names.
const (
	containerHome  = "/workspace"
	containerRoots = "/roots"
)

// A space is what one caller sees, for the length of one call.
type space struct {
	w      *Workspace
	caller tool.Caller
	home   *mount // the workspace
	others []*mount
	looked bool      // others is filled
	data   root.Info // of the data directory; zero when there is none yet
}

func (w *Workspace) space(ctx context.Context) (*space, error) {
	s := &space{w: w, caller: tool.CallerFrom(ctx)}
	s.data, _ = root.Look(w.o.Data)
	dir := s.caller.Workspace
	if w.o.Elsewhere != nil {
		if source := w.o.Elsewhere(ctx, s.caller); source != nil {
			dir = filepath.Join(string(filepath.Separator), dir)
			s.home = &mount{home: true, source: source, path: dir, real: filepath.ToSlash(dir), write: true}
			s.home.deny, s.home.protect = w.deny.at(s.home), w.protect.at(s.home)
			return s, nil
		}
	}
	if !filepath.IsAbs(dir) {
		return nil, tool.Errorf(tool.Unavailable, "this caller has no workspace, so there are no files").
			Try("do without files, or have the server started with --workspace DIR")
	}
	var err error
	if s.home, err = s.openHome(filepath.Clean(dir)); err == nil && s.home.whole {
		err = errors.New("the workspace is a part of the data directory")
	}
	if err != nil {
		var known *tool.Error
		if errors.As(err, &known) {
			return nil, err
		}
		return nil, tool.Errorf(tool.Unavailable, "the workspace of this caller cannot be opened").
			Try("do without files, or ask the operator to look at its directory").Because(err)
	}
	return s, nil
}

func (s *space) openHome(dir string) (*mount, error) {
	m, err := s.w.openDir(mountKey{path: dir, write: true})
	if err != nil {
		return nil, err
	}
	switch s.w.o.PerCaller {
	case Agent:
		return s.w.openBeneath(m, dirName(s.caller.Agent))
	case User:
		return s.w.openBeneath(m, dirName(s.caller.Agent), dirName(s.caller.User))
	}
	return m, nil
}

// mounts are all directories of the caller that are there.
func (s *space) mounts() []*mount {
	if s.looked {
		return s.others
	}
	s.looked = true
	s.others = append(s.others, s.home)
	for _, r := range s.w.o.Roots {
		m, err := s.w.openDir(mountKey{filepath.Clean(r.Path), label(r), r.Write})
		if err != nil {
			s.w.o.Log.Debug("a root of the workspace cannot be opened", "path", r.Path, "error", err)
		} else if !m.whole {
			s.others = append(s.others, m)
		}
	}
	for _, alias := range []string{cacheAlias, stateAlias} {
		if m, err := s.ownDir(alias, false); err == nil {
			s.others = append(s.others, m)
		}
	}
	return s.others
}

// label is what callers write before a name in r.
func label(r ExtraRoot) string {
	if r.Name == "" {
		return filepath.ToSlash(filepath.Clean(r.Path))
	}
	return r.Name
}

// ownDir is the caller's directory for caches or for state. It is made when
// something is to be written.
func (s *space) ownDir(alias string, make bool) (*mount, error) {
	kind := map[string]string{cacheAlias: "cache", stateAlias: "state"}[alias]
	dir := filepath.Join(s.w.o.Data, "files", kind, dirName(s.caller.Agent), dirName(s.caller.User))
	key := mountKey{dir, alias, true}
	m, err := s.w.openDir(key)
	if errors.Is(err, fs.ErrNotExist) && make {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		return s.w.openDir(key)
	}
	return m, err
}

// named is the mount that callers know by a name, or nil. The workspace comes
// before the operator's roots: what is in it stays in reach.
func (s *space) named(first string, in intent) (*mount, error) {
	switch first {
	case workspaceAlias:
		return s.home, nil
	case cacheAlias, stateAlias:
		m, err := s.ownDir(first, in == toWrite)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, tool.Errorf(tool.NotFound, "nothing is in %s yet", first).Try("write a file to it first")
		}
		return m, err
	}
	for _, r := range s.w.o.Roots {
		if r.Name != first || s.has(first) {
			continue
		}
		for _, m := range s.mounts() {
			if m.label == first {
				return m, nil
			}
		}
	}
	return nil, nil
}

// has reports whether the workspace on the disk has an entry.
func (s *space) has(first string) bool {
	if s.home.root == nil {
		return false
	}
	_, err := s.home.root.Lstat(first)
	return err == nil
}

// dirName is a name for a directory of a caller. No two callers share one, nor
// on systems where upper and lower case are the same.
func dirName(name string) string {
	var plain strings.Builder
	for i := 0; i < len(name) && i < 40; i++ {
		c := name[i]
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' {
			plain.WriteByte(c)
		} else {
			plain.WriteByte('_')
		}
	}
	if plain.String() == name && name != "" && !reserved(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return plain.String() + "~" + hex.EncodeToString(sum[:16])
}

// reserved tells the names that Windows keeps for devices.
func reserved(name string) bool {
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(name) == 4 && (name[:3] == "com" || name[:3] == "lpt")
}
