package server

import (
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// noLeaks fails the test if it leaves goroutines of ours behind, or of
// net/http on our behalf. Call it first: it looks when everything else that
// the test has to clean up is done.
func noLeaks(tb testing.TB) {
	tb.Helper()
	before := goroutines()
	tb.Cleanup(func() {
		var left []string
		settle := func() bool {
			left = left[:0]
			for id, stack := range goroutines() {
				if _, old := before[id]; !old {
					left = append(left, stack)
				}
			}
			return len(left) == 0
		}
		if !soon(settle) {
			tb.Errorf("%d goroutines are left:\n\n%s", len(left), strings.Join(left, "\n\n"))
		}
	})
}

// hang is when a test gives up on what must happen. It measures nothing, so
// that a busy machine fails no test.
const hang = 2 * time.Minute

var goroutineHead = regexp.MustCompile(`^goroutine (\d+) `)

// goroutines returns the stacks of what could be a leak, by goroutine.
func goroutines() map[string]string {
	buffer := make([]byte, 16<<20)
	found := make(map[string]string)
	for stack := range strings.SplitSeq(string(buffer[:runtime.Stack(buffer, true)]), "\n\n") {
		head := goroutineHead.FindStringSubmatch(stack)
		ours := strings.Contains(stack, "mcp-tools/server.") || strings.Contains(stack, "net/http.")
		if head != nil && ours && !strings.Contains(stack, "testing.tRunner(") {
			found[head[1]] = stack
		}
	}
	return found
}

// soon waits for a condition that no channel reports: that the state of the process has
// become so. It gives up after a while.
func soon(so func() bool) bool {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(hang)
	for !so() {
		if time.Now().After(deadline) {
			return false
		}
		<-tick.C
	}
	return true
}

// expect waits for a channel, and fails the test when nothing comes.
func expect[T any](tb testing.TB, from <-chan T, what string) T {
	tb.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(hang):
		tb.Fatalf("%s did not happen", what)
	}
	panic("unreachable")
}
