package history

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestUnchangedContentIsNoChange(t *testing.T) {
	b := newBench(t, Limits{})
	b.write("a", "text")
	c, l := b.begin("a")
	defer l.Unlock()
	result, err := c.Write(t.Context(), b.target("a"), strings.NewReader("text"), 0)
	if err != nil || !result.Same || c.Len() != 0 {
		t.Errorf("%+v, %v, %d changes", result, err, c.Len())
	}
	if err := c.Abort(); err != nil {
		t.Fatal(err)
	}
	b.has(map[string]string{"a": "text"})
	b.tidy()
}

// TestOtherProgramWrites checks that a change fails if another program has changed the
// file.
func TestOtherProgramWrites(t *testing.T) {
	for name, meddle := range map[string]func(b *bench){
		"edited in place": func(b *bench) { b.write("b", "someone's") },
		"replaced": func(b *bench) {
			b.write("x", "old b")
			if err := os.Rename(filepath.Join(b.dir, "x"), filepath.Join(b.dir, "b")); err != nil {
				b.t.Fatal(err)
			}
			b.write("b", "someone's")
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, text := range []string{"new b", removed} {
				b := newBench(t, Limits{})
				b.write("a", "old a")
				b.write("b", "old b")
				c, l := b.begin("a", "b", "new")
				b.stage(c, []string{"a", "new", "b"}, map[string]string{"a": "new a", "b": text, "new": "made"})
				meddle(b)
				if _, err := c.Commit(t.Context(), Record{}); !errors.Is(err, ErrChanged) {
					t.Errorf("error %v", err)
				}
				l.Unlock()
				b.has(map[string]string{"a": "old a", "b": "someone's"})
				b.tidy()
			}
		})
	}
	b := newBench(t, Limits{})
	c, l := b.begin("d/new")
	defer l.Unlock()
	b.stage(c, []string{"d/new"}, map[string]string{"d/new": "made"})
	b.write("d/new", "someone's")
	if _, err := c.Commit(t.Context(), Record{}); !errors.Is(err, ErrChanged) {
		t.Errorf("a file that is there all of a sudden: %v", err)
	}
	b.has(map[string]string{"d/": "", "d/new": "someone's"})
	b.tidy()
}

// TestWithoutExchange acts as on a file system that cannot exchange names.
func TestWithoutExchange(t *testing.T) {
	b := newBench(t, Limits{})
	b.write("a", "old a")
	b.write("b", "old b")
	b.s.swaps[b.target("a").Info.Dev] = false
	names := []string{"a", "b", "c"}
	texts := map[string]string{"a": "new a", "b": removed, "c": "made"}
	c, l := b.begin(names...)
	b.stage(c, names, texts)
	b.write("c", "in the way")
	if _, err := c.Commit(t.Context(), Record{}); !errors.Is(err, ErrChanged) {
		t.Errorf("error %v", err)
	}
	l.Unlock()
	b.has(map[string]string{"a": "old a", "b": "old b", "c": "in the way"})
	b.tidy()

	if err := os.Remove(filepath.Join(b.dir, "c")); err != nil {
		t.Fatal(err)
	}
	c, l = b.begin(names...)
	b.stage(c, names, texts)
	r, err := c.Commit(t.Context(), Record{Time: time.Now()})
	l.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	b.has(map[string]string{"a": "new a", "c": "made"})
	b.tidy()
	for i, want := range []string{"old a", "old b"} {
		copied, err := b.s.OpenCopy(r.Files[i].Before)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(copied)
		if err != nil || string(text) != want {
			t.Errorf("%q, %v, want %q", text, err, want)
		}
		_ = copied.Close()
	}
}

func TestDamagedCopyIsDetected(t *testing.T) {
	b := newBench(t, Limits{})
	b.write("a", "old")
	r := b.change("a", "new", time.Now())
	before := r.Files[0].Before
	for _, text := range []string{"olD", "old and more", "o"} {
		if err := os.WriteFile(b.s.path(copiesDir, before.Digest), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		copied, err := b.s.OpenCopy(before)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(copied); !errors.Is(err, ErrDamaged) {
			t.Errorf("%q: %v", text, err)
		}
		_ = copied.Close()
	}
}

func TestLockWaitsAndGivesUp(t *testing.T) {
	b := newBench(t, Limits{})
	held, err := b.s.Lock(t.Context(), []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	for name, s := range map[string]*Store{"this store": b.s, "another store": New(b.s.dir, Limits{}, b.s.log)} {
		got := make(chan error, 1)
		go func() {
			l, err := s.Lock(ctx, []string{"b", "c"})
			if err == nil {
				l.Unlock()
			}
			got <- err
		}()
		defer func() {
			if err := <-got; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		}()
	}
	cancel()
	t.Cleanup(held.Unlock)
}

func TestNamesThatAreNotUTF8(t *testing.T) {
	for _, name := range []Text{"plain", "ünï", "bad\xff\xfe", "<&>\u2028\n\"", ""} {
		line, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		var back Text
		if err := json.Unmarshal(line, &back); err != nil || back != name {
			t.Errorf("%q: %s, %q, %v", name, line, back, err)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("plain")
	f.Add("bad\xff")
	f.Fuzz(func(t *testing.T, name string) {
		line, err := json.Marshal(FileRecord{Name: Text(name)})
		if err != nil {
			t.Fatal(err)
		}
		var back FileRecord
		if err := json.Unmarshal(line, &back); err != nil || string(back.Name) != name {
			t.Errorf("%q became %q, %v", name, back.Name, err)
		}
	})
}

func TestTemporaryNames(t *testing.T) {
	s := &step{Temp: Text(tempName())}
	for name, want := range map[string]bool{
		s.temp(): true, s.probe(): true, tempName() + "x": false, ".mcp-tools-.tmp": false, "a": false, ".mcp-tools-doctor-1234.tmp2": false,
	} {
		if Temporary(name) != want {
			t.Errorf("Temporary(%q) is %v", name, !want)
		}
	}
}
