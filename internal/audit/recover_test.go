package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// dead leaves the journal of a process that was killed before the store took
// anything after a number of calls, and returns its path.
func (w *world) dead(t testing.TB, stored int, calls ...string) string {
	t.Helper()
	rows := &frail{rowStore: w.rows}
	l := w.open(t, Options{DB: &DB{rows: rows}})
	if stored > 0 {
		add(t, l, calls[:stored]...)
	}
	rows.fail(syscall.EIO, nil)
	acknowledge(t, l, calls[stored:]...)
	kill(t, l)
	return l.current.journal.path
}

// edit changes a file.
func edit(t testing.TB, path string, change func(text string) string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(change(mustRead(t, path))), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRecover(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for stored := range 4 {
			w.clear(t)
			path := w.dead(t, stored, "a", "b", "c")
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 ||
				filepath.Dir(path) != filepath.Join(w.dir, "audit") {
				t.Errorf("the journal is %v, %v", info, err)
			}
			if got := w.calls(t); len(got) != stored {
				t.Errorf("the store has %q", got)
			}
			if r := w.green(t, 3); len(r.Notes) > 0 || Waiting(w.dir) {
				t.Errorf("notes %v, journals %v", r.Notes, w.journals(t))
			}
			if c := w.chains(t)[0]; !c.Ended || strings.Join(w.calls(t), " ") != "a b c" {
				t.Errorf("rows %q of %+v", w.calls(t), c)
			}
			// Heads cover all of it: what is cut off now is missed.
			w.exec(t, "DELETE FROM audit_record WHERE seq = 3")
			w.exec(t, "UPDATE audit_chain SET seq = 2, hash = $1",
				linkOf([]byte(w.records(t, w.chains(t)[0].ID)[1].Line)).String())
			w.red(t, Missing)
		}
	})
}

// TestTwoJournalsOfOneChain recovers from a process that was killed while it replaced its journal, and left
// two.
func TestTwoJournalsOfOneChain(t *testing.T) {
	w := newWorld(t, "")
	path := w.dead(t, 1, "a", "b", "c")
	chain, list := w.chains(t)[0], w.records(t, w.chains(t)[0].ID)
	begin, rest, _ := strings.Cut(mustRead(t, path), checkpointStart)
	_, rest, _ = strings.Cut(rest, "\n")
	first, _, _ := strings.Cut(begin, "\n")
	mark := w.mark(t, point{Chain: chainName(chain.ID), Seq: 1, Mark: linkOf([]byte(list[0].Line)).String(),
		Bytes: int64(len(list[0].Line))})
	anew := strings.Replace(path, "-1"+journalExt, "-2"+journalExt, 1)
	if err := os.WriteFile(anew, []byte(first+"\n"+mark+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := w.green(t, 3); len(r.Notes) > 0 || Waiting(w.dir) {
		t.Errorf("notes %v, journals %v", r.Notes, w.journals(t))
	}
}

// TestRecoverTornLine recovers a journal that ends within a line.
func TestRecoverTornLine(t *testing.T) {
	w := newWorld(t, "")
	path := w.dead(t, 1, "a", "b", "c")
	text := mustRead(t, path)
	for cut := range len(text) + 1 {
		w.clear(t)
		if err := os.WriteFile(path, []byte(text[:cut]), 0o600); err != nil {
			t.Fatal(err)
		}
		left, err := w.db().Recover(t.Context(), w.dir)
		lines := strings.Count(text[:cut], "\n") // the beginning, a record, a mark, two records
		if lines >= 3 {                          // the mark says that the store has the chain, which is not so
			if err != nil || len(left) != 1 || left[0].Kind != Missing || !strings.Contains(left[0].Detail,
				fmt.Sprintf("%d records of a killed process", lines-2)) {
				t.Fatalf("cut to %d: %v, %v", cut, left, err)
			}
			continue
		}
		if err != nil || len(left) > 0 || Waiting(w.dir) {
			t.Fatalf("cut to %d: %v, %v", cut, left, err)
		}
		w.green(t, max(0, lines-1))
	}
}

func TestRecoverInvalidJournal(t *testing.T) {
	lines := func(change func(l []string) []string) func(string) string {
		return func(text string) string {
			return strings.Join(change(strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")), "")
		}
	}
	for name, tt := range map[string]struct {
		change func(string) string
		want   Kind
		stored int // records
	}{
		"a record that was changed": {func(s string) string {
			return strings.Replace(s, `"call":"c"`,
				`"call":"x"`, 1)
		}, Changed, 2},
		"the beginning": {func(s string) string {
			return strings.Replace(s, `"pid":`, `"pid":1`,
				1)
		}, Changed, 0},
		"a record that was removed": {lines(func(l []string) []string { return append(l[:2:2], l[3:]...) }),
			Missing, 1},
		"records in another order": {lines(func(l []string) []string { l[2], l[3] = l[3], l[2]; return l }),
			Missing, 1},
		"something else": {func(string) string { return "hello\n" }, Foreign, 0},
		"something else in between": {lines(func(l []string) []string { l[2] = "hello\n"; return l }),
			Foreign, 1},
		"a line without an end": {func(s string) string { return s + strings.Repeat("x", maxLine+2) },
			Foreign, 4},
		"a beginning without an end": {func(string) string { return strings.Repeat("x", maxLine+2) }, Foreign,
			0},
		"a head among the records": {lines(func(l []string) []string {
			l[2] = strings.Replace(l[2], `{"seq"`,
				`{"head"`, 1)
			return l
		}), Foreign, 1},
		"a checkpoint without a valid seal": {lines(func(l []string) []string {
			l[0] += string(checkpointLine(newSealer(key{}), point{Seq: 2}))
			return l
		}), Changed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "")
			path := w.dead(t, 0, "a", "b", "c", "d")
			edit(t, path, tt.change)
			for range 2 { // it stays, and is named again
				r := w.red(t, tt.want)
				if len(r.Problems) != 1 || !strings.HasSuffix(path, r.Problems[0].Chain) || r.Records != tt.stored {
					t.Errorf("%d records, problems %v", r.Records, r.Problems)
				}
			}
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRecoverTooLargeJournal(t *testing.T) {
	w := newWorld(t, "")
	if err := os.Truncate(w.dead(t, 0, "a"), maxJournal+1); err != nil {
		t.Fatal(err)
	}
	if r := w.red(t, Foreign); !strings.Contains(r.Problems[0].Detail, "too large") || !Waiting(w.dir) {
		t.Errorf("problems %v", r.Problems)
	}
}

func TestRecoverOtherKey(t *testing.T) {
	w := newWorld(t, "")
	w.dead(t, 0, "a")
	path := filepath.Join(w.dir, keyName)
	key := mustRead(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w.red(t, OtherKey)
	w.chain(t, "b")
	w.red(t, OtherKey)
	edit(t, path, func(string) string { return key })
	if left, err := w.db().Recover(t.Context(), w.dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if got := strings.Join(w.calls(t), " "); got != "a b" {
		t.Errorf("rows %q", got)
	}
}

func TestRecoverUnknownChain(t *testing.T) {
	t.Run("yet", func(t *testing.T) {
		w := newWorld(t, "")
		w.dead(t, 0, "a", "b")
		w.green(t, 2)
	})
	t.Run("any more", func(t *testing.T) {
		w := newWorld(t, "")
		w.dead(t, 1, "a", "b")
		w.clear(t)
		w.red(t, Missing)
	})
	t.Run("but another", func(t *testing.T) {
		w := newWorld(t, "")
		w.dead(t, 1, "a", "b")
		there := newWorld(t, "")
		there.dir = w.dir
		there.red(t, Missing)
		w.green(t, 2)
	})
	t.Run("as far as it did, after a power cut", func(t *testing.T) {
		w := newWorld(t, "")
		path := w.dead(t, 3, "a", "b", "c")
		begin, _, _ := strings.Cut(mustRead(t, path), "\n")
		chain := w.chains(t)[0]
		list := w.records(t, chain.ID)
		earlier := func() {
			w.exec(t, "DELETE FROM audit_record WHERE seq > 1")
			w.exec(t, "UPDATE audit_chain SET seq = 1, hash = $1", linkOf([]byte(list[0].Line)).String())
		}
		earlier()
		w.green(t, 3) // the journal had all of it
		earlier()
		mark := w.mark(t, point{Chain: chainName(chain.ID), Seq: 2, Mark: linkOf([]byte(list[1].Line)).String()})
		if err := os.WriteFile(path, []byte(begin+"\n"+mark+list[2].Line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := w.red(t, Missing); !strings.Contains(r.Problems[0].Detail, "power cut") {
			t.Errorf("problems %v", r.Problems)
		}
	})
}

// TestRecoverPrunedChain checks a journal that is found after retention removed
// its chain, because the chain was not seen for days. The chain continues where
// it was cut off.
func TestRecoverPrunedChain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for stored := 1; stored < 4; stored++ {
			w.clear(t)
			rows := &frail{rowStore: w.rows}
			l := w.open(t, Options{DB: &DB{rows: rows}})
			long := time.Now().Add(-48 * time.Hour)
			l.now = func() time.Time { return long }
			add(t, l, []string{"a", "b", "c"}[:stored]...)
			rows.fail(syscall.EIO, nil)
			l.mu.Lock()
			l.now = time.Now
			l.mu.Unlock()
			acknowledge(t, l, "late")
			kill(t, l)
			path := l.current.journal.path
			if stored == 2 { // it died before it could write the mark
				mark := w.mark(t, l.current.stored)
				edit(t, path, func(text string) string { return strings.Replace(text, mark, "", 1) })
			}
			if err := os.Rename(path, path+".away"); err != nil { // its machine is off
				t.Fatal(err)
			}
			w.exec(t, "UPDATE audit_chain SET seen = seen - $1", 2*abandonedAfter.Milliseconds())
			w.prune(t, Options{MaxAge: time.Hour})
			if n := len(w.chains(t)); n > 0 {
				t.Fatalf("%d chains are left", n)
			}
			if err := os.Rename(path+".away", path); err != nil {
				t.Fatal(err)
			}
			if r := w.green(t, 1); r.Chains != 1 || len(r.Notes) > 0 {
				t.Errorf("report %+v", r)
			}
			w.prune(t, Options{MaxAge: time.Hour})
			w.green(t, 1)
			w.prune(t, Options{MaxAge: time.Nanosecond})
			w.green(t, 0)
			if n := len(w.chains(t)); n > 0 {
				t.Errorf("%d chains are left", n)
			}
		}
	})
}

// TestPrunedChainContinues prunes the chain of a running process.
func TestPrunedChainContinues(t *testing.T) {
	w := newWorld(t, "")
	l := w.past(t, 48*time.Hour, 3)
	w.exec(t, "UPDATE audit_chain SET seen = seen - $1", 2*abandonedAfter.Milliseconds())
	w.prune(t, Options{MaxAge: time.Hour})
	if n := len(w.chains(t)); n > 0 {
		t.Fatalf("%d chains are left", n)
	}
	l.mu.Lock()
	l.now = time.Now
	l.mu.Unlock()
	add(t, l, "late")
	w.green(t, 1)
	end(t, l)
	w.green(t, 1)
	// Records that are removed later are reported as missing.
	w.exec(t, "DELETE FROM audit_record")
	w.exec(t, "DELETE FROM audit_chain")
	w.red(t, Missing)
}

func TestConcurrentRecover(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for i := range 4 {
			w.dead(t, i%2, fmt.Sprint("a", i), fmt.Sprint("b", i))
		}
		live := w.open(t, Options{})
		acknowledge(t, live, "alive")
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				if left, err := w.db().Recover(t.Context(), w.dir); err != nil || len(left) > 0 {
					t.Errorf("left %v, %v", left, err)
				}
			})
		}
		all.Go(func() { // and some begin at the same time
			for i := range 5 {
				w.chain(t, fmt.Sprint("c", i))
			}
		})
		all.Wait()
		stored(t, live)
		if r := w.green(t, 14); len(w.journals(t)) != 1 || len(r.Notes) != 1 { // of the living
			t.Errorf("journals %v, notes %v", w.journals(t), r.Notes)
		}
		end(t, live)
		w.green(t, 14)
	})
}

// TestRecoveringWithoutAStore checks that a journal is kept while the store is unreachable.
func TestRecoveringWithoutAStore(t *testing.T) {
	w := newWorld(t, "")
	w.dead(t, 0, "a")
	away := &frail{rowStore: w.rows, before: syscall.ECONNREFUSED}
	if left, err := (&DB{rows: away}).Recover(t.Context(), w.dir); !errors.Is(err, syscall.ECONNREFUSED) || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	away.fail(nil, syscall.ECONNRESET)
	if _, err := (&DB{rows: away}).Recover(t.Context(), w.dir); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("error %v", err)
	}
	w.green(t, 1)
}

func FuzzReadJournal(f *testing.F) {
	dir := f.TempDir()
	k, err := ensureKey(f.Context(), dir, noShared)
	if err != nil {
		f.Fatal(err)
	}
	seal := newSealer(k)
	chain, err := newChain(fixedTime(), k, seal, "v1")
	if err != nil {
		f.Fatal(err)
	}
	t := &openChain{chain: chain}
	t.lastLink, _ = parseLink(chain.Hash)
	if t.journal, err = newJournal(dir, chain, nil, nil, false); err != nil {
		f.Fatal(err)
	}
	for _, tool := range []string{"read_file", "datetime"} {
		if err := t.add(seal, fixedTime(), appendFields(nil, Record{Tool: tool}), 1, ""); err != nil {
			f.Fatal(err)
		}
	}
	text := mustRead(f, t.journal.path)
	if err := t.journal.remove(); err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(strings.Replace(text, "seq", "qes", 1))
	f.Add(text[:len(text)-5])
	f.Add(string(checkpointLine(seal, point{Chain: chainName(chain.ID), Seq: 3, Mark: chain.Hash})))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		for _, text := range []string{text, chain.Line + "\n" + text} {
			found, _, err := readJournal(strings.NewReader(text), dir)
			if err != nil {
				t.Error(err)
			}
			for i := 1; found != nil && i < len(found.records); i++ {
				if found.records[i].Seq != found.records[i-1].Seq+1 {
					t.Errorf("%d follows %d", found.records[i].Seq, found.records[i-1].Seq)
				}
			}
		}
	})
}
