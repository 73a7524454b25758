//go:build !linux

package searchindex

import (
	"path"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/segment"
)

// A watcher is nothing here: there are no events.
type watcher struct{}

func newWatcher() (*watcher, error)                 { return nil, errNoEvents }
func (*watcher) close() error                       { return nil }
func (*watcher) add(r *root.Root, dir string) error { return nil }
func (*watcher) remove(dir string)                  {}
func (*watcher) drain(apply func(change)) error     { return nil }
func (*watcher) wait() bool                         { return false }
func placeOf(r *root.Root) string                   { return absolute(r.Path()) }
func lowly(do func())                               { do() }
func (*mounts) close() error                        { return nil }
func (*mounts) changed() bool                       { return false }
func (m *mounts) trust(v *view) trust               { return m.all }

// mounts tells only of the root.
type mounts struct{ all trust }

// readMounts trusts stamps where the system tells when an inode changed.
func readMounts(r *root.Root) (*mounts, error) {
	info, err := r.Info()
	if err != nil || info.Changed.IsZero() {
		return nil, errNoTrust
	}
	return &mounts{trustStamps}, nil
}

// stated is what is known of a file without reading it; ok says that it is a
// regular file.
type stated struct {
	segment.Stamp
	links uint32
	ok    bool
}

func statDir(r *root.Root, dir string, bases []string, far bool) []stated {
	out := make([]stated, len(bases))
	for i, base := range bases {
		if info, err := r.Lstat(path.Join(dir, base)); err == nil && info.Regular() {
			out[i] = stated{stampOf(info), uint32(info.Links), true}
		}
	}
	return out
}
