package commands

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// seclude opens a cell for one command that holds credentials, and changes the
// command so that it, and it alone, gets them.
func (c *Commands) seclude(ctx context.Context, p *place, cmd *sandbox.Command) (*cell, error) {
	a := cmd.Apart
	if !filepath.IsAbs(a.Program) || cmd.Argv[0] != a.Program {
		return nil, errors.New("a command with credentials has to be the program that was checked")
	}
	if err := checkEnviron(a.Secrets); err != nil {
		return nil, err
	}
	base, err := c.spool.place()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(base, "apart-")
	if err != nil {
		return nil, err
	}
	remove := func() {
		if err := os.RemoveAll(dir); err != nil {
			c.o.Log.Error("files with credentials are still there", "directory", dir, "error", err)
		}
	}
	// Nobody can guess where the files are, also where the way there is known.
	files := filepath.Join(dir, "files-"+strings.ToLower(rand.Text()))
	names, roots, err := lend(a, dir, files)
	if err != nil {
		remove()
		return nil, err
	}
	if p.site.Sealed && !p.admits(a.Program) {
		roots = append(roots, sandbox.Root{Path: a.Program})
	}
	pl := c.plan(p, roots...)
	for i := range pl.walls.Binds {
		// Whoever may write there may have put links there, such as to where a
		// process finds its own environment.
		pl.walls.Binds[i].NoLinks = pl.walls.Binds[i].Write
	}
	pl.hosts, pl.clean = a.Hosts, append(pl.clean, remove)
	pl.proxy = p.site.Sealed && c.o.Proxy != nil
	if !p.site.Sealed {
		pl.home = filepath.Join(dir, "home")
	}
	cmd.Env = slices.Concat(cmd.Env, a.Secrets)
	for _, name := range names {
		inside, _ := p.inside(filepath.Join(files, name))
		cmd.Env = append(cmd.Env, name+"="+inside)
	}
	if inside, ok := p.inside(a.Program); ok {
		cmd.Argv = slices.Concat([]string{inside}, cmd.Argv[1:])
	}
	n, err := c.enclose(p, pl)
	if err != nil {
		remove()
		return nil, err
	}
	if err := c.await(ctx, n); err != nil {
		return nil, err
	}
	// The program is mounted or open now: a later change has no effect.
	if a.Verify != nil {
		if err := a.Verify(); err != nil {
			c.leave(n, true)
			return nil, err
		}
	}
	return n, nil
}

// enclose makes a cell that nobody else enters.
func (c *Commands) enclose(p *place, pl plan) (*cell, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed()
	}
	if err := c.makeRoom(); err != nil {
		return nil, err
	}
	c.numbers++
	key := c.key(p)
	key.apart = c.numbers
	n := c.newCell(key, "")
	n.busy, n.retired = 1, true
	c.working.Go(func() { c.open(n, p, pl) })
	return n, nil
}

// lend writes the files of a command, and returns their names and what has to be
// let in for them.
func lend(a *sandbox.Apart, dir, files string) (names []string, roots []sandbox.Root, err error) {
	// The outer directory keeps everybody out; behind walls, where commands may
	// be another user, only the inner one is there.
	err = errors.Join(os.Mkdir(files, 0o755), os.Chmod(files, 0o755), os.Mkdir(filepath.Join(dir, "home"), 0o700))
	if err != nil {
		return nil, nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(a.Files)) {
		if !isVariable(name) {
			return nil, nil, tool.Errorf(tool.Invalid, "%q is no name for a variable", name).Try("use letters, digits and _")
		}
		path := filepath.Join(files, name)
		if err := errors.Join(os.WriteFile(path, a.Files[name], 0o444), os.Chmod(path, 0o444)); err != nil {
			return nil, nil, err
		}
		names = append(names, name)
	}
	if len(names) > 0 {
		roots = append(roots, sandbox.Root{Path: files})
	}
	return names, roots, nil
}

// isVariable says that a name of a variable is one of a file too.
func isVariable(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	return name != "" && strings.ContainsRune(letters, rune(name[0])) && strings.Trim(name, letters+"0123456789") == ""
}
