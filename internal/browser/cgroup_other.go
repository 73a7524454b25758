//go:build !linux

package browser

// A group would bound what a browser takes: this system has none.
type cgroup struct{}

func newCgroup(string, int64) *cgroup { return nil }

func (*cgroup) remove() error { return nil }

func removeCgroup(string) error { return nil }
