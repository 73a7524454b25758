package root

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func testRoot(t *testing.T) (string, *Root) {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "b", "c.txt"), []byte("inside"), 0o640); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return dir, r
}

func TestNames(t *testing.T) {
	dir, r := testRoot(t)
	for link, target := range map[string]string{
		"leaf": "a/b/c.txt", "a/dir": "b", "out": "/etc", "up": "..", "dangling": "nothing", "loop": "loop",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]error{
		"a/b/c.txt":       nil,
		"a/b/none":        fs.ErrNotExist,
		"leaf":            ErrLink,
		"dangling":        ErrLink,
		"loop":            ErrLink,
		"a/dir/c.txt":     ErrLink,
		"out/passwd":      ErrLink,
		"up/x":            ErrLink,
		"":                ErrName,
		"/etc/passwd":     ErrName,
		"../x":            ErrName,
		"a/../../x":       ErrName,
		"a//b/c.txt":      ErrName,
		"a/b/c.txt\x00.x": ErrName,
		"..":              ErrName,
	} {
		file, _, err := r.OpenRegular(name)
		if !errors.Is(err, want) {
			t.Errorf("OpenRegular(%q): %v, want %v", name, err, want)
		}
		if err == nil {
			_ = file.Close()
		}
		_, err = r.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
		if want != nil && want != fs.ErrNotExist && !errors.Is(err, want) {
			t.Errorf("writing %q: %v, want %v", name, err, want)
		}
	}
	if info, err := r.Lstat("leaf"); err != nil || !info.Link() {
		t.Errorf("Lstat of a link: %+v, %v", info, err)
	}
	if target, err := r.Readlink("leaf"); err != nil || target != "a/b/c.txt" {
		t.Errorf("Readlink: %q, %v", target, err)
	}
}

func TestSpecialFilesNeverBlock(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("made with Linux's calls")
	}
	dir, r := testRoot(t)
	makeFIFO(t, filepath.Join(dir, "fifo"))
	socket, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for _, name := range []string{"fifo", "s", "a"} {
		if _, _, err := r.OpenRegular(name); !errors.Is(err, ErrSpecial) {
			t.Errorf("%s: %v, want ErrSpecial", name, err)
		}
	}
	for path, names := range map[string][]string{"/proc": {"self/environ", "version"}, "/sys": {"kernel/mm/transparent_hugepage/enabled"}, "/dev": {"zero", "null"}} {
		kernel, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer kernel.Close()
		for _, name := range names {
			_, _, err := kernel.OpenRegular(name)
			if !errors.Is(err, ErrSpecial) && !errors.Is(err, ErrLink) && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s/%s: %v, want ErrSpecial", path, name, err)
			}
		}
	}
}

func TestChanges(t *testing.T) {
	dir, r := testRoot(t)
	for _, err := range []error{
		r.Mkdir("new", 0o755),
		r.Rename("a/b/c.txt", "new/d.txt"),
		r.Link("new/d.txt", r, "new/e.txt"),
		r.SyncDir("new"),
		r.Remove("new/d.txt"),
		r.RemoveDir("a/b"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "new", "e.txt"))
	if err != nil || string(text) != "inside" {
		t.Errorf("%q, %v", text, err)
	}
	if err := r.Remove("."); !errors.Is(err, ErrName) {
		t.Errorf("removing the root itself: %v", err)
	}
	if err := r.Mkdir("new/../../outside", 0o755); !errors.Is(err, ErrName) {
		t.Errorf("making outside: %v", err)
	}
}

func TestStatPath(t *testing.T) {
	dir, r := testRoot(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	own, err := r.Info()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := StatPath(link); err != nil || !info.Dir() || info.Dev != own.Dev || info.Ino != own.Ino {
		t.Errorf("%+v, %v; want %+v", info, err, own)
	}
	if _, err := StatPath(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
}
