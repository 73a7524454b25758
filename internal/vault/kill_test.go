//go:build !windows

package vault

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const childDir = "VAULT_TEST_CHILD_DIR"

// TestChild is not a test by itself: another runs it in a process, where it
// sets, removes and rotates until it is killed, and says what is done.
func TestChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("only runs in a child process")
	}
	v := at(dir, File)
	for i := range 1_000_000 {
		value := fmt.Sprintf("value %d", i)
		if _, _, err := v.Set(t.Context(), "counter", []byte(value)); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("set %d\n", i)
		if _, err := v.Rotate(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("rotated %d\n", i)
		name := fmt.Sprintf("brief%d", i%3)
		set(t, v, name, value)
		if err := v.Remove(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
}

// killed runs the child and kills it once it has done a number of things. It
// returns the last value that the child says it has set.
func killed(t *testing.T, dir string, after int) (last int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen, lines := 0, bufio.NewScanner(out)
	for lines.Scan() {
		what, n, found := strings.Cut(lines.Text(), " ")
		if !found || what != "set" && what != "rotated" {
			continue
		}
		if what == "set" {
			if _, err := fmt.Sscan(n, &last); err != nil {
				t.Fatal(err)
			}
		}
		if seen++; seen == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || seen < after {
		t.Fatalf("the child ended by itself after %d things: %v", seen, err)
	}
	return last
}

func TestKilledRotation(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vault")
	v := at(dir, File)
	set(t, v, "steady", "rock")
	for round := range 10 {
		last := killed(t, dir, 1+round)
		if got, err := v.Get(t.Context(), "steady"); err != nil || string(got) != "rock" {
			t.Fatalf("round %d: %q, %v", round, got, err)
		}
		got, err := v.Get(t.Context(), "counter")
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		// The next value may be set before it is said to be.
		if text := string(got); text != fmt.Sprintf("value %d", last) && text != fmt.Sprintf("value %d", last+1) {
			t.Fatalf("round %d: %q, the last that was acknowledged is %d", round, text, last)
		}
		if _, err := v.Check(t.Context()); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	if _, err := v.Rotate(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if keys := strings.Count(string(read(t, filepath.Join(dir, keyName))), "\n"); keys != 1 {
		t.Errorf("%d keys are left", keys)
	}
}
