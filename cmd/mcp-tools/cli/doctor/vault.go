package doctor

import (
	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// checkVault checks who may read the vault, and decrypts all secrets.
func (c *checkup) checkVault() {
	const check = "vault"
	v, err := c.env.Vault(c.settings.Config.Vault)
	if err != nil {
		c.fail(check, "", "%v", err)
		return
	}
	r, err := v.Check()
	switch {
	case err != nil:
		c.fail(check, "", "%v", err)
	case !r.Exists:
		c.ok(check, "none yet; mcp-tools secrets set NAME creates it")
	case r.OldKeys > 0:
		c.warn(check, "mcp-tools secrets rotate tries again", "%s could not be removed",
			text.Plural(r.OldKeys, "old key"))
	default:
		c.ok(check, "%s; the key is in %s", text.Plural(r.Secrets, "secret"), r.Key)
	}
}

// vaultVariable returns the variable that sets the vault's directory for a server
// with another data directory.
func vaultVariable(env *app.Env) []string {
	dir, _, err := env.VaultDir()
	if err != nil {
		return nil // the server reports it
	}
	return []string{config.EnvVaultDir + "=" + dir}
}
