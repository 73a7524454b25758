package document

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// prepareArg is the second argument of the process that fills a directory instead of reading.
// The third one is the directory.
const prepareArg = "prepare"

// prepareTime is the time limit of that process. It compiles for seconds, and for minutes on a
// busy machine with the race detector.
const prepareTime = 10 * time.Minute

// preparedMark is a file in a directory that is complete.
const preparedMark = "complete"

// prepared is the directory with the files that the formats prepare, for this version of the
// program. A process that reads documents only reads it: the directory is filled by one that gets
// no document, when a reader has asked for it with ErrNotPrepared.
type prepared struct {
	parent func() (string, error) // makes the directory of all versions
	dir    func() string
	mu     sync.Mutex // held while it is filled
}

// complete returns the directory, "" if it is not filled.
func (c *prepared) complete() string {
	if _, err := os.Stat(filepath.Join(c.dir(), preparedMark)); err != nil {
		return ""
	}
	return c.dir()
}

// fill fills the directory, and removes the directories of other versions of the program.
func (c *prepared) fill(ctx context.Context) (string, error) {
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
	tool.Progress(ctx, 0, 0, "compiling the reader of this format, once for each version of mcp-tools")
	ctx, cancel := context.WithTimeout(ctx, prepareTime)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, self, ChildArg, prepareArg, next)
	cmd.Env = []string{"HOME=" + next, "TMPDIR=" + next}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("preparing the readers of documents: %w: %s", err, out)
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || e.Name() == filepath.Base(dir) || time.Since(info.ModTime()) < prepareTime {
			continue // another process may be at work on it
		}
		if err := os.RemoveAll(filepath.Join(parent, e.Name())); err != nil {
			return "", err
		}
	}
	if err := os.WriteFile(filepath.Join(next, preparedMark), nil, 0o644); err != nil {
		return "", err
	}
	if err := os.Rename(next, dir); err != nil && c.complete() == "" {
		return "", err
	}
	return dir, nil
}

// Renew fills the directory for this version of the program if an earlier version had one: then the first document after an
// upgrade waits for nothing. Otherwise it does nothing.
func (s *Service) Renew(ctx context.Context) error {
	earlier, err := os.ReadDir(filepath.Dir(s.prepared.dir()))
	if len(earlier) == 0 || s.prepared.complete() != "" {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	_, err = s.prepared.fill(ctx)
	return err
}

// prepare fills a directory with the files that the formats prepare, and makes them readable
// for processes of other users.
func (l Formats) prepare(ctx context.Context, dir string) error {
	for _, h := range l {
		if h.Prepare == nil {
			continue
		}
		if err := h.Prepare(ctx, dir); err != nil {
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
