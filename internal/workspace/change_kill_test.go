//go:build !windows

package workspace_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
)

const (
	killDir  = "MCP_TOOLS_KILL_DIR"
	killData = "MCP_TOOLS_KILL_DATA"
	killHeld = "MCP_TOOLS_KILL_HELD" // the child stops in its first change
)

// TestKilledChild is a helper that other tests run in a separate process. It changes
// files until it is killed, and prints which changes were acknowledged.
func TestKilledChild(t *testing.T) {
	dir, data := os.Getenv(killDir), os.Getenv(killData)
	if dir == "" {
		t.Skip("only runs in a process of its own")
	}
	w, err := workspace.New(workspace.Options{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	ctx := workspacetest.For(context.Background(), workspacetest.Caller(dir))
	fmt.Println("ready")
	if os.Getenv(killHeld) != "" {
		name := fmt.Sprint("held", os.Getpid())
		_, err = w.Change(ctx, []string{name}, func([]*workspace.File) ([]workspace.Change, error) {
			return []workspace.Change{{Path: name, Content: held{}}}, nil
		})
		t.Fatal("it has ended", err)
	}
	last := ""
	for n := os.Getpid() * 100_000; ; n++ {
		var r workspace.Receipt
		switch rand.IntN(5) {
		case 0: // a file is written, most are small
			size := rand.IntN(2000)
			if rand.IntN(10) == 0 {
				size = 3 << 20
			}
			r, err = put(ctx, w, fmt.Sprintf("single%d", rand.IntN(3)), signed(n, size))
		case 1: // and edited
			r, err = w.Change(ctx, []string{"edited"}, appending(signed(n, 10)+"\n"))
		case 2, 3: // several files change together, one is created and removed
			r, err = changeGroup(ctx, w, n)
		case 4:
			if last != "" {
				r, err = w.Undo(ctx, last)
				last = ""
			}
		}
		if err != nil {
			fmt.Println("error", err)
		} else if r.ID != "" {
			fmt.Println("done", r.ID)
			last = r.ID
		}
	}
}

// held is a content that never ends.
type held struct{}

func (held) Read([]byte) (int, error) {
	fmt.Println("staged")
	select {}
}

// TestCommandsFindNoTemporaryFiles checks that a server that lives removes the temporary file of a killed one before a command
// sees it, and leaves the files of others.
func TestCommandsFindNoTemporaryFiles(t *testing.T) {
	t.Setenv(killHeld, "1")
	dir, data := workspacetest.Dir(t), workspacetest.Dir(t)
	w, ctx, _ := workspacetest.New(t, func(o *workspace.Options) { o.Data = data })
	ctx = workspacetest.For(ctx, workspacetest.Caller(dir))
	user := filepath.Join(dir, ".mcp-tools-0123456789.tmp")
	if err := os.WriteFile(user, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dead, lives := startVictim(t, dir, data), startVictim(t, dir, data)
	for _, v := range []victim{dead, lives} {
		if !v.out.Scan() || v.out.Text() != "staged" {
			t.Fatalf("the child says %q", v.out.Text())
		}
	}
	kill := func(v victim) {
		if err := v.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = v.cmd.Wait() // it was killed
	}
	left := func() int {
		found, err := filepath.Glob(filepath.Join(dir, ".mcp-tools-*.tmp"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	kill(dead)
	w.Checkpoint(ctx, workspace.Command{Text: "git add --all"})()
	if n := left(); n != 2 {
		t.Errorf("a command sees %d temporary files, want that of the living process and that of the user", n)
	}
	kill(lives)
	w.Checkpoint(ctx, workspace.Command{Text: "git add --all"})()
	if n := left(); n != 1 {
		t.Errorf("a command sees %d temporary files, want that of the user", n)
	}
}

const comesAndGoes = "far/odd"

// changeGroup changes several files in one call.
func changeGroup(ctx context.Context, w *workspace.Workspace, n int) (workspace.Receipt, error) {
	paths := []string{"g1", "sub/g2", "sub/g3", "far/g4", comesAndGoes}
	return w.Change(ctx, paths, func(files []*workspace.File) ([]workspace.Change, error) {
		var changes []workspace.Change
		for i, path := range paths {
			remove := path == comesAndGoes && files[i].Exists
			content := strings.NewReader(signed(n, 500))
			changes = append(changes, workspace.Change{Path: path, Remove: remove, Content: content})
		}
		return changes, nil
	})
}

// signed returns a content from which a test can see whether it is complete.
func signed(n, size int) string {
	body := strconv.Itoa(n) + " " + strings.Repeat("x", size)
	return fmt.Sprintf("%s %x", body, sha256.Sum256([]byte(body)))
}

func whole(text string) (n string, ok bool) {
	i := strings.LastIndexByte(text, ' ')
	if i < 0 {
		return "", false
	}
	n, _, _ = strings.Cut(text, " ")
	return n, text[i+1:] == fmt.Sprintf("%x", sha256.Sum256([]byte(text[:i])))
}

// A killed is a process that was killed, with what it had acknowledged.
type victim struct {
	cmd *exec.Cmd
	out *bufio.Scanner
}

func startVictim(t *testing.T, dir, data string) victim {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledChild$")
	cmd.Env = append(os.Environ(), killDir+"="+dir, killData+"="+data)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	v := victim{cmd, bufio.NewScanner(out)}
	for v.out.Scan() && v.out.Text() != "ready" {
		t.Logf("the child says %q", v.out.Text())
	}
	return v
}

// kill kills the process after a random time, and returns what it acknowledged.
func (v victim) kill(t *testing.T, conflicts bool) (acknowledged []string) {
	t.Helper()
	timer := time.AfterFunc(time.Millisecond+rand.N(19*time.Millisecond), func() { _ = v.cmd.Process.Kill() })
	defer timer.Stop()
	for v.out.Scan() {
		word, rest, _ := strings.Cut(v.out.Text(), " ")
		switch {
		case word == "done":
			acknowledged = append(acknowledged, rest)
		case !conflicts || !strings.HasPrefix(rest, "conflict"):
			t.Errorf("the child says %q", v.out.Text())
		}
	}
	if v.cmd.Wait() == nil {
		t.Fatal("the process ended before it was killed")
	}
	return acknowledged
}

func TestKilledProcessesLeaveWholeFiles(t *testing.T) {
	kills := 30
	if testing.Short() {
		kills = 6
	}
	if n, err := strconv.Atoi(os.Getenv("MCP_TOOLS_KILLS")); err == nil {
		kills = n
	}
	t.Run("history on the same disk", func(t *testing.T) { killMany(t, (kills+1)/2, workspacetest.Dir(t)) })
	t.Run("history on another disk", func(t *testing.T) {
		data, err := os.MkdirTemp("/dev/shm", "mcp-tools-test-")
		if err != nil {
			needtest.Lacking(t, "/dev/shm", "no other disk: "+err.Error())
		}
		defer os.RemoveAll(data)
		killMany(t, kills/2, data)
	})
}

func killMany(t *testing.T, kills int, data string) {
	t.Helper()
	dir := workspacetest.Dir(t)
	w, ctx, _ := workspacetest.New(t, func(o *workspace.Options) { o.Data = data })
	ctx = workspacetest.For(ctx, workspacetest.Caller(dir))
	acknowledged := 0
	for kill := 0; kill < kills && !t.Failed(); {
		victims := []victim{startVictim(t, dir, data)}
		if kill%4 == 0 { // two processes; one lives longer, and recovers the changes of the other
			victims = append(victims, startVictim(t, dir, data))
		}
		var ids []string
		for _, v := range victims {
			ids = append(ids, v.kill(t, len(victims) > 1)...)
			kill++
		}
		if err := w.Recover(ctx); err != nil {
			t.Fatal(err)
		}
		mustBeWhole(t, dir)
		if left, err := filepath.Glob(filepath.Join(data, "files", "pending", "*")); err != nil || len(left) > 0 {
			t.Errorf("pending: %v, %v", left, err)
		}
		if left, err := filepath.Glob(filepath.Join(data, "files", "copies", ".*")); err != nil || len(left) > 0 {
			t.Errorf("copies: %v, %v", left, err)
		}
		onRecord(t, ctx, w, ids)
		acknowledged += len(ids)
	}
	t.Logf("%d kills, %d changes acknowledged", kills, acknowledged)
}

// mustBeWhole checks that each file has a complete content, and that the files of one
// call have changed together.
func mustBeWhole(t *testing.T, dir string) {
	t.Helper()
	versions := map[string]int{}
	want := 4
	for name, text := range tree(t, dir) {
		base := filepath.Base(name)
		switch {
		case base == "edited":
			for line := range strings.Lines(text) {
				if _, ok := whole(strings.TrimSuffix(line, "\n")); !ok {
					t.Errorf("edited has a torn line %q", line)
				}
			}
		case strings.HasPrefix(base, "single"):
			if _, ok := whole(text); !ok {
				t.Errorf("%s is torn: %.60q", name, text)
			}
		case strings.HasPrefix(base, "g") || name == comesAndGoes:
			if name == comesAndGoes {
				want = 5
			}
			n, ok := whole(text)
			if !ok {
				t.Errorf("%s is torn: %.60q", name, text)
			}
			versions[n]++
		case !strings.HasSuffix(name, "/"):
			t.Errorf("%s is left over", name)
		}
	}
	for n, files := range versions {
		if files != want {
			t.Errorf("%d of %d files are of change %s", files, want, n)
		}
	}
	if len(versions) > 1 {
		t.Errorf("files that change together are of %d changes: %v", len(versions), versions)
	}
}

func onRecord(t *testing.T, ctx context.Context, w *workspace.Workspace, ids []string) {
	t.Helper()
	known := map[string]bool{}
	for _, name := range []string{"single0", "single1", "single2", "edited", comesAndGoes} {
		past, err := w.History(ctx, name, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range past {
			known[p.ID] = true
		}
	}
	for _, id := range ids {
		if !known[id] {
			t.Errorf("change %s was acknowledged, and is not on record", id)
		}
	}
}
