package app

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/vault"
)

// VaultDir returns the directory of the vault, which need not exist, and whether the
// operator chose it.
func (e *Env) VaultDir() (dir string, chosen bool, err error) {
	if dir := e.Getenv(config.EnvVaultDir); dir != "" {
		dir, err = filepath.Abs(dir)
		return dir, true, err
	}
	data, err := e.DataDir()
	return filepath.Join(data, "vault"), false, err
}

// Vault returns the vault of the settings. Nothing is read yet.
func (e *Env) Vault(c config.Vault) (*vault.Vault, error) {
	dir, chosen, err := e.VaultDir()
	if err != nil {
		return nil, err
	}
	if err := checkPrivate(filepath.Dir(dir)); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(dir); !chosen && err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a link or a file, and must be a directory; move it away, or set %s", dir,
			config.EnvVaultDir)
	}
	return vault.New(vault.Config{
		Dir: dir, Key: vault.KeyStore(c.KeyFrom), EnvKey: config.EnvVaultKey, EnvNext: config.EnvVaultKeyNext,
		Getenv: e.Getenv,
	}), nil
}

// Sources resolves the settings' references to secrets. The vault is opened when a
// reference leads there.
func (e *Env) Sources(c config.Vault) config.Sources {
	return config.Sources{
		Env: func(name string) (string, bool) {
			value := e.Getenv(name)
			return value, value != ""
		},
		Vault: func(name string) (string, error) {
			v, err := e.Vault(c)
			if err != nil {
				return "", err
			}
			value, err := v.Get(name)
			defer clear(value)
			return string(value), err
		},
	}
}

// WithVault loads the settings and passes the vault to use.
func (e *Env) WithVault(use func(*vault.Vault) error) error {
	loaded, err := e.Load()
	if err != nil {
		return err
	}
	v, err := e.Vault(loaded.Config.Vault)
	if err != nil {
		return err
	}
	return use(v)
}
