// Package clients knows the settings files of MCP clients: the place of each, its form of a
// server, and how to add, show and remove ours without changing a byte of the user's text.
//
// Files are edited in their syntax trees, never decoded and encoded again, so comments, key
// order, indentation, line ends and a byte order mark survive. After each edit the result is
// parsed and compared with the former file: if anything but our entry differs, the file is left
// alone.
//
// It knows neither the abilities and callers of our server, nor how to start it; it never
// connects to a client and never runs one.
//
// Begin with [All] and [Client.Connect]. The clients are in clients.txt, explained by [Client],
// the places of files in places.go, the entries in server.go, and the syntaxes in json.go,
// toml.go and yaml.go.
package clients

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// EntryName is the usual name of our entry in the settings files of clients.
const EntryName = "mcp-tools"

// A Client is one program that can use our server, with the settings file it
// reads. Clients come from [All] and [Find].
type Client struct {
	Name  string // on the command line: "cursor"
	Title string // name of the program: "Cursor"
	Check string // how to check the connection, as a sentence

	// Anywhere reports that the client starts servers in a directory that is not the
	// project of the conversation, so that the entry has to name a workspace.
	Anywhere bool

	paths   map[string]string // of its file, for Env.find, by system; "" is any system
	pack    string            // name of its package for Windows; the package has settings of its own
	project string            // path in a workspace, with slashes; "" if it has none
	shared  bool              // the file belongs to a workspace; others may read it
	strict  bool              // the client reads no JSON with comments
	syntax  syntax
	shape   shape
	instead string // advice for a remote server if the file does not support them
}

//go:embed clients.txt
var table embed.FS

// All returns all clients, in the order of the documentation.
func All() []Client { return slices.Clone(clients()) }

var clients = sync.OnceValue(func() (all []Client) {
	text, err := table.ReadFile("clients.txt")
	if err != nil {
		panic("clients: " + err.Error()) // it is part of this program
	}
	for section := range strings.SplitSeq(string(text), "\n\n") {
		all = append(all, newClient(section))
	}
	return all
})

// newClient returns the client that a section of clients.txt describes. The first line
// has its name and title, each other line a key, and a value after a colon.
func newClient(section string) Client {
	head, rest, _ := strings.Cut(section, "\n")
	c := Client{paths: map[string]string{}, shape: shape{command: "command", env: "env", headers: "headers"}}
	c.Name, c.Title, _ = strings.Cut(strings.TrimPrefix(head, "# "), ": ")
	c.shape.extra = extraFields(c.Name)
	texts := map[string]*string{
		"check": &c.Check, "package": &c.pack, "project": &c.project, "instead": &c.instead,
		"command type": &c.shape.stdioType, "command": &c.shape.command, "env": &c.shape.env,
		"url": &c.shape.url, "url type": &c.shape.httpType, "headers": &c.shape.headers,
		"token": &c.shape.tokenRef, "token key": &c.shape.tokenKey,
	}
	flags := map[string]*bool{"anywhere": &c.Anywhere, "strict": &c.strict, "list": &c.shape.list}
	for line := range strings.Lines(rest) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		system, isPath := strings.CutPrefix(key, "path")
		switch text, flag := texts[key], flags[key]; {
		case text != nil:
			*text = value
		case flag != nil:
			*flag = true
		case isPath:
			c.paths[strings.TrimSpace(system)] = value
		case key == "json":
			c.syntax = jsonFile{value}
		case key == "toml":
			c.syntax = tomlFile{value}
		case key == "yaml":
			c.syntax = yamlFile{value}
		}
	}
	return c
}

// extraFields returns settings of a new entry that the client's user may change.
func extraFields(client string) fields {
	switch client {
	case "copilot":
		return fields{{"tools", []string{"*"}}}
	case "opencode", "kilo":
		return fields{{"enabled", true}}
	case "goose":
		return fields{{"name", EntryName}, {"enabled", true}, {"timeout", 300}}
	}
	return nil
}

// Find returns the client with that name, in any case. An unknown name is an
// error that lists the names and suggests the nearest.
func Find(name string) (Client, error) {
	var names []string
	for _, c := range clients() {
		if strings.EqualFold(c.Name, name) {
			return c, nil
		}
		names = append(names, c.Name)
	}
	hint := ""
	if near := tool.Nearest(name, names); near != "" {
		hint = fmt.Sprintf(", did you mean %q?", near)
	}
	return Client{}, fmt.Errorf("no client %q%s (known are %s)", name, hint, strings.Join(names, ", "))
}

// Project returns the client with the settings file of a workspace instead of the
// user's own, or an error if it has no such file.
func (c Client) Project() (Client, error) {
	if c.project == "" {
		var names []string
		for _, other := range clients() {
			if other.project != "" {
				names = append(names, other.Name)
			}
		}
		return Client{}, fmt.Errorf("%s has no settings file for one project (these have: %s); omit --project",
			c.Title, strings.Join(names, ", "))
	}
	c.paths, c.pack = map[string]string{"": "${work}/" + c.project}, ""
	c.shared, c.Anywhere = true, false
	return c, nil
}

// Path returns the path of the client's settings file on a machine. The file need
// not exist.
func (c Client) Path(env Env) string {
	paths, ok := c.paths[env.GOOS]
	if !ok {
		paths = c.paths[""]
	}
	return env.find(paths, c.pack)
}
