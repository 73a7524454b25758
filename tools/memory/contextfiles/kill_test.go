package contextfiles_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/memory/contextfiles"
)

const (
	childDSN  = "CONTEXTFILES_TEST_DSN"
	childName = "CONTEXTFILES_TEST_NAME"
)

// TestChild runs in a child process: it writes USER.md repeatedly, and prints what it has written.
func TestChild(t *testing.T) {
	name := os.Getenv(childName)
	if name == "" {
		return // it runs in child processes only
	}
	b := contextfiles.New(memory.NewRows(storetest.Open(t, os.Getenv(childDSN)), memory.Limits{}), nil)
	ctx := as(t, "open", "ada")
	for n := range 60 {
		text := fmt.Sprintf("%s-%d", name, n)
		if err := b.Write(ctx, contextfiles.User, []byte(text)); err != nil {
			t.Fatal(err)
		}
		fmt.Println("wrote", text)
	}
}

// TestKilledProcessesLoseNoVersions has four processes write one file concurrently, and kills two of them:
// every version that was acknowledged exists once, and the last one is read.
func TestKilledProcessesLoseNoVersions(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { die(t, t.TempDir()) })
	t.Run("postgres", func(t *testing.T) { die(t, storetest.Database(t)) })
}

func die(t *testing.T, dsn string) {
	s := storetest.Open(t, dsn)
	rows := memory.NewRows(s, memory.Limits{})
	b := contextfiles.New(rows, nil)
	set(t, b, "open", "", contextfiles.User, "the agent's")
	written, other := make([][]string, 4), make([][]string, 4)
	var all sync.WaitGroup
	for i, kill := range []int{0, 10, 0, 25} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
		cmd.Env = append(os.Environ(), childName+fmt.Sprintf("=c%d", i), childDSN+"="+dsn)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for lines := bufio.NewScanner(out); lines.Scan(); {
				if text, ok := strings.CutPrefix(lines.Text(), "wrote "); ok {
					written[i] = append(written[i], text)
				} else {
					other[i] = append(other[i], lines.Text())
				}
				if kill > 0 && len(written[i]) == kill {
					_ = cmd.Process.Kill()
				}
			}
			_ = cmd.Wait()
		})
	}
	all.Wait()
	past, err := rows.Past(t.Context(), tool.Owner{Agent: "open", User: "ada"}, contextfiles.User, 1000)
	if err != nil {
		t.Fatal(err)
	}
	now, err := b.Get(as(t, "open", "ada"), contextfiles.User)
	if err != nil || now.Version != int64(len(past)+1) {
		t.Fatalf("version %d after %d others, %v", now.Version, len(past), err)
	}
	times := map[string]int{now.Text: 1}
	for _, p := range past {
		times[p.Text]++
	}
	for i, list := range written {
		if len(list) < 10 {
			t.Errorf("process %d has written %d and written %q", i, len(list), other[i])
		}
		for _, text := range list {
			if times[text] != 1 {
				t.Errorf("%s is there %d times", text, times[text])
			}
		}
	}
	if got := read(as(t, "open", "bob"), b, contextfiles.User); got != "the agent's" {
		t.Errorf("bob reads %q", got)
	}
}
