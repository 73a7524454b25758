//go:build unix

package commands

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	osexec "os/exec"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

// TestLargeOutput checks that a gigabyte of output, in lines and without, takes bounded memory, and that other
// calls are answered meanwhile.
func TestLargeOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("a gigabyte takes a while")
	}
	const flood = 1 << 30
	for name, source := range map[string]string{"lines": "yes 'a line that is not very long'",
		"no lines": "cat /dev/zero"} {
		t.Run(name, func(t *testing.T) {
			c := newCommands(t)
			ctx := caller(t)
			run(ctx, t, c, sh("true"))
			before := memory()
			p := start(ctx, t, c, sh(source+" | head -c 1073741824; echo; echo the end"))
			most, others := int64(0), 0
			for p.Status().State == sandbox.Running {
				if out, _ := run(ctx, t, c, sh("echo other")); out != "other\n" {
					t.Fatalf("another command gives %q", out)
				}
				others++
				most = max(most, memory()-before)
			}
			s := p.Status()
			if s.State != sandbox.Exited || p.Log(sandbox.Stdout).Size() != flood+int64(len("\nthe end\n")) {
				t.Fatalf("it is %+v with %d bytes", s, p.Log(sandbox.Stdout).Size())
			}
			end := make([]byte, 9)
			if _, err := p.Log(sandbox.Stdout).ReadAt(end, flood); err != nil || string(end) != "\nthe end\n" {
				t.Errorf("the end is %q, %v", end, err)
			}
			from, to := p.Log(sandbox.Stdout).Gap()
			t.Logf("in %s, %d others ran meanwhile, %d KiB more memory, %d MiB kept", s.Took, others, most>>10,
				(flood-(to-from))>>20)
			if most > 16<<20 {
				t.Errorf("it took %d KiB more memory", most>>10)
			}
			if others == 0 {
				t.Error("nobody else was served")
			}
			if s := p.Wait(ctx, sandbox.WaitCondition{Pattern: "^the end$"}); s.Matched != "the end" {
				t.Errorf("the last line is not found: %+v", s)
			}
		})
	}
}

// memory is what this program has from the system.
func memory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}

func TestAFullDisk(t *testing.T) {
	disk := needtest.Disk(t, "1m")
	c := newCommands(t, func(o *Options) { o.Spool = filepath.Join(disk, "spool") })
	ctx := caller(t)
	p := start(ctx, t, c, sh("echo begin; head -c 5000000 /dev/zero | tr '\\0' x; echo end"))
	s := finish(ctx, t, p)
	l := p.Log(sandbox.Stdout)
	if s.State != sandbox.Exited || s.Code != 0 || l.Size() != 5000000+10 || !strings.Contains(s.Why, "disk") {
		t.Errorf("it is %+v with %d bytes", s, l.Size())
	}
	from, to := l.Gap()
	if from < 500<<10 || l.Size()-to < memoryLog {
		t.Errorf("from %d to %d of %d is gone", from, to, l.Size())
	}
	head, tail := make([]byte, 6), make([]byte, 4)
	if _, err := l.ReadAt(head, 0); err != nil || string(head) != "begin\n" {
		t.Errorf("the head is %q, %v", head, err)
	}
	if _, err := l.ReadAt(tail, l.Size()-4); err != nil || string(tail) != "end\n" {
		t.Errorf("the tail is %q, %v", tail, err)
	}
	if err := p.Remove(ctx); err != nil {
		t.Fatal(err)
	}
	if out, s := run(ctx, t, c, sh("head -c 200000 /dev/zero | wc -c")); strings.TrimSpace(out) != "200000" ||
		s.Why != "" {
		t.Errorf("afterwards: %q %+v", out, s)
	}
}

// TestNothingLeaks counts files, goroutines and processes after the commands have ended.
func TestNothingLeaks(t *testing.T) {
	c := newCommands(t)
	ctx := caller(t)
	once := func() {
		for range 20 {
			p := start(ctx, t, c, sh("head -c 100000 /dev/zero; sleep 1000 >/dev/null 2>&1 & true"))
			finish(ctx, t, p)
			if err := p.Remove(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	once()
	files, routines := descriptors(t), runtime.NumGoroutine()
	once()
	for descriptors(t) > files+2 || runtime.NumGoroutine() > routines+2 { // the last ones may be about to end
		if ctx.Err() != nil {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d files were open, now %d are; there were %d goroutines, now %d: %s",
				files, descriptors(t), routines, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
		}
		runtime.Gosched()
	}
	if c.spool.used != 0 || len(c.running) != 0 {
		t.Errorf("%d bytes and %d commands are still counted", c.spool.used, len(c.running))
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		needtest.Lacking(t, "/dev/fd", err.Error())
	}
	return len(entries)
}

func BenchmarkTrue(b *testing.B) {
	path := needtest.Program(b, "true")
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if err := osexec.Command(path).Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("host", func(b *testing.B) {
		c := newCommands(b)
		ctx := as(b.Context(), "a", "s")
		run(ctx, b, c, sh("true"))
		b.ReportAllocs()
		for b.Loop() {
			p, err := c.Start(ctx, sandbox.Command{Argv: []string{path}})
			if err != nil {
				b.Fatal(err)
			}
			if s := p.Wait(ctx, sandbox.WaitCondition{}); s.Code != 0 || s.State != sandbox.Exited {
				b.Fatal(s)
			}
		}
	})
}
