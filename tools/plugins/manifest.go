// Package plugins finds plugins: directories, or archives of them, with a file plugin.yaml,
// tools, skills, context files and other MCP servers. An operator enables a plugin as it is; if
// a file of it changes, it is off until the operator agrees again.
//
// The package reads plugins, compares them with the operator's agreement, and unpacks archives.
// It runs nothing: tools/custom has the tools, tools/skills the skills,
// tools/memory/contextfiles the context files, tools/bridge the servers.
//
// Begin with [Set] and [Set.List]. manifest.go has the parts of a plugin, tree.go the reading
// of its files.
package plugins

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-tools/mcp-tools/tools/bridge"
	"github.com/mcp-tools/mcp-tools/tools/custom"
	"github.com/mcp-tools/mcp-tools/tools/memory/contextfiles"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

// ManifestFile is the file that makes a directory a plugin.
const ManifestFile = "plugin.yaml"

// The directories of a plugin. It may have others, such as one for programs.
const (
	toolsDir   = "tools"   // a definition in each file *.yaml
	skillsDir  = "skills"  // a skill in each directory
	contextDir = "context" // AGENTS.md and TOOLS.md
)

// A Manifest describes a plugin: the content of plugin.yaml.
type Manifest struct {
	Name        string            `yaml:"name"`
	Version     string            `yaml:"version"`
	Description string            `yaml:"description"`
	Platforms   []string          `yaml:"platforms"` // such as linux or linux/arm64; nil for all
	Programs    []string          `yaml:"programs"`  // that must be installed
	Servers     map[string]Server `yaml:"servers"`
}

// A Server is another MCP server of a plugin.
type Server struct {
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	URL         string            `yaml:"url"`
	Headers     map[string]string `yaml:"headers"`
	Timeout     time.Duration     `yaml:"timeout"`
	Tools       []string          `yaml:"tools"`
	Deny        []string          `yaml:"deny"`
}

// contents are the parts of a plugin.
type contents struct {
	Manifest
	Tools   []custom.Definition
	Skills  []string
	Context []string // names of files
	Servers map[string]bridge.Server
}

// parseManifest reads a manifest.
func parseManifest(text []byte) (m Manifest, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&m); err != nil && !errors.Is(err, io.EOF) {
		return m, fmt.Errorf("%s cannot be read: %s", ManifestFile, strings.NewReplacer(
			"plugins.Manifest", "a plugin", "plugins.Server", "a server").Replace(err.Error()))
	}
	if !isName(m.Name) {
		return m, fmt.Errorf("%s: name is %q, it must be at most 32 lower-case letters, digits and -", ManifestFile,
			m.Name)
	}
	if strings.TrimSpace(m.Description) == "" {
		return m, fmt.Errorf("%s: description is missing", ManifestFile)
	}
	return m, nil
}

func isName(name string) bool {
	return name != "" && len(name) <= 32 && name[0] != '-' && !strings.ContainsFunc(name, func(c rune) bool {
		return c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9')
	})
}

// parse reads the parts of a plugin whose files are, or will be, in a directory. It returns all mistakes.
func (t tree) parse(dir string) (c contents, err error) {
	text, ok := t[ManifestFile]
	if !ok {
		return c, fmt.Errorf("it has no %s", ManifestFile)
	}
	if c.Manifest, err = parseManifest(text.content); err != nil {
		return c, err
	}
	var problems []error
	for name, f := range t {
		switch parts := strings.Split(name, "/"); {
		case len(parts) == 2 && parts[0] == toolsDir:
			d, err := custom.ParseIn(f.content, func(word string) string { return t.located(dir, word) })
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", name, err))
			}
			c.Tools = append(c.Tools, d)
		case len(parts) == 3 && parts[0] == skillsDir && parts[2] == skill.Main:
			_, _, err := skill.Parse(string(f.content))
			if err == nil && !skill.ValidSlug(parts[1]) {
				err = errors.New("the directory has not the name of a skill")
			}
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", name, err))
			}
			c.Skills = append(c.Skills, parts[1])
		case parts[0] == contextDir:
			if len(parts) != 2 || !contextfiles.ForAll(parts[1]) {
				problems = append(problems, fmt.Errorf("%s: a plugin has only %s/%s and %s", name, contextDir,
					contextfiles.Agents, contextfiles.Tools))
			}
			c.Context = append(c.Context, path.Base(name))
		}
	}
	slices.SortStableFunc(c.Tools, func(a, b custom.Definition) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(c.Skills)
	slices.Sort(c.Context)
	c.Servers = make(map[string]bridge.Server, len(c.Manifest.Servers))
	for name, s := range c.Manifest.Servers {
		server := t.server(dir, s)
		if err := errors.Join(bridge.CheckName(name), server.Check()); err != nil {
			problems = append(problems, fmt.Errorf("servers.%s: %w", name, err))
		}
		c.Servers[name] = server
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return c, errors.Join(problems...)
}

// located returns the whole path of a word such as ./bin/tool that names a file of the plugin, and other words
// as they are.
func (t tree) located(dir, word string) string {
	if name, local := strings.CutPrefix(word, "./"); local {
		if _, exists := t[name]; exists {
			return filepath.Join(dir, filepath.FromSlash(name))
		}
	}
	return word
}

// server returns a server as the bridge runs it. It sees the files of the plugin, and is trusted in nothing.
func (t tree) server(dir string, s Server) bridge.Server {
	b := bridge.Server{
		Environment: s.Environment, URL: s.URL, Headers: s.Headers, Timeout: s.Timeout, Tools: s.Tools, Deny: s.Deny,
	}
	for _, word := range s.Command {
		b.Command = append(b.Command, t.located(dir, word))
	}
	if len(b.Command) > 0 {
		b.Read = []string{dir}
	}
	return b
}

// missing returns why a plugin cannot be used on this machine, or "".
func (m Manifest) missing() string {
	here := []string{runtime.GOOS, runtime.GOOS + "/" + runtime.GOARCH}
	if m.Platforms != nil && !slices.ContainsFunc(m.Platforms,
		func(p string) bool { return slices.Contains(here, p) }) {
		return fmt.Sprintf("it is for %s, and this is %s", strings.Join(m.Platforms, ", "), here[1])
	}
	for _, program := range m.Programs {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Sprintf("it needs the program %s, which is not installed", program)
		}
	}
	return ""
}
