package policy

import (
	"maps"
	"slices"
	"strings"
)

// A Catalogue holds the registered tools, by all names that rules can have for
// them. The zero Catalogue is empty.
type Catalogue struct {
	tools   []Tool
	names   map[string]int
	aliases map[string]int
	groups  map[string]set
	servers map[string]set
}

// NewCatalogue returns a catalogue of tools. Names are unique; of two tools with
// the same name the second is ignored. A tool of another server is one of the group "mcp",
// called mcp_SERVER__TOOL.
func NewCatalogue(tools []Tool) Catalogue {
	c := Catalogue{names: make(map[string]int), aliases: make(map[string]int)}
	for _, tool := range tools {
		if _, twice := c.names[tool.Name]; !twice {
			c.names[tool.Name] = len(c.tools)
			c.tools = append(c.tools, tool)
		}
	}
	for i, tool := range c.tools {
		for _, alias := range tool.Also {
			if _, taken := c.aliases[alias]; !taken {
				c.aliases[alias] = i
			}
		}
	}
	c.fillGroups()
	return c
}

func (c *Catalogue) fillGroups() {
	c.groups = map[string]set{groupNative: c.none(), groupBridged: c.none()}
	c.servers = make(map[string]set)
	for _, group := range builtinGroups {
		c.groups[group] = c.none()
	}
	join := func(in map[string]set, name string, i int) {
		if in[name] == nil {
			in[name] = c.none()
		}
		in[name].add(i)
	}
	for i, tool := range c.tools {
		join(c.groups, tool.Group, i)
		if tool.Group != groupBridged {
			join(c.groups, groupNative, i)
		} else if server, ok := serverOf(tool.Name); ok {
			join(c.servers, server, i)
		}
	}
}

// serverOf returns the name of the server in the name of a bridged tool.
func serverOf(tool string) (string, bool) {
	rest, bridged := strings.CutPrefix(tool, "mcp_")
	server, _, ok := strings.Cut(rest, "__")
	return server, bridged && ok && server != ""
}

func (c *Catalogue) none() set { return newSet(len(c.tools)) }

func (c *Catalogue) all() set {
	all := c.none()
	for i := range c.tools {
		all.add(i)
	}
	return all
}

// selected returns every tool that entry matches.
func (c *Catalogue) selected(entry string) set {
	out := c.none()
	for i := range c.tools {
		if c.matches(entry, i) {
			out.add(i)
		}
	}
	return out
}

// matches reports whether entry, one item of a List, matches tool i. An unknown
// entry matches no tool.
func (c *Catalogue) matches(entry string, i int) bool {
	switch kind, name := split(entry); kind {
	case "group":
		return c.inGroup(name, i)
	case "mcp":
		if name == "*" {
			return c.groups[groupBridged].has(i)
		}
		// Tool names cannot contain the hyphens of server names.
		return c.servers[strings.ReplaceAll(name, "-", "_")].has(i)
	case "risk":
		return c.tools[i].Risk.Valid() && c.tools[i].Risk.String() == name
	}
	if isPattern(entry) {
		return glob(entry, c.tools[i].Name)
	}
	j, ok := c.lookup(entry)
	return ok && i == j
}

func (c *Catalogue) lookup(name string) (int, bool) {
	i, ok := c.names[name]
	if !ok {
		i, ok = c.aliases[name]
	}
	return i, ok
}

func (c *Catalogue) inGroup(name string, i int) bool {
	if name == groupTeam {
		name = "teams"
	}
	return c.groups[name].has(i)
}

// unknown returns the problem of an entry that can never match a tool, and the
// most similar valid entry. An entry that may match later, such as a tool of a
// server that is not connected, is no problem.
func (c *Catalogue) unknown(entry string) (text, nearest string) {
	switch kind, name := split(entry); kind {
	case "group":
		if _, ok := c.groups[name]; ok || name == groupTeam {
			return "", ""
		}
		return "there is no group " + quote(name), prefixed("group:", Nearest(name, c.groupNames()))
	case "mcp":
		if name == "" {
			return `"mcp:" names no server`, "mcp:*"
		}
		return "", ""
	case "risk":
		if slices.Contains(riskNames[Reads:], name) {
			return "", ""
		}
		return "there is no risk " + quote(name), prefixed("risk:", Nearest(name, riskNames[Reads:]))
	}
	return c.unknownTool(entry)
}

func (c *Catalogue) unknownTool(name string) (text, nearest string) {
	_, registered := c.lookup(name)
	_, ofServer := serverOf(name)
	if registered || ofServer || isPattern(name) || slices.Contains(optionalTools, name) {
		return "", ""
	}
	if _, ok := c.groups[name]; ok || name == groupTeam {
		return quote(name) + " is a group, not a tool", "group:" + name
	}
	candidates := append(slices.Sorted(maps.Keys(c.names)), slices.Sorted(maps.Keys(c.aliases))...)
	return "there is no tool " + quote(name), Nearest(name, candidates)
}

func (c *Catalogue) groupNames() []string { return slices.Sorted(maps.Keys(c.groups)) }

func prefixed(prefix, name string) string {
	if name == "" {
		return ""
	}
	return prefix + name
}

// split returns the parts of an entry. The kind of a plain name or pattern is "", even
// if it has a colon, as names of some systems do.
func split(entry string) (kind, name string) {
	kind, name, found := strings.Cut(entry, ":")
	if found && (kind == "group" || kind == "mcp" || kind == "risk") {
		return kind, name
	}
	return "", entry
}

func isPattern(entry string) bool { return strings.ContainsAny(entry, "*?") }

// glob matches name against a pattern in which * stands for any characters
// and ? for one byte. It backtracks only to the last star, so that its time
// is at most the product of the two lengths.
func glob(pattern, name string) bool {
	star, resume := -1, 0
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			resume++
			p, n = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
