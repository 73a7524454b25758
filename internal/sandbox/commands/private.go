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

// openPrivate opens an instance for a single command with credentials, and adds
// the credentials to the command.
func (c *Commands) openPrivate(ctx context.Context, p *target, cmd *sandbox.Command) (*instance, error) {
	a := cmd.Private
	if !filepath.IsAbs(a.Program) || cmd.Argv[0] != a.Program {
		return nil, errors.New("a command with credentials must run the program that was checked")
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
			c.o.Log.Error("files with credentials could not be removed; remove the directory", "dir", dir,
				"err", err)
		}
	}
	// The name is random, so that other commands cannot guess the path.
	files := filepath.Join(dir, "files-"+strings.ToLower(rand.Text()))
	names, roots, err := writeFiles(a, dir, files)
	if err != nil {
		remove()
		return nil, err
	}
	if p.site.Isolated && !p.layout.Shows(a.Program) {
		roots = append(roots, sandbox.Root{Path: a.Program})
	}
	pl := c.plan(p, roots...)
	for i := range pl.spec.Binds {
		// Another command may have created links there, for example to the file with
		// the environment of the process.
		pl.spec.Binds[i].NoLinks = pl.spec.Binds[i].Write
	}
	pl.hosts, pl.asks, pl.clean = a.Hosts, a.Asks, append(pl.clean, remove)
	pl.proxy = p.site.Isolated && c.o.Proxy != nil
	if !p.site.Isolated {
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
	n, err := c.newPrivate(p, pl)
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

// newPrivate creates an instance for a single command.
func (c *Commands) newPrivate(p *target, pl plan) (*instance, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed()
	}
	key := c.key(p)
	if err := c.makeRoom(key.owner.account); err != nil {
		return nil, err
	}
	c.numbers++
	key.private = c.numbers
	n := c.newInstance(key, "")
	n.busy, n.retired = 1, true
	c.working.Go(func() { c.open(n, p, pl) })
	return n, nil
}

// writeFiles writes the credential files of a command. It returns their names, and
// the directory that the sandbox must show.
func writeFiles(a *sandbox.Private, dir, files string) (names []string, roots []sandbox.Root, err error) {
	// The outer directory is private. Commands may run as another user and see only
	// the inner directory, so that one is readable for all.
	err = errors.Join(os.Mkdir(files, 0o755), os.Chmod(files, 0o755), os.Mkdir(filepath.Join(dir, "home"), 0o700))
	if err != nil {
		return nil, nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(a.Files)) {
		if !isVariable(name) {
			return nil, nil, tool.Errorf(tool.Invalid, "%q is not a valid variable name",
				name).Try("use letters, digits and _")
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

// isVariable reports whether name is a variable name that is also safe as a file name.
func isVariable(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	return name != "" && strings.ContainsRune(letters, rune(name[0])) && strings.Trim(name, letters+"0123456789") == ""
}
