package index

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMain lets the tests start themselves as another process that writes.
func TestMain(m *testing.M) {
	if dir := os.Getenv("INDEX_TEST_FEED"); dir != "" {
		feed(dir)
		return
	}
	os.Exit(m.Run())
}

// feed writes documents from the cursor's position on until it is killed or all
// are there, and prints a line after each batch.
func feed(dir string) {
	x, err := Open(dir)
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("slot", filepath.Base(x.slot.dir))
	at, err := position(x)
	for ; err == nil && at < feedEnd; at += feedStep {
		err = x.Apply(context.Background(), feedBatch(at))
		fmt.Println("at", at+feedStep)
	}
	fmt.Println("end", err)
	bufio.NewReader(os.Stdin).ReadString('\n') // keeps the slot until stdin is closed
	x.Close()
}

const feedStep, feedEnd = 40, 2000

func feedBatch(at int) Batch {
	b := Batch{Cursor: strconv.Itoa(at + feedStep)}
	for n := at; n < at+feedStep; n++ {
		b.Put = append(b.Put, Document{ID: strconv.Itoa(n % 1500), Scope: "s", Body: "number n" + strconv.Itoa(n)})
	}
	return b
}

func position(x *Index) (int, error) {
	cursor, err := x.Cursor()
	if cursor == "" || err != nil {
		return 0, err
	}
	return strconv.Atoi(cursor)
}

// feeder starts a process that feeds the index below dir.
func feeder(t *testing.T, dir string) (*exec.Cmd, *bufio.Scanner, func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	c := exec.CommandContext(ctx, os.Args[0])
	c.Env = append(os.Environ(), "INDEX_TEST_FEED="+dir)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewScanner(out), func() {
		in.Close()
		c.Wait()
		cancel()
	}
}

// checkFed compares an index with its cursor.
func checkFed(t *testing.T, x *Index) int {
	t.Helper()
	at, err := position(x)
	if err != nil {
		t.Fatal(err)
	}
	want := min(at, 1500)
	if n, err := x.Count("s"); n != want || err != nil {
		t.Fatalf("the cursor is %d, and the scope counts %d, %v", at, n, err)
	}
	for _, n := range []int{0, at / 2, at - 1, at, at + 1} {
		found := len(search(t, x, Query{Text: "n" + strconv.Itoa(n), Scopes: []string{"s"}}).Hits)
		replaced := n+1500 < at
		if there := n >= 0 && n < at && !replaced; there != (found == 1) {
			t.Fatalf("the cursor is %d, and number %d is found %d times", at, n, found)
		}
	}
	return at
}

// TestKilledWhileFeeding kills a process at random moments, the first of them
// while the index is created.
func TestKilledWhileFeeding(t *testing.T) {
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for round := range 20 {
		c, lines, end := feeder(t, dir)
		if round%4 == 0 {
			time.AfterFunc(time.Duration(random.IntN(15_000))*time.Microsecond, func() { c.Process.Kill() })
		}
		for stop := random.IntN(12); lines.Scan() && !strings.HasPrefix(lines.Text(), "end"); stop-- {
			if strings.HasPrefix(lines.Text(), "error") {
				t.Fatalf("round %d: %s", round, lines.Text())
			}
			if stop == 0 {
				c.Process.Kill()
			}
		}
		end()
		x, err := Open(dir)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if got := filepath.Base(x.slot.dir); got != "index-0" {
			t.Fatalf("round %d: the slot of the killed process was not reused: %s", round, got)
		}
		checkFed(t, x)
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, lines, end := feeder(t, dir)
	defer end()
	for lines.Scan() && lines.Text() != "end <nil>" {
	}
	end()
	x, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if at := checkFed(t, x); at != feedEnd {
		t.Errorf("the last process fed %d of %d", at, feedEnd)
	}
}

func TestSlotPerProcess(t *testing.T) {
	dir := t.TempDir()
	_, lines, end := feeder(t, dir)
	defer end()
	if !lines.Scan() || lines.Text() != "slot index-0" {
		t.Fatalf("the first process: %q", lines.Text())
	}
	runtime.GC() // must not close the lock of an open index
	runtime.GC()
	x, y := openedIn(t, dir), openedIn(t, dir)
	if x.slot.dir != filepath.Join(dir, "index-1") || y.slot.dir != filepath.Join(dir, "index-2") {
		t.Errorf("slots %s and %s", x.slot.dir, y.slot.dir)
	}
	runtime.GC()
	runtime.GC()
	if z := openedIn(t, dir); z.slot.dir != filepath.Join(dir, "index-3") {
		t.Errorf("slot %s", z.slot.dir)
	}
}

func openedIn(t *testing.T, dir string) *Index {
	t.Helper()
	x, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// TestDamage opens damaged files, and expects an empty index that works.
func TestDamage(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, store string){
		"empty root": func(t *testing.T, store string) { write(t, filepath.Join(store, "store", "root.bolt"), "") },
		"root of junk": func(t *testing.T, store string) {
			write(t, filepath.Join(store, "store", "root.bolt"), strings.Repeat("junk", 9000))
		},
		"torn segments": func(t *testing.T, store string) {
			for _, f := range segmentFiles(t, store) {
				write(t, f, "torn")
			}
		},
		"no segments": func(t *testing.T, store string) {
			for _, f := range segmentFiles(t, store) {
				if err := os.Remove(f); err != nil {
					t.Fatal(err)
				}
			}
		},
		"no list of files": func(t *testing.T, store string) {
			if err := os.Remove(filepath.Join(store, "index_meta.json")); err != nil {
				t.Fatal(err)
			}
		},
		"the files of format 2": func(t *testing.T, store string) {
			if err := os.RemoveAll(store); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(store, 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(store, "manifest.json"), `{"values":{"format":"Mg=="}}`)
			write(t, filepath.Join(store, "00000001.zap"), "segment")
		},
		"a file in its place": func(t *testing.T, store string) {
			if err := os.RemoveAll(store); err != nil {
				t.Fatal(err)
			}
			write(t, store, "file")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			x := openedIn(t, dir)
			apply(t, x, feedBatch(0))
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			damage(t, filepath.Join(dir, "index-0", "store"))
			x = openedIn(t, dir)
			if cursor, err := x.Cursor(); cursor != "" || err != nil {
				t.Fatalf("cursor %q, %v", cursor, err)
			}
			// Without its segments, Bleve opens the state before the first batch.
			if x.Emptied() == nil && name != "no segments" {
				t.Error("nothing says why the index is empty")
			}
			apply(t, x, feedBatch(0))
			checkFed(t, x)
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func segmentFiles(t *testing.T, store string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(store, "store", "*.zap"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no segments in %s, %v", store, err)
	}
	return files
}

func TestOtherFormatIsEmptied(t *testing.T) {
	dir := t.TempDir()
	x := openedIn(t, dir)
	apply(t, x, feedBatch(0))
	b := x.store.NewBatch()
	b.SetInternal([]byte(keyFormat), []byte("0"))
	if err := x.store.apply(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	x.Close()
	x = openedIn(t, dir)
	if n, err := x.Count("s"); n != 0 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
}

func TestResetAndClose(t *testing.T) {
	x := opened(t)
	apply(t, x, feedBatch(0))
	if err := x.Reset(); err != nil {
		t.Fatal(err)
	}
	if at := checkFed(t, x); at != 0 {
		t.Errorf("after a reset the cursor is %d", at)
	}
	apply(t, x, feedBatch(0))
	checkFed(t, x)
	for range 2 {
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := x.Search(t.Context(), Query{Text: "n1", Scopes: []string{"s"}}); err != ErrClosed {
		t.Errorf("search: %v", err)
	}
	if err := x.Apply(t.Context(), feedBatch(0)); err != ErrClosed {
		t.Errorf("apply: %v", err)
	}
	if err := x.Reset(); err != ErrClosed {
		t.Errorf("reset: %v", err)
	}
	if _, err := x.Cursor(); err != ErrClosed {
		t.Errorf("cursor: %v", err)
	}
}
