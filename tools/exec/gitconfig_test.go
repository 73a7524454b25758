package exec

import (
	"context"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// TestProtectedGitConfig checks that commands that cannot work are refused before a person is
// asked, and only these.
func TestProtectedGitConfig(t *testing.T) {
	for command, want := range map[string]bool{
		"git remote add origin https://a.example": true, "git remote set-url origin x": true, "git remote rm origin": true,
		"git config user.name x": true, "git config --unset user.name": true, "git config set user.name x": true,
		"git -c a.b=c config user.name x": true, "cd /w && git config core.bare true": true,
		"git remote": false, "git remote -v": false, "git remote show origin": false, "git config user.name": false,
		"git config --get user.name": false, "git config get user.name": false, "git config -l": false, "git config list": false,
		"git config --global user.name x": false, "git config -f other user.name x": false, "git commit -m x": false,
		"git -C ../other config user.name x": false, "git status": false,
	} {
		for _, locked := range []bool{true, false} {
			site := isolated()
			site.Locked = func(path string) bool { return locked && path == "/w/.git/config" }
			k := task{site: site}
			r := Tools(Options{Commands: &stage{site: site, next: &actor{status: exited(0)}}})
			_, _, err := factsOf(t, bind(t, r, "exec", `{"command":"`+command+`"}`))
			if refused := err != nil && strings.Contains(err.Error(), "ask the user to run it"); refused != (want && locked) {
				t.Errorf("%s, locked %v: %v", command, locked, err)
			}
			if k.hasLockedGit() != locked {
				t.Error("hasLockedGit is wrong")
			}
		}
	}
}

// TestWrittenOutside checks that a command that writes outside of the workspace says that this
// is not kept.
func TestWrittenOutside(t *testing.T) {
	for command, want := range map[string]bool{
		"git worktree add ../wt": true, "cp a ../b": true, "cp a b": false, "git worktree add wt": false, "ls ..": false,
	} {
		all := Tools(Options{Commands: &stage{site: isolated(), next: &actor{status: exited(0)}}})
		res, err := bind(t, all, "exec", `{"command":"`+command+`"}`).Run(within(t, nil))
		if err != nil || strings.Contains(res.Text(), "not kept") != want {
			t.Errorf("%s: %q, %v", command, res.Text(), err)
		}
	}
}

// TestKeptIsSaid checks that the question about a command says whether undo restores what it
// destroys.
func TestKeptIsSaid(t *testing.T) {
	record := func(context.Context, workspace.Command) func() { return func() {} }
	for _, c := range []struct {
		command  string
		recorded bool
		want     bool
	}{{"rm a", true, true}, {"rm a", false, false}, {"git branch -D x", true, false}} {
		o := Options{Commands: &stage{site: isolated(), next: &actor{}}}
		if c.recorded {
			o.Checkpoint = record
		}
		_, plan, err := factsOf(t, bind(t, Tools(o), "exec", `{"command":"`+c.command+`"}`))
		if err != nil || plan.Risk != tool.Destroys || plan.Kept != c.want {
			t.Errorf("%+v: %v %v, %v", c, plan.Risk, plan.Kept, err)
		}
	}
}
