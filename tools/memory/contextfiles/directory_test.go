package contextfiles_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/memory/contextfiles"
)

func file(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestDirectoryIsTheLastLevel comes last: what the store has counts before it.
func TestDirectoryIsTheLastLevel(t *testing.T) {
	dir := t.TempDir()
	s := storetest.Open(t, t.TempDir())
	b := contextfiles.New(memory.NewRows(s, memory.Limits{}),
		[]contextfiles.Agent{{Name: "laid", Predefined: true, Evolves: true, Dir: dir}})
	ada := as(t, "laid", "ada")
	file(t, dir, contextfiles.Soul, "\ufeffthe operator's")
	file(t, dir, contextfiles.Bootstrap, "begin")
	file(t, dir, "README.md", "no document")
	if got := read(ada, b, contextfiles.Soul); got != "the operator's" {
		t.Errorf("%q", got)
	}
	if list, err := b.List(ada, "."); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	if err := b.Write(ada, contextfiles.Soul, []byte("grown")); err != nil ||
		read(as(t, "laid", "bob"), b, contextfiles.Soul) != "grown" {
		t.Errorf("%v", err)
	}
	if err := b.Remove(ada, contextfiles.Soul); err != nil || read(ada, b, contextfiles.Soul) != "the operator's" {
		t.Errorf("%v", err)
	}
	if err := b.Remove(ada, contextfiles.Soul); kind(err) != tool.Refused {
		t.Errorf("%v", err)
	}
	if err := b.Write(ada, contextfiles.Bootstrap, nil); err != nil ||
		read(ada, b, contextfiles.Bootstrap) != "(none)" ||
		read(as(t, "laid", "bob"), b, contextfiles.Bootstrap) != "begin" {
		t.Errorf("%v", err)
	}
	if err := b.Write(as(t, "laid", ""), contextfiles.Bootstrap, nil); err != nil ||
		read(as(t, "laid", "bob"), b, contextfiles.Bootstrap) != "(none)" {
		t.Errorf("%v", err)
	}
	file(t, dir, contextfiles.Soul, "edited")
	if got := read(ada, b, contextfiles.Soul); got != "edited" {
		t.Errorf("%q", got)
	}
}

// TestUnreadableDirectoriesAreErrors checks that a file that cannot be read is not treated as missing.
func TestUnreadableDirectoriesAreErrors(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	file(t, outside, "secret", "secret")
	file(t, dir, contextfiles.User, strings.Repeat("x", contextfiles.MaxText+1))
	file(t, dir, contextfiles.Agents, "a\x00")
	if err := os.Mkdir(filepath.Join(dir, contextfiles.UserPredefined), 0o755); err != nil {
		t.Fatal(err)
	}
	names := []string{contextfiles.User, contextfiles.Agents, contextfiles.UserPredefined}
	if runtime.GOOS != "windows" {
		if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, contextfiles.Soul)); err != nil {
			t.Fatal(err)
		}
		names = append(names, contextfiles.Soul)
	}
	s := storetest.Open(t, t.TempDir())
	b := contextfiles.New(memory.NewRows(s, memory.Limits{}),
		[]contextfiles.Agent{{Name: "laid", Dir: dir}, {Name: "lost", Dir: filepath.Join(dir, "none")}})
	for _, name := range names {
		if _, _, err := b.Read(as(t, "laid", "ada"), name); kind(err) != tool.Unavailable ||
			strings.Contains(tool.AsError(err).What, dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := b.Read(as(t, "lost", "ada"), contextfiles.Soul); kind(err) != tool.Unavailable {
		t.Errorf("%v", err)
	}
	if text, err := b.Combined(as(t, "lost", "ada")); kind(err) != tool.Unavailable || text != "" {
		t.Errorf("%q, %v", text, err)
	}
}
