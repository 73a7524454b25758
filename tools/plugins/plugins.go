package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Set is the plugins in some directories. The first directory also has the plugins that
// operators add, and the file of enabled plugins.
type Set struct{ Dirs []string }

// A State is the state of a plugin.
type State string

// The states.
const (
	Enabled  State = "enabled"
	Disabled State = "disabled"
	Changed  State = "changed" // since the operator enabled it, so that it is off
	Lacking  State = "lacking" // it is enabled, and something that it needs is not on this machine
	Broken   State = "broken"
	Packed   State = "archive" // it is unpacked when it is enabled
	Missing  State = "missing" // it is enabled, and its directory is not there
)

// A Plugin is a directory or an archive with the parts of a plugin.
type Plugin struct {
	contents
	Path    string // the directory or the archive
	State   State
	Why     string   // of the state
	Digest  string   // of all files
	Changes []string // files that differ from the enabled ones

	tree   tree
	hashes map[string]string
}

// Dir returns the path of a directory of the plugin.
func (p Plugin) Dir(name string) string { return filepath.Join(p.Path, name) }

// SkillsDir returns the directory of the skills.
func (p Plugin) SkillsDir() string { return p.Dir(skillsDir) }

// ContextDir returns the directory of the context files.
func (p Plugin) ContextDir() string { return p.Dir(contextDir) }

// ErrUnknown is returned for a name that no plugin has.
var ErrUnknown = errors.New("there is no such plugin")

// enabledFile has the plugins that the operator has enabled.
const enabledFile = "enabled.json"

// An agreement is the content of a plugin when the operator enabled it.
type agreement struct {
	Digest  string            `json:"digest"`
	Files   map[string]string `json:"files"` // hashes
	Enabled bool              `json:"enabled"`
}

// agreements reads the enabled plugins.
func (s Set) agreements() (all map[string]agreement, err error) {
	if len(s.Dirs) == 0 {
		return nil, nil
	}
	text, err := os.ReadFile(filepath.Join(s.Dirs[0], enabledFile))
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]agreement{}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s is damaged (%w); remove it, and enable the plugins again",
			filepath.Join(s.Dirs[0], enabledFile), err)
	}
	return all, nil
}

// lockTimeout is how long a change waits for another one.
const lockTimeout = 10 * time.Second

// change changes the enabled or the present plugins, alone.
func (s Set) change(ctx context.Context, f func(all map[string]agreement) error) error {
	if len(s.Dirs) == 0 {
		return errors.New("there is no directory for plugins; name one in the setting plugins.dirs")
	}
	if err := os.MkdirAll(s.Dirs[0], 0o755); err != nil {
		return err
	}
	unlock, err := private.Lock(ctx, filepath.Join(s.Dirs[0], ".lock"), lockTimeout)
	if err != nil {
		return err
	}
	defer unlock()
	all, err := s.agreements()
	if err != nil {
		return err
	}
	if err := f(all); err != nil {
		return err
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return err
	}
	return private.Replace(filepath.Join(s.Dirs[0], enabledFile), append(text, '\n'))
}

// List returns all plugins by name. Of several with one name the first directory's counts.
func (s Set) List() (list []Plugin, err error) {
	agreed, err := s.agreements()
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, archives := range []bool{false, true} { // a directory counts before an archive
		for _, dir := range s.Dirs {
			entries, err := os.ReadDir(dir)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			for _, e := range entries {
				if strings.HasPrefix(e.Name(), ".") || e.IsDir() == archives || archives && !IsArchive(e.Name()) {
					continue
				}
				if p := load(filepath.Join(dir, e.Name()), agreed); !found[p.Name] {
					found[p.Name] = true
					list = append(list, p)
				}
			}
		}
	}
	for name, a := range agreed {
		if a.Enabled && !found[name] {
			list = append(list, missing(name))
		}
	}
	slices.SortStableFunc(list, func(a, b Plugin) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func missing(name string) Plugin {
	return Plugin{contents: contents{Manifest: Manifest{Name: name}}, State: Missing, Why: "its directory is not there"}
}

// Enabled returns the enabled plugins, including faulty ones. It reads no others.
func (s Set) Enabled() (usable, off []Plugin, err error) {
	agreed, err := s.agreements()
	if err != nil {
		return nil, nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(agreed)) {
		if !agreed[name].Enabled {
			continue
		}
		p := missing(name)
		for _, dir := range s.Dirs {
			if at := filepath.Join(dir, name); isDir(at) {
				p = load(at, agreed)
				break
			}
		}
		p.tree = nil
		if p.State == Enabled {
			usable = append(usable, p)
		} else {
			off = append(off, p)
		}
	}
	return usable, off, nil
}

func isDir(at string) bool {
	info, err := os.Stat(at)
	return err == nil && info.IsDir()
}

// Get returns one plugin.
func (s Set) Get(name string) (Plugin, error) {
	list, err := s.List()
	if err != nil {
		return Plugin{}, err
	}
	for _, p := range list {
		if p.Name == name {
			return p, nil
		}
	}
	return Plugin{}, fmt.Errorf("%q: %w", name, ErrUnknown)
}

// load reads a plugin and compares it with the enabled one.
func load(at string, agreed map[string]agreement) (p Plugin) {
	p.Path, p.Name = at, filepath.Base(at)
	broken := func(err error) Plugin {
		p.State, p.Why = Broken, err.Error()
		return p
	}
	var err error
	if p.tree, err = readTree(at); err != nil {
		return broken(err)
	}
	p.hashes = p.tree.hashes()
	p.Digest = digestOfTree(p.hashes)
	p.contents, err = p.tree.parse(at)
	if p.Name == "" {
		p.Name = filepath.Base(at)
	}
	if err != nil {
		return broken(err)
	}
	if IsArchive(at) {
		p.State = Packed
		return p
	}
	a := agreed[p.Name]
	if a.Files != nil {
		p.Changes = diff(a.Files, p.hashes)
	}
	switch {
	case p.Name != filepath.Base(at):
		return broken(fmt.Errorf("its name is %s, and its directory must have the same", p.Name))
	case !a.Enabled:
		p.State = Disabled
	case a.Digest != p.Digest:
		p.State, p.Why = Changed, "its files have changed since it was enabled"
	default:
		p.State = Enabled
		if p.Why = p.missing(); p.Why != "" {
			p.State = Lacking
		}
	}
	return p
}

// Enable enables a plugin as it is now, and returns it with the changes since it was enabled
// before. An archive is unpacked.
func (s Set) Enable(ctx context.Context, name string) (p Plugin, err error) {
	err = s.change(ctx, func(all map[string]agreement) error {
		if p, err = s.Get(name); err != nil {
			return err
		}
		if p.State == Packed {
			if p, err = s.install(p); err != nil {
				return err
			}
		}
		return p.agree(all)
	})
	return p, err
}

// agree notes that the operator has enabled a plugin.
func (p *Plugin) agree(all map[string]agreement) error {
	if p.State == Broken || p.State == Missing {
		return fmt.Errorf("%s cannot be enabled: %s", p.Name, p.Why)
	}
	all[p.Name] = agreement{Digest: p.Digest, Files: p.hashes, Enabled: true}
	p.State = Enabled
	if p.Why = p.missing(); p.Why != "" {
		p.State = Lacking
	}
	return nil
}

// Disable disables a plugin.
func (s Set) Disable(ctx context.Context, name string) error {
	return s.change(ctx, func(all map[string]agreement) error {
		a, ok := all[name]
		if !ok || !a.Enabled {
			return tool.Errorf(tool.NotFound, "the plugin %q is not enabled", name)
		}
		a.Enabled = false
		all[name] = a
		return nil
	})
}

// Add copies a directory, or unpacks an archive, in place of a plugin of that name, and enables it.
func (s Set) Add(ctx context.Context, from string) (p Plugin, err error) {
	err = s.change(ctx, func(all map[string]agreement) error {
		p = load(from, nil)
		if p.State == Broken && p.tree == nil {
			return errors.New(p.Why)
		}
		if p, err = s.install(p); err != nil {
			return err
		}
		if a := all[p.Name]; a.Files != nil {
			p.Changes = diff(a.Files, p.hashes)
		}
		return p.agree(all)
	})
	return p, err
}

// install writes a plugin into the first directory. A crash leaves the former one, the new one, or for a moment
// the former one under another name; the next installation puts it back.
func (s Set) install(p Plugin) (Plugin, error) {
	to := filepath.Join(s.Dirs[0], p.Name)
	parsed, err := p.tree.parse(to)
	if err != nil {
		return p, err
	}
	next, former := filepath.Join(s.Dirs[0], "."+p.Name+".new"), filepath.Join(s.Dirs[0], "."+p.Name+".old")
	if isDir(former) && !isDir(to) {
		if err := os.Rename(former, to); err != nil {
			return p, err
		}
	}
	for _, left := range []string{next, former} {
		if err := os.RemoveAll(left); err != nil {
			return p, err
		}
	}
	if err := p.tree.write(next); err != nil {
		return p, errors.Join(err, os.RemoveAll(next))
	}
	if isDir(to) {
		if err := os.Rename(to, former); err != nil {
			return p, err
		}
	}
	if err := os.Rename(next, to); err != nil {
		return p, err
	}
	p.contents, p.Path, p.State, p.Why = parsed, to, Disabled, ""
	return p, errors.Join(private.SyncDir(s.Dirs[0]), os.RemoveAll(former))
}

// Remove disables a plugin and removes its directory, if it is in the first one of the set.
func (s Set) Remove(ctx context.Context, name string) error {
	return s.change(ctx, func(all map[string]agreement) error {
		p, err := s.Get(name)
		if err != nil {
			return err
		}
		if p.State != Missing {
			if filepath.Dir(p.Path) != filepath.Clean(s.Dirs[0]) {
				return fmt.Errorf("%s is not in %s; remove it by hand, or disable the plugin", p.Path, s.Dirs[0])
			}
			if err := os.RemoveAll(p.Path); err != nil {
				return err
			}
		}
		delete(all, name)
		return nil
	})
}

// Watched returns the directories whose changes count.
func (s Set) Watched() []string {
	dirs := slices.Clone(s.Dirs)
	agreed, err := s.agreements()
	if err != nil {
		return dirs
	}
	for name, a := range agreed {
		if !a.Enabled {
			continue
		}
		for _, dir := range s.Dirs {
			below := map[string]bool{}
			for file := range a.Files {
				below[filepath.Dir(filepath.Join(dir, name, filepath.FromSlash(file)))] = true
			}
			if at := filepath.Join(dir, name); isDir(at) {
				dirs = append(append(dirs, at), slices.Sorted(maps.Keys(below))...)
			}
		}
	}
	return dirs
}
