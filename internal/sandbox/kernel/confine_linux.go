package kernel

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Files that a command may have open: what shells give by default, and how far
// programs may raise it.
const (
	openFiles    = 4096
	mayOpenFiles = 16384
)

// setLimits sets those limits that hold for each process, or for each user of a
// user namespace. None of them stops the agent.
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
		// The threads of the agent are counted too. Without a namespace all
		// that the user runs elsewhere would be.
		n := uint64(p.Processes + agentThreads)
		if err := setLimit(unix.RLIMIT_NPROC, n, n); err != nil {
			return fmt.Errorf("processes: %w", err)
		}
	}
	return nil
}

// agentThreads is more than the agent has.
const agentThreads = 24

// setLimit lowers a limit, and leaves one alone that is lower already.
func setLimit(which int, soft, hard uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(which, &now); err != nil {
		return err
	}
	hard = min(hard, now.Max)
	return unix.Setrlimit(which, &unix.Rlimit{Cur: min(soft, hard), Max: hard})
}

// lastCap is beyond the last capability of any kernel.
const lastCap = 63

// dropRights gives up every capability of the calling thread, for good.
func dropRights(jail bool) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("ambient: %w", err)
	}
	for c := uintptr(0); c <= lastCap; c++ {
		has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err != nil {
			break // there is none of this number
		}
		if has == 0 {
			continue
		}
		err = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EPERM) && !jail {
			// An ordinary user may not. Without new privileges nothing can be
			// gained from this set anyway.
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
