package skills

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestWatch(t *testing.T) {
	top := t.TempDir()
	existing, later := filepath.Join(top, "existing"), filepath.Join(top, "not", "yet")
	write := func(dir, slug, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, slug), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, slug, "SKILL.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(existing, "old", "old")
	ctx, stop := context.WithCancel(t.Context())
	changes, ended := make(chan string, 100), make(chan error, 1)
	go func() { ended <- Watch(ctx, []string{existing, later}, func(slug string) { changes <- slug }) }()
	expect := func(slug string, change func()) {
		t.Helper()
		deadline := time.After(time.Minute)
		change()
		for {
			select {
			case got := <-changes:
				if got == slug {
					return
				}
				t.Errorf("got a change of %q, want %q", got, slug)
			case <-time.After(time.Second): // the first one may have come before the watch began
				change()
			case <-deadline:
				t.Fatalf("no change of %s was reported", slug)
			}
		}
	}
	n := 0
	expect("new", func() { n++; write(existing, "new", string(make([]byte, n))) })
	expect("old", func() { n++; write(existing, "old", string(make([]byte, 10+n))) })
	expect("late", func() { n++; write(later, "late", string(make([]byte, n))) })
	// A file beside SKILL.md, also in a directory of the skill, changes the skill. Files of programs do not.
	note := filepath.Join(existing, "old", "notes", "deep", "a.md")
	expect("old", func() {
		n++
		if err := os.MkdirAll(filepath.Dir(note), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(note, make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	if err := os.WriteFile(filepath.Join(existing, "old", ".swp"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	expect("new", func() { n++; write(existing, "new", string(make([]byte, n))) })
	expect("old", func() {
		n++
		if err := os.WriteFile(note, make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	if err := os.RemoveAll(filepath.Join(existing, "old")); err != nil {
		t.Fatal(err)
	}
	expect("old", func() {})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
