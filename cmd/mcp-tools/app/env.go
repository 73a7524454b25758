package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/vault"
)

// An Env is the environment of one run of the program: its streams, its
// variables, and the options of every command.
type Env struct {
	In      *os.File
	Out     io.Writer
	Err     io.Writer
	Getenv  func(string) string
	Environ func() []string

	ConfigFile string            // "" for the usual one
	Data       string            // "" for the usual directory
	Overrides  map[string]string // settings given as flags, by key

	// Doctor runs the checks of mcp-tools doctor for the console. nil: the console runs those of
	// the rooms.
	Doctor func(context.Context, *Env) []room.Finding

	// IndexPatience is the max time that a search waits for an index that is
	// behind. 0 is the indexer's default.
	IndexPatience time.Duration
}

// A UsageError is a mistake in the command line.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

func (e UsageError) Unwrap() error { return e.Err }

// As converts the mistake to a *tool.Error: over HTTP it is one in the arguments.
func (e UsageError) As(target any) bool {
	known, ok := target.(**tool.Error)
	if ok {
		*known = tool.Errorf(tool.Invalid, "%w", e.Err)
	}
	return ok
}

// Usagef returns a UsageError.
func Usagef(format string, args ...any) error { return UsageError{Err: fmt.Errorf(format, args...)} }

// Load reads the settings.
func (e *Env) Load() (*Loaded, error) {
	loaded, err := SettingsReader().Load(e.loadOptions())
	return loaded, explainMissing(err)
}

func (e *Env) loadOptions() config.LoadOptions {
	return config.LoadOptions{Path: e.ConfigFile, Getenv: e.Getenv, Overrides: e.Overrides}
}

// explainMissing adds the next step to the error of a settings file that does
// not exist.
func explainMissing(err error) error {
	if missing := (*fs.PathError)(nil); errors.Is(err, fs.ErrNotExist) && errors.As(err, &missing) {
		return Usagef("there is no settings file %s; mcp-tools config example prints one to start with", missing.Path)
	}
	return err
}

// DataDir returns the data directory.
func (e *Env) DataDir() (string, error) { return config.DataDir(e.Data, e.Getenv) }

// Executable returns the path by which this program was started, so that an entry
// in a client's settings survives an upgrade that changes the target of a link.
func Executable() (string, error) {
	real, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	named, err := exec.LookPath(os.Args[0])
	if err != nil {
		return real, nil
	}
	if named, err = filepath.Abs(named); err != nil || !sameFile(named, real) {
		return real, nil
	}
	return named, nil
}

func sameFile(x, y string) bool {
	a, err := os.Stat(x)
	if err != nil {
		return false
	}
	b, err := os.Stat(y)
	return err == nil && os.SameFile(a, b)
}

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
func (e *Env) Vault(c vault.Settings) (*vault.Vault, error) {
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
		Dir: dir, Key: c.KeyFrom, EnvKey: config.EnvVaultKey, EnvNext: config.EnvVaultKeyNext,
		Getenv: e.Getenv,
	}), nil
}

// Sources resolves the settings' references to secrets. The vault is opened when a
// reference leads there.
func (e *Env) Sources(c vault.Settings) config.Sources {
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

// openVault returns the vault of the settings. Nothing is read yet.
func (e *Env) openVault() (*vault.Vault, error) {
	loaded, err := e.Load()
	if err != nil {
		return nil, err
	}
	return e.Vault(loaded.Config.Vault)
}

// WithVault loads the settings and passes the vault to use.
func (e *Env) WithVault(use func(*vault.Vault) error) error {
	v, err := e.openVault()
	if err != nil {
		return err
	}
	return use(v)
}
