package memory

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// An Owner is whose a memory is. Those without a user are shared by all users
// of the agent: they read them, and have memories of their own before them.
type Owner struct{ Agent, User string }

// Shared is the owner of what all users of the agent share.
func (o Owner) Shared() Owner { return Owner{Agent: o.Agent} }

// A Document is a text that is remembered.
type Document struct {
	ID    string
	Owner Owner
	Path  string
	Content
	Version          int64 // grows with each change, also past a removal
	Created, Updated time.Time
	Author, Session  string // who wrote this version, and in which conversation
	Digest           string // equal for texts that say the same in nearly the same words
}

// Content is what the author of a document decides about.
type Content struct {
	Text     string
	Category string
	Tags     []string
	Expires  time.Time // zero: never
}

// A Past is a version that is no longer the present one.
type Past struct {
	Document
	Action string // what ended it: "write", "forget", "expire" or "undo"
	By     string // who did that
	During string // in which conversation
	Ended  time.Time
}

// An Entry is one line of a list of documents.
type Entry struct {
	ID       string
	Owner    Owner
	Path     string
	Category string
	Tags     []string
	Size     int64
	Updated  time.Time
}

// The categories.
const (
	Core         = "core"         // holds for good
	Daily        = "daily"        // notes of a day
	Conversation = "conversation" // what was said
	Custom       = "custom"       // anything else
)

// Context is the category of what an agent is told about itself and its user,
// which is no memory: nothing lists or finds it with those.
const Context = "context"

// Whose tells whom what a caller writes belongs to, and who writes it. Names
// that no database takes are written so that different ones stay different.
func Whose(c tool.Caller) (Owner, Hand) {
	author := c.User
	if author == "" {
		author = c.Agent
	}
	return Owner{Agent: storable(c.Agent), User: storable(c.User)}, Hand{Author: storable(author), Session: storable(c.Session)}
}

func storable(name string) string {
	if !utf8.ValidString(name) {
		return fmt.Sprintf("%%x%x", name)
	}
	return strings.NewReplacer("\x00", "%00", "%", "%25").Replace(name)
}

// Memory is what the tools work on. It knows whom it is asked for from the
// context, and shows nobody else's.
type Memory interface {
	// Search returns the pieces of documents that are about a text, the best
	// first.
	Search(ctx context.Context, q Query) (Found, error)
	// Get returns the caller's document of a path or key, or else the shared one.
	Get(ctx context.Context, path string) (Document, error)
	// Store writes a document of the caller's own.
	Store(ctx context.Context, w Write) (Stored, error)
	// Forget removes documents of the caller's own. Their versions are kept.
	Forget(ctx context.Context, f Forget) ([]Document, error)
	// Undo takes back the last change of the caller's own document of a path.
	Undo(ctx context.Context, path string) (Document, error)
}

// A Query is what to look for.
type Query struct {
	Text     string
	Limit    int
	Category string    // "": all
	Path     string    // what paths begin with
	Since    time.Time // changed not before
	Until    time.Time // changed before; zero: no bound
	MinScore float64   // from 0 to 1
}

// Found is what a search has found.
type Found struct {
	Hits   []Hit
	More   bool // there are others
	Alike  int  // hits that said nearly the same as better ones, and were left out
	Behind bool // the latest changes may be missing
	// Literal says that only words were compared, where usually meanings are too.
	Literal bool
	// Forming says that some can be found by words only, until their meanings are
	// known as well.
	Forming bool
	Words   []string // when nothing was found: words that there are
	Total   int      // when nothing was found: documents that there are
}

// A Hit is a piece of a document.
type Hit struct {
	Path     string
	From, To int // lines
	Shared   bool
	Category string
	Score    float64 // how much of the query it is about, from 0 to 1
	Headings []string
	Snippet  string
	Updated  time.Time
}

// A Write is a document as it shall be. What is nil stays as it is.
type Write struct {
	Key      string
	Text     string
	Category string   // "": as it is, or [Core]
	Tags     []string // nil: as they are
	Expires  *Expiry
}

// An Expiry says when a document is over: at a time, or so long from now.
// Neither is never.
type Expiry struct {
	At    time.Time
	After time.Duration
}

// Stored is what became of a Write.
type Stored struct {
	Document
	Unchanged bool     // it was there as it is
	Alike     []string // paths of documents that say nearly the same
}

// A Forget names documents by one of Path and Query.
type Forget struct {
	Path  string
	Query string // words that a document has all of
	Try   bool   // only tell which
}

// A Change is what a document of an owner shall be, for those who keep
// documents. What is nil or "" stays as it is.
type Change struct {
	Owner    Owner
	Path     string
	Text     string
	Digest   string // of Text
	Category string
	Tags     []string
	Expires  *Expiry
	By       Hand
	Expect   *int64 // the version that it has, 0 for none; nil: whatever it is

	// Created and Updated are when that was, for what comes from elsewhere.
	Created, Updated time.Time
}

// A Hand is who changes something, and in which conversation.
type Hand struct{ Author, Session string }
