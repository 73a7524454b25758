package managed

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

func TestHostileNames(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		m := newTeam(t, s)
		a, b := m.replica("a"), m.replica("b")
		long := strings.Repeat("d", 200)
		deep := strings.Join([]string{long, long, long, long, long, long}, "/")
		outside := filepath.Join(t.TempDir(), "outside")
		put(t, filepath.Dir(outside), "outside", "secret")
		notes, err := a.command(func(dir string) error {
			put(t, dir, "bad\xff\xfe/na\nme '$1' %", "x")
			put(t, dir, deep+"/f", "y")
			put(t, dir, "a b\\c", "z")
			return errors.Join(
				os.Symlink(outside, filepath.Join(dir, "absolute")), os.Symlink("../../..", filepath.Join(dir, "up")),
				os.Symlink("loop", filepath.Join(dir, "loop")), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
				os.WriteFile(filepath.Join(dir, ".mcp-tools-copy-x"), nil, 0o600))
		})
		a.fine(err)
		if len(notes) != 1 || !strings.Contains(notes[0], `"pipe"`) {
			t.Errorf("the notes are %q", notes)
		}
		b.has("a b\\c=z", "absolute -> "+outside, "bad\xff\xfe/", "bad\xff\xfe/na\nme '$1' %=x",
			long+"/", strings.Join([]string{long, long}, "/")+"/", strings.Join([]string{long, long, long}, "/")+"/",
			strings.Join([]string{long, long, long, long}, "/")+"/", strings.Join([]string{long, long, long, long, long}, "/")+"/",
			deep+"/", deep+"/f=y", "loop -> loop", "up -> ../../..")
		// A directory that was replaced by a link leads nowhere.
		_, err = b.command(func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "bad\xff\xfe")),
				os.Symlink(filepath.Dir(outside), filepath.Join(dir, "bad\xff\xfe")))
		})
		b.fine(err)
		_, err = a.call(func(context.Context) error { return nil })
		a.fine(err)
		if got := list(t, filepath.Dir(outside)); len(got) != 1 || got[0] != "outside=secret" {
			t.Errorf("outside: %q", got)
		}
	})
}

// TestFileBecomesPipe replaces a file and a directory by pipes: the other replica no longer has them.
func TestFileBecomesPipe(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		m := newTeam(t, s)
		a, b := m.replica("a"), m.replica("b")
		a.fine(a.write("dir/file", "old"))
		a.fine(a.write("other", "stays"))
		b.has("dir/", "dir/file=old", "other=stays")
		notes, err := a.command(func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "dir")), syscall.Mkfifo(filepath.Join(dir, "dir"), 0o600))
		})
		a.fine(err)
		if len(notes) != 1 || !strings.Contains(notes[0], `"dir"`) {
			t.Errorf("the notes are %q", notes)
		}
		b.has("other=stays")
		b.fine(b.write("dir", "a file again"))
		a.has("dir=a file again", "other=stays")
	})
}
