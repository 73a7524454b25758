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

// cgroupTimeout is how long dead processes may keep a group.
const cgroupTimeout = 2 * time.Second

// A cgroup is a cgroup, which bounds what a browser and its pages take together.
// Where there is more than the bound the kernel ends a page, not the server. It
// has the name of the browser's place, and is removed with it.
type cgroup struct{ dir string }

// newCgroup makes one. Where this program may not make any it is nil, whose
// methods do nothing.
func newCgroup(name string, memory int64) *cgroup {
	for _, parent := range cgroupParents() {
		dir := filepath.Join(parent.dir, name)
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		g := &cgroup{dir}
		if writeSetting(dir, parent.limit, memory) == nil {
			_ = writeSetting(dir, parent.swap, parent.swapLimit(memory)) // which not every kernel counts
			return g
		}
		_ = g.remove() // nothing is in it
	}
	return nil
}

// A cgroupParent is a cgroup in which there may be others, and what their bounds
// are called.
type cgroupParent struct{ dir, limit, swap string }

// swapLimit is the bound of swap: version 1 counts memory with it.
func (p cgroupParent) swapLimit(memory int64) int64 {
	if p.swap == "memory.swap.max" {
		return 0
	}
	return memory
}

// cgroupParents are that of this process, and the one around it.
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

// add puts a process in, and with it what it will start. One that cannot be
// put in has no bound, as where there is no group.
func (g *cgroup) add(pid int) {
	if g != nil {
		_ = writeSetting(g.dir, "cgroup.procs", int64(pid))
	}
}

// remove ends what is left in the group, and the group.
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
		text, _ := os.ReadFile(filepath.Join(g.dir, "cgroup.procs")) // or it is gone now
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 1 && pid != os.Getpid() {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
}

// removeCgroup removes what a server that crashed has left.
func removeCgroup(name string) (err error) {
	for _, parent := range cgroupParents() {
		err = errors.Join(err, (&cgroup{filepath.Join(parent.dir, name)}).remove())
	}
	return err
}

func writeSetting(dir, name string, n int64) error {
	return os.WriteFile(filepath.Join(dir, name), strconv.AppendInt(nil, n, 10), 0)
}
