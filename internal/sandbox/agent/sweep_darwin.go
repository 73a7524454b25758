package agent

import (
	"bytes"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Sweep kills the processes with the mark of an agent or a command, also those that left their process group. macOS
// shows no variables of its own protected programs, so that Sweep does not find such programs if they left the
// group.
func Sweep(mark string) {
	for range 20 {
		found := marked(mark)
		for _, pid := range found {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(found) == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// marked returns the processes of this user that have a mark.
func marked(mark string) (found []int) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.uid", os.Getuid())
	if err != nil {
		return nil
	}
	for i := range all {
		pid := int(all[i].Proc.P_pid)
		const zombie = 5
		if pid == os.Getpid() || all[i].Proc.P_stat == zombie {
			continue
		}
		text, err := unix.SysctlRaw("kern.procargs2", pid)
		if err == nil && bytes.Contains(text, []byte(markName+"="+mark)) {
			found = append(found, pid)
		}
	}
	return found
}
