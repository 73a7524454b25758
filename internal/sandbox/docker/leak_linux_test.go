package docker

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// TestNothingLeaks opens and closes sandboxes: afterwards there are as many
// goroutines and descriptors as before.
func TestNothingLeaks(t *testing.T) {
	p := newPlace(t)
	round := func() (goroutines, files int) {
		if err := p.open(p.spec()).Close(); err != nil {
			t.Fatal(err)
		}
		p.launcher.Close()
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return runtime.NumGoroutine(), len(fds)
	}
	goroutines, files := round()
	for deadline := time.Now().Add(long); ; {
		var g, f int
		for range 4 {
			g, f = round()
		}
		if g <= goroutines && f <= files {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines and %d descriptors became %d and %d", goroutines, files, g, f)
		}
	}
}
