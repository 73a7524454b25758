package audit

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

func fixedTime() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC) }

// A world is a store and the data directory of one machine.
type world struct {
	rows rowStore
	dir  string
	dsn  string
	exec func(t testing.TB, text string, args ...any)
}

// newWorld opens the store at dsn, or in the directory.
func newWorld(t testing.TB, dsn string) *world {
	w := &world{dir: t.TempDir(), dsn: dsn}
	if dsn == "" {
		w.dsn = w.dir
	}
	s := storetest.Open(t, w.dsn)
	w.rows, w.exec = NewDB(s).rows, executor(s.Update)
	return w
}

// executor returns a function that changes the tables directly.
func executor[T interface {
	Exec(text string, args ...any) (int64, error)
}](update func(context.Context, func(T) error) error) func(testing.TB, string, ...any) {
	return func(t testing.TB, text string, args ...any) {
		t.Helper()
		if err := update(t.Context(), func(tx T) error { _, err := tx.Exec(text, args...); return err }); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// each runs a test on both engines.
func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Run("sqlite", func(t *testing.T) { f(t, newWorld(t, "")) })
	t.Run("postgres", func(t *testing.T) { f(t, newWorld(t, storetest.Database(t))) })
}

// elsewhere is the same store as another machine sees it.
func (w *world) elsewhere(t testing.TB) *world {
	other := *w
	other.dir = t.TempDir()
	return &other
}

// db is the log of the world.
func (w *world) db() *DB { return &DB{rows: w.rows} }

// clear empties the record.
func (w *world) clear(t testing.TB) {
	for _, table := range []string{"audit_chain", "audit_record", "audit_head"} {
		w.exec(t, "DELETE FROM "+table)
	}
	if err := ForgetLastHead(w.dir); err != nil {
		t.Fatal(err)
	}
}

func (w *world) open(t testing.TB, o Options) *Log {
	t.Helper()
	if o.DB == nil {
		o.DB = w.db()
	}
	o.Dir = w.dir
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// chain writes a chain with these calls, and ends it.
func (w *world) chain(t testing.TB, calls ...string) *Log {
	t.Helper()
	l := w.open(t, Options{})
	add(t, l, calls...)
	end(t, l)
	return l
}

// add appends records, and waits until the store has them.
func add(t testing.TB, l *Log, calls ...string) {
	t.Helper()
	acknowledge(t, l, calls...)
	stored(t, l)
}

// acknowledge appends records, and waits for nothing.
func acknowledge(t testing.TB, l *Log, calls ...string) {
	t.Helper()
	for _, call := range calls {
		if err := l.Append(t.Context(), Record{Phase: Done, Call: call, Tool: "datetime", Outcome: "ok"}); err != nil {
			t.Fatal(err)
		}
	}
}

// stored waits until the store has all that was acknowledged.
func stored(t testing.TB, l *Log) {
	t.Helper()
	eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.current == nil || len(l.current.pending) == 0
	})
}

// eventually waits for other goroutines.
func eventually(t testing.TB, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
	}
}

// reached returns the last record of the chain that the store has.
func reached(l *Log) point {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current.stored
}

// kill leaves a log as a process does that was killed.
func kill(t testing.TB, l *Log) {
	t.Helper()
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.stop()
	l.work.Wait()
	if err := l.current.journal.close(); err != nil {
		t.Fatal(err)
	}
}

func end(t testing.TB, l *Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func refused(t *testing.T, l *Log, cause error) {
	t.Helper()
	if err := l.Append(t.Context(), Record{Call: "refused"}); !errors.Is(err, ErrBroken) || cause != nil &&
		!errors.Is(err, cause) {
		t.Errorf("error %v, want %v because of %v", err, ErrBroken, cause)
	}
}

func (w *world) verify(t testing.TB) Report {
	t.Helper()
	r, err := w.db().Verify(t.Context(), w.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (w *world) green(t testing.TB, records int) Report {
	t.Helper()
	r := w.verify(t)
	if !r.OK() || r.Records != records {
		t.Fatalf("%d records, want %d; problems: %v", r.Records, records, r.Problems)
	}
	return r
}

// red expects problems, the first of a kind.
func (w *world) red(t testing.TB, kind Kind) Report {
	t.Helper()
	r := w.verify(t)
	if r.OK() || r.Problems[0].Kind != kind {
		t.Errorf("problems %v, want one of the kind %q", r.Problems, kind)
	}
	return r
}

func (w *world) calls(t testing.TB) []string {
	t.Helper()
	rows, err := w.db().Tail(t.Context(), 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, r := range rows {
		names = append(names, r.Call)
	}
	return names
}

// mark returns a checkpoint line: it records that the store has the chain up to
// at.
func (w *world) mark(t testing.TB, at point) string {
	t.Helper()
	k, err := loadKey(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	return string(checkpointLine(newSealer(k), at))
}

// journals are the paths of those in the data directory.
func (w *world) journals(t testing.TB) []string {
	t.Helper()
	paths, err := journals(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// chains are all there are, in the order of their start.
func (w *world) chains(t testing.TB) []chainRow {
	t.Helper()
	list, err := w.rows.Chains(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (w *world) records(t testing.TB, chain int64) []recordRow {
	t.Helper()
	list, err := w.rows.Records(t.Context(), chain, 0, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (w *world) heads(t testing.TB) []headRow {
	t.Helper()
	k, err := loadKey(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	list, err := w.rows.Heads(t.Context(), k.id(), 0, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// frail are rows that fail on demand.
type frail struct {
	rowStore
	mu     sync.Mutex
	before error // instead of the transaction
	after  error // although it went through
	failed int   // transactions
}

// fail sets what happens to transactions from now on.
func (f *frail) fail(before, after error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after = before, after
}

// failures returns the number of failed transactions.
func (f *frail) failures() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

func (f *frail) run(transaction func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.before
	if err == nil {
		if err = transaction(); err == nil {
			err = f.after
		}
	}
	if err != nil {
		f.failed++
	}
	return err
}

func (f *frail) Append(ctx context.Context, from, to chainRow, records []recordRow) error {
	return f.run(func() error { return f.rowStore.Append(ctx, from, to, records) })
}

func (f *frail) Begin(ctx context.Context, c chainRow, seal headsFunc) error {
	return f.run(func() error { return f.rowStore.Begin(ctx, c, seal) })
}

func (f *frail) Note(ctx context.Context, key string, ended int64, seal headsFunc) error {
	return f.run(func() error { return f.rowStore.Note(ctx, key, ended, seal) })
}

func mustRead(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
