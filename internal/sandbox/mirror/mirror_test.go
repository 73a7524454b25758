package mirror

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A pair is a mirror of a directory here, and the copy there.
type pair struct {
	*testing.T
	m           *Mirror
	here, there string
}

func newPair(t *testing.T, change ...func(*Options)) *pair {
	t.Helper()
	base := t.TempDir()
	p := &pair{T: t, here: filepath.Join(base, "here"), there: filepath.Join(base, "there")}
	for _, dir := range []string{p.here, p.there} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{Copies: []Copy{{p.here, p.there, true}}, Dial: func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go Serve(theirs)
		t.Cleanup(func() { ours.Close() })
		return ours, nil
	}}
	for _, f := range change {
		f(&o)
	}
	p.m = New(o)
	t.Cleanup(p.m.Close)
	return p
}

func (p *pair) write(dir, name, content string) {
	p.Helper()
	at := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
		p.Fatal(err)
	}
}

func (p *pair) remove(dir, name string) {
	p.Helper()
	if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
		p.Fatal(err)
	}
}

// send runs what is before a command.
func (p *pair) send() []string {
	p.Helper()
	notes, err := p.m.Send(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	return notes
}

// fetch runs what is after a command.
func (p *pair) fetch() []string {
	p.Helper()
	notes, err := p.m.Fetch(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	return notes
}

// list returns names with contents, modes and links.
func list(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || at == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, at)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			all = append(all, rel+"/")
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(at)
			all = append(all, rel+" -> "+to)
		default:
			text, _ := os.ReadFile(at)
			all = append(all, fmt.Sprintf("%s %o %s", rel, info.Mode().Perm(), text))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "\n")
}

func (p *pair) equal(want ...string) {
	p.Helper()
	here, there := list(p.T, p.here), list(p.T, p.there)
	if here != there {
		p.Errorf("here:\n%s\nthere:\n%s", here, there)
	}
	if got := strings.Join(want, "\n"); here != got {
		p.Errorf("got:\n%s\nwant:\n%s", here, got)
	}
}

// TestBothWays changes files on either side in turn.
func TestBothWays(t *testing.T) {
	p := newPair(t)
	p.write(p.here, "a.txt", "one")
	p.write(p.here, "src/b.sh", "echo")
	if err := os.Chmod(filepath.Join(p.here, "src/b.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("src/b.sh", filepath.Join(p.here, "run")); err != nil {
		t.Fatal(err)
	}
	p.send()
	p.equal("a.txt 644 one", "run -> src/b.sh", "src/", "src/b.sh 755 echo")
	p.write(p.there, "a.txt", "two")
	p.write(p.there, "out/deep/made", "new")
	p.remove(p.there, "run")
	p.remove(p.there, "src")
	p.fetch()
	p.equal("a.txt 644 two", "out/", "out/deep/", "out/deep/made 644 new")
	p.write(p.here, "a.txt", "six") // as long, at once
	p.remove(p.here, "out")
	p.write(p.here, "out", "a file now")
	p.send()
	p.equal("a.txt 644 six", "out 644 a file now")
	p.remove(p.there, "out")
	p.write(p.there, "out/again", "x")
	p.write(p.there, "a.txt", "ten")
	p.fetch()
	p.equal("a.txt 644 ten", "out/", "out/again 644 x")
	if notes := slices.Concat(p.fetch(), p.send(), p.fetch()); notes != nil {
		t.Error(notes)
	}
	stat, err := os.Stat(filepath.Join(p.here, "out/again"))
	other, err2 := os.Stat(filepath.Join(p.there, "out/again"))
	if err != nil || err2 != nil || !stat.ModTime().Equal(other.ModTime()) {
		t.Errorf("%v, %v: the times differ", err, err2)
	}
}

// TestQuickChanges changes a file on both sides faster than the clock of files: all have one size and time.
// TestReplacedDirectory removes the directory here while commands run, and then makes it again.
func TestReplacedDirectory(t *testing.T) {
	p := newPair(t)
	p.write(p.here, "before", "1")
	p.send()
	p.remove(p.here, ".")
	p.write(p.there, "by a command", "2")
	for name, f := range map[string]func(context.Context) ([]string, error){"fetch": p.m.Fetch, "send": p.m.Send} {
		if _, err := f(t.Context()); !errors.Is(err, ErrMissing) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.write(p.here, "before", "1")
	p.write(p.here, "new", "3")
	if notes := p.fetch(); notes != nil {
		t.Errorf("the notes are %q", notes)
	}
	p.send()
	p.equal("before 644 1", "by a command 644 2", "new 644 3")
}

func TestQuickChanges(t *testing.T) {
	p := newPair(t)
	at := time.Unix(1e9, 0)
	set := func(dir, text string) {
		p.write(dir, "f", text)
		if err := os.Chtimes(filepath.Join(dir, "f"), at, at); err != nil {
			t.Fatal(err)
		}
	}
	set(p.here, "00")
	for i := range 20 {
		p.send()
		set(p.there, fmt.Sprintf("t%d", i%10))
		p.fetch()
		p.equal(fmt.Sprintf("f 644 t%d", i%10))
		set(p.here, fmt.Sprintf("h%d", i%10))
	}
}

func TestConflicts(t *testing.T) {
	p := newPair(t)
	for _, name := range []string{"both", "gone-here", "gone-there", "same"} {
		p.write(p.here, name, "old")
	}
	p.send()
	p.write(p.here, "both", "mine")
	p.write(p.there, "both", "theirs")
	p.remove(p.here, "gone-here")
	p.write(p.there, "gone-here", "theirs")
	p.write(p.here, "gone-there", "mine")
	p.remove(p.there, "gone-there")
	p.write(p.here, "same", "new")
	p.write(p.there, "same", "new")
	p.write(p.here, "fresh", "mine")
	p.write(p.there, "fresh", "theirs")
	notes := p.fetch()
	if len(notes) != 2 || !strings.Contains(notes[0], "both was changed here too, and stays; the command's version is in both.from-sandbox") {
		t.Errorf("%q", notes)
	}
	p.send()
	p.equal("both 644 mine", "both.from-sandbox 644 theirs", "fresh 644 mine", "fresh.from-sandbox 644 theirs",
		"gone-here 644 theirs", "gone-there 644 mine", "same 644 new")
}

func TestProtected(t *testing.T) {
	p := newPair(t, func(o *Options) {
		o.Hidden = []string{filepath.Join(o.Copies[0].Here, "secret")}
		o.Locked = []string{filepath.Join(o.Copies[0].Here, ".git/hooks")}
	})
	p.write(p.here, "secret/key", "K")
	p.write(p.here, ".git/hooks/pre-commit", "safe")
	p.write(p.here, ".git/HEAD", "main")
	p.send()
	if got, want := list(t, p.there), ".git/\n.git/HEAD 644 main\n.git/hooks/\n.git/hooks/pre-commit 644 safe"; got != want {
		t.Errorf("there:\n%s", got)
	}
	p.write(p.there, ".git/hooks/pre-commit", "evil")
	p.write(p.there, ".git/hooks/post-commit", "evil")
	p.write(p.there, ".git/HEAD", "topic")
	p.write(p.there, "secret/key", "forged")
	notes := strings.Join(p.fetch(), "\n")
	for _, want := range []string{".git/hooks/pre-commit is protected", ".git/hooks/post-commit is protected", "secret/key is protected"} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q lacks %q", notes, want)
		}
	}
	p.send()
	for dir, want := range map[string]string{
		p.here:  ".git/\n.git/HEAD 644 topic\n.git/hooks/\n.git/hooks/pre-commit 644 safe\nsecret/\nsecret/key 644 K",
		p.there: ".git/\n.git/HEAD 644 topic\n.git/hooks/\n.git/hooks/pre-commit 644 safe",
	} {
		if got := list(t, dir); got != want {
			t.Errorf("%s:\n%s", dir, got)
		}
	}
	// A directory with protected files cannot be removed or replaced.
	p.remove(p.there, ".git")
	p.write(p.there, ".git", "a file")
	p.fetch()
	p.send()
	if got := list(t, p.here); !strings.Contains(got, ".git/hooks/pre-commit 644 safe") {
		t.Errorf("here:\n%s", got)
	}
}

// TestSingleFile has a file beside the workspace, and a directory that commands only read.
func TestSingleFile(t *testing.T) {
	base := t.TempDir()
	p := newPair(t, func(o *Options) {
		o.Copies = append(o.Copies, Copy{filepath.Join(base, "tool"), filepath.Join(base, "roots/1-tool"), false},
			Copy{filepath.Join(base, "lib"), filepath.Join(base, "roots/lib"), false})
	})
	p.write(base, "tool", "run")
	p.write(base, "lib/x", "1")
	p.send()
	if got := list(t, filepath.Join(base, "roots")); got != "1-tool 644 run\nlib/\nlib/x 644 1" {
		t.Errorf("there:\n%s", got)
	}
	p.write(base, "roots/lib/x", "changed")
	p.write(base, "lib/y", "2")
	if notes := p.fetch(); notes != nil {
		t.Error(notes)
	}
	p.send()
	if got := list(t, filepath.Join(base, "lib")); got != "x 644 1\ny 644 2" {
		t.Errorf("here:\n%s", got)
	}
}

// TestHostileSandbox has a sandbox that answers with what it likes.
func TestHostileSandbox(t *testing.T) {
	outside := t.TempDir()
	for name, entries := range map[string][]entry{
		"parent":   {{Path: "0/../x", Kind: file, Size: 1}},
		"absolute": {{Path: "0//etc/x", Kind: file, Size: 1}},
		"place":    {{Path: "7/x", Kind: file, Size: 1}},
		"number":   {{Path: "00/x", Kind: file, Size: 1}},
		"link":     {{Path: "0/out", Kind: link, Link: outside}, {Path: "0/out/x", Kind: file, Size: 1}},
		"setuid":   {{Path: "0/s", Kind: file, Size: 1, Mode: fs.ModeSetuid | 0o777}},
		"kind":     {{Path: "0/k", Kind: "c"}},
		"itself":   {{Path: "0", Kind: file, Size: 1}, {Path: "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, func(o *Options) {
				o.Dial = func(context.Context) (net.Conn, error) {
					ours, theirs := net.Pipe()
					go hostile(theirs, entries)
					return ours, nil
				}
			})
			p.write(p.here, "kept", "1")
			p.send()
			notes, err := p.m.Fetch(t.Context())
			t.Log(notes, err)
			if text, err := os.ReadFile(filepath.Join(p.here, "kept")); string(text) != "1" {
				t.Errorf("%q, %v", text, err)
			}
			if info, err := os.Stat(filepath.Join(p.here, "s")); err == nil && info.Mode()&fs.ModeSetuid != 0 {
				t.Error("a file with the rights of its owner was made")
			}
			for _, dir := range []string{outside, filepath.Dir(p.here)} {
				if text, err := os.ReadFile(filepath.Join(dir, "x")); err == nil {
					t.Errorf("%q was written outside", text)
				}
			}
		})
	}
}

// hostile answers every request of a server with entries.
func hostile(conn net.Conn, entries []entry) {
	defer conn.Close()
	s := newStream(conn)
	for {
		m, err := s.next()
		if err != nil {
			return
		}
		do := m.Do
		if do == doPut || do == doGet {
			for !m.End && err == nil {
				if m, err = s.next(); err == nil && m.Entry != nil && m.Entry.Size > 0 && m.Entry.Path == "0/kept" {
					_, err = s.in.Discard(int(m.Entry.Size))
				}
			}
		}
		if do == doLook || do == doGet {
			for _, e := range entries {
				_ = s.send(message{Entry: &e})
				if do == doGet && e.Kind == file {
					_, _ = s.out.WriteString("!")
				}
			}
		}
		if s.send(message{End: true}) != nil || s.out.Flush() != nil {
			return
		}
	}
}

func FuzzServer(f *testing.F) {
	f.Add([]byte(`{"Entry":{"Path":"0/a","Kind":"f","Size":1}}` + "\n!" + `{"End":true}` + "\n"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		dir := t.TempDir()
		m := New(Options{Copies: []Copy{{dir, "/x", true}}, Dial: func(context.Context) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				s := newStream(theirs)
				_, _ = s.next()
				_ = s.send(message{End: true})
				_ = s.out.Flush()
				_, _ = s.next()
				_, _ = theirs.Write(answer)
			}()
			return ours, nil
		}})
		defer m.Close()
		if _, err := m.Send(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, _ = m.Fetch(t.Context())
	})
}

// BenchmarkUnchanged looks for changes in 10,000 files in 100 directories, of which there are none.
func BenchmarkUnchanged(b *testing.B) {
	dir := b.TempDir()
	for i := range 10_000 {
		at := filepath.Join(dir, "some", fmt.Sprintf("dir%d", i%100), fmt.Sprintf("file%d", i))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, nil, 0o644)); err != nil {
			b.Fatal(err)
		}
	}
	f, err := OpenFiles(dir, func(string) bool { return false })
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	list, _, err := f.Changes(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range list {
		m := f.Mark(e.Path)
		m.Young = false
		f.RememberAt(e, m)
	}
	for b.Loop() {
		if list, _, err := f.Changes(b.Context()); err != nil || len(list) != 0 {
			b.Fatal(len(list), err)
		}
	}
}
