package exec

import (
	"context"
	"path"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

// named is Commands that show the directories of a caller under other paths.
type named struct{ stage }

func (n *named) Site(ctx context.Context, dir string, elevated bool) (sandbox.Site, error) {
	s, err := n.stage.Site(ctx, dir, elevated)
	s.Dir = path.Join("/data", dir)
	if dir == "workspace_dir" {
		s.Dir = "/my workspace"
	}
	return s, err
}

func TestAliasesInCommands(t *testing.T) {
	tool := execTool{runner: &runner{Options: Options{Commands: &named{stage{site: isolated()}}}}}
	for text, want := range map[string]string{
		"cat file_cache_dir/c.txt":                                "cat /data/file_cache_dir/c.txt",
		"cd file_cache_dir && ls \"file_state_dir/x\"":            "cd /data/file_cache_dir && ls \"/data/file_state_dir/x\"",
		"tar cf - file_cache_dir|wc >file_state_dir/n":            "tar cf - /data/file_cache_dir|wc >/data/file_state_dir/n",
		"echo my_file_cache_dir file_cache_dirs a/file_cache_dir": "echo my_file_cache_dir file_cache_dirs a/file_cache_dir",
		// a shell would read its path as two words
		"ls workspace_dir": "ls workspace_dir",
	} {
		if got := tool.withAliases(t.Context(), execArgs{Command: text}).Command; got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	got := tool.withAliases(t.Context(), execArgs{Argv: []string{"cat", "file_cache_dir/a b",
		"x/file_cache_dir/"}}).Argv
	if got[1] != "/data/file_cache_dir/a b" || got[2] != "x/file_cache_dir/" {
		t.Errorf("%q", got)
	}
	ps := execArgs{Command: `Get-Content file_cache_dir\x; ls "file_state_dir/y"`, InPS: true}.withoutShell()
	got = tool.withAliases(t.Context(), ps).Argv
	if want := `Get-Content /data/file_cache_dir\x; ls "/data/file_state_dir/y"`; got[len(got)-1] != want {
		t.Errorf("%q, want %q", got, want)
	}
}
