package workspace

// DefaultDeny lists what is kept from tools unless the operator makes an
// exception: files that hold secrets by their purpose.
func DefaultDeny() []string {
	return []string{
		".env", ".env.*", "!.env.example", "!.env.sample", "!.env.template", "!.env.dist", "!.env.defaults",
		"*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk",
		"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "!*.pub",
		".ssh/", ".gnupg/", ".aws/", ".azure/", ".kube/", ".config/gcloud/", ".config/gh/", ".password-store/",
		".docker/config.json", ".cargo/credentials", ".cargo/credentials.toml", ".terraform.d/credentials.tfrc.json",
		".netrc", "_netrc", ".pgpass", ".my.cnf", ".git-credentials", ".npmrc", ".pypirc", ".htpasswd", ".vault-token",
	}
}

// DefaultProtect lists what tools may read and not change unless the operator
// makes an exception: files that make other programs do things.
func DefaultProtect() []string {
	return []string{
		".git", ".gitmodules", ".gitconfig", ".husky/", ".hg/hgrc",
		".mcp.json", ".vscode/", ".idea/", ".cursor/", ".claude/", ".devcontainer/",
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
		".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".envrc", ".direnvrc",
		".config/fish/", ".config/autostart/", ".config/systemd/",
	}
}
