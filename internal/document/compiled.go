package document

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// compileArg is the second argument of the process that compiles WebAssembly instead of reading.
// The third one is the directory.
const compileArg = "compile"

// compileTime is the time limit of compiling.
const compileTime = 2 * time.Minute

// compiledMark is a file in the directory of compiled WebAssembly that is complete.
const compiledMark = "complete"

// compiled is the directory of the WebAssembly that readers run, compiled for this version of the
// program. A process that reads documents only reads it: the directory is filled by one that gets
// no document, when a reader has asked for it with ErrNotCompiled.
type compiled struct {
	parent func() (string, error) // makes the directory of all versions
	dir    func() string
	mu     sync.Mutex // held while it is filled
}

// complete returns the directory, "" if it is not filled.
func (c *compiled) complete() string {
	if _, err := os.Stat(filepath.Join(c.dir(), compiledMark)); err != nil {
		return ""
	}
	return c.dir()
}

// fill fills the directory, and removes the directories of other versions of the program.
func (c *compiled) fill(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	dir := c.dir()
	if c.complete() != "" {
		return dir, nil
	}
	parent, err := c.parent()
	if err != nil {
		return "", err
	}
	next, err := os.MkdirTemp(parent, "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(next)
	ctx, cancel := context.WithTimeout(ctx, compileTime)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, self, ChildArg, compileArg, next)
	cmd.Env = []string{"HOME=" + next, "TMPDIR=" + next}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compiling what reads documents: %w: %s", err, out)
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || e.Name() == filepath.Base(dir) || time.Since(info.ModTime()) < compileTime {
			continue // another process may be at work on it
		}
		if err := os.RemoveAll(filepath.Join(parent, e.Name())); err != nil {
			return "", err
		}
	}
	if err := os.WriteFile(filepath.Join(next, compiledMark), nil, 0o644); err != nil {
		return "", err
	}
	if err := os.Rename(next, dir); err != nil && c.complete() == "" {
		return "", err
	}
	return dir, nil
}

// compile fills a directory with the compiled code of the formats, and makes its files readable
// for processes of other users.
func (l Formats) compile(ctx context.Context, dir string) error {
	for _, h := range l {
		if h.Warm == nil {
			continue
		}
		if err := h.Warm(ctx, dir); err != nil {
			return err
		}
	}
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return os.Chmod(path, 0o644)
	})
}
