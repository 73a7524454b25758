package policy

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// A Tool has the properties of a tool that rules can match.
type Tool struct {
	Name  string
	Also  []string // its names in other systems
	Group string   // "fs" for group:fs
	Risk  Risk     // of its riskiest call
	Rates bool     // it has calls of different risks
}

// A Risk is the worst harm that one call can do. The zero Risk is denied.
type Risk uint8

// The risks, the lowest first. They are ordered: a later one
// includes everything that an earlier one can do.
const (
	unrated  Risk = iota
	Reads         // changes nothing
	Writes        // adds or changes something, and the change can be reverted
	Destroys      // removes or overwrites something permanently
	Runs          // runs code, or acts in the caller's name
)

var riskNames = [...]string{unrated: "unrated", Reads: "reads", Writes: "writes", Destroys: "destroys", Runs: "runs"}

func (r Risk) String() string {
	if int(r) < len(riskNames) {
		return riskNames[r]
	}
	return fmt.Sprintf("risk(%d)", uint8(r))
}

// Valid reports whether r is one of the risks above.
func (r Risk) Valid() bool { return r > unrated && r <= Runs }

// MarshalText writes the risk as a word.
func (r Risk) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// A Catalogue holds the registered tools, by all names that rules can have for
// them. The zero Catalogue is empty.
type Catalogue struct {
	tools   []Tool
	names   map[string]int
	aliases map[string]int
}

// NewCatalogue returns a catalogue of tools. Names are unique; of two tools with
// the same name the second is ignored. A tool of another server is one of the group "mcp",
// called SERVER__TOOL.
func NewCatalogue(tools []Tool) Catalogue {
	c := Catalogue{names: make(map[string]int), aliases: make(map[string]int)}
	for _, tool := range tools {
		if _, twice := c.names[tool.Name]; twice {
			continue
		}
		for _, alias := range tool.Also {
			if _, taken := c.aliases[alias]; !taken {
				c.aliases[alias] = len(c.tools)
			}
		}
		c.names[tool.Name] = len(c.tools)
		c.tools = append(c.tools, tool)
	}
	return c
}

// serverOf returns the name of the server in the name of a bridged tool.
func serverOf(tool string) (string, bool) {
	server, _, ok := strings.Cut(tool, "__")
	return server, ok && server != ""
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
		server, _ := serverOf(c.tools[i].Name)
		return c.inGroup(Bridged, i) && (name == "*" || server == name)
	case "risk":
		return c.tools[i].Risk.Valid() && c.tools[i].Risk.String() == name
	}
	if isPattern(entry) {
		matched, err := path.Match(entry, c.tools[i].Name)
		return matched && err == nil
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
	switch name {
	case groupNative:
		return c.tools[i].Group != Bridged
	case groupTeam:
		name = "teams"
	}
	return name != "" && c.tools[i].Group == name
}

// forWriters reports whether calls of tool i with this risk are for the file writers of a chat:
// they change files or schedules, or run commands. A command can change both.
func (c *Catalogue) forWriters(i int, rated Risk) bool {
	return rated > Reads && slices.Contains([]string{"fs", "runtime", "automation", "script"}, c.tools[i].Group)
}

// unknown returns the problem of an entry that can never match a tool, and the
// most similar valid entry. An entry that may match later, such as a tool of a
// server that is not connected, is no problem.
func (c *Catalogue) unknown(entry string) (text, nearest string) {
	switch kind, name := split(entry); kind {
	case "group":
		if slices.Contains(c.groupNames(), name) {
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
	if registered || ofServer || isPattern(name) {
		return "", ""
	}
	if slices.Contains(c.groupNames(), name) {
		return quote(name) + " is a group, not a tool", "group:" + name
	}
	candidates := append(slices.Sorted(maps.Keys(c.names)), slices.Sorted(maps.Keys(c.aliases))...)
	return "there is no tool " + quote(name), Nearest(name, candidates)
}

// groupNames returns the groups that rules may name.
func (c *Catalogue) groupNames() []string {
	names := slices.Concat(builtinGroups, []string{groupNative, Bridged, groupTeam})
	for _, tool := range c.tools {
		names = append(names, tool.Group)
	}
	return names
}

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

// A set holds registered tools by their index in the catalogue. Operations
// return new sets; the nil set is empty.
type set []uint64

func newSet(size int) set { return make(set, (size+63)/64) }

func (s set) has(i int) bool {
	return i/64 < len(s) && s[i/64]&(1<<(i%64)) != 0
}

func (s set) add(i int) { s[i/64] |= 1 << (i % 64) }

func (s set) and(o set) set {
	out := make(set, len(s))
	for w := range min(len(s), len(o)) {
		out[w] = s[w] & o[w]
	}
	return out
}

func (s set) or(o set) set {
	if len(s) < len(o) {
		s, o = o, s
	}
	out := slices.Clone(s)
	for w := range o {
		out[w] |= o[w]
	}
	return out
}

func (s set) minus(o set) set {
	out := slices.Clone(s)
	for w := range min(len(s), len(o)) {
		out[w] &^= o[w]
	}
	return out
}

func (s set) empty() bool {
	for _, word := range s {
		if word != 0 {
			return false
		}
	}
	return true
}
