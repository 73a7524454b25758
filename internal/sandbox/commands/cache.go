package commands

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

const (
	// maxCache is the maximum size of the cache directory of a user. A larger one
	// is replaced by an empty one.
	maxCache = 4 << 30
	// retiredSuffix marks a cache directory that open sandboxes may still use.
	retiredSuffix = ".retired"
	// Where a container shows the cache directory and the settings of git. Kernel
	// sandboxes show them under their own path.
	cacheInContainer = "/roots/.cache"
	gitInContainer   = "/roots/.gitconfig"
)

// addCaches shows a cache directory of the caller in a sandbox, and the settings of git.
// Package managers and compilers use the directory; it outlives the sandbox.
func (c *Commands) addCaches(p *target, pl *plan) {
	if !p.site.Isolated || c.o.Caches == "" {
		return
	}
	dir, err := c.cacheDir(p)
	if err != nil {
		c.o.Log.Warn("commands have no cache directory", "err", err)
		return
	}
	git := ""
	if c.o.GitConfig != nil {
		git = c.o.GitConfig(p.caller)
	}
	pl.cache, pl.git = dir, git
	if p.layout.Image {
		pl.cache, pl.git = cacheInContainer, gitInContainer
	}
	pl.spec.Binds = append(pl.spec.Binds, sandbox.Bind{Host: dir, Inside: pl.cache, Write: true})
	pl.clean = append(pl.clean, func() { c.retireCache(dir, maxCache) })
	if git == "" {
		pl.git = ""
		return
	}
	pl.spec.Binds = append(pl.spec.Binds, sandbox.Bind{Host: git, Inside: pl.git})
}

// cacheDir returns the cache directory of a caller, and creates it at the first call.
func (c *Commands) cacheDir(p *target) (string, error) {
	if err := private.MakeDir(c.o.Caches); err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(p.caller.Principal()))
	dir := filepath.Join(c.o.Caches, hex.EncodeToString(sum[:8]))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return dir, giveTo(dir, p.dirs.Dir)
}

// retireCache replaces a cache directory that is too large, and removes replaced directories
// that are too old for any open sandbox.
func (c *Commands) retireCache(dir string, max int64) {
	var size int64
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // it was removed, or another user's
		}
		if info, err := e.Info(); err == nil {
			size += info.Size()
		}
		return c.ctx.Err()
	})
	if err == nil && size > max {
		retired := dir + retiredSuffix + "-" + time.Now().UTC().Format("20060102T150405.000000000")
		err = errors.Join(os.Rename(dir, retired), os.Chtimes(retired, time.Now(), time.Now()))
	}
	entries, readErr := os.ReadDir(filepath.Dir(dir))
	for _, e := range entries {
		info, infoErr := e.Info()
		if infoErr == nil && strings.Contains(e.Name(), retiredSuffix) && time.Since(info.ModTime()) > c.o.Age {
			err = errors.Join(err, os.RemoveAll(filepath.Join(filepath.Dir(dir), e.Name())))
		}
	}
	if err = errors.Join(err, readErr); err != nil {
		c.o.Log.Debug("a cache directory of commands", "err", err)
	}
}

// setCaches sets the variables that name the caches for programs.
func (e *environment) setCaches(n *instance) {
	if n.git != "" {
		e.set("GIT_CONFIG_SYSTEM", n.git)
	}
	if n.cache == "" {
		return
	}
	e.set("XDG_CACHE_HOME", n.cache) // pip, uv, poetry, go build, pnpm, yarn, ccache
	for name, sub := range map[string]string{
		"GOMODCACHE": "go-mod", "npm_config_cache": "npm", "CARGO_HOME": "cargo", "GRADLE_USER_HOME": "gradle",
		"NUGET_PACKAGES": "nuget",
	} {
		e.set(name, n.cache+"/"+sub)
	}
	e.set("GOFLAGS", "-modcacherw") // so that the cache can be removed
}
