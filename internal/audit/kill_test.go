//go:build !windows

package audit

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

const childDir = "AUDIT_TEST_CHILD_DIR"

// TestChild is not a test of its own: other tests run it in a process, where it
// appends from eight goroutines and prints what was acknowledged.
func TestChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("only runs in a process of its own")
	}
	l, err := Open(dir, Options{SegmentBytes: 50_000, HeadEvery: 1, SyncEvery: 1})
	if err != nil {
		t.Fatal(err)
	}
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
func child(t *testing.T, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childDir+"="+dir)
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
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the process ended before it was killed")
	}
}

func TestKilledProcessesLoseNothingAcknowledged(t *testing.T) {
	dir := t.TempDir()
	acknowledged := map[string]bool{}
	for round := range 20 {
		cmd, out := child(t, dir)
		killAfter(t, 1+round*round*5, cmd, out, acknowledged)
		r := verify(t, dir)
		if !r.OK() {
			t.Fatalf("round %d: problems %v", round, r.Problems)
		}
	}
	for _, call := range calls(t, dir) {
		delete(acknowledged, call)
	}
	if len(acknowledged) > 0 {
		t.Errorf("%d acknowledged records are gone, as %v", len(acknowledged), acknowledged)
	}
}

func TestTwoProcessesAtOnce(t *testing.T) {
	dir := t.TempDir()
	one, oneOut := child(t, dir)
	two, twoOut := child(t, dir)
	acknowledged, more := map[string]bool{}, map[string]bool{}
	killAfter(t, 500, one, oneOut, acknowledged)
	killAfter(t, 500, two, twoOut, more)
	if r := verify(t, dir); !r.OK() || r.Chains != 2 {
		t.Errorf("%d chains, problems %v", r.Chains, r.Problems)
	}
	found := calls(t, dir)
	for _, call := range found {
		delete(acknowledged, call)
		delete(more, call)
	}
	if len(acknowledged)+len(more) > 0 {
		t.Errorf("%d acknowledged records are gone", len(acknowledged)+len(more))
	}
}
