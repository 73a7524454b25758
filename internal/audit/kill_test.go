//go:build !windows

package audit

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	childDir = "AUDIT_TEST_CHILD_DIR"
	childDSN = "AUDIT_TEST_CHILD_DSN"
)

// TestChild is not a test by itself: other tests run it in a process, where it
// appends from eight goroutines and prints what was acknowledged.
func TestChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("only runs in a child process")
	}
	w := newWorld(t, os.Getenv(childDSN))
	w.dir = dir
	l := w.open(t, Options{HeadEvery: time.Millisecond})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200_000 {
				call := fmt.Sprintf("%d-%d-%d", os.Getpid(), g, i)
				if err := l.Append(t.Context(), Record{Call: call, Error: strings.Repeat("x", 300)}); err != nil {
					t.Error(err)
				}
				fmt.Printf("acknowledged %s\n", call)
			}
		})
	}
	wg.Wait()
}

// child starts a process that appends, and returns its acknowledgements.
func child(t *testing.T, w *world) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childDir+"="+w.dir, childDSN+"="+w.dsn)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// killAfter kills the process when it has acknowledged n records, and adds all
// that it has acknowledged until it was dead.
func killAfter(t *testing.T, n int, cmd *exec.Cmd, out *bufio.Scanner, acknowledged map[string]bool) {
	t.Helper()
	for seen := 0; out.Scan(); {
		call, ok := strings.CutPrefix(out.Text(), "acknowledged ")
		if !ok {
			continue
		}
		acknowledged[call] = true
		if seen++; seen == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the process ended before it was killed")
	}
}

// TestKilledProcessesLoseNothingAcknowledged runs several processes at once and
// kills all of them while they write.
func TestKilledProcessesLoseNothingAcknowledged(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const rounds, processes = 5, 3
		acknowledged := map[string]bool{}
		for round := range rounds {
			var mu sync.Mutex
			var wg sync.WaitGroup
			for i := range processes {
				cmd, out := child(t, w)
				wg.Go(func() {
					mine := map[string]bool{}
					killAfter(t, 1+(round+i)*40, cmd, out, mine)
					mu.Lock()
					defer mu.Unlock()
					maps.Copy(acknowledged, mine)
				})
			}
			wg.Wait()
			r := w.verify(t)
			if want := (round + 1) * processes; !r.OK() || r.Chains != want {
				t.Fatalf("round %d: %d chains, want %d; problems: %v", round, r.Chains, want, r.Problems)
			}
			if len(r.Notes) > 0 || Waiting(w.dir) {
				t.Errorf("notes %v, and journals %v", r.Notes, w.journals(t))
			}
		}
		seen := map[string]bool{}
		for _, call := range w.calls(t) {
			if seen[call] {
				t.Errorf("%s is there twice", call)
			}
			seen[call] = true
			delete(acknowledged, call)
		}
		if len(acknowledged) > 0 {
			t.Errorf("%d acknowledged records are missing: %v", len(acknowledged), acknowledged)
		}
	})
}
