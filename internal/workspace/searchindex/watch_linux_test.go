package searchindex

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestOverflow causes more events than the kernel queues while they are not read.
func TestOverflow(t *testing.T) {
	w := newWorld(t, t.TempDir())
	plain(w, 50)
	w.start()
	w.x.mu.Lock()
	for i := range 20000 {
		w.do(os.Chmod(w.path(fmt.Sprintf("d%d/e%d/f%d.txt", i%5, i%3, i%2*15+i%15)), 0o600))
	}
	w.write("d1/lost.txt", "needle")
	w.write("d4/new/lost.txt", "needle")
	w.x.mu.Unlock()
	if w.check("after the overflow") {
		t.Log("the kernel keeps more events than that, or it is back already")
	}
	if !w.x.Settle(t.Context()) {
		t.Fatal("not back")
	}
	if !w.check("later") {
		t.Error("no answer")
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(names)
}

func TestCloseReleasesEverything(t *testing.T) {
	w := newWorld(t, t.TempDir())
	plain(w, 50)
	run := func() {
		w.start(hasty)
		w.write("a.txt", "x")
		w.check("a round")
		w.do(w.x.Close())
	}
	run()
	files, routines := openFiles(t), runtime.NumGoroutine()
	for range 5 {
		run()
	}
	late := time.Now().Add(time.Minute)
	// The last goroutines may not have ended yet.
	for (openFiles(t) > files || runtime.NumGoroutine() > routines) && time.Now().Before(late) {
		time.Sleep(time.Millisecond)
	}
	if now := openFiles(t); now > files {
		t.Errorf("%d files are open, %d before", now, files)
	}
	if now := runtime.NumGoroutine(); now > routines {
		t.Errorf("%d goroutines, %d before", now, routines)
	}
}

func TestFewWatches(t *testing.T) {
	w := newWorld(t, t.TempDir())
	plain(w, 50)
	few, err := newWatcher()
	w.do(err)
	few.maxWatches = 3
	b := background{Index: New(Options{Root: w.root, Store: w.store})}
	if err := b.watch(t.Context(), few); !errors.Is(err, errNoEvents) {
		t.Errorf("with few watches: %v", err)
	}
	w.do(b.Close())
}

// TestMapped writes to a mapped file: closing the file causes an event.
func TestMapped(t *testing.T) {
	w := newWorld(t, t.TempDir())
	plain(w, 5)
	w.start()
	file, err := os.OpenFile(w.path("d0/e0/f0.txt"), os.O_RDWR, 0)
	w.do(err)
	data, err := unix.Mmap(int(file.Fd()), 0, 6, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	w.do(err)
	w.do(file.Close())
	w.check("mapped")
	copy(data, "needle")
	w.do(unix.Munmap(data))
	w.check("written through a mapping")
}

// TestVerify changes files without causing events, and checks that verify detects it.
func TestVerify(t *testing.T) {
	w := newWorld(t, t.TempDir())
	plain(w, 30)
	outside := filepath.Join(filepath.Dir(w.dir), "outside")
	w.do(os.Mkdir(outside, 0o755))
	w.do(os.Mkdir(w.path(".git"), 0o755))
	w.write(".gitignore", "nothing")
	w.start()
	w.check("at first")
	for name, to := range map[string]string{"d0/e0/f0.txt": "f", ".gitignore": "i"} {
		w.do(os.Link(w.path(name), filepath.Join(outside, to)))
	}
	w.do(os.WriteFile(filepath.Join(outside, "f"), []byte("needle"), 0o644))
	w.do(os.WriteFile(filepath.Join(outside, "i"), []byte("d3"), 0o644))
	b := background{Index: w.x}
	w.do(b.verify(t.Context()))
	if !w.check("after a look at everything") {
		t.Error("no answer")
	}
}

func TestUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	w := newWorld(t, t.TempDir())
	plain(w, 30)
	w.do(os.Chmod(w.path("d0"), 0))
	t.Cleanup(func() { _ = os.Chmod(w.path("d0"), 0o700) })
	w.start()
	w.check("at first")
	w.do(os.Chmod(w.path("d1/e0"), 0))
	w.check("another")
	w.do(os.Chmod(w.path("d0"), 0o700))
	w.do(os.Chmod(w.path("d1/e0"), 0o700))
	w.check("readable again")
}

func TestParseMounts(t *testing.T) {
	const text = `21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:5 / /proc rw - proc proc rw
30 21 0:40 / /srv/a\040b rw - xfs /dev/sdb rw
31 30 0:41 / /srv/a\040b/far rw - nfs4 server:/x rw
32 30 0:42 / /srv/a\040b/fuse/x rw - fuse.sshfs host: rw
33 21 0:43 / /srv/a\040bc rw - fuse.x y rw
broken line
`
	got := parseMounts([]byte(text), "/srv/a b")
	want := []mountPoint{{".", "0:40/", true}, {"far", "0:41/", false}, {"fuse/x", "0:42/", false}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := parseMounts([]byte(text), "/srv/a b/far/deep"); len(got) != 1 || got[0].events {
		t.Errorf("in a mount: %+v", got)
	}
	if got := parseMounts([]byte(text), "/"); len(got) != 6 || !got[0].events {
		t.Errorf("all: %+v", got)
	}
	if got := parseMounts([]byte("nothing"), "/"); got != nil {
		t.Errorf("of nothing: %+v", got)
	}
	m := mountTable{all: got}
	v := newView(&Options{}, nil)
	v.dirs["."] = nil
	for _, c := range []struct {
		see  func()
		want bool
	}{
		{func() {}, true},
		{func() { v.addFresh(".", "far") }, false}, // a mount point on a file
		{func() { v.dirs["fuse/x"] = nil }, false},
	} {
		if c.see(); m.trusted(v) != c.want {
			t.Errorf("trusted: %v, want %v", m.trusted(v), c.want)
		}
	}
}

func FuzzParseMounts(f *testing.F) {
	f.Add("30 21 0:40 / /srv/a\\040b rw - xfs /dev/sdb rw\n", "/srv/a b")
	f.Add("30 21 0:40 / / - ext4", "/")
	f.Fuzz(func(t *testing.T, text, top string) {
		for i, m := range parseMounts([]byte(text), top) {
			if (m.dir == ".") != (i == 0) && i == 0 {
				t.Errorf("%d: %+v", i, m)
			}
		}
	})
}
