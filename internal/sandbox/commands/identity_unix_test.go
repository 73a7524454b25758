//go:build !windows

package commands

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestModificationTimeIsSetBack changes a file and gives it its old size and time.
func TestModificationTimeIsSetBack(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	write := func(text string) (identity string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return fileIdentity(name, info)
	}
	before := write("one")
	for range 1000 { // clocks of file systems are coarse
		if write("two") != before {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Error("a file that was changed passes for the one before")
}

// TestReplacedDirectoryIsNotUsed has the directory replaced in between.
func TestReplacedDirectoryIsNotUsed(t *testing.T) {
	c := newCommands(t)
	ctx := caller(t)
	site, err := c.Site(ctx, "", false)
	if err != nil {
		t.Fatal(err)
	}
	cmd := sh("true")
	cmd.At = site
	if _, s := run(ctx, t, c, cmd); s.Code != 0 {
		t.Errorf("it is %+v", s)
	}
	cmd.At.Inode = "another"
	_, err = c.Start(ctx, cmd)
	refused(t, err, tool.Conflict, "changed after")
}
