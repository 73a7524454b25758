package kernel

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Limits of open files: the default of most shells, and how far programs may raise it.
const (
	openFiles    = 4096
	mayOpenFiles = 16384
)

// setLimits sets the limits of each process, or of each user of a user namespace. The
// agent itself stays below them.
func setLimits(p plan) error {
	if err := setLimit(unix.RLIMIT_CORE, 0, 0); err != nil {
		return fmt.Errorf("core files: %w", err)
	}
	if err := setLimit(unix.RLIMIT_NOFILE, openFiles, mayOpenFiles); err != nil {
		return fmt.Errorf("open files: %w", err)
	}
	if p.FileSize > 0 {
		if err := setLimit(unix.RLIMIT_FSIZE, uint64(p.FileSize), uint64(p.FileSize)); err != nil {
			return fmt.Errorf("file size: %w", err)
		}
	}
	if p.Processes > 0 && p.Jail {
		// The limit counts the threads of the agent too. Without a namespace it
		// would count all processes of the user.
		n := uint64(p.Processes + agentThreads)
		if err := setLimit(unix.RLIMIT_NPROC, n, n); err != nil {
			return fmt.Errorf("processes: %w", err)
		}
	}
	return nil
}

// agentThreads is an upper bound of the agent's threads.
const agentThreads = 24

// setLimit lowers a limit. It never raises it.
func setLimit(which int, soft, hard uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(which, &now); err != nil {
		return err
	}
	hard = min(hard, now.Max)
	return unix.Setrlimit(which, &unix.Rlimit{Cur: min(soft, hard), Max: hard})
}

// lastCap is greater than the last capability of any kernel.
const lastCap = 63

// dropRights permanently drops all capabilities of the calling thread.
func dropRights(jail bool) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("ambient: %w", err)
	}
	for c := uintptr(0); c <= lastCap; c++ {
		has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err != nil {
			break // the kernel has no capability with this number
		}
		if has == 0 {
			continue
		}
		err = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EPERM) && !jail {
			// An unprivileged user may not drop it. With no_new_privs the
			// bounding set grants nothing anyway.
			break
		}
		if err != nil {
			return fmt.Errorf("bounding set: %w", err)
		}
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&head, &none[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	return nil
}
