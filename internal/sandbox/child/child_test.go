package child_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/child"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/sandboxtest"
)

// TestMain also runs the test binary in its other roles.
func TestMain(m *testing.M) {
	sandboxtest.Play(map[string]func([]string) int{
		"echo": echo, "greedy": greedy, "look": look,
	})
	os.Exit(m.Run())
}

func echo([]string) int {
	_, _ = io.Copy(os.Stdout, os.Stdin)
	return 0
}

func look(args []string) int {
	_, err := os.ReadDir("/root")
	_, missing := os.Stat(args[0])
	fmt.Println(err != nil, missing == nil)
	return 0
}

// greedy uses more memory than it may.
func greedy([]string) int {
	if err := child.Limit(200 << 20); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("begun")
	var all [][]byte
	for range 100 {
		b := make([]byte, 10<<20)
		for i := range b {
			b[i] = 1
		}
		all = append(all, b)
	}
	fmt.Println("survived", len(all))
	return 0
}

func starters() map[string]sandbox.Tiers {
	return map[string]sandbox.Tiers{
		"kernel": sandbox.NewTiers(&kernel.Launcher{}),
		"host":   sandbox.NewTiers(&host.Launcher{}),
	}
}

func each(t *testing.T, test func(t *testing.T, s sandbox.Tiers)) {
	for name, s := range starters() {
		t.Run(name, func(t *testing.T) {
			needtest.Sandbox(t, s[0])
			test(t, s)
		})
	}
}

func TestTalksUntilClosed(t *testing.T) {
	each(t, func(t *testing.T, s sandbox.Tiers) {
		link, err := child.Start(t.Context(), s, []string{"echo"}, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer link.Close()
		in := bufio.NewReader(link)
		for _, want := range []string{"one\n", "two\n"} {
			if _, err := io.WriteString(link, want); err != nil {
				t.Fatal(err)
			}
			if got, err := in.ReadString('\n'); got != want || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs RLIMIT_DATA")
	}
	each(t, func(t *testing.T, s sandbox.Tiers) {
		link, err := child.Start(t.Context(), s, []string{"greedy"}, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer link.Close()
		got, err := io.ReadAll(link)
		if string(got) != "begun\n" || err == nil { // the race detector has other words for it

			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestSeesOnlyItsFiles(t *testing.T) {
	s := starters()["kernel"]
	needtest.Sandbox(t, s[0])
	dir := t.TempDir()
	link, err := child.Start(t.Context(), s, []string{"look", dir}, 0, sandbox.Bind{Host: dir, Inside: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	if got, err := io.ReadAll(link); string(got) != "true true\n" {
		t.Errorf("/root is hidden, the bound directory is visible: got %q, %v", got, err)
	}
}
