package vault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// TestManyAtOnce changes and reads one vault from many goroutines, each with
// its own Vault, as processes do. No change is lost, and a reader sees only
// values that were set.
func TestManyAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vault")
	set(t, at(dir, File), "shared", "value of 0")
	var all sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		all.Go(func() {
			for v := at(dir, File); ; {
				select {
				case <-done:
					return
				default:
				}
				if got, err := v.Get(t.Context(), "shared"); err != nil || !strings.HasPrefix(string(got), "value of ") {
					t.Errorf("read %q, %v", got, err)
					return
				}
			}
		})
	}
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			v := at(dir, File)
			for i := range 4 {
				own := fmt.Sprintf("own-%d-%d", w, i)
				for _, name := range []string{own, "shared"} {
					if _, _, err := v.Set(t.Context(), name, fmt.Appendf(nil, "value of %d", w)); err != nil {
						t.Error(err)
					}
				}
				if _, err := v.Rotate(t.Context(), ""); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	all.Wait()
	if list, err := at(dir, File).List(t.Context()); err != nil || len(list) != 4*4+1 {
		t.Errorf("%d secrets, %v", len(list), err)
	}
	if _, err := at(dir, File).Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestConcurrentCreate checks that exactly one of the goroutines that set the
// first secret creates the key.
func TestConcurrentCreate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vault")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if _, _, err := at(dir, File).Set(t.Context(), fmt.Sprintf("s%d", i), []byte("value")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if r, err := at(dir, File).Check(t.Context()); err != nil || r.Secrets != 8 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestSetWithEndedContext(t *testing.T) {
	v := fresh(t)
	set(t, v, "a", "value")
	unlock, err := private.Lock(t.Context(), filepath.Join(v.config.Dir, lockName), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, setting := v.Set(ctx, "a", []byte("new"))
	_, rotating := v.Rotate(ctx, "")
	for _, err := range []error{setting, rotating, v.Remove(ctx, "a")} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
	}
	holds(t, v, "a", "value") // reading does not wait
	unlock()
}

func TestUnwritableDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	write(t, dir, nil)
	_, _, err := at(dir, File).Set(t.Context(), "a", []byte("value"))
	says(t, err, "creating the vault", dir)
	v := fresh(t)
	if err := os.MkdirAll(filepath.Join(v.config.Dir, keyName+".new", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, _, err = v.Set(t.Context(), "a", []byte("value"))
	says(t, err, "writing the key of the vault")
	if list, err := v.List(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}
