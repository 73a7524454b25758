package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// This file measures us against stock mcp-go (server/testdata/bare): two real
// processes, built alike, that answer the same requests in turns. Rounds are
// short, so whatever else the machine does meets both, and what counts is the
// median of the ratios of neighbouring rounds. Ours limits, decides, scrubs
// and writes its audit log to the disk all the while. How they are spoken to
// is in bench_peer_test.go.

// BenchmarkAgainstBare reports x_vs_bare: for calls our speed as a multiple of
// bare's (more is better), for start and memory our need as a multiple of
// bare's (less is better).
func BenchmarkAgainstBare(b *testing.B) {
	ours, bare := programs(b)
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprintf("stdio/callers=%d", callers), func(b *testing.B) {
			mine, theirs := dialUp(b, ours), dialUp(b, bare)
			compareCalls(b, 500,
				func(n int) { mine.calls(n, callers) },
				func(n int) { theirs.calls(n, callers) })
		})
	}
	b.Run("http/callers=32", func(b *testing.B) {
		mine, theirs := browse(b, ours, 32), browse(b, bare, 32)
		compareCalls(b, 640, mine.calls, theirs.calls)
	})
	b.Run("start", func(b *testing.B) { compareStarts(b, ours, bare) })
	b.Run("memory", func(b *testing.B) { compareMemory(b, ours, bare) })
}

// A tally collects what two programs needed for the same thing.
type tally struct{ ours, bare []float64 }

// report says how much each needs, and the median of the ratios.
func (t *tally) report(b *testing.B, prefix, unit string) {
	ratios := make([]float64, len(t.ours))
	for i := range ratios {
		ratios[i] = t.ours[i] / t.bare[i]
	}
	b.ReportMetric(0, "ns/op") // of a round: says nothing
	b.ReportMetric(middle(t.ours), "ours-"+prefix+unit)
	b.ReportMetric(middle(t.bare), "bare-"+prefix+unit)
	b.ReportMetric(middle(ratios), prefix+"x_vs_bare")
}

// compareCalls lets both make n calls in turns. Who begins changes from round
// to round: the second may find a cleaner or a dirtier machine.
func compareCalls(b *testing.B, n int, ours, bare func(n int)) {
	speed := func(calls func(int)) float64 {
		start := time.Now()
		calls(n)
		return float64(n) / time.Since(start).Seconds()
	}
	ours(n) // so that both are warm
	bare(n)
	var t tally
	for b.Loop() {
		if len(t.ours)%2 == 0 {
			t.ours = append(t.ours, speed(ours))
			t.bare = append(t.bare, speed(bare))
		} else {
			t.bare = append(t.bare, speed(bare))
			t.ours = append(t.ours, speed(ours))
		}
	}
	t.report(b, "", "calls/s")
}

// compareStarts measures from the start of the process to its first answer to
// tools/list. The data directory is there already, as every time but one.
func compareStarts(b *testing.B, ours, bare program) {
	milliseconds := func(p program) float64 {
		start := time.Now()
		peer := dialUp(b, p)
		took := time.Since(start)
		peer.end()
		return took.Seconds() * 1000
	}
	milliseconds(ours) // makes the directory
	milliseconds(bare)
	var t tally
	for b.Loop() {
		t.ours = append(t.ours, milliseconds(ours))
		t.bare = append(t.bare, milliseconds(bare))
	}
	t.report(b, "", "ms")
}

// compareMemory looks at the resident memory after the first answer and after
// a thousand calls, on systems that report it.
func compareMemory(b *testing.B, ours, bare program) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		b.Skip("this system does not tell how much memory is resident")
	}
	measure := func(p program, first, later []float64) (_, _ []float64) {
		peer := dialUp(b, p)
		defer peer.end()
		first = append(first, resident(b, peer.pid()))
		peer.calls(1000, 1)
		return first, append(later, resident(b, peer.pid()))
	}
	var idle, used tally
	for b.Loop() {
		idle.ours, used.ours = measure(ours, idle.ours, used.ours)
		idle.bare, used.bare = measure(bare, idle.bare, used.bare)
	}
	idle.report(b, "idle-", "MB")
	used.report(b, "used-", "MB")
}

// resident is the resident memory of a process in MB.
func resident(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kib, err := strconv.Atoi(number)
	if err != nil {
		b.Fatalf("VmRSS is %q", number)
	}
	return float64(kib) * 1024 / 1e6
}

// middle is the median.
func middle(of []float64) float64 { return slices.Sorted(slices.Values(of))[len(of)/2] }
