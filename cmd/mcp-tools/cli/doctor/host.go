package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/text"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// checkSettings reads the settings, and checks the permissions of the file.
func (c *checkup) checkSettings() {
	const check = "settings"
	for _, p := range app.SettingsReader().UnknownVariables(c.env.Environ()) {
		c.warn(check, "unset it, or correct its name", "%s: %s", p.Source, p.Text)
	}
	loaded, err := c.env.Load()
	if err != nil {
		c.failEach(check, "correct it; mcp-tools config example prints a valid file", err)
		return
	}
	c.settings = loaded
	if _, err := app.NewScrubber(loaded.Config.Scrub, c.env.Sources(loaded.Config)); err != nil {
		c.fail(check, "correct the setting, or set the secret that it refers to", "%v", err)
	}
	if loaded.Path == "" {
		c.ok(check, "no file, so defaults, environment and flags apply")
		return
	}
	info, err := os.Stat(loaded.Path)
	switch {
	case err != nil:
		c.fail(check, "run doctor again", "%s: %v", loaded.Path, err)
	case app.UnixModes() && info.Mode().Perm()&0o022 != 0:
		c.warn(check, "run chmod go-w on it", "other users may change %s, and with it the policy", loaded.Path)
	default:
		c.ok(check, "%s", loaded.Path)
	}
}

// failEach reports the problems in err one by one.
func (c *checkup) failEach(check, advice string, err error) {
	var problems config.Problems
	if !errors.As(err, &problems) {
		c.fail(check, advice, "%v", err)
		return
	}
	for _, p := range problems {
		if p.Warning {
			c.warnOf(check, p)
		} else {
			c.fail(check, advice, "%s", p)
		}
	}
}

// warnOf reports a rule without effect.
func (c *checkup) warnOf(check string, p config.Problem) {
	p.Warning = false // the finding says so
	c.warn(check, "remove or correct the rule", "%s", p)
}

// Limits of the free space on the disk: too little to work, and little.
const (
	noRoom     = 16 << 20
	littleRoom = 256 << 20
)

// checkData checks the data directory, or the place where it will be created.
func (c *checkup) checkData() {
	const check, elsewhere = "data", "choose another directory with --data"
	dir, err := c.env.DataDir()
	if err != nil {
		c.fail(check, elsewhere, "%v", err)
		return
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		parent := existing(dir)
		if err := writable(parent); err != nil {
			c.fail(check, elsewhere, "%s cannot be created: %v", dir, err)
			return
		}
		c.ok(check, "%s does not exist yet; the first start creates it", dir)
		c.checkDisk(parent)
		return
	case err != nil:
		c.fail(check, elsewhere, "%v", err)
		return
	case !info.IsDir():
		c.fail(check, elsewhere, "%s is not a directory", dir)
		return
	}
	c.data = dir
	if err := writable(dir); err != nil {
		advice := "correct its owner and permissions, or " + elsewhere
		if errors.Is(err, syscall.ENOSPC) {
			advice = "free some space, or " + elsewhere
		}
		c.fail(check, advice, "%s cannot be written: %v", dir, err)
		return
	}
	if perm := info.Mode().Perm(); app.UnixModes() && perm&0o077 != 0 {
		c.warn(check, "run chmod 700 on it", "%s has mode %#o, so other users can read it", dir, perm)
	} else {
		c.ok(check, "%s", dir)
	}
	c.checkDisk(dir)
}

// existing returns dir, or the nearest parent directory that exists.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// writable checks that dir can be written to. It leaves no file there.
func writable(dir string) error {
	probe, err := os.CreateTemp(dir, ".mcp-tools-doctor-*")
	if err != nil {
		return err
	}
	_, err = probe.WriteString("test")
	return errors.Join(err, probe.Close(), os.Remove(probe.Name()))
}

func (c *checkup) checkDisk(dir string) {
	const check = "disk"
	d, err := diskOf(dir)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return
	case err != nil:
		c.warn(check, "", "its free space is unknown: %v", err)
	case d.free < noRoom:
		c.fail(check, "free some space, or choose another directory with --data", "only %s free", megabytes(d.free))
	case d.free < littleRoom:
		c.warn(check, "free some space", "only %s free", megabytes(d.free))
	case d.network != "":
		c.warn(check, "choose a local directory with --data",
			"the data is on a network file system (%s), where locks may not work", d.network)
	default:
		c.ok(check, "%s free", megabytes(d.free))
	}
}

func megabytes(n uint64) string { return fmt.Sprintf("%d MiB", n>>20) }

// A disk is the disk of a directory.
type disk struct {
	free    uint64 // bytes available to this user
	network string // kind of the network file system, "" for a local one
}

// checkPolicy checks the policy, and the tools that the caller of the settings can see.
func (c *checkup) checkPolicy() {
	const check = "policy"
	v, err := c.env.Examine()
	if err != nil {
		c.failEach(check, "correct it; mcp-tools policy check shows all problems", err)
		return
	}
	c.view = v
	for _, p := range v.Warnings {
		c.warnOf(check, p)
	}
	caller := v.Subject()
	seen, profile := v.Visible(caller), v.Policy.ProfileOf(caller)
	if len(seen) == 0 {
		c.warn(check, "mcp-tools policy table shows which profiles have some", "profile %q has no tools", profile)
		return
	}
	count := text.Plural(len(seen), "tool")
	// Another check reports settings that prevent a start.
	if here, err := c.env.Seen(c.ctx); err == nil {
		missing := 0
		for _, t := range here {
			if t.Needs != "" {
				missing++
			}
		}
		if count = text.Plural(len(here)-missing, "tool"); missing > 0 {
			c.ok(check, "profile %q has %s; mcp-tools tools list shows them, and the requirements of %d more", profile, count, missing)
			return
		}
	}
	c.ok(check, "profile %q has %s; mcp-tools tools list shows them", profile, count)
}

func (c *checkup) checkWorkspace() {
	const check = "workspace"
	dir, err := app.WorkspaceDir(c.settings.Config.Connections.Stdio.Workspace)
	if err != nil {
		c.fail(check, "", "%v", err)
		return
	}
	if dir == "" {
		c.warn(check, "choose one with --workspace",
			"none: this is the root directory, so the file tools have no workspace")
		return
	}
	if _, err := os.ReadDir(dir); err != nil {
		c.fail(check, "correct its permissions, or choose another with --workspace", "%s cannot be read: %v", dir, err)
		return
	}
	if warning := app.WorkspaceWarning(dir); warning != "" {
		c.warn(check, "", "%s", warning)
		return
	}
	c.ok(check, "%s", dir)
}
