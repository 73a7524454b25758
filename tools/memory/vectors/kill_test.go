package vectors_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/tools/memory/embed/clienttest"
	"github.com/mcp-tools/mcp-tools/tools/memory/embed/embedtest"
)

const (
	childDSN = "VECTORS_TEST_DSN"
	childDir = "VECTORS_TEST_DIR"
	childURL = "VECTORS_TEST_URL"
)

// TestChild runs a worker in a child process.
func TestChild(t *testing.T) {
	if os.Getenv(childDSN) == "" {
		return // it runs in child processes only
	}
	encoder := clienttest.Open(t, os.Getenv(childURL))
	w := newWorldWith(t, os.Getenv(childDSN), os.Getenv(childDir), encoder, encoder.Space())
	w.embeddings.Work(t.Context())
}

// TestAnotherWorkerContinuesAfterAKill kills a process while it waits for the endpoint. Another one encodes the
// rest, and does not encode again what the endpoint had returned before.
func TestAnotherWorkerContinuesAfterAKill(t *testing.T) {
	dir := t.TempDir()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		die(t, dir, filepath.Join(dir, "search"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		die(t, storetest.Database(t), t.TempDir())
	})
}

func die(t *testing.T, dsn, dir string) {
	endpoint := embedtest.New(t, synonyms...)
	w := newWorld(t, dsn, dir, endpoint)
	ctx := as(t, "a", "ada")
	const count = 700 // more than are asked for together
	for i := range count {
		w.remember(t, ctx, fmt.Sprint("n", i), fmt.Sprintf("Note number %d is about word%d.", i, i*i))
	}
	w.remember(t, ctx, "x", "Her automobile is blue.")
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childDSN+"="+dsn, childDir+"="+filepath.Join(dir, "child"), childURL+"="+
		endpoint.URL)
	cmd.Stderr = os.Stderr
	died := make(chan struct{})
	second := make(chan struct{})
	var requests atomic.Int32
	endpoint.Gate(func([]string) {
		switch n := requests.Add(1); {
		case n == 75: // eight texts each: the first lots were written down
			close(second)
			<-died
		case n > 75:
			<-died
		}
	})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-second
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	endpoint.Gate(nil)
	close(died)
	before := endpoint.Texts()
	if len(before) == 0 || len(before) > count {
		t.Fatalf("%d texts were encoded before", len(before))
	}
	w.work(t)
	w.settled(t)
	again := 0
	for _, n := range endpoint.Texts() {
		if n > 1 {
			again++
		}
	}
	t.Logf("%d of %d texts had been encoded before the worker died, and %d were again", len(before), count+1, again)
	if again > 200 {
		t.Errorf("%d of %d texts were encoded again", again, len(before))
	}
	if got := first(w.paths(t, ctx, "vehicle")); got != "memory/x.md" {
		t.Errorf("found %q", got)
	}
}
