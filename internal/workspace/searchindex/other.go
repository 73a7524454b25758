//go:build !linux

package searchindex

import "github.com/mcp-tools/mcp-tools/internal/workspace/root"

// There is no index on this system: newWatcher fails, and nothing else is called.

type watcher struct{}

func newWatcher() (*watcher, error)                      { return nil, errNoEvents }
func (*watcher) close() error                            { return nil }
func (*watcher) add(r *root.Root, dir string) error      { return nil }
func (*watcher) addNames(r *root.Root, dir string) error { return nil }
func (*watcher) remove(dir string)                       {}
func (*watcher) drain(apply func(change)) error          { return nil }
func (*watcher) wait() bool                              { return false }

type mountTable struct{}

func readMounts(*root.Root) (*mountTable, error) { return nil, errNoEvents }
func (*mountTable) close() error                 { return nil }
func (*mountTable) changed() bool                { return false }
func (*mountTable) trusted(*view) bool           { return false }
func (*mountTable) reliable() bool               { return false }

func rootPath(r *root.Root) string                          { return absolute(r.Path()) }
func atLowPriority(do func())                               { do() }
func statDir(*root.Root, string, []string) (all []fileStat) { return nil }
