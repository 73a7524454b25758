package indexer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A world is a feed and a shelf of things, all in memory, with a log of what
// was read.
type world struct {
	mu      sync.Mutex
	id      string
	things  map[string][]string // pieces by key
	changes []string            // keys
	pruned  int                 // changes that are forgotten
	open    int                 // changes at the end that are not settled
	failing error
	loads   int
	// failAfter is the number of loads that succeed; 0 is all.
	failAfter int
	watches   []chan struct{}
}

func newWorld() *world {
	return &world{id: "w", things: map[string][]string{}}
}

func (w *world) set(key string, pieces ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.things[key] = pieces; pieces == nil {
		delete(w.things, key)
	}
	w.changes = append(w.changes, key)
	for _, c := range w.watches {
		signal(c)
	}
}

func (w *world) Topic() string { return "t" }

func (w *world) Load(_ context.Context, keys []string, wanted func(string) bool) (map[string][]index.Document, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	docs := map[string][]index.Document{}
	for _, key := range keys {
		if w.loads++; w.failAfter > 0 && w.loads > w.failAfter {
			return nil, errors.New("down")
		}
		for i, text := range w.things[key] {
			if !wanted(scopeOf(key)) {
				continue
			}
			docs[key] = append(docs[key], index.Document{ID: key + "/" + strconv.Itoa(i), Scope: scopeOf(key), Body: text})
		}
	}
	return docs, w.failing
}

// scopeOf returns the scope of a key: that before a slash, or s.
func scopeOf(key string) string {
	if scope, _, ok := strings.Cut(key, "/"); ok {
		return scope
	}
	return "s"
}

func (w *world) Keys(_ context.Context, scope, after string, limit int) (keys []string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.things {
		if key > after && scopeOf(key) == scope {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys[:min(limit, len(keys))], w.failing
}

func (w *world) Follow(_ context.Context, from string, limit int, _ []string,
	each func(topic, key string)) (place string, lost, more bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	end := len(w.changes) - w.open
	var id string
	var at int
	if n, _ := fmt.Sscanf(from, "%1s%d", &id, &at); n < 2 || id != w.id || at < w.pruned || at > end {
		return w.id + strconv.Itoa(end), true, w.open > 0, w.failing
	}
	to := min(end, at+limit)
	for _, key := range w.changes[at:to] {
		each("t", key)
	}
	return w.id + strconv.Itoa(to), false, to < len(w.changes), w.failing
}

func (w *world) Watch(...string) (<-chan struct{}, func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := make(chan struct{}, 1)
	w.watches = append(w.watches, c)
	return c, func() {}
}

func (w *world) loaded() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.loads
	w.loads = 0
	return n
}

func (w *world) search(t *testing.T, dir string) *Indexer {
	t.Helper()
	f := NewFollower(w, nil)
	r := Open(Options{Dir: dir, Follower: f, Sources: []Source{w}})
	t.Cleanup(func() {
		if err := errors.Join(r.Close(), f.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// find searches until the answer is fresh.
func find(t *testing.T, r *Indexer, text string) (ids []string) {
	t.Helper()
	for {
		found, fresh, err := r.Search(t.Context(), index.Query{Text: text, Scopes: []string{"s"}, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if !fresh {
			continue
		}
		for _, h := range found.Hits {
			ids = append(ids, h.ID)
		}
		slices.Sort(ids)
		return ids
	}
}

func expect(t *testing.T, r *Indexer, text string, want ...string) {
	t.Helper()
	if got := find(t, r, text); !slices.Equal(got, want) {
		t.Errorf("%s is found in %v, not in %v", text, got, want)
	}
}

func TestChangesAreFound(t *testing.T) {
	w, dir := newWorld(), t.TempDir()
	w.set("a", "apple", "pear")
	r := w.search(t, dir)
	if files, _ := filepath.Glob(dir + "/*"); len(files) != 0 {
		t.Errorf("there is %v before anybody searched", files)
	}
	// it may be early
	if found, err := r.SearchNow(t.Context(), index.Query{Text: "apple", Scopes: []string{"s"}}); err != nil ||
		len(found.Hits) > 1 {
		t.Errorf("a glance found %v, %v", found, err)
	}
	expect(t, r, "apple", "a/0")
	expect(t, r, "pear", "a/1")
	w.set("a", "apple pie")
	w.set("ab", "pear")
	expect(t, r, "pear", "ab/0")
	expect(t, r, "apple", "a/0")
	w.set("a")
	expect(t, r, "apple")
	expect(t, r, "pear", "ab/0")
	for i := range 3 * maxChanges {
		w.set(fmt.Sprintf("k%04d", i), "plum "+strconv.Itoa(i))
	}
	if got := find(t, r, "plum"); len(got) != 1000 { // the most that are returned
		t.Errorf("%d plums", len(got))
	}
	expect(t, r, "1499", "k1499/0")
}

func TestAnIndexIsReused(t *testing.T) {
	w, dir := newWorld(), t.TempDir()
	for i := range 20 {
		w.set(fmt.Sprint("k", i), "plum")
	}
	first := w.search(t, dir)
	find(t, first, "plum")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := first.Search(t.Context(), index.Query{}); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed search answers %v", err)
	}
	w.loaded()
	w.set("k3", "cherry")
	second := w.search(t, dir)
	expect(t, second, "cherry", "k3/0")
	if n := w.loaded(); n != 1 {
		t.Errorf("%d things were read for one change", n)
	}
	third := w.search(t, dir) // the slot is taken
	expect(t, third, "cherry", "k3/0")
	if n := w.loaded(); n != 20 {
		t.Errorf("%d things were read for another index", n)
	}
}

// TestOnlySearchedScopesAreIndexed has many scopes, of which some are searched, before and after a restart and a loss.
func TestOnlySearchedScopesAreIndexed(t *testing.T) {
	w, dir := newWorld(), t.TempDir()
	for i := range 20 {
		for _, scope := range []string{"ann", "ben", "eve"} {
			w.set(fmt.Sprintf("%s/%d", scope, i), "plum")
		}
	}
	counts := func(r *Indexer, want ...int) {
		t.Helper()
		for i, scope := range []string{"ann", "ben", "eve"} {
			if n, err := r.index.Count(scope); n != want[i] || err != nil {
				t.Errorf("%d documents of %s, %v; want %d", n, scope, err, want[i])
			}
		}
	}
	search := func(r *Indexer, scope string, want int) {
		t.Helper()
		for {
			found, fresh, err := r.Search(t.Context(), index.Query{Text: "plum", Scopes: []string{scope}, Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			if fresh {
				if len(found.Hits) != want {
					t.Errorf("%d plums of %s, want %d", len(found.Hits), scope, want)
				}
				return
			}
		}
	}
	first := w.search(t, dir)
	search(first, "ann", 20)
	w.set("ann/new", "plum")
	w.set("ben/new", "plum")
	w.set("ben/3")
	search(first, "ann", 21)
	counts(first, 21, 0, 0)
	search(first, "ben", 20)
	counts(first, 21, 20, 0)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	w.set("ann/4")
	w.set("ben/4", "plum", "plum")
	w.set("eve/4")
	second := w.search(t, dir)
	search(second, "ben", 21)
	counts(second, 20, 21, 0)
	second.keeps.suspect.Store(true) // as after damage
	search(second, "ben", 21)
	counts(second, 0, 21, 0)
	search(second, "ann", 20)
	search(second, "eve", 19)
	counts(second, 20, 21, 19)
	second.keeps.mark("ann", "1") // was searched long ago
	w.set("ann/newer", "plum")
	w.set("ann/5")
	search(second, "eve", 19)
	counts(second, 19, 21, 19)
	if mark, err := second.index.Mark("ann"); mark != "" || err != nil {
		t.Errorf("a scope that is not followed has the mark %q, %v", mark, err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	search(w.search(t, dir), "ann", 20)
}

func TestAnIndexIsRebuilt(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"the feed has forgotten": func(w *world) {
			w.changes = append(w.changes, "x",
				"y")
			w.pruned = len(w.changes) - 1
		},
		"the store is another":   func(w *world) { w.id = "v" },
		"the store was restored": func(w *world) { w.changes = w.changes[:1] },
	} {
		t.Run(name, func(t *testing.T) {
			w, dir := newWorld(), t.TempDir()
			w.set("a", "apple")
			w.set("b", "pear")
			first := w.search(t, dir)
			find(t, first, "pear")
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			w.mu.Lock()
			change(w)
			delete(w.things, "a")
			w.things["c"] = []string{"cherry"}
			w.mu.Unlock()
			second := w.search(t, dir)
			expect(t, second, "cherry", "c/0")
			expect(t, second, "apple")
			expect(t, second, "pear", "b/0")
		})
	}
}

// TestDamageWhileSearching cuts the files of an index that is in use.
func TestDamageWhileSearching(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("open files cannot be damaged here")
	}
	w, dir := newWorld(), t.TempDir()
	w.set("a", "apple")
	r := w.search(t, dir)
	expect(t, r, "apple", "a/0")
	files, _ := filepath.Glob(filepath.Join(dir, "*", "store", "store", "*.zap"))
	for _, file := range files {
		if err := os.Truncate(file, 0); err != nil {
			t.Fatal(err)
		}
	}
	if len(files) == 0 {
		t.Fatal("there are no files to damage")
	}
	for {
		found, fresh, err := r.Search(t.Context(), index.Query{Text: "apple", Scopes: []string{"s"}})
		if err != nil && tool.AsError(err).Kind != tool.Unavailable {
			t.Fatal(err)
		}
		if err == nil && fresh && len(found.Hits) == 1 {
			break
		}
	}
	w.set("b", "apple")
	expect(t, r, "apple", "a/0", "b/0")
}

func TestUnsettledChangesAreNotFresh(t *testing.T) {
	w := newWorld()
	w.set("a", "apple")
	r := w.search(t, t.TempDir())
	find(t, r, "apple")
	w.mu.Lock()
	w.open = 1
	w.mu.Unlock()
	w.set("b", "apple")
	if _, fresh, err := r.Search(t.Context(), index.Query{Text: "apple", Scopes: []string{"s"}}); fresh || err != nil {
		t.Errorf("fresh: %v, %v", fresh, err)
	}
	w.mu.Lock()
	w.open = 0
	w.mu.Unlock()
	expect(t, r, "apple", "a/0", "b/0")
}

func TestAStoreThatFailsTemporarily(t *testing.T) {
	w := newWorld()
	w.set("a", "apple")
	r := w.search(t, t.TempDir())
	find(t, r, "apple")
	w.mu.Lock()
	w.failing = errors.New("down")
	w.mu.Unlock()
	w.set("b", "apple")
	found, fresh, err := r.Search(t.Context(), index.Query{Text: "apple", Scopes: []string{"s"}})
	if fresh || err != nil || len(found.Hits) != 1 {
		t.Errorf("%v, fresh: %v, %v", found, fresh, err)
	}
	w.mu.Lock()
	w.failing = nil
	w.mu.Unlock()
	expect(t, r, "apple", "a/0", "b/0")
}

func TestASearchEndsWithItsContext(t *testing.T) {
	w := newWorld()
	r := w.search(t, t.TempDir())
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, _, err := r.Search(ctx, index.Query{Text: "x"}); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

func TestConcurrentSearchesAndChanges(t *testing.T) {
	w := newWorld()
	r := w.search(t, t.TempDir())
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 25 {
				key := fmt.Sprintf("g%dn%d", g, i)
				w.set(key, "plum "+key)
				if got := find(t, r, key); !slices.Contains(got, key+"/0") {
					t.Errorf("%s is not found right after it was set: %v", key, got)
				}
			}
		})
	}
	all.Wait()
}

func TestCloseDuringSearches(t *testing.T) {
	w := newWorld()
	for i := range 200 {
		w.set(fmt.Sprint(i), "plum")
	}
	r := w.search(t, t.TempDir())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for {
				_, _, err := r.Search(t.Context(), index.Query{Text: "plum", Scopes: []string{"s"}})
				if errors.Is(err, ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	find(t, r, "plum")
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(3 * time.Minute):
		t.Fatal("a search hangs")
	}
}

// TestInterruptedFillingContinues ends a search in the middle of filling its index:
// the next one does not take the half for the whole.
func TestInterruptedFillingContinues(t *testing.T) {
	w, dir := newWorld(), t.TempDir()
	const things = 3 * maxPieces
	for i := range things {
		w.set(fmt.Sprintf("k%04d", i), "plum")
	}
	w.mu.Lock()
	w.failAfter = things / 2
	w.mu.Unlock()
	first := w.search(t, dir)
	if _, fresh, err := first.Search(t.Context(), index.Query{Text: "plum", Scopes: []string{"s"}}); fresh {
		t.Errorf("half of it is fresh: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	w.failAfter = 0
	w.mu.Unlock()
	second := w.search(t, dir)
	if got := find(t, second, "plum"); len(got) != 1000 {
		t.Errorf("%d plums", len(got))
	}
	if n, err := second.index.Count("s"); n != things || err != nil {
		t.Errorf("%d of %d things are indexed, %v", n, things, err)
	}
	if n := w.loaded(); n > things*4/3 {
		t.Errorf("%d of %d things were read: what was done had to be done again", n, things)
	}
}
