package workspace

import (
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/workspace/ignore"
)

// This file has the names that file tools, sandboxes and the judge of commands treat alike:
// files with secrets, and files that make other programs run code. The syntax comes from
// .gitignore. A name with a directory begins with **/, because a home directory may be anywhere
// in a workspace.

// DefaultDeny returns the default patterns of files that tools must not see:
// files that usually hold secrets.
func DefaultDeny() []string {
	return []string{
		".env", ".env.*", "!.env.example", "!.env.sample", "!.env.template", "!.env.dist", "!.env.defaults",
		"*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk",
		"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "!*.pub",
		".ssh/", ".gnupg/", ".aws/", ".azure/", ".kube/", "**/.config/gcloud/", "**/.config/gh/",
		"**/.config/mcp-tools/", "**/.local/share/mcp-tools/", "**/Library/Application Support/mcp-tools/",
		".password-store/", "**/.docker/config.json", "**/.cargo/credentials", "**/.cargo/credentials.toml",
		"**/.terraform.d/credentials.tfrc.json",
		".netrc", "_netrc", ".pgpass", ".my.cnf", ".git-credentials", ".npmrc", ".pypirc", ".htpasswd", ".vault-token",
	}
}

// DefaultProtect returns the default patterns of files that tools may read but
// not change: files that make other programs run code.
func DefaultProtect() []string { return append([]string{".git"}, startUpNames()...) }

// StartUpNames returns the names of [DefaultProtect]. Of git's own directory it has only the
// files that make git run programs. Callers compile them once, and match whole paths.
func StartUpNames() *ignore.Names {
	return compileKnown(append(startUpNames(), "**/.git/hooks/", "**/.git/config", "**/.git/config.worktree",
		"**/.git/worktrees/*/config.worktree"))
}

// SecretNames returns the names of [DefaultDeny], like [StartUpNames].
func SecretNames() *ignore.Names { return compileKnown(DefaultDeny()) }

func compileKnown(patterns []string) *ignore.Names {
	names, err := ignore.NewNames(patterns)
	if err != nil {
		panic(err) // a pattern in this file is invalid
	}
	return names
}

func startUpNames() []string {
	return slices.Concat(
		[]string{ // shells, desktops and services: at a login
			".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc",
			".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".logout",
			".xinitrc", ".xprofile", ".xsession", ".xsessionrc", ".pam_environment", "**/.config/fish/",
			"**/.config/autostart/", "**/.config/systemd/", "**/.config/environment.d/", "**/.local/bin/",
			"**/.local/share/systemd/", "**/.local/share/applications/", "**/Library/LaunchAgents/",
			"**/.config/i3/", "**/.config/sway/", "**/.config/hypr/", "**/.config/kitty/", "**/.config/alacritty/",
			"**/.config/ghostty/", ".wezterm.lua", "**/.config/wezterm/", "**/.config/starship.toml", "**/.config/nushell/",
			".xonshrc", ".fzf.bash", ".fzf.zsh", ".oh-my-zsh/", ".mailcap",
		},
		[]string{ // programs whose settings start other programs
			".gitconfig", "**/.config/git/", ".gitmodules", ".gitattributes", ".hgrc", "**/.hg/hgrc", ".curlrc",
			".wgetrc",
			".vimrc", ".gvimrc", ".exrc", ".nvimrc", "**/.config/nvim/", ".vim/", ".emacs", ".emacs.d/", ".gdbinit",
			".lldbinit", ".tmux.conf", ".screenrc", "**/.cargo/config", "**/.cargo/config.toml",
			"**/.ipython/profile_default/startup/", ".pythonstartup", ".Rprofile",
			"**/.config/pip/", ".pip/", "**/.config/direnv/", "**/.config/mise/", "**/.config/helix/",
			"**/.config/zed/", "**/.config/Code/User/", "**/.vscode-server/", ".psqlrc", ".sqliterc", ".irbrc", ".pryrc",
			".ghci", "**/.m2/settings.xml", "**/.gradle/init.gradle", "**/.gradle/init.gradle.kts", "**/.gradle/init.d/",
			"**/.gradle/gradle.properties", ".terraformrc", ".bunfig.toml", "**/.julia/config/", ".ripgreprc",
			".ansible.cfg", "**/.local/lib/python*/site-packages/*.pth", "**/.local/lib/python*/site-packages/usercustomize.py",
			"**/.local/lib/python*/site-packages/sitecustomize.py",
		},
		[]string{ // tools of a project
			".envrc", ".direnvrc", "mise.toml", ".mise.toml", ".pre-commit-config.yaml", ".husky/", ".devcontainer/",
			"**/.github/workflows/", "**/.github/actions/", ".gitlab-ci.yml", "**/.circleci/config.yml",
			".devcontainer.json", "**/.mvn/", ".pnpmfile.cjs", ".yarnrc", ".yarnrc.yml", ".bazelrc", "lefthook.yml",
			"lefthook.yaml", ".lefthook.yml", ".lefthook.yaml", ".lintstagedrc", ".lintstagedrc.*", "**/.buildkite/",
			"azure-pipelines.yml", "Jenkinsfile",
		},
		[]string{ // editors and agents
			".mcp.json", ".vscode/", ".idea/", ".cursor/", ".claude/", ".claude.json", ".codex/", ".gemini/", ".zed/",
			".windsurf/", ".roo/", ".continue/", "**/.config/opencode/", ".opencode/", ".kiro/", ".amazonq/",
			"*.code-workspace", "*.sublime-project", ".fleet/", ".nvim.lua", ".lvimrc", ".dir-locals.el", ".junie/",
			"opencode.json", "opencode.jsonc", ".aider.conf.yml", ".crush.json", "crush.json",
		},
	)
}
