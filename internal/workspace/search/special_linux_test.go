package search

import (
	"testing"

	"golang.org/x/sys/unix"
)

func special(t *testing.T, path string) {
	t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPseudoFiles checks that files that the kernel generates are not read.
func TestPseudoFiles(t *testing.T) {
	m, err := Compile(Query{Pattern: ".", Mode: Names})
	if err != nil {
		t.Fatal(err)
	}
	for dir, name := range map[string]string{"/proc": "version", "/dev": "zero"} {
		found, err := m.Files(t.Context(), openRoot(t, dir), []string{name}, nil)
		if err != nil || found.Searched != 0 || len(found.Files) != 0 {
			t.Errorf("%s/%s: %+v, %v", dir, name, found, err)
		}
	}
}

// TestOpen compares the fast way to open files with that of package root.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", "text")
	special(t, dir+"/fifo")
	o := newOpener(openRoot(t, dir), nil)
	for _, name := range []string{"a", "none", "fifo", ".", "a/b"} {
		fast, state, fastErr := o.open(name)
		slow, info, slowErr := o.root.OpenRegular(name)
		if (fastErr == nil) != (slowErr == nil) || fastErr == nil && state != info {
			t.Errorf("%s: %v, slow %v", name, fastErr, slowErr)
		}
		if fastErr == nil {
			fast.close()
			slow.Close()
		}
	}
}
