package main

import "github.com/mcp-tools/mcp-tools/internal/config"

// checkVault looks at who may use the vault, and tries its key on everything.
func (c *checkup) checkVault() {
	const check = "vault"
	v, err := c.app.vault(c.settings.Config.Vault)
	if err != nil {
		c.fail(check, "", "%v", err)
		return
	}
	r, err := v.Check()
	switch {
	case err != nil:
		c.fail(check, "", "%v", err)
	case !r.Exists:
		c.ok(check, "none yet; mcp-tools secrets set NAME makes it")
	case r.OldKeys > 0:
		c.warn(check, "mcp-tools secrets rotate tries again", "%s could not be removed", plural(r.OldKeys, "old key"))
	default:
		c.ok(check, "%s; the key is in %s", plural(r.Secrets, "secret"), r.Key)
	}
}

// vaultVariable tells a server that is started on a data directory of its own
// where the secrets are that the settings refer to.
func (a *app) vaultVariable() []string {
	loaded, err := a.load()
	if err != nil {
		return nil // the server will say so
	}
	dir, err := a.vaultDir(loaded.Config.Vault)
	if err != nil {
		return nil
	}
	for _, s := range config.Settings() {
		if s.Key == "vault.dir" {
			return []string{s.Env + "=" + dir}
		}
	}
	return nil
}
