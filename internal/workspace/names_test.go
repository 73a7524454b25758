package workspace

import "testing"

// TestStartUpNames checks that files which programs read at a start, at a login or when a project is opened are
// protected in any directory, even if they do not exist yet.
func TestStartUpNames(t *testing.T) {
	names, secrets := StartUpNames(), SecretNames()
	for _, path := range []string{
		"home/u/.bashrc", "home/u/.zshenv", "home/u/.kshrc", "home/u/.cshrc", "home/u/.login", "home/u/.xprofile", "home/u/.vimrc",
		"home/u/.config/nvim/init.lua", "home/u/.emacs.d/init.el", "home/u/.gdbinit", "home/u/.inputrc", "home/u/.tmux.conf",
		"home/u/.config/git/config", "p/.gitattributes", "home/u/.cargo/config.toml", "home/u/.config/environment.d/a.conf",
		"home/u/.pam_environment", "home/u/.local/bin/ls", "Users/u/Library/LaunchAgents/a.plist", "home/u/.config/systemd/user/a.service",
		"home/u/.ipython/profile_default/startup/a.py", "home/u/.hgrc", "home/u/.curlrc", "p/.codex/config.toml", "p/.gemini/settings.json",
		"p/.zed/settings.json", "p/.windsurf/mcp.json", "p/.roo/mcp.json", "p/.continue/config.json", "home/u/.claude.json",
		"home/u/.config/opencode/opencode.json", "p/mise.toml", "p/.pre-commit-config.yaml", "p/.github/workflows/ci.yml",
		"p/.vscode/tasks.json", "p/.envrc", "p/.mcp.json", "p/.claude/settings.json", ".local/bin/ls", "p/.git/hooks/pre-commit", "p/.git/config",
	} {
		if !names.Covers(path) {
			t.Errorf("%s is not protected", path)
		}
	}
	for _, path := range []string{"p/.git/HEAD", "p/.gitignore", "p/.github/CODEOWNERS", "p/src/bashrc.md", "home/u/.config/app/x", "p/bin/ls"} {
		if names.Covers(path) || secrets.Covers(path) {
			t.Errorf("%s is protected or denied", path)
		}
	}
	for _, path := range []string{
		"home/u/.ssh/authorized_keys", "home/u/.config/gh/hosts.yml", "home/u/.docker/config.json", "p/.env", "home/u/.config/mcp-tools/config.yaml",
	} {
		if !secrets.Covers(path) {
			t.Errorf("%s is not denied", path)
		}
	}
}
