package readers_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

// A gauge measures the processes that read documents.
type gauge struct {
	stop context.CancelFunc
	done sync.WaitGroup
	peak int64 // bytes of the largest one
}

func newGauge(t *testing.T) *gauge {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	g := &gauge{stop: cancel}
	g.done.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			g.measure()
			<-tick.C
		}
	})
	return g
}

// close returns the peak of the memory.
func (g *gauge) close() int64 {
	g.stop()
	g.done.Wait()
	return g.peak
}

func (g *gauge) measure() {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		line, err := os.ReadFile(f)
		args := strings.Split(string(line), "\x00")
		if err != nil || len(args) < 2 || args[1] != document.ChildArg {
			continue
		}
		status, err := os.ReadFile(filepath.Join(filepath.Dir(f), "status"))
		if err != nil {
			continue
		}
		_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
		if fields := bytes.Fields(rest); len(fields) > 0 {
			kb, _ := strconv.ParseInt(string(fields[0]), 10, 64)
			g.peak = max(g.peak, kb<<10)
		}
	}
}
