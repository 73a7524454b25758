//go:build unix

package readers_test

import (
	"syscall"
	"testing"
)

// largestChild returns the memory of the largest process that has ended, in bytes.
func largestChild(t *testing.T) int64 {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage); err != nil {
		t.Fatal(err)
	}
	return usage.Maxrss << 10
}
