package searchindex

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// atLowPriority does something at a low priority: on a thread of its own, which ends
// with it.
func atLowPriority(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 10) // where that is refused, it runs like the rest
		do()
	}()
	<-done
}
