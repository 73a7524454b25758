package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/config"
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

	// IndexPatience is the max time that a search waits for an index that is
	// behind. 0 is the indexer's default.
	IndexPatience time.Duration
}

// A UsageError is a mistake in the command line.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

func (e UsageError) Unwrap() error { return e.Err }

// Usagef returns a UsageError.
func Usagef(format string, args ...any) error { return UsageError{Err: fmt.Errorf(format, args...)} }

// Load reads the settings.
func (e *Env) Load() (*config.Loaded, error) {
	loaded, err := config.Load(e.loadOptions())
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
