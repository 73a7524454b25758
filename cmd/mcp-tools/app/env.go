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
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/vault"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
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

	// undoManaged reverts a change of a managed workspace. nil: this process is no server that has them.
	undoManaged func(context.Context, history.Record) (workspace.Receipt, error)

	// Doctor runs the checks of mcp-tools doctor for the console. nil: the console runs the checks of the rooms.
	Doctor func(context.Context, *Env) []room.Finding

	// IndexPatience is the max time that a search waits for an index that is
	// behind. 0 is the indexer's default.
	IndexPatience time.Duration

	store *store.Store // of a server; nil: commands open one when they need it
	keys  *vault.Keys  // unwrapped data keys of the vault
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

// dataFlags returns the flags of a command in another terminal for the data of this server, "" if it needs none.
// storeNamed means that the settings name the store.
func (e *Env) dataFlags(storeNamed bool) string {
	other := func(name string) string { // the environment of another terminal
		if name == config.EnvData || name == config.EnvConfig {
			return ""
		}
		return e.Getenv(name)
	}
	var flags []string
	add := func(name string, path func(string, func(string) string) (string, error), flag string) {
		here, err := path(flag, e.Getenv)
		if there, _ := path("", other); err != nil || here == there {
			return
		}
		if runtime.GOOS == "windows" {
			here = `"` + here + `"`
		} else if strings.ContainsFunc(here, func(r rune) bool { return r <= ' ' || strings.ContainsRune("'\"\\`$&|;<>()[]{}*?!#~", r) }) {
			here = "'" + strings.ReplaceAll(here, "'", `'\''`) + "'"
		}
		flags = append(flags, name+" "+here)
	}
	add("--data", config.DataDir, e.Data)
	if storeNamed {
		add("--config", config.File, e.ConfigFile)
	}
	return strings.Join(flags, " ")
}

// ClientCommand returns the command for clients to start this program: the path of
// [Executable], or npx with the package of this version if npx has started the program, because
// the paths in the cache of npx do not last. The version stays, so that a client starts the
// program that was tried; with --prefer-offline npx finds it in its cache without the registry.
func (e *Env) ClientCommand() (command string, args []string, err error) {
	pack := e.Getenv("MCP_TOOLS_NPX") // set by the script of the npm package
	if pack == "" {
		command, err = Executable()
		return command, nil, err
	}
	args = []string{"-y", "--prefer-offline", pack}
	if runtime.GOOS == "windows" { // npx is a script there, and clients do not start scripts
		return "cmd", append([]string{"/c", "npx"}, args...), nil
	}
	return "npx", args, nil
}

// Executable returns the path of this program as it was started, so that an entry in a client's
// settings survives an upgrade that changes the target of a link.
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

// VaultDir returns the directory of the vault and whether the operator chose it. The directory
// may not exist.
func (e *Env) VaultDir() (dir string, chosen bool, err error) {
	if dir := e.Getenv(config.EnvVaultDir); dir != "" {
		dir, err = filepath.Abs(dir)
		return dir, true, err
	}
	data, err := e.DataDir()
	return filepath.Join(data, "vault"), false, err
}

// Vault returns the vault of the settings. Nothing is read yet.
func (e *Env) Vault(all Settings) (*vault.Vault, error) {
	c, err := e.vaultConfig(all)
	if err != nil {
		return nil, err
	}
	c.Store, c.Except = e.vaultStore(all), bootstrapSecrets(all)
	c.File = func() string {
		o, err := e.StoreOptions(all, nil)
		if err != nil {
			return ""
		}
		return store.FileID(o.DSN)
	}
	c.Needed = func(ctx context.Context, id string) (needed bool, err error) {
		here, err := e.DataDir()
		if err != nil {
			return false, err
		}
		o, err := e.StoreOptions(all, nil)
		if err != nil || o.DSN == here || store.Missing(here) {
			return false, err
		}
		local, err := store.Open(ctx, store.Options{DSN: here})
		if err != nil {
			return false, err
		}
		needed, err = vault.Uses(ctx, local, id)
		return needed, errors.Join(err, local.Close())
	}
	return vault.New(c), nil
}

// vaultConfig returns the common configuration of the vaults of all stores.
func (e *Env) vaultConfig(all Settings) (vault.Config, error) {
	dir, chosen, err := e.VaultDir()
	if err != nil {
		return vault.Config{}, err
	}
	if err := checkPrivate(filepath.Dir(dir)); err != nil {
		return vault.Config{}, err
	}
	if info, err := os.Lstat(dir); !chosen && err == nil && !info.IsDir() {
		return vault.Config{}, fmt.Errorf("%s is a link or a file, and must be a directory; move it away, or set %s", dir,
			config.EnvVaultDir)
	}
	if e.keys == nil {
		e.keys = new(vault.Keys)
	}
	return vault.Config{
		Dir: dir, Key: all.Vault.KeyFrom, KeyFile: all.Vault.KeyFile, Command: all.Vault.KeyCommand,
		EnvKey: config.EnvVaultKey, EnvNext: config.EnvVaultKeyNext, Getenv: e.Getenv, Keys: e.keys,
		Shared: chosen,
	}, nil
}

// vaultStore returns a function that returns the store of the settings: the open one of a server, or one for each use.
func (e *Env) vaultStore(all Settings) func(context.Context, bool) (*store.Store, func() error, error) {
	return func(_ context.Context, create bool) (*store.Store, func() error, error) {
		if e.store != nil {
			if !create && e.store.Missing() {
				return nil, nil, nil
			}
			return e.store, func() error { return nil }, nil
		}
		o, err := e.StoreOptions(all, nil)
		if err != nil || !create && store.Missing(o.DSN) {
			return nil, nil, err
		}
		s, err := store.OpenLazy(o)
		if err != nil {
			return nil, nil, err
		}
		return s, s.Close, nil
	}
}

// bootstrapSecrets returns the names of the secrets with the location of the store.
func bootstrapSecrets(all Settings) (names []string) {
	for _, place := range []string{all.Store.DSN, all.Store.Direct} {
		if name, found := strings.CutPrefix(place, "secret:"); found {
			names = append(names, name)
		}
	}
	return names
}

// bootstrapVault returns the vault that has the location of the store. It is in the SQLite store of the data
// directory: the store itself cannot hold its location.
func (e *Env) bootstrapVault(all Settings) (*vault.Vault, error) {
	c, err := e.vaultConfig(all)
	if err != nil {
		return nil, err
	}
	here, err := e.DataDir()
	if err != nil {
		return nil, err
	}
	c.Only = bootstrapSecrets(all)
	c.Needed = func(context.Context, string) (bool, error) { return true, nil } // by the store of the settings
	c.Store = func(_ context.Context, create bool) (*store.Store, func() error, error) {
		if !create && store.Missing(here) {
			return nil, nil, nil
		}
		s, err := store.OpenLazy(store.Options{DSN: here})
		if err != nil {
			return nil, nil, err
		}
		return s, s.Close, nil
	}
	return vault.New(c), nil
}

// Sources resolves the settings' references to secrets. The vault is opened when a
// reference leads there.
func (e *Env) Sources(all Settings) config.Sources { return e.sources(all, e.Vault) }

// secretTimeout is the max time for reading a secret from the vault: a program may have to unwrap its key.
const secretTimeout = time.Minute

func (e *Env) sources(all Settings, open func(Settings) (*vault.Vault, error)) config.Sources {
	return config.Sources{
		Env: func(name string) (string, bool) {
			value := e.Getenv(name)
			return value, value != ""
		},
		Vault: func(name string) (string, error) {
			v, err := open(all)
			if err != nil {
				return "", err
			}
			ctx, cancel := context.WithTimeout(context.Background(), secretTimeout)
			defer cancel()
			value, err := v.Get(ctx, name)
			defer clear(value)
			return string(value), err
		},
	}
}

// hostVault returns the vault in the store of a host.
func (e *Env) hostVault(h *room.Host) (*vault.Vault, error) {
	loaded, err := e.Load()
	if err != nil {
		return nil, err
	}
	own := *e
	own.store = h.Store
	return own.Vault(loaded.Config)
}

// WithVault loads the settings and passes the vault that has, or is to have, a secret to use.
func (e *Env) WithVault(secret string, use func(*vault.Vault) error) error {
	loaded, err := e.Load()
	if err != nil {
		return err
	}
	open := e.Vault
	if slices.Contains(bootstrapSecrets(loaded.Config), secret) {
		open = e.bootstrapVault
	}
	v, err := open(loaded.Config)
	if err != nil {
		return err
	}
	return use(v)
}
