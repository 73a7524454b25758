package briefing_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/briefing"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func file(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTheOperatorsDirectory comes last: what the store has counts before it.
func TestTheOperatorsDirectory(t *testing.T) {
	dir := t.TempDir()
	s := storetest.Open(t, t.TempDir())
	b := briefing.New(s, []briefing.Agent{{Name: "laid", Predefined: true, Evolves: true, Dir: dir}})
	ada := as(t, "laid", "ada")
	file(t, dir, briefing.Soul, "\ufeffthe operator's")
	file(t, dir, briefing.Bootstrap, "begin")
	file(t, dir, "README.md", "no document")
	if got := read(ada, b, briefing.Soul); got != "the operator's" {
		t.Errorf("%q", got)
	}
	if list, err := b.List(ada, "."); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	if err := b.Write(ada, briefing.Soul, []byte("grown")); err != nil || read(as(t, "laid", "bob"), b, briefing.Soul) != "grown" {
		t.Errorf("%v", err)
	}
	if err := b.Remove(ada, briefing.Soul); err != nil || read(ada, b, briefing.Soul) != "the operator's" {
		t.Errorf("%v", err)
	}
	if err := b.Remove(ada, briefing.Soul); kind(err) != tool.Refused {
		t.Errorf("%v", err)
	}
	if err := b.Write(ada, briefing.Bootstrap, nil); err != nil || read(ada, b, briefing.Bootstrap) != "(none)" || read(as(t, "laid", "bob"), b, briefing.Bootstrap) != "begin" {
		t.Errorf("%v", err)
	}
	if err := b.Write(as(t, "laid", ""), briefing.Bootstrap, nil); err != nil || read(as(t, "laid", "bob"), b, briefing.Bootstrap) != "(none)" {
		t.Errorf("%v", err)
	}
	file(t, dir, briefing.Soul, "edited")
	if got := read(ada, b, briefing.Soul); got != "edited" {
		t.Errorf("%q", got)
	}
}

// TestBadDirectories are told of: what cannot be read is not as good as absent.
func TestBadDirectories(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	file(t, outside, "secret", "secret")
	file(t, dir, briefing.User, strings.Repeat("x", briefing.MostText+1))
	file(t, dir, briefing.Agents, "a\x00")
	if err := os.Mkdir(filepath.Join(dir, briefing.Laid), 0o755); err != nil {
		t.Fatal(err)
	}
	names := []string{briefing.User, briefing.Agents, briefing.Laid}
	if runtime.GOOS != "windows" {
		if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, briefing.Soul)); err != nil {
			t.Fatal(err)
		}
		names = append(names, briefing.Soul)
	}
	s := storetest.Open(t, t.TempDir())
	b := briefing.New(s, []briefing.Agent{{Name: "laid", Dir: dir}, {Name: "lost", Dir: filepath.Join(dir, "none")}})
	for _, name := range names {
		if _, _, err := b.Read(as(t, "laid", "ada"), name); kind(err) != tool.Unavailable || strings.Contains(tool.AsError(err).What, dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := b.Read(as(t, "lost", "ada"), briefing.Soul); kind(err) != tool.Unavailable {
		t.Errorf("%v", err)
	}
	if text, err := b.Together(as(t, "lost", "ada")); kind(err) != tool.Unavailable || text != "" {
		t.Errorf("%q, %v", text, err)
	}
}
