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
		"home/u/.config/pip/pip.conf", "home/u/.config/i3/config", "home/u/.config/sway/config", "home/u/.config/hypr/hyprland.conf",
		"home/u/.config/kitty/kitty.conf", "home/u/.config/alacritty/alacritty.toml", "home/u/.config/ghostty/config",
		"home/u/.config/starship.toml", "home/u/.config/direnv/direnvrc", "home/u/.config/mise/config.toml",
		"home/u/.config/nushell/config.nu", "home/u/.config/helix/config.toml", "home/u/.config/zed/settings.json",
		"home/u/.config/Code/User/settings.json", "home/u/.vscode-server/data/a.json", "home/u/.psqlrc", "home/u/.sqliterc",
		"home/u/.irbrc", "home/u/.pryrc", "home/u/.ghci", "home/u/.m2/settings.xml", "home/u/.gradle/init.gradle", "home/u/.terraformrc",
		"home/u/.yarnrc", "home/u/.yarnrc.yml", "home/u/.bunfig.toml", "home/u/.wezterm.lua", "home/u/.xonshrc", "home/u/.fzf.bash",
		"home/u/.oh-my-zsh/custom/a.zsh", "home/u/.julia/config/startup.jl", "home/u/.mailcap", "home/u/.ripgreprc", "home/u/.bazelrc",
		"home/u/.ansible.cfg", "home/u/.local/lib/python3.12/site-packages/a.pth",
		"p/.devcontainer.json", "p/a.code-workspace", "p/a.sublime-project", "p/.fleet/run.json", "p/.nvim.lua", "p/.lvimrc",
		"p/.dir-locals.el", "p/.mvn/extensions.xml", "p/.pnpmfile.cjs", "p/.yarnrc.yml", "p/.bazelrc", "p/lefthook.yml",
		"p/.lintstagedrc", "p/.lintstagedrc.json", "p/.buildkite/pipeline.yml", "p/azure-pipelines.yml", "p/Jenkinsfile",
		"p/.junie/mcp.json", "p/opencode.json", "p/.aider.conf.yml", "p/.crush.json", "p/.git/worktrees/a/config.worktree",
		"p/.vscode/tasks.json", "p/.envrc", "p/.mcp.json", "p/.claude/settings.json", ".local/bin/ls", "p/.git/hooks/pre-commit", "p/.git/config",
	} {
		if !names.Covers(path) {
			t.Errorf("%s is not protected", path)
		}
	}
	for _, path := range []string{"p/.git/HEAD", "p/.gitignore", "p/.github/CODEOWNERS", "p/src/bashrc.md", "home/u/.config/app/x", "p/bin/ls",
		"p/AGENTS.md", "p/CLAUDE.md", "p/.cursorrules", "p/package.json", "p/Makefile", "p/conftest.py", "p/build.rs", "p/pip.conf"} {
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
