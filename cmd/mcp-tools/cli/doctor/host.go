package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/text"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/briefing"
	"github.com/mcp-tools/mcp-tools/internal/config"
)

// checkSettings reads the settings, and looks at who may change their file.
func (c *checkup) checkSettings() {
	const check = "settings"
	for _, p := range config.UnknownVariables(c.env.Environ()) {
		c.warn(check, "unset it, or mend its name", "%s: %s", p.Source, p.Text)
	}
	loaded, err := c.env.Load()
	if err != nil {
		c.failEach(check, "mend it; mcp-tools config example shows how a file looks", err)
		return
	}
	c.settings = loaded
	if _, err := app.NewScrubber(loaded.Config.Scrub, c.env.Sources(loaded.Config.Vault)); err != nil {
		c.fail(check, "mend the setting, or make the secret that it refers to", "%v", err)
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
		c.warn(check, "run chmod go-w on it", "others may change %s, and with it who may do what", loaded.Path)
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
	c.warn(check, "remove the rule, or mend it", "%s", p)
}

// Less than this is too little room to write, or soon will be.
const (
	noRoom     = 16 << 20
	littleRoom = 256 << 20
)

// checkData looks at the data directory, or at where it will be made.
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
			c.fail(check, elsewhere, "%s cannot be made: %v", dir, err)
			return
		}
		c.ok(check, "%s is not there yet; it will be made at the first start", dir)
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
		advice := "mend its owner and mode, or " + elsewhere
		if errors.Is(err, syscall.ENOSPC) {
			advice = "make room there, or " + elsewhere
		}
		c.fail(check, advice, "%s cannot be written: %v", dir, err)
		return
	}
	if perm := info.Mode().Perm(); app.UnixModes() && perm&0o077 != 0 {
		c.warn(check, "run chmod 700 on it", "%s has mode %#o, so others may look into it", dir, perm)
	} else {
		c.ok(check, "%s", dir)
	}
	c.checkDisk(dir)
}

// existing is dir, or the nearest directory above that is there.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// writable tries to write into dir, and leaves nothing there.
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
		c.warn(check, "", "its free space cannot be found out: %v", err)
	case d.free < noRoom:
		c.fail(check, "make room, or choose another directory with --data", "only %s free", megabytes(d.free))
	case d.free < littleRoom:
		c.warn(check, "make room", "only %s free", megabytes(d.free))
	case d.network != "":
		c.warn(check, "choose a local directory with --data", "the data is on a network file system (%s), where locks may not hold", d.network)
	default:
		c.ok(check, "%s free", megabytes(d.free))
	}
}

func megabytes(n uint64) string { return fmt.Sprintf("%d MiB", n>>20) }

// A disk is what holds a directory.
type disk struct {
	free    uint64 // bytes that we may use
	network string // kind of the network file system, "" for a local one
}

func (c *checkup) checkAudit() {
	const check = "audit log"
	if c.data == "" {
		return
	}
	var report audit.Report
	err := c.env.WithAuditLog(c.ctx, func(record *audit.DB) (err error) {
		report, err = record.Verify(c.ctx, c.data)
		return err
	})
	switch {
	case err != nil:
		c.fail(check, "mend the store or the key, or choose another directory with --data or another store with --store", "%v", err)
	case !report.OK():
		c.fail(check, "mcp-tools audit verify shows them all; keep a copy, and find out who did it",
			"%s; the first: %s", text.Plural(len(report.Problems)+report.More, "problem"), report.Problems[0])
	default:
		c.ok(check, "%s, unchanged", text.Plural(report.Records, "record"))
	}
}

// checkPolicy looks for mistakes, and at what a caller sees who chose nothing.
func (c *checkup) checkPolicy() {
	const check = "policy"
	v, err := c.env.Examine()
	if err != nil {
		c.failEach(check, "mend it; mcp-tools policy check shows everything", err)
		return
	}
	c.view = v
	for _, p := range v.Warnings {
		c.warnOf(check, p)
	}
	caller := v.Subject()
	seen, profile := v.Visible(caller), v.Policy.ProfileOf(caller)
	if len(seen) == 0 {
		c.warn(check, "mcp-tools policy table shows which profiles have some", "profile %q shows no tools", profile)
		return
	}
	var names []string
	for _, t := range seen {
		names = append(names, t.Spec.Name)
	}
	c.ok(check, "profile %q shows %s: %s", profile, text.Plural(len(seen), "tool"), strings.Join(names, ", "))
}

func (c *checkup) checkWorkspace() {
	const check = "workspace"
	dir, err := app.WorkspaceDir(c.settings.Config.Connections.Stdio.Workspace)
	if err != nil {
		c.fail(check, "", "%v", err)
		return
	}
	if dir == "" {
		c.warn(check, "choose one with --workspace", "none: this is the root directory, so the file tools have nothing to work on")
		return
	}
	if _, err := os.ReadDir(dir); err != nil {
		c.fail(check, "mend its mode, or choose another with --workspace", "%s cannot be read: %v", dir, err)
		return
	}
	c.ok(check, "%s", dir)
}

// checkAgents reads what the operator has laid down for agents in directories.
func (c *checkup) checkAgents() {
	const check = "agents"
	agents := app.Agents(c.settings.Config.Agents)
	for _, a := range agents {
		if a.Dir == "" {
			continue
		}
		if list, err := briefing.New(nil, agents).Directory(a.Name); err != nil {
			c.fail(check, "mend the file, or agents.files", "%s in %s: %v", a.Name, a.Dir, err)
		} else {
			c.ok(check, "%s is told %s of %s", a.Name, text.Plural(len(list), "document"), a.Dir)
		}
	}
}
