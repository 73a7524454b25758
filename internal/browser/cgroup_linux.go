package browser

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroupTimeout limits the wait for killed processes to leave a cgroup.
const cgroupTimeout = 2 * time.Second

// A cgroup limits the memory of a browser and its pages. Beyond the limit, the kernel kills
// a page and not the server. It has the name of the browser's root directory.
type cgroup struct{ dir string }

// newCgroup creates a cgroup. It returns nil if this program is not permitted to; the
// methods of a nil cgroup do nothing.
func newCgroup(name string, memory int64) *cgroup {
	for _, parent := range cgroupParents() {
		dir := filepath.Join(parent.dir, name)
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		g := &cgroup{dir}
		if writeSetting(dir, parent.limit, memory) == nil {
			_ = writeSetting(dir, parent.swap, parent.swapLimit(memory)) // some kernels do not limit swap
			return g
		}
		_ = g.remove() // it is empty
	}
	return nil
}

// A cgroupParent is a cgroup that may contain others, with the names of its limits.
type cgroupParent struct{ dir, limit, swap string }

// swapLimit returns the limit for swap. In version 1 it includes memory.
func (p cgroupParent) swapLimit(memory int64) int64 {
	if p.swap == "memory.swap.max" {
		return 0
	}
	return memory
}

// cgroupParents returns the cgroup of this process and its parent.
func cgroupParents() (all []cgroupParent) {
	const root = "/sys/fs/cgroup"
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		switch {
		case controllers == "memory":
			all = append(all, cgroupParent{filepath.Join(root, "memory", path), "memory.limit_in_bytes",
				"memory.memsw.limit_in_bytes"})
		case controllers == "":
			for _, dir := range []string{filepath.Join(root, path), filepath.Dir(filepath.Join(root, path))} {
				handed, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
				if err == nil && strings.Contains(" "+strings.TrimSpace(string(handed))+" ", " memory ") {
					all = append(all, cgroupParent{dir, "memory.max", "memory.swap.max"})
				}
			}
		}
	}
	return all
}

// add adds a process, and with it its future children. If that fails, the process has no
// limit, as without a cgroup.
func (g *cgroup) add(pid int) {
	if g != nil {
		_ = writeSetting(g.dir, "cgroup.procs", int64(pid))
	}
}

// remove kills the processes in the cgroup and removes it.
func (g *cgroup) remove() error {
	if g == nil {
		return nil
	}
	for end := time.Now().Add(cgroupTimeout); ; time.Sleep(time.Millisecond) {
		err := os.Remove(g.dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if time.Now().After(end) {
			return err
		}
		text, _ := os.ReadFile(filepath.Join(g.dir, "cgroup.procs")) // it may be removed already
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 1 && pid != os.Getpid() {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
}

// removeCgroup removes the cgroup of a crashed server.
func removeCgroup(name string) (err error) {
	for _, parent := range cgroupParents() {
		err = errors.Join(err, (&cgroup{filepath.Join(parent.dir, name)}).remove())
	}
	return err
}

func writeSetting(dir, name string, n int64) error {
	return os.WriteFile(filepath.Join(dir, name), strconv.AppendInt(nil, n, 10), 0)
}
