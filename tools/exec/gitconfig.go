package exec

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/exec/judge"
)

// lockedGit refuses a command of git that would fail because the settings of its repository
// are protected: they can make git run programs. It is refused before a person is asked.
func (k task) lockedGit() error {
	for _, c := range k.verdict.Simple {
		if c.Static && path.Base(c.Program) == "git" && changesGitConfig(c) && k.hasLockedGit() {
			return tool.Errorf(tool.Refused, "%q changes .git/config, which is protected", strings.Join(c.Argv, " ")).
				Try("ask the user to run it; for one command git -c NAME=VALUE sets a value, and git push and git fetch " +
					"take a URL; the operator can allow it with \"!.git\" and \"!**/.git/config\" in workspace.protect")
		}
	}
	return nil
}

// hasLockedGit reports whether the working directory is in a repository whose settings
// commands cannot change.
func (k task) hasLockedGit() bool {
	if k.site.Locked == nil {
		return false
	}
	for dir := k.site.Dir; ; dir = path.Dir(dir) {
		if k.site.Locked(path.Join(dir, ".git/config")) {
			return true
		}
		if slices.Contains(k.site.Roots, dir) || dir == path.Dir(dir) {
			return false
		}
	}
}

// changesGitConfig reports whether git writes the settings of the repository in the working
// directory.
func changesGitConfig(c judge.Simple) bool {
	args := c.Argv[1:]
	for len(args) > 1 && args[0] == "-c" {
		args = args[2:]
	}
	if len(args) < 2 {
		return false
	}
	words := slices.DeleteFunc(slices.Clone(args[1:]), func(a string) bool { return strings.HasPrefix(a, "-") })
	has := func(options ...string) bool {
		return slices.ContainsFunc(args[1:], func(a string) bool {
			name, _, _ := strings.Cut(a, "=")
			return slices.Contains(options, name)
		})
	}
	switch first := append(words, "")[0]; args[0] {
	case "remote":
		return slices.Contains([]string{"add", "set-url", "rename", "remove", "rm", "set-branches"}, first)
	case "config":
		switch {
		case has("--global", "--system", "--worktree", "--file", "-f", "--blob", "--get", "--get-all", "--get-regexp",
			"--get-urlmatch", "--list", "-l"):
			return false
		case has("--unset", "--unset-all", "--add", "--replace-all", "--rename-section", "--remove-section", "--edit", "-e"):
			return true
		}
		switch first {
		case "set", "unset", "rename-section", "remove-section", "edit":
			return true
		case "get", "list", "":
			return false
		}
		return len(words) > 1
	}
	return false
}
