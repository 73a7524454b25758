// Package briefing keeps what an agent is told about itself and its user: a few
// small documents, SOUL.md, AGENTS.md and others, each for an agent and one of
// its users. It decides whose copy of a document somebody reads and whose they
// change, and how much is handed out at once. It does not know the tables that
// the documents lie in, nor how the file tools and the protocol show them.
//
// Of a document the user's own copy counts, else the agent's, else the one that
// the operator keeps in a directory. What an agent may rewrite depends on
// whether it is predefined. Whoever calls is known from the context; a caller
// without an agent has none of these documents. When anything cannot be found
// out, nothing is read and nothing changed.
//
// Begin with levels.go for who reads and changes what, then files.go for what
// the file tools see, together.go for what is handed out at once, and operator.go.
package briefing

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// The documents. Names are exact: soul.md is a file like any other.
const (
	Soul      = "SOUL.md"            // who the agent is
	Agents    = "AGENTS.md"          // how it works
	Identity  = "IDENTITY.md"        // its name and how it shows itself
	User      = "USER.md"            // whom it works for
	Laid      = "USER_PREDEFINED.md" // what the operator says about its users
	Bootstrap = "BOOTSTRAP.md"       // what to do in the first conversation, until it is emptied
)

// Names are all documents, in the order in which they are handed out.
func Names() []string { return []string{Soul, Agents, Identity, User, Laid, Bootstrap} }

// Is reports whether a name is that of a document.
func Is(name string) bool {
	switch name { // which is asked of all that a search goes through
	case Soul, Agents, Identity, User, Laid, Bootstrap:
		return true
	}
	return false
}

// Bounds of what is kept and handed out, in characters.
const (
	MostText     = 20_000 // of one document
	MostTogether = 24_000 // of all that are handed out at once
)

// An Agent is what the operator has said about one. Of others there is nothing
// to say: they are open.
type Agent struct {
	Name       string
	Predefined bool   // its documents are the operator's; users have their own USER.md and BOOTSTRAP.md
	Evolves    bool   // a predefined agent may rewrite its SOUL.md, for all its users
	Dir        string // has the operator's versions; "" for none
}

// Rows are the documents as the store has them.
type Rows interface {
	ContextFiles(ctx context.Context, o memory.Owner, names []string) ([]memory.Document, error)
	AgentContext(ctx context.Context, agent string, limit int) ([]memory.Entry, error)
	PutMemory(ctx context.Context, c memory.Change) (d memory.Document, unchanged bool, err error)
	DropMemory(ctx context.Context, o memory.Owner, path string, by memory.Hand) (memory.Document, bool, error)
	UndoMemory(ctx context.Context, o memory.Owner, path string, by memory.Hand) (memory.Document, bool, error)
}

// A Briefing is all documents of all agents. It has no state of its own.
type Briefing struct {
	rows   Rows
	agents []Agent
}

// New makes a Briefing. Agents that are not named are open.
func New(rows Rows, agents []Agent) *Briefing { return &Briefing{rows, agents} }

// agent is what the operator has said about one.
func (b *Briefing) agent(name string) Agent {
	for _, a := range b.agents {
		if a.Name == name {
			return a
		}
	}
	return Agent{Name: name}
}

// A reader is a caller with an agent.
type reader struct {
	agent Agent
	owner memory.Owner
	hand  memory.Hand
}

// reader finds out who calls.
func (b *Briefing) reader(ctx context.Context) (reader, error) {
	c := tool.CallerFrom(ctx)
	if c.Agent == "" {
		return reader{}, tool.Errorf(tool.Refused, "without an agent there are no context files").Try("call with an agent's identity")
	}
	o, by := memory.Whose(c)
	return reader{b.agent(c.Agent), o, by}, nil
}
