package agent

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// prepare makes the agent ready: what it sets here its commands inherit, but
// for the first and the last.
func prepare(o options) error {
	if os.Getpid() != 1 {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("adopting orphans: %w", err)
		}
	}
	// When memory is short, a command goes before the server does. Where that
	// may not be said, it is so anyway, as it is larger.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0)
	limits := map[int]int64{unix.RLIMIT_CORE: 0}
	if o.processes > 0 {
		limits[unix.RLIMIT_NPROC] = int64(o.processes)
	}
	if o.fileSize > 0 {
		limits[unix.RLIMIT_FSIZE] = o.fileSize
	}
	for what, most := range limits {
		if err := lower(0, what, uint64(most), uint64(most)); err != nil {
			return fmt.Errorf("limit %d: %w", what, err)
		}
	}
	// Commands of the same user must not look into the agent.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("closing the agent's memory: %w", err)
	}
	return nil
}

// lower sets a limit of a process, and never raises it.
func lower(pid, what int, soft, hard uint64) error {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, what, nil, &now); err != nil {
		return err
	}
	next := unix.Rlimit{Max: min(hard, now.Max)}
	next.Cur = min(soft, now.Cur, next.Max)
	return unix.Prlimit(pid, what, &next, nil)
}

// limit bounds a process that has just been started, and what it will start.
// The watch bounds them all together; this is for what is faster than that. It
// may have ended already, so that it does not matter whether it can be done.
func limit(pid int, l wire.Limits) {
	if l.Memory > 0 {
		// Not the address space: node, go and java reserve more than there is.
		_ = lower(pid, unix.RLIMIT_DATA, uint64(2*l.Memory), uint64(2*l.Memory))
	}
	if l.FileSize > 0 {
		_ = lower(pid, unix.RLIMIT_FSIZE, uint64(l.FileSize), uint64(l.FileSize))
	}
	if l.OpenFiles > 0 {
		_ = lower(pid, unix.RLIMIT_NOFILE, uint64(l.OpenFiles), uint64(l.OpenFiles))
	}
	if seconds := uint64(l.CPUTime.Seconds() + 0.999); l.CPUTime > 0 {
		_ = lower(pid, unix.RLIMIT_CPU, seconds, seconds+1)
	}
}

func rawPipe(fds []int) error { return syscall.Pipe2(fds, syscall.O_CLOEXEC) }
