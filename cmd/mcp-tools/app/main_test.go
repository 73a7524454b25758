package app

import (
	"os"
	"syscall"
	"testing"
)

// TestMain also runs the test binary as a child of the program.
func TestMain(m *testing.M) {
	if code, mine := RunChild(os.Args); mine {
		syscall.Exit(code)
	}
	os.Exit(m.Run())
}
