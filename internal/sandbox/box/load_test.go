//go:build linux

package box_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// A counter throws away what it hears.
type counter struct {
	bytes  atomic.Int64
	exited chan struct{}
	gone   chan struct{}
}

func (c *counter) Output(_ sandbox.Stream, data []byte) { c.bytes.Add(int64(len(data))) }
func (c *counter) Skipped(_ sandbox.Stream, n int64)    { c.bytes.Add(n) }
func (c *counter) Exited(wire.ExitBody)                 { close(c.exited) }
func (c *counter) Gone(error)                           { close(c.gone) }

// highWater is the most memory that a process has had.
func highWater(t *testing.T, pid string) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kB, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kB << 10
}

func TestFloodOfOutput(t *testing.T) {
	const flood = 1 << 30
	b := open(t)
	run(t, b, sh("true"))
	near, far := highWater(t, "self"), highWater(t, strconv.Itoa(b.PID()))
	zeros, lines := fmt.Sprintf("head -c %d /dev/zero", flood), fmt.Sprintf("yes 012345678901234567890 | head -c %d", flood)
	skips := sh(lines)
	skips.Stdout = wire.Ends{Head: 1 << 20, Tail: 4 << 20}
	for _, body := range []wire.StartBody{sh(zeros), sh(lines), skips} {
		c := &counter{exited: make(chan struct{}), gone: make(chan struct{})}
		begun := time.Now()
		if _, err := b.Start(t.Context(), body, c); err != nil {
			t.Fatal(err)
		}
		others := 0
		for c.bytes.Load() < flood {
			select {
			case <-c.exited:
			default:
			}
			if s := run(t, b, sh("echo hello")); s.stdout() != "hello\n" {
				t.Fatalf("meanwhile: %q", s.stdout())
			}
			others++
		}
		wait(t, "gone", c.gone)
		t.Logf("%s: %d other commands meanwhile", time.Since(begun), others)
		if n := c.bytes.Load(); n != flood {
			t.Errorf("%d bytes came", n)
		}
	}
	near, far = highWater(t, "self")-near, highWater(t, strconv.Itoa(b.PID()))-far
	t.Logf("%d kB more here, %d kB there", near>>10, far>>10)
	if most := int64(16<<20) * factor; near > most || far > most {
		t.Error("that is too much")
	}
}

func TestManyCommandsAtOnce(t *testing.T) {
	b := open(t)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			want := fmt.Sprintf("command %d\n", i)
			s := newSink()
			if _, err := b.Start(t.Context(), sh("sleep 0.1; echo command "+strconv.Itoa(i)+"; exit "+strconv.Itoa(i)),
				s); err != nil {
				t.Error(err)
				return
			}
			wait(t, "gone", s.gone)
			if s.stdout() != want || s.exit.Code != i || s.exit.Left != 0 {
				t.Errorf("%d: %q %+v", i, s.stdout(), s.exit)
			}
		})
	}
	all.Wait()
	if b.Live() != 0 {
		t.Errorf("%d live", b.Live())
	}
}

func TestAStormOfCancels(t *testing.T) {
	b := open(t)
	mark := token()
	var all sync.WaitGroup
	var slowest atomic.Int64
	for range 100 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(30))*time.Millisecond)
			defer cancel()
			s := newSink()
			c, err := b.Start(ctx, sh(idle(mark)+" & "+idle(mark)), s)
			if err != nil {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				return
			}
			<-ctx.Done()
			begun := time.Now()
			if err := c.Kill(); err != nil {
				t.Error(err)
			}
			wait(t, "gone", s.gone)
			took := int64(time.Since(begun))
			for old := slowest.Load(); old < took && !slowest.CompareAndSwap(old, took); old = slowest.Load() {
			}
		})
	}
	all.Wait()
	t.Logf("the slowest was gone after %s", time.Duration(slowest.Load()))
	nobody(t, mark)
	if s := run(t, b, sh("echo well")); s.stdout() != "well\n" {
		t.Errorf("afterwards: %q", s.stdout())
	}
}

// TestNothingLeaks counts files and goroutines in the agent and here.
func TestNothingLeaks(t *testing.T) {
	before := runtime.NumGoroutine()
	b := open(t)
	files := func() int {
		list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", b.PID()))
		if err != nil {
			needtest.Lacking(t, "root", "the agent's files cannot be seen: "+err.Error())
		}
		return len(list)
	}
	round := func() {
		for range 20 {
			body := sh("sleep 1000 & cat & sleep 1000")
			body.Input = true
			c, s := start(t, b, body)
			if err := c.Kill(); err != nil {
				t.Fatal(err)
			}
			tty := sh("echo")
			tty.TTY, tty.Input = &wire.Size{Rows: 1, Cols: 1}, true
			wait(t, "gone", run(t, b, tty).gone)
			wait(t, "gone", run(t, b, sh("true")).gone)
			if _, err := b.Start(t.Context(), wire.StartBody{Argv: []string{"/nonesuch"}, Input: true},
				newSink()); err == nil {
				t.Fatal("it was started")
			}
			wait(t, "gone", s.gone)
		}
	}
	round()
	first := files()
	round()
	if now := files(); now > first {
		t.Errorf("the agent has %d files open, and had %d", now, first)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(hang)
	for runtime.NumGoroutine() > before && time.Now().Before(end) {
		runtime.Gosched()
	}
	if now := runtime.NumGoroutine(); now > before {
		t.Errorf("%d goroutines, and there were %d", now, before)
	}
}

func TestDroppedCommandsRunOn(t *testing.T) {
	b := open(t)
	dir := t.TempDir()
	body := sh("for i in 1 2 3 4 5 6 7 8 9; do head -c 100000 /dev/zero; done; touch done; sleep 1000")
	body.Dir = dir
	c, s := start(t, b, body)
	c.Drop()
	end := time.Now().Add(hang)
	for {
		if _, err := os.Stat(dir + "/done"); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it does not run on")
		}
		runtime.Gosched()
	}
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	for b.Live() > 0 && time.Now().Before(end) {
		runtime.Gosched()
	}
	select {
	case <-s.gone:
		t.Error("who has dropped it was told of its end")
	default:
	}
}
