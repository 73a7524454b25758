package kernel_test

import (
	osexec "os/exec"
	"testing"
)

// BenchmarkBare is what a command costs without anything.
func BenchmarkBare(b *testing.B) {
	for b.Loop() {
		if err := osexec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTrue is the same in a box that is open.
func BenchmarkTrue(b *testing.B) {
	c := open(b, launcher(), openDir(b), nil)
	for b.Loop() {
		if code, out := c.run("/bin/true"); code != 0 {
			b.Fatal(out)
		}
	}
}

// BenchmarkOpen is a box from its start to its end.
func BenchmarkOpen(b *testing.B) {
	l, ws := launcher(), openDir(b)
	open(b, l, ws, nil).Close()
	for b.Loop() {
		open(b, l, ws, nil).Close()
	}
}
