package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// processesWith returns the processes whose command lines contain a text.
func processesWith(t testing.TB, what string) (pids []int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		needtest.Lacking(t, "proc", "there is no list of processes")
	}
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		text, _ := os.ReadFile(name) // the process may have ended
		pid := 0
		if strings.Contains(string(text), what) {
			fmt.Sscanf(name, "/proc/%d/", &pid)
			pids = append(pids, pid)
		}
	}
	return pids
}

// waitForNoProcess waits until no command line of a process contains a text.
func waitForNoProcess(t testing.TB, what string) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; {
		left := processesWith(t, what)
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("processes are left: %v", left)
		}
		runtime.Gosched()
	}
}

func descriptors(t testing.TB) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		needtest.Lacking(t, "proc", "descriptors cannot be counted")
	}
	return len(all)
}

// TestCloseLeavesNothing checks that browsers leave no process, file, descriptor or goroutine.
func TestCloseLeavesNothing(t *testing.T) {
	b := atShop(t)
	b.four()
	files, routines := descriptors(t), runtime.NumGoroutine()
	for range 4 {
		b.four()
		if left, err := os.ReadDir(b.home); len(left) > 0 || err != nil {
			t.Fatalf("%d places are left, %v", len(left), err)
		}
		waitForNoProcess(t, b.home)
	}
	for end := time.Now().Add(3 * time.Minute); ; runtime.Gosched() {
		nowFiles, nowRoutines := descriptors(t), runtime.NumGoroutine()
		if nowFiles <= files+4 && nowRoutines <= routines+10 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("there are %d descriptors, before there were %d; and %d goroutines, before %d", nowFiles, files,
				nowRoutines, routines)
		}
	}
}

// four opens browsers of four callers at the same time, and closes them.
func (b *fixture) four() {
	b.t.Helper()
	var all sync.WaitGroup
	for _, user := range []string{"ann", "bob", "cid", "dan"} {
		ctx := b.as(user)
		all.Go(func() {
			if _, err := b.browsers.Do(ctx, Request{Action: Open, URL: shop + "/frame.html"}); err != nil {
				b.t.Error(err)
			}
			if pids := processesWith(b.t, b.home); len(pids) < 3 {
				b.t.Errorf("there are only %d processes to be looked for", len(pids))
			}
			if _, err := b.browsers.Do(ctx, Request{Action: Close}); err != nil {
				b.t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestIdleBrowsersAreClosed(t *testing.T) {
	t.Parallel()
	b := atShop(t, func(o *Options) { o.Idle = time.Second })
	b.do(Request{Action: Open, URL: shop + "/frame.html"})
	waitForNoProcess(t, b.home)
	if _, err := b.try(Request{Action: Snapshot}); tool.AsError(err).Kind != tool.NotFound &&
		tool.AsError(err).Kind != tool.Unavailable {
		t.Errorf("after it was closed: %v", err)
	}
	b.do(Request{Action: Open, URL: shop + "/frame.html"})
}

func TestKilledBrowser(t *testing.T) {
	t.Parallel()
	b := atShop(t)
	b.do(Request{Action: Open, URL: shop + "/frame.html"})
	for _, s := range b.browsers.sessions {
		_ = s.program.process.Kill()
		<-s.conn.lost
	}
	if _, err := b.try(Request{Action: Snapshot}); tool.AsError(err).Kind != tool.Unavailable {
		t.Errorf("a browser that is dead: %v", err)
	}
	wantContains(t, b.do(Request{Action: Open, URL: shop + "/frame.html"}), `button "Inner"`)
}

func TestHangingPage(t *testing.T) {
	t.Parallel()
	b := atShop(t)
	page := b.do(Request{Action: Open, URL: shop + "/rest.html"})
	wantContains(t, page, "Here.")
	ctx, cancel := context.WithTimeout(b.as("ann"), 2*time.Second)
	defer cancel()
	if _, err := b.browsers.Do(ctx, Request{Action: Evaluate, Text: "for (;;);"}); err == nil {
		t.Error("a script without end has ended")
	}
	wantContains(t, b.do(Request{Action: Snapshot}), "Here.")
	b.do(Request{Action: Click, Ref: b.ref(page, `button "Hold"`)})
	wantContains(t, b.do(Request{Action: Open, URL: shop + "/frame.html"}), `button "Inner"`)

	ctx, cancel = context.WithCancel(b.as("ann"))
	cancel()
	if _, err := b.browsers.Do(ctx, Request{Action: Open, URL: shop + "/rest.html"}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("a call that was given up: %v", err)
	}
	wantContains(t, b.do(Request{Action: Open, URL: shop + "/frame.html"}), `button "Inner"`)
}

func TestBrowserLimits(t *testing.T) {
	t.Parallel()
	b := atShop(t, func(o *Options) { o.Sessions = 1 })
	b.do(Request{Action: Open, URL: shop + "/frame.html"})
	if _, err := b.browsers.Do(b.as("bob"), Request{Action: Open, URL: shop +
		"/frame.html"}); tool.AsError(err).Kind != tool.Busy {
		t.Errorf("one more, of another user: %v", err)
	}
	b.do(Request{Action: Snapshot})
	b.do(Request{Action: Close})
	if _, err := b.browsers.Do(b.as("bob"), Request{Action: Open, URL: shop + "/frame.html"}); err != nil {
		t.Error(err)
	}
}

// TestKilledServer checks that browsers end with their server, even if it is killed, and that the
// next server deletes their directories.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	needtest.Program(t, "chromium", "google-chrome", "chromium-browser")
	home := openDir(t)
	server := exec.Command(os.Args[0], "-test.run=^TestServerProcess$")
	server.Env = append(os.Environ(), "BROWSER_TEST_HOME="+home)
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 5)
	if _, err := out.Read(line); err != nil || string(line) != "runs\n" {
		t.Fatalf("the server says %q, %v", line, err)
	}
	if len(processesWith(t, home+"/")) < 3 {
		t.Error("there are too few processes to be looked for")
	}
	if err := server.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait() // it was killed
	waitForNoProcess(t, home+"/")
	if left, _ := os.ReadDir(home); len(left) != 1 {
		t.Errorf("%d places are left to be removed", len(left))
	}
	b, err := New(Options{Dir: home, Proxy: func(context.Context, func(string, error)) (Proxy, error) {
		return nil,
			errors.New("none")
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	b.Sweep()
	if left, _ := os.ReadDir(home); len(left) != 0 {
		t.Errorf("%d places are left", len(left))
	}
}

// TestServerProcess runs the server that TestKilledServer kills.
func TestServerProcess(t *testing.T) {
	home := os.Getenv("BROWSER_TEST_HOME")
	if home == "" {
		return // it runs only in a child process
	}
	b := atShop(t, func(o *Options) { o.Dir = home })
	b.do(Request{Action: Open, URL: shop + "/frame.html"})
	fmt.Println("runs")
	select {}
}

// TestMissingChromium checks that all waiting calls get the error of a browser that does not start.
func TestMissingChromium(t *testing.T) {
	b := atShop(t, func(o *Options) { o.Path = "/nonexistent/chromium" })
	errs := make(chan error)
	for range 4 {
		go func() {
			_, err := b.try(Request{Action: Open, URL: shop})
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; tool.AsError(err).Kind != tool.Unavailable || !strings.Contains(err.Error(), "install") {
			t.Errorf("without a Chromium: %v", err)
		}
	}
}

func TestFind(t *testing.T) {
	needtest.Program(t, "chromium", "google-chrome", "chromium-browser")
	path, version, err := Find(t.Context(), "")
	if err != nil || !filepath.IsAbs(path) || !strings.Contains(version, "Chrom") {
		t.Errorf("found %q, %q, %v", path, version, err)
	}
	if _, _, err := Find(t.Context(), "/nonexistent/chromium"); tool.AsError(err).Kind != tool.Unavailable ||
		!strings.Contains(err.Error(), "install") {
		t.Errorf("what is not there: %v", err)
	}
}
