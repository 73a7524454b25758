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
	there, later := filepath.Join(top, "there"), filepath.Join(top, "not", "yet")
	write := func(dir, slug, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, slug), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, slug, "SKILL.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(there, "old", "old")
	ctx, stop := context.WithCancel(t.Context())
	told, ended := make(chan string, 100), make(chan error, 1)
	go func() { ended <- Watch(ctx, []string{there, later}, func(slug string) { told <- slug }) }()
	expect := func(slug string, deed func()) {
		t.Helper()
		deadline := time.After(time.Minute)
		deed()
		for {
			select {
			case got := <-told:
				if got == slug {
					return
				}
				t.Errorf("told of %q, waiting for %q", got, slug)
			case <-time.After(time.Second): // it may have been done before the watch began
				deed()
			case <-deadline:
				t.Fatalf("nobody tells of %s", slug)
			}
		}
	}
	n := 0
	expect("new", func() { n++; write(there, "new", string(make([]byte, n))) })
	expect("old", func() { n++; write(there, "old", string(make([]byte, 10+n))) })
	expect("late", func() { n++; write(later, "late", string(make([]byte, n))) })
	if err := os.RemoveAll(filepath.Join(there, "old")); err != nil {
		t.Fatal(err)
	}
	expect("old", func() {})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
