package store_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestCopyingChild runs in the processes that TestCopyKilled kills.
func TestCopyingChild(t *testing.T) {
	what, dsn, other := os.Getenv("STORE_CHILD"), os.Getenv("STORE_CHILD_DSN"), os.Getenv("STORE_CHILD_OTHER")
	if what == "" {
		t.Skip("for another test")
	}
	s := storetest.Open(t, dsn)
	fmt.Println("begins")
	var err error
	switch what {
	case "backup":
		_, err = s.Backup(t.Context(), other)
	case "restore":
		_, err = s.Restore(t.Context(), other, true)
	case "migrate":
		_, _, err = s.CopyTo(t.Context(), storetest.Open(t, other))
	}
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("ends")
}

// kill starts a process and kills it when it has worked for a while; never,
// when patience is zero. It returns how long it took, and whether it ended.
func kill(t *testing.T, patience time.Duration, what, dsn, other string) (took time.Duration, ended bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCopyingChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), "STORE_CHILD="+what, "STORE_CHILD_DSN="+dsn, "STORE_CHILD_OTHER="+other)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	word := make([]byte, 6)
	if n, err := out.Read(word); err != nil || string(word[:n]) != "begins" {
		t.Errorf("the process says %q, %v", word[:n], err)
	}
	begun := time.Now()
	if patience > 0 {
		timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	rest := make([]byte, 0, 4096)
	for {
		n, err := out.Read(rest[len(rest):cap(rest)])
		rest = rest[:len(rest)+n]
		if err != nil || len(rest) == cap(rest) {
			break
		}
	}
	took = time.Since(begun)
	ended = cmd.Wait() == nil
	if patience == 0 && !ended {
		t.Fatalf("%s did not work: %s", what, rest)
	}
	return took, ended
}

// TestCopyKilled expects the old state or the new one, whenever a
// process is killed.
func TestCopyKilled(t *testing.T) {
	const rounds = 3
	chance := rand.New(rand.NewPCG(7, 7))
	file := func(seed uint64, most int) (string, store.Manifest) {
		s := storetest.Open(t, t.TempDir())
		(&filler{Rand: rand.New(rand.NewPCG(seed, seed))}).fill(t, s, most)
		path := filepath.Join(t.TempDir(), "a.zip")
		return path, backup(t, s, path)
	}
	pathA, a := file(1, 20)
	pathB, b := file(2, 25)
	either := func(t *testing.T, got, one, two store.Manifest) (first bool) {
		t.Helper()
		if cmp.Equal(rowsOf(got), rowsOf(one)) {
			return true
		}
		if diff := cmp.Diff(rowsOf(two), rowsOf(got)); diff != "" {
			t.Fatalf("neither the old nor the new: %s", diff)
		}
		return false
	}
	test := func(t *testing.T, dsn string) {
		s := storetest.Open(t, dsn)
		restore := func(path string) {
			if _, err := s.Restore(t.Context(), path, true); err != nil {
				t.Fatal(err)
			}
		}
		state := func() store.Manifest { return backup(t, s, filepath.Join(t.TempDir(), "state.zip")) }
		restore(pathA)
		killed := 0
		// soon kills at some moment of the time that it takes, as far as is known:
		// a machine that was busy before may be quicker now.
		soon := func(takes *time.Duration, what, other string) {
			took, ended := kill(t, time.Duration(chance.Int64N(int64(*takes)))+1, what, dsn, other)
			if ended {
				*takes = min(*takes, took)
			} else {
				killed++
			}
		}
		whole, _ := kill(t, 0, "restore", dsn, pathB)
		for range rounds {
			restore(pathA)
			soon(&whole, "restore", pathB)
			either(t, state(), a, b)
		}
		restore(pathA)
		out := filepath.Join(t.TempDir(), "out.zip")
		whole, _ = kill(t, 0, "backup", dsn, out)
		empty := storetest.Open(t, t.TempDir())
		restore(pathB)
		for range rounds {
			soon(&whole, "backup", out)
			m, err := empty.Restore(t.Context(), out, true)
			if err != nil {
				t.Fatal(err)
			}
			either(t, m, a, b)
		}
		double := 2 * whole
		none := backup(t, storetest.Open(t, t.TempDir()), filepath.Join(t.TempDir(), "none.zip"))
		for range rounds {
			to := t.TempDir()
			soon(&double, "migrate", to)
			copied := storetest.Open(t, to)
			either(t, backup(t, copied, filepath.Join(t.TempDir(), "copied.zip")), none, b)
		}
		same(t, b, s)
		if killed == 0 {
			t.Error("every process was done before it was killed")
		}
		t.Logf("%d of %d processes were killed at work", killed, 3*rounds)
	}
	t.Run("sqlite", func(t *testing.T) { test(t, t.TempDir()) })
	t.Run("postgres", func(t *testing.T) { test(t, storetest.Database(t)) })
}
