package memory_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

const (
	childDSN  = "MEMORY_TEST_DSN"
	childDir  = "MEMORY_TEST_DIR"
	childName = "MEMORY_TEST_NAME"
)

// TestChild runs in a child process: it stores documents and prints their names, and then searches for those that its
// input names.
func TestChild(t *testing.T) {
	name := os.Getenv(childName)
	if name == "" {
		return // it runs in child processes only
	}
	m, _ := open(t, os.Getenv(childDSN), os.Getenv(childDir))
	ctx := as(t, "a", "ada")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		words := strings.Fields(in.Text())
		switch words[0] {
		case "write":
			var n int
			if _, err := fmt.Sscan(words[1], &n); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				word := fmt.Sprintf("w%sn%d", name, i)
				remember(t, ctx, m, "k"+word, "# Note "+word+"\n\nThe heron of "+word+" landed.\n")
				fmt.Println("stored", word)
				if i%50 == 0 {
					if _, err := m.Search(ctx, memory.Query{Text: word, Limit: 1}); err != nil {
						t.Fatal(err)
					}
				}
			}
			fmt.Println("done")
		case "find":
			missing := 0
			for _, word := range words[1:] {
				f, err := m.Search(ctx, memory.Query{Text: word, Limit: 1})
				if err != nil {
					t.Fatal(err)
				}
				if len(f.Hits) != 1 || f.Hits[0].Path != "memory/k"+word+".md" {
					missing++
				}
			}
			fmt.Println("missing", missing)
		}
	}
}

// A child is a process that runs TestChild.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	stored []string // words of documents that it has acknowledged
	said   []string // every other line, such as the reason of a failure
}

func start(t *testing.T, name, dsn, dir string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
	cmd.Env = append(os.Environ(), childName+"="+name, childDSN+"="+dsn, childDir+"="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &child{cmd: cmd, in: in, out: bufio.NewScanner(out)}
}

// read reads what the child says, and kills it after so many acknowledgements;
// 0 is never.
func (c *child) read(kill int) {
	for c.out.Scan() {
		line := c.out.Text()
		if word, ok := strings.CutPrefix(line, "stored "); ok {
			c.stored = append(c.stored, word)
		} else if line == "done" {
			return
		} else {
			c.said = append(c.said, line)
		}
		if kill > 0 && len(c.stored) == kill {
			_ = c.cmd.Process.Kill()
		}
	}
}

func (c *child) tell(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(c.in, text+"\n"); err != nil {
		t.Fatal(err)
	}
}

// find asks the child for all words and returns how many it misses.
func (c *child) find(t *testing.T, words []string) (missing int) {
	t.Helper()
	c.tell(t, "find "+strings.Join(words, " "))
	for c.out.Scan() {
		if n, err := fmt.Sscanf(c.out.Text(), "missing %d", &missing); n == 1 && err == nil {
			return missing
		}
	}
	t.Fatal("the child has exited")
	return 0
}

// TestKilledProcessesLoseNoDocuments has five processes write concurrently, and kills two of them. Nothing that was
// acknowledged is lost, and the remaining processes and a new one find all of it.
func TestKilledProcessesLoseNoDocuments(t *testing.T) {
	dir := t.TempDir()
	t.Run("sqlite", func(t *testing.T) { die(t, dir, filepath.Join(dir, "search")) })
	t.Run("postgres", func(t *testing.T) { die(t, storetest.Database(t), t.TempDir()) })
}

func die(t *testing.T, dsn, dir string) {
	const each = 150
	kills := []int{0, 60, 0, 90, 0}
	children := make([]*child, len(kills))
	began := time.Now()
	var all sync.WaitGroup
	for i, kill := range kills {
		c := start(t, fmt.Sprint(i), dsn, dir)
		children[i] = c
		c.tell(t, fmt.Sprint("write ", each))
		all.Go(func() { c.read(kill) })
	}
	all.Wait()
	wrote := time.Since(began)
	var words []string
	for i, c := range children {
		if kills[i] == 0 && len(c.stored) != each {
			t.Fatalf("process %d has stored %d:\n%s", i, len(c.stored), strings.Join(c.said, "\n"))
		}
		words = append(words, c.stored...)
	}
	newcomer := start(t, "9", dsn, dir)
	for _, c := range []*child{children[0], children[2], children[4], newcomer} {
		began = time.Now()
		for missing := -1; missing != 0; {
			missing = c.find(t, words)
			if missing > 0 && time.Since(began) > 3*time.Minute {
				t.Fatalf("%d of %d documents are not found", missing, len(words))
			}
		}
		t.Logf("%d searches took %s", len(words), time.Since(began))
	}
	t.Logf("%d documents were written in %s, with the start of 5 processes", len(words), wrote)
}

// BenchmarkStore writes memories.
func BenchmarkStore(b *testing.B) {
	dir := b.TempDir()
	m, _ := open(b, dir, filepath.Join(dir, "search"))
	ctx := as(b, "a", "ada")
	if _, err := m.Search(ctx, memory.Query{Text: "x"}); err != nil { // what is written is indexed at the same time
		b.Fatal(err)
	}
	for n := 0; b.Loop(); n++ {
		remember(b, ctx, m, fmt.Sprint("k", n),
			fmt.Sprintf("# Note %d\n\nThe heron number %d landed near the bridge at %d o'clock.\n", n, n*7, n%24))
	}
}

// BenchmarkSearch searches 20,000 pieces.
func BenchmarkSearch(b *testing.B) {
	dir := b.TempDir()
	m, rows := open(b, dir, filepath.Join(dir, "search"))
	ctx := as(b, "a", "ada")
	fill(b, rows, 20_000)
	began := time.Now()
	for {
		f, err := m.Search(ctx, memory.Query{Text: "heron bridge", Limit: 6})
		if err != nil {
			b.Fatal(err)
		}
		if !f.Behind {
			break
		}
	}
	b.Logf("indexed in %s", time.Since(began))
	took := []time.Duration{}
	for n := 0; b.Loop(); n++ {
		began := time.Now()
		if _, err := m.Search(ctx, memory.Query{Text: fmt.Sprintf("where did word%d meet word%d", n%900, n*7%200),
			Limit: 6}); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
}

// fill writes documents of ten pieces each.
func fill(b *testing.B, rows *memory.Rows, pieces int) {
	random := rand.New(rand.NewPCG(1, 2))
	words := rand.NewZipf(random, 1.1, 4, 20_000)
	for n := range pieces / 10 {
		var text strings.Builder
		for s := range 10 {
			fmt.Fprintf(&text, "# Section %d\n\n", s)
			for range 150 {
				fmt.Fprintf(&text, "word%d ", words.Uint64())
			}
			text.WriteString("\n\n")
		}
		c := memory.Change{Owner: tool.Owner{Agent: "a", User: "ada"}, Path: fmt.Sprintf("memory/d%d.md", n),
			Text: text.String()}
		if _, _, err := rows.Put(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}
