package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/vault"
)

// vaultDir is where the vault is, or will be.
func (a *app) vaultDir(c config.Vault) (string, error) {
	if c.Dir != "" {
		return c.Dir, nil
	}
	data, err := a.dataDir()
	return filepath.Join(data, "vault"), err
}

// vault is the one that the settings describe. Nothing of it is read yet.
func (a *app) vault(c config.Vault) (*vault.Vault, error) {
	dir, err := a.vaultDir(c)
	if err != nil {
		return nil, err
	}
	if err := checkPrivate(filepath.Dir(dir)); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(dir); c.Dir == "" && err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a link or a file, and has to be a directory; move it away, or say with vault.dir where the vault is", dir)
	}
	return vault.New(vault.Config{
		Dir: dir, Key: vault.Place(c.KeyFrom), EnvKey: config.EnvVaultKey, EnvNext: config.EnvVaultKeyNext, Getenv: a.getenv,
	}), nil
}

// sources are where the settings' references to secrets lead. The vault is
// opened when one leads there.
func (a *app) sources(c config.Vault) config.Sources {
	return config.Sources{
		Env: func(name string) (string, bool) {
			value := a.getenv(name)
			return value, value != ""
		},
		Vault: func(name string) (string, error) {
			v, err := a.vault(c)
			if err != nil {
				return "", err
			}
			value, err := v.Get(name)
			defer clear(value)
			return string(value), err
		},
	}
}

// withVault loads the settings and opens the vault for one use.
func (a *app) withVault(use func(*vault.Vault) error) error {
	loaded, err := a.load()
	if err != nil {
		return err
	}
	v, err := a.vault(loaded.Config.Vault)
	if err != nil {
		return err
	}
	return use(v)
}
