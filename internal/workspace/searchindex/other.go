//go:build !linux

package searchindex

import (
	"path"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/segment"
)

// A watcher is not available on this system.
type watcher struct{}

func newWatcher() (*watcher, error)                 { return nil, errNoEvents }
func (*watcher) close() error                       { return nil }
func (*watcher) add(r *root.Root, dir string) error { return nil }
func (*watcher) remove(dir string)                  {}
func (*watcher) drain(apply func(change)) error     { return nil }
func (*watcher) wait() bool                         { return false }
func rootPath(r *root.Root) string                  { return absolute(r.Path()) }
func atLowPriority(do func())                       { do() }
func (*mountTable) close() error                    { return nil }
func (*mountTable) changed() bool                   { return false }
func (m *mountTable) trust(v *view) trust           { return m.all }

// A mountTable has only the root.
type mountTable struct{ all trust }

// readMounts trusts stamps if the system reports the change time of an inode.
func readMounts(r *root.Root) (*mountTable, error) {
	info, err := r.Info()
	if err != nil || info.Changed.IsZero() {
		return nil, errNoTrust
	}
	return &mountTable{trustStamps}, nil
}

// A fileStat is the state of a file. ok reports whether it is a regular file.
type fileStat struct {
	segment.Stamp
	links uint32
	ok    bool
}

func statDir(r *root.Root, dir string, bases []string, far bool) []fileStat {
	out := make([]fileStat, len(bases))
	for i, base := range bases {
		if info, err := r.Lstat(path.Join(dir, base)); err == nil && info.Regular() {
			out[i] = fileStat{stampOf(info), uint32(info.Links), true}
		}
	}
	return out
}
