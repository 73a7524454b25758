package agent

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// prepare sets the attributes of the agent process. Commands inherit all but the
// first and the last.
func prepare(o options) error {
	if os.Getpid() != 1 {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("adopting orphans: %w", err)
		}
	}
	if err := ignoreThreadSignals(); err != nil {
		return err
	}
	// If memory runs out, the kernel kills a command rather than the server. If
	// this is not permitted, the larger size of the command has the same effect.
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
	// Other processes of the same user must not read the memory of the agent.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("protecting the memory of the agent: %w", err)
	}
	return nil
}

// lower lowers a limit of a process. It never raises it.
func lower(pid, what int, soft, hard uint64) error {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, what, nil, &now); err != nil {
		return err
	}
	next := unix.Rlimit{Max: min(hard, now.Max)}
	next.Cur = min(soft, now.Cur, next.Max)
	return unix.Prlimit(pid, what, &next, nil)
}

// limit sets the limits of a process that has just been started; its children
// inherit them. The watch limits all processes of a command together; these limits
// act faster. Errors are ignored, since the process may have ended already.
func limit(pid int, l wire.Limits) {
	if l.Memory > 0 {
		// Not RLIMIT_AS: node, go and java reserve more than the available memory.
		_ = lower(pid, unix.RLIMIT_DATA, uint64(2*l.Memory), uint64(2*l.Memory))
	}
	if l.FileSize > 0 {
		_ = lower(pid, unix.RLIMIT_FSIZE, uint64(l.FileSize), uint64(l.FileSize))
	}
	if seconds := uint64(l.CPUTime.Seconds() + 0.999); l.CPUTime > 0 {
		_ = lower(pid, unix.RLIMIT_CPU, seconds, seconds+1)
	}
}

func rawPipe(fds []int) error { return syscall.Pipe2(fds, syscall.O_CLOEXEC) }

// ignoreThreadSignals ignores the signals that C libraries use for their threads. The Go
// runtime leaves their default action in place: they end the process, so commands of the same
// user could end the agent with them.
func ignoreThreadSignals() error {
	for _, s := range []uintptr{32, 33, 34} {
		// The structure sigaction of the kernel: handler, flags, restorer, mask.
		action := [4]uint64{1} // SIG_IGN
		if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, s,
			uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0); errno != 0 {
			return fmt.Errorf("ignoring signal %d: %w", s, errno)
		}
	}
	return nil
}
