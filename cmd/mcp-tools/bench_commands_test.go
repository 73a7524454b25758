//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
)

// This file measures what a command costs that is run through the whole house
// and over stdio, against the same program started bare, in turns. What counts
// is the median of the ratios, as in bench_test.go.

const execLine = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"exec","arguments":{"argv":["/bin/true","%d"]}}}`

// commander starts us with commands in a tier.
func commander(b *testing.B, tier string, flags ...string) *peer {
	b.Helper()
	dir := b.TempDir()
	settings := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(settings, []byte(generous), 0o600); err != nil {
		b.Fatal(err)
	}
	serve := []string{
		"serve", "--config", settings, "--data", filepath.Join(dir, "data"), "--workspace", b.TempDir(),
		"--profile", "coding", "--autonomy", "full", "--sandbox", tier,
	}
	return dialUp(b, program{path: build(b, dir, "mcp-tools", "."), stdio: append(serve, flags...)})
}

// command makes one call of exec and returns the response.
func (c *peer) command(line string) []byte {
	c.say(line)
	if err := c.in.Flush(); err != nil {
		c.b.Fatal(err)
	}
	answer, err := c.out.ReadBytes('\n')
	if err != nil || bytes.Contains(answer, []byte(`"isError":true`)) || bytes.Contains(answer, []byte(`"error":`)) {
		c.b.Fatalf("the answer is %q, %v", answer, err)
	}
	return answer
}

// BenchmarkTrue reports what exec of true takes: x_vs_bare against fork and
// exec of the same program (at most 1.3 on the host), and more_ms beyond that
// (at most 5 in the kernel sandbox).
func BenchmarkTrue(b *testing.B) {
	for _, tier := range []string{"host", "kernel"} {
		b.Run(tier, func(b *testing.B) {
			if f := (&kernel.Launcher{}).Probe(b.Context()); tier == "kernel" && !f.Works {
				needtest.Lacking(b, "kernel sandbox", f.Text)
			}
			ours := commander(b, tier)
			compareTimes(b, ours.true, func() {
				cmd := exec.Command("/bin/true")
				cmd.Env = []string{"LANG=C.UTF-8"} // as ours has it: reading the locale is a part of true
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

func (c *peer) true() {
	c.last++
	c.command(fmt.Sprintf(execLine, c.last, c.last))
}

// compareTimes does both in turns, in short rounds: the second may find a
// cleaner or a dirtier machine.
func compareTimes(b *testing.B, ours, bare func()) {
	const round = 5
	milliseconds := func(do func()) float64 {
		start := time.Now()
		for range round {
			do()
		}
		return time.Since(start).Seconds() * 1000 / round
	}
	milliseconds(ours)
	milliseconds(bare)
	var t tally
	var more []float64
	for b.Loop() {
		if len(more)%2 == 0 {
			t.ours, t.bare = append(t.ours, milliseconds(ours)), append(t.bare, milliseconds(bare))
		} else {
			t.bare, t.ours = append(t.bare, milliseconds(bare)), append(t.ours, milliseconds(ours))
		}
		more = append(more, t.ours[len(more)]-t.bare[len(more)])
	}
	t.report(b, "", "ms")
	b.ReportMetric(middle(more), "more_ms")
}

// benchImage holds nothing but busybox.
const benchImage = "mcp-tools-bench:busybox"

// BenchmarkContainer reports as x_vs_bare how a command in a warm container
// compares with docker run of the same image (less is better; the goal is 0.2).
func BenchmarkContainer(b *testing.B) {
	importBusybox(b)
	ours := commander(b, "docker", "--sandbox-image", benchImage)
	compareTimes(b, ours.true, func() {
		out, err := exec.Command("docker", "run", "--rm", "--network", "none", benchImage, "/bin/true").CombinedOutput()
		if err != nil {
			b.Fatalf("docker run: %v\n%s", err, out)
		}
	})
}

// importBusybox makes the image from this machine's busybox.
func importBusybox(b *testing.B) {
	b.Helper()
	docker, busybox := needtest.Program(b, "docker"), needtest.Program(b, "busybox")
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, docker, "info").CombinedOutput(); err != nil {
		needtest.Lacking(b, "docker engine", fmt.Sprintf("no engine answers: %v: %s", err, out))
	}
	root := b.TempDir()
	for _, dir := range []string{"bin", "tmp", "proc", "sys", "dev", "etc"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(root, "tmp"), 0o777|os.ModeSticky); err != nil {
		b.Fatal(err)
	}
	text, err := os.ReadFile(busybox)
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"sh", "true"} {
		if err := os.WriteFile(filepath.Join(root, "bin", name), text, 0o755); err != nil {
			b.Fatal(err)
		}
	}
	pack := exec.Command("/bin/sh", "-c", `tar -C "$0" -c . | docker import - "$1"`, root, benchImage)
	if out, err := pack.CombinedOutput(); err != nil {
		b.Fatalf("making the image: %v\n%s", err, out)
	}
	b.Cleanup(func() { _ = exec.Command("docker", "rmi", benchImage).Run() }) // an error does not matter
	if err := exec.Command("docker", "run", "--rm", benchImage, "/bin/true").Run(); err != nil {
		needtest.Lacking(b, "static busybox", "busybox needs shared libraries; install busybox-static")
	}
}

// BenchmarkFlood reports how much more memory the server has, at its most, for
// a command that writes 1 GB (the goal is 16 MB), and how long another call
// takes during that time, median and maximum.
func BenchmarkFlood(b *testing.B) {
	for name, command := range map[string]string{
		"lines":   "yes 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde | head -c 1000000000",
		"no-ends": "head -c 1000000000 /dev/zero | tr '\\\\0' x",
	} {
		b.Run(name, func(b *testing.B) {
			var more, waits []float64
			for b.Loop() {
				m, w := flood(b, command)
				more, waits = append(more, m), append(waits, w...)
			}
			b.ReportMetric(0, "ns/op") // says nothing
			b.ReportMetric(middle(more), "more_MB")
			b.ReportMetric(middle(waits), "other_ms")
			b.ReportMetric(most(waits), "most_other_ms")
		})
	}
}

func flood(b *testing.B, command string) (more float64, waits []float64) {
	ours := commander(b, "host")
	defer ours.end()
	for range 20 {
		ours.true()
	}
	before := resident(b, ours.pid())
	const id = 1 << 20
	ours.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"exec","arguments":{"command":"%s"}}}`, id, command))
	for done := false; !done; {
		begun := time.Now()
		ours.last++
		ours.say(fmt.Sprintf(callLine, ours.last))
		if err := ours.in.Flush(); err != nil {
			b.Fatal(err)
		}
		for {
			line, err := ours.out.ReadBytes('\n')
			if err != nil {
				b.Fatal(err)
			}
			if idOf(line) == ours.last {
				break
			}
			done = idOf(line) == id
			if done && (!json.Valid(line) || strings.Contains(string(line), `"isError":true`)) {
				b.Fatalf("the answer is %.300q", line)
			}
		}
		waits = append(waits, time.Since(begun).Seconds()*1000)
		more = max(more, resident(b, ours.pid())-before)
		time.Sleep(2 * time.Millisecond) // others have work too
	}
	return more, waits
}

func most(of []float64) float64 {
	var m float64
	for _, one := range of {
		m = max(m, one)
	}
	return m
}
