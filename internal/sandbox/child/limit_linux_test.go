package child_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/child"
)

func TestYield(t *testing.T) {
	done := make(chan [2]int)
	go func() { // the thread ends with the goroutine
		before, _ := unix.Getpriority(unix.PRIO_PROCESS, 0)
		child.Yield()
		after, _ := unix.Getpriority(unix.PRIO_PROCESS, 0)
		done <- [2]int{before, after} // the system call returns 20 less the nice value
	}()
	if got := <-done; got[1] >= got[0] {
		t.Errorf("the priority was %d and is %d", got[0], got[1])
	}
}
