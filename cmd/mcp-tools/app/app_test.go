package app

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/scrub"
)

func TestWorldWritableDataDirectoryIsRefused(t *testing.T) {
	if !UnixModes() {
		t.Skip("this system has no such modes")
	}
	dir := t.TempDir()
	for mode, refused := range map[os.FileMode]bool{
		0o700: false, 0o755: false, 0o777: true, 0o777 | os.ModeSticky: true,
	} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		err := checkPrivate(dir)
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "chmod o-w") {
			t.Errorf("%v: %v", mode, err)
		}
	}
	if err := checkPrivate(filepath.Join(dir, "to be made")); err != nil {
		t.Errorf("a missing one: %v", err)
	}
}

// TestAddressesThatCannotBeMasked: a server starts on machines with everyday addresses.
func TestAddressesThatCannotBeMasked(t *testing.T) {
	var log bytes.Buffer
	s, err := scrub.New(scrub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := &App{scrub: s, log: slog.New(slog.NewTextHandler(&log, nil))}
	a.maskAddresses(config.Scrub{ServerAddresses: true}, []string{"203.0.113.77", "192.168.1.1", "fd::1"})
	if got := s.Text("at 203.0.113.77 and 192.168.1.1"); got != "at [SERVER_IP] and 192.168.1.1" {
		t.Errorf("masked as %q", got)
	}
	if n := strings.Count(log.String(), "is not masked"); n != 2 || !strings.Contains(log.String(), "address=fd::1") {
		t.Errorf("logged %s", log.String())
	}
	a.maskAddresses(config.Scrub{}, []string{"203.0.113.77"})
	if got := s.Text("at 203.0.113.77"); got != "at 203.0.113.77" {
		t.Errorf("switched off, and masked as %q", got)
	}
}

func TestAHomeDirectoryIsWarnedAbout(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for dir, warned := range map[string]bool{
		home: true, filepath.Dir(home): true, string(filepath.Separator): true, "": false,
		filepath.Join(home, "src"): false, t.TempDir(): false,
	} {
		if got := WorkspaceWarning(dir); (got != "") != warned {
			t.Errorf("%s: %q", dir, got)
		}
	}
}

// TestUsageErrorsAreInvalidArguments: the operator's API answers them with status 400.
func TestUsageErrorsAreInvalidArguments(t *testing.T) {
	err := fmt.Errorf("explaining: %w", Usagef("there is no tool %q", "exce"))
	if got := tool.AsError(err); got.Kind != tool.Invalid || got.What != `there is no tool "exce"` {
		t.Errorf("got %v", got)
	}
}
