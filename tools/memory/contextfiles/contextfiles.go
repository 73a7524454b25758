// Package contextfiles keeps the context files of agents: SOUL.md, AGENTS.md and a few others
// that describe an agent, its ways and its user. There are copies for an agent and for each of
// its users. The package selects the copy that a caller reads and the copy that it changes, and
// bounds the text that is handed out at once. It does not know the tables of the copies
// (package memory), nor the file tools and the protocol.
//
// The user's own copy comes first, then the agent's, then the one that the operator keeps in a
// directory. A predefined agent may rewrite less than others. The caller comes from the
// context; a caller without an agent has no context files. If something cannot be determined,
// nothing is read and nothing changed.
//
// Begin with [New]. levels.go selects copies, files.go has the files for the file tools,
// combined.go the combined text, and operator.go is for the command line.
package contextfiles

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// The context files. Names are exact: soul.md is a file like any other.
const (
	Soul           = "SOUL.md"            // the identity of the agent
	Agents         = "AGENTS.md"          // how it works
	Tools          = "TOOLS.md"           // hints for its tools
	Identity       = "IDENTITY.md"        // its name and how it presents itself
	User           = "USER.md"            // about the user
	UserPredefined = "USER_PREDEFINED.md" // the operator's text about its users
	Bootstrap      = "BOOTSTRAP.md"       // instructions for the first conversation, until it is emptied
)

// Names returns the names of all context files, in the order of the combined text.
func Names() []string {
	return []string{Soul, Agents, Tools, Identity, User, UserPredefined, Bootstrap}
}

// Is reports whether a name is the name of a context file.
func Is(name string) bool {
	switch name { // faster than Names: a search asks it for every file
	case Soul, Agents, Tools, Identity, User, UserPredefined, Bootstrap:
		return true
	}
	return false
}

// ForAll reports whether all agents can get the same context file of that name, such as a
// plugin's.
func ForAll(name string) bool { return name == Agents || name == Tools }

// Limits, in characters.
const (
	MaxText     = 20_000 // of one file
	MaxCombined = 24_000 // of all that are handed out at once
)

// An Agent has the settings of an agent. Other agents are open: users rewrite
// all their files.
type Agent struct {
	Name       string
	Predefined bool   // its files are the operator's; users have their own USER.md and BOOTSTRAP.md
	Evolves    bool   // a predefined agent may rewrite its SOUL.md, for all its users
	Dir        string // the operator's copies; "" for none
}

// Files are the context files of all agents. They keep no state.
type Files struct {
	// Shared returns directories with files that all agents get, see [ForAll]. Nil: there are none. It is set
	// before the first use.
	Shared func() []string

	rows   *memory.Rows
	agents []Agent
}

// New returns the context files of a store and of agents. Agents that are not listed are open.
func New(rows *memory.Rows, agents []Agent) *Files { return &Files{rows: rows, agents: agents} }

// agent returns the settings of an agent.
func (f *Files) agent(name string) Agent {
	for _, a := range f.agents {
		if a.Name == name {
			return a
		}
	}
	return Agent{Name: name}
}

// A reader is a caller with an agent.
type reader struct {
	agent  Agent
	owner  tool.Owner
	author memory.Author
}

// reader returns the caller.
func (f *Files) reader(ctx context.Context) (reader, error) {
	o, err := tool.OwnerFrom(ctx)
	if err == nil && o.Agent == "" {
		err = tool.Errorf(tool.Refused,
			"without an agent there are no context files").Try("call with the identity of an agent")
	}
	return reader{f.agent(o.Agent), o, memory.AuthorOf(tool.CallerFrom(ctx))}, err
}
