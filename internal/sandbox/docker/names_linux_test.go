package docker

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func TestSurvey(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"a/b/c", ".env", "plain"} {
		write(t, filepath.Join(dir, f))
	}
	for link, to := range map[string]string{"link": "a", "final": "plain"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	var log strings.Builder
	look := func(hidden, locked []string) (names, error) {
		w := sandbox.Spec{Binds: []sandbox.Bind{{Host: dir, Inside: "/workspace", Write: true}}}
		for _, h := range hidden {
			w.Hidden = append(w.Hidden, filepath.Join(dir, h))
		}
		for _, l := range locked {
			w.Locked = append(w.Locked, filepath.Join(dir, l))
		}
		return survey(true, w, slog.New(slog.NewTextHandler(&log, nil)))
	}
	n, err := look([]string{".env", "gone", "../outside"}, []string{"a/b/c", "final"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(n.hidden, []string{"/workspace/.env"}) || !slices.Equal(n.locked, []string{"/workspace/a/b/c"}) ||
		len(n.anchors) != 2 {
		t.Errorf("%+v", n)
	}
	if !strings.Contains(log.String(), "final") {
		t.Error("nobody hears that a link is not locked")
	}
	if _, err := look([]string{"link/b/c"}, nil); err == nil {
		t.Error("a link on the way was followed")
	}
	if !n.still() {
		t.Error("nothing has changed")
	}
	// Somebody exchanges a directory for another, and back again.
	rename(t, filepath.Join(dir, "a"), filepath.Join(dir, "away"))
	if n.still() {
		t.Error("a directory that is gone went unnoticed")
	}
	rename(t, filepath.Join(dir, "away"), filepath.Join(dir, "a"))
	if n.still() {
		t.Error("a directory that was away went unnoticed")
	}
}

// TestSweep leaves a mount behind, as a server does that is killed while it
// starts a container.
func TestSweep(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root mounts")
	}
	source, dir := t.TempDir(), filepath.Join(t.TempDir(), "m")
	write(t, filepath.Join(source, "file"))
	gone := thisProcess()
	gone.start = "1"
	at, err := mounts{dir: dir, self: gone}.shifted(source, user{uid: nobody, gid: nobody}, false, "id", "0")
	if err != nil {
		t.Fatal(err)
	}
	living := mounts{dir: dir, self: thisProcess()}
	mine, err := living.shifted(source, user{uid: nobody, gid: nobody}, false, "id", "0")
	if err != nil {
		t.Fatal(err)
	}
	defer living.clear("id")
	st, err := os.Stat(filepath.Join(at, "file"))
	if err != nil {
		t.Fatal(err)
	}
	if uid, gid := ownerOf(st); uid != nobody || gid != nobody {
		t.Errorf("it seems to belong to %d:%d", uid, gid)
	}
	living.sweep()
	if _, err := os.Lstat(at); err == nil {
		t.Error("the mount of a dead server is still there")
	}
	if _, err := os.Stat(filepath.Join(mine, "file")); err != nil {
		t.Errorf("the mount of a living server: %v", err)
	}
	if _, err := os.Stat(filepath.Join(source, "file")); err != nil {
		t.Errorf("the source: %v", err)
	}
}

// TestOwnDirectoryWithin has the server keep its data, which it hides, in the
// workspace: what it makes there for a start is no reason for none.
func TestOwnDirectoryWithin(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	write(t, filepath.Join(data, "canary"))
	p := newPlace(t, func(o *Options) { o.Mounts = filepath.Join(data, "mounts") })
	p.dir = dir
	w := p.spec()
	w.Hidden = []string{data}
	if got := sh(t, p.open(w), "ls data; cat data/canary 2>/dev/null || echo hidden"); got.out != "hidden\n" {
		t.Errorf("%q", got.out)
	}
}
