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

// Aliases that callers write before a name to select a directory.
const (
	workspaceAlias = "workspace_dir"
	cacheAlias     = "file_cache_dir"
	stateAlias     = "file_state_dir"
)

// Paths of the workspace and of the other directories in a container.
const (
	containerHome  = "/workspace"
	containerRoots = "/roots"
)

// A callerView has the files that one caller can reach, during one call.
type callerView struct {
	w            *Workspace
	caller       tool.Caller
	home         *mount // the workspace
	mountList    []*mount
	mountsOpened bool      // mountList is complete
	dataInfo     root.Info // of the data directory; zero if it does not exist yet
}

// viewFor returns the view of the caller in ctx. It opens the caller's workspace.
func (w *Workspace) viewFor(ctx context.Context) (*callerView, error) {
	s := &callerView{w: w, caller: tool.CallerFrom(ctx)}
	s.dataInfo, _ = root.StatPath(w.o.Data)
	dir := s.caller.Workspace
	if !filepath.IsAbs(dir) {
		return nil, tool.Errorf(tool.Unavailable, "this caller has no workspace, so it has no files").
			Try("continue without files, or start the server with --workspace DIR")
	}
	if err := w.o.Managed.Use(ctx, w.Home(s.caller)); err != nil {
		return nil, err
	}
	var err error
	if s.home, err = s.openHome(filepath.Clean(dir)); err == nil && s.home.forbidden {
		err = errors.New("the workspace is part of the data directory")
	}
	if err != nil {
		var known *tool.Error
		if errors.As(err, &known) {
			return nil, err
		}
		return nil, tool.Errorf(tool.Unavailable, "the workspace of this caller cannot be opened").
			Try("continue without files, or ask the operator to check its directory").Because(err)
	}
	return s, nil
}

func (s *callerView) openHome(dir string) (*mount, error) {
	m, err := s.w.openDir(mountKey{path: dir, write: true})
	if err != nil {
		return nil, err
	}
	switch s.w.o.PerCaller {
	case Agent:
		return s.w.openUnder(m, callerDirName(s.caller.Agent))
	case User:
		return s.w.openUnder(m, callerDirName(s.caller.Agent), callerDirName(s.caller.User))
	}
	return m, nil
}

// mounts returns all directories of the caller that exist.
func (s *callerView) mounts() []*mount {
	if s.mountsOpened {
		return s.mountList
	}
	s.mountsOpened = true
	s.mountList = append(s.mountList, s.home)
	for _, r := range s.w.o.Roots {
		m, err := s.w.openDir(mountKey{path: filepath.Clean(r.Path), label: rootLabel(r), write: r.Write})
		if err != nil {
			s.w.o.Log.Debug("cannot open a root of the workspace", "path", r.Path, "err", err)
		} else if !m.forbidden {
			s.mountList = append(s.mountList, m)
		}
	}
	for _, alias := range []string{cacheAlias, stateAlias} {
		if m, err := s.callerDir(alias, false); err == nil {
			s.mountList = append(s.mountList, m)
		}
	}
	return s.mountList
}

// rootLabel returns the prefix that callers write before a name in r.
func rootLabel(r ExtraRoot) string {
	if r.Name == "" {
		return filepath.ToSlash(filepath.Clean(r.Path))
	}
	return r.Name
}

// callerDir returns the caller's directory for caches or for state. If create is
// true, it creates a missing one.
func (s *callerView) callerDir(alias string, create bool) (*mount, error) {
	kind := map[string]string{cacheAlias: "cache", stateAlias: "state"}[alias]
	dir := filepath.Join(s.w.o.Data, "files", kind, callerDirName(s.caller.Agent), callerDirName(s.caller.User))
	key := mountKey{path: dir, label: alias, write: true}
	m, err := s.w.openDir(key)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		return s.w.openDir(key)
	}
	return m, err
}

// mountByName returns the mount with a name, or nil. An entry of the workspace
// takes precedence over a root of the same name.
func (s *callerView) mountByName(first string, in intent) (*mount, error) {
	switch first {
	case workspaceAlias:
		return s.home, nil
	case cacheAlias, stateAlias:
		m, err := s.callerDir(first, in == toWrite)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, tool.Errorf(tool.NotFound, "%s is empty", first).Try("write a file to it first")
		}
		return m, err
	}
	for _, r := range s.w.o.Roots {
		if r.Name != first || s.hasEntry(first) {
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

// hasEntry reports whether the workspace has an entry on disk.
func (s *callerView) hasEntry(first string) bool {
	_, err := s.home.root.Lstat(first)
	return err == nil
}

// callerDirName returns a directory name for a caller. It is unique, even on
// systems that ignore case.
func callerDirName(name string) string {
	var plain strings.Builder
	for i := 0; i < len(name) && i < 40; i++ {
		c := name[i]
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' {
			plain.WriteByte(c)
		} else {
			plain.WriteByte('_')
		}
	}
	if plain.String() == name && name != "" && !isWindowsDevice(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return plain.String() + "~" + hex.EncodeToString(sum[:16])
}

// isWindowsDevice reports whether Windows reserves a name for a device.
func isWindowsDevice(name string) bool {
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(name) == 4 && (name[:3] == "com" || name[:3] == "lpt")
}
