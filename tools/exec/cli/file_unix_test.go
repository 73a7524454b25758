//go:build unix

package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

// home returns an empty directory that no other user can change anything on the way
// to: temporary ones are not.
func home(t *testing.T) string {
	t.Helper()
	own, _ := os.UserHomeDir()
	for _, parent := range []string{".", own, "/run", "/opt"} {
		parent, err := filepath.Abs(parent)
		if err != nil {
			continue
		}
		dir, err := os.MkdirTemp(parent, "safe-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		if os.Chmod(dir, 0o755) != nil {
			continue
		}
		if _, err := resolve(dir); err == nil {
			return dir
		}
	}
	needtest.Lacking(t, "safe directory", "there is no directory that only this user can change")
	return ""
}

func put(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestProgramsAreTakenFromSafePlaces(t *testing.T) {
	dir := home(t)
	good := put(t, filepath.Join(dir, "good"), "#!/bin/sh\n", 0o755)
	link := filepath.Join(dir, "link")
	loop := filepath.Join(dir, "loop")
	open := filepath.Join(dir, "open")
	workspace := filepath.Join(dir, "workspace")
	pipe := filepath.Join(dir, "pipe")
	for _, err := range []error{
		os.Symlink("good", link), os.Symlink("loop", loop), os.Mkdir(open, 0o700), os.Mkdir(workspace, 0o700),
		syscall.Mkfifo(pipe, 0o600), os.Chmod(pipe, 0o700), os.Symlink("open/../good", filepath.Join(dir, "through")),
		os.Symlink("../good", filepath.Join(workspace, "out")), os.Symlink("workspace/mine", filepath.Join(dir, "in")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(open, "program"), "x", 0o755)
	put(t, filepath.Join(workspace, "mine"), "x", 0o755)
	if err := os.Chmod(open, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, path, want string }{
		{"plain", good, ""},
		{"link", link, ""},
		{"link that leaves the workspace", filepath.Join(workspace, "out"), "your tools can change it"},
		{"gone", filepath.Join(dir, "gone"), "no such file"},
		{"below a file", good + "/x", "no such file"},
		{"loop", loop, "too many links"},
		{"directory", dir, "no regular file"},
		{"pipe", pipe, "no regular file"},
		{"device", "/dev/null", "regular file"},
		{"not executable", put(t, filepath.Join(dir, "text"), "x", 0o644), "cannot be executed"},
		{"group can write", put(t, filepath.Join(dir, "group"), "x", 0o775), "can be changed by others"},
		{"all can write", put(t, filepath.Join(dir, "all"), "x", 0o757), "can be changed by others"},
		{"setuid", put(t, filepath.Join(dir, "suid"), "x", 0o755|os.ModeSetuid), "another user"},
		{"open directory", filepath.Join(open, "program"), "can be changed by others"},
		{"through an open directory", filepath.Join(dir, "through"), "can be changed by others"},
		{"workspace", filepath.Join(workspace, "mine"), "your tools can change it"},
		{"link into the workspace", filepath.Join(dir, "in"), "your tools can change it"},
	} {
		r := New(Options{Changeable: func(_ context.Context,
			path string) bool {
			return strings.HasPrefix(path, workspace+"/")
		}})
		at, err := r.locate(t.Context(), program{Program: Program{Name: "x", Path: test.path}})
		switch {
		case test.want == "" && (err != nil || at.path != good || at.identity == ""):
			t.Errorf("%s: %+v, %v", test.name, at, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		case err != nil && strings.Contains(err.Error(), dir):
			t.Errorf("%s: %v tells the path", test.name, err)
		}
	}
}

func TestProgramsOfOthersAreRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := home(t)
	name := put(t, filepath.Join(dir, "theirs"), "x", 0o755)
	locate := func() error {
		_, err := New(Options{}).locate(t.Context(), program{Program: Program{Name: "x", Path: name}})
		return err
	}
	if err := locate(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(name, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if err := locate(); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("file of another user: %v", err)
	}
	if err := os.Chown(name, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if err := locate(); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("directory of another user: %v", err)
	}
}

// TestAnotherFileHasAnotherIdentity replaces and rewrites a program.
func TestAnotherFileHasAnotherIdentity(t *testing.T) {
	dir := home(t)
	name := put(t, filepath.Join(dir, "p"), "one", 0o755)
	r := New(Options{})
	p := program{Program: Program{Name: "p", Path: name}}
	first, err := r.locate(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "q"), "two", 0o755)
	if err := os.Rename(filepath.Join(dir, "q"), name); err != nil {
		t.Fatal(err)
	}
	second, err := r.locate(t.Context(), p)
	if err != nil || second.identity == first.identity {
		t.Errorf("%v, %v", second, err)
	}
}

// TestInspectNamesTheDirectory checks that the operator sees which directory is wrong, and the model does not.
func TestInspectNamesTheDirectory(t *testing.T) {
	open := filepath.Join(home(t), "open")
	if err := errors.Join(os.Mkdir(open, 0o755), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	p := Program{Name: "x", Path: put(t, filepath.Join(open, "x"), "#!/bin/sh\n", 0o755), Allow: []string{"y"}}
	if err := Inspect(t.Context(), p); err == nil ||
		!strings.HasSuffix(err.Error(), "can be changed by others: "+open) {
		t.Errorf("the operator reads: %v", err)
	}
}

// TestSame checks that a file which was written to or replaced is another file, even if its times were set
// back.
func TestSame(t *testing.T) {
	dir := home(t)
	name := put(t, filepath.Join(dir, "x"), "#!/bin/sh\necho 1\n", 0o755)
	r := New(Options{})
	at, err := r.locate(t.Context(), program{Program: Program{Name: "x", Path: name}})
	if err != nil {
		t.Fatal(err)
	}
	if err := Same(at.path, at.identity); err != nil {
		t.Errorf("nothing happened: %v", err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	put(t, name, "#!/bin/sh\necho 2\n", 0o755)
	if err := os.Chtimes(name, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := Same(at.path, at.identity); err == nil {
		t.Error("it was written to")
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := Same(at.path, at.identity); err == nil || !strings.Contains(err.Error(), "changed just now") ||
		strings.Contains(err.Error(), dir) {
		t.Errorf("it is gone: %v", err)
	}
}
