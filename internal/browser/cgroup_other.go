//go:build !linux

package browser

// A cgroup limits the memory of a browser on Linux; here it does nothing.
type cgroup struct{}

func newCgroup(string, int64) *cgroup { return nil }

func (*cgroup) remove() error { return nil }

func removeCgroup(string) error { return nil }
