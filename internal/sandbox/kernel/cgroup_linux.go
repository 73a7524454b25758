package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"golang.org/x/sys/unix"
)

// A cgroup limits all processes of a sandbox together. It is one directory with cgroup
// version 2, and one for each resource with version 1.
type cgroup struct{ dirs []string }

const (
	cgroups     = "/sys/fs/cgroup"
	groupPrefix = "mcp-tools-"
)

// newCgroup creates a cgroup below the cgroup of this process, or beside it. It returns nil
// without permission or without a memory limit.
func newCgroup(id string, lim sandbox.Limits) *cgroup {
	if lim.Memory <= 0 {
		return nil
	}
	name := fmt.Sprintf("%s%d-%s-%s", groupPrefix, os.Getpid(), sandbox.StartTime(os.Getpid()), safeName(id))
	own := ownCgroups()
	if path, ok := own[""]; ok && has(filepath.Join(cgroups, "cgroup.controllers"), "memory") {
		for _, parent := range []string{filepath.Join(cgroups, path), filepath.Dir(filepath.Join(cgroups, path))} {
			if !has(filepath.Join(parent, "cgroup.subtree_control"), "memory") {
				continue
			}
			if g := oneCgroup(filepath.Join(parent, name), lim); g != nil {
				return g
			}
		}
		return nil
	}
	return oldCgroup(own, name, lim)
}

func oneCgroup(dir string, lim sandbox.Limits) *cgroup {
	if os.Mkdir(dir, 0o755) != nil {
		return nil
	}
	g := &cgroup{[]string{dir}}
	if setting(dir, "memory.max", lim.Memory) != nil {
		g.remove()
		return nil
	}
	// The other limits may be unavailable; other mechanisms enforce them too.
	setting(dir, "memory.swap.max", 0)
	if lim.Processes > 0 {
		setting(dir, "pids.max", int64(lim.Processes+agentThreads))
	}
	return g
}

// oldCgroup creates the groups of version 1.
func oldCgroup(own map[string]string, name string, lim sandbox.Limits) *cgroup {
	g := &cgroup{}
	dir := func(controller string) string {
		path, ok := own[controller]
		if !ok {
			return ""
		}
		d := filepath.Join(cgroups, controller, path, name)
		if os.Mkdir(d, 0o755) != nil {
			return ""
		}
		g.dirs = append(g.dirs, d)
		return d
	}
	memory := dir("memory")
	if memory == "" || setting(memory, "memory.limit_in_bytes", lim.Memory) != nil {
		g.remove()
		return nil
	}
	setting(memory, "memory.memsw.limit_in_bytes", lim.Memory)
	if d := dir("pids"); d != "" && lim.Processes > 0 {
		setting(d, "pids.max", int64(lim.Processes+agentThreads))
	}
	return g
}

// take adds a process to the group. Its children inherit the group.
func (g *cgroup) take(pid int) error {
	for _, d := range g.dirs {
		if err := setting(d, "cgroup.procs", int64(pid)); err != nil {
			return err
		}
	}
	return nil
}

// remove kills the processes in the group and removes it.
func (g *cgroup) remove() {
	if g == nil {
		return
	}
	for _, d := range g.dirs {
		removeCgroup(d)
	}
}

// removeCgroup retries for a while, since dead processes leave a group with a delay.
func removeCgroup(dir string) {
	const tries, pause = 2000, 5 * time.Millisecond
	for range tries {
		if err := os.Remove(dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
		text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			return
		}
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 1 && pid != os.Getpid() {
				unix.Kill(pid, unix.SIGKILL)
			}
		}
		time.Sleep(pause)
	}
}

// sweep removes the groups of dead processes.
func sweep() {
	for controller, path := range ownCgroups() {
		at := filepath.Join(cgroups, controller, path)
		for _, parent := range []string{at, filepath.Dir(at)} {
			if !strings.HasPrefix(parent, cgroups) {
				continue
			}
			found, _ := filepath.Glob(filepath.Join(parent, groupPrefix+"*"))
			for _, dir := range found {
				parts := strings.SplitN(strings.TrimPrefix(filepath.Base(dir), groupPrefix), "-", 3)
				pid, err := strconv.Atoi(parts[0])
				if err == nil && len(parts) == 3 && sandbox.StartTime(pid) != parts[1] {
					removeCgroup(dir)
				}
			}
		}
	}
}

// ownCgroups returns the groups of this process by resource; version 2 has the key "".
func ownCgroups() map[string]string {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	own := map[string]string{}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for c := range strings.SplitSeq(parts[1], ",") {
			own[c] = parts[2]
		}
	}
	return own
}

func has(file, word string) bool {
	text, err := os.ReadFile(file)
	return err == nil && strings.Contains(" "+strings.TrimSpace(string(text))+" ", " "+word+" ")
}

func setting(dir, name string, n int64) error {
	return os.WriteFile(filepath.Join(dir, name), strconv.AppendInt(nil, n, 10), 0)
}

// safeName removes the characters of an ID that a directory name must not contain.
func safeName(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return -1
	}, id)
}
