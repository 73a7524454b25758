package memory

import (
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Document is one memory: a text under a path.
type Document struct {
	ID       string
	Owner    tool.Owner // an owner without a user is all users of the agent
	Path     string
	Text     string
	Category string
	Tags     []string
	Expires  time.Time // zero: never

	Version          int64 // grows with each change, also past a removal
	Created, Updated time.Time
	Author           Author // of this version
	Digest           string // equal for texts of nearly the same words
}

// An Author is the user or agent that made a change, and its session.
type Author struct{ Name, Session string }

// A Past is a former version of a document.
type Past struct {
	Document
	Action string // the change that ended it: "write", "forget", "expire" or "undo"
	By     Author // of that change
	Ended  time.Time
}

// An Entry is one line of a list of documents.
type Entry struct {
	ID       string
	Owner    tool.Owner
	Path     string
	Category string
	Tags     []string
	Size     int64 // bytes
	Updated  time.Time
}

// The categories of memories.
const (
	Core         = "core"         // lasting facts
	Daily        = "daily"        // notes of a day
	Conversation = "conversation" // notes of conversations
	Custom       = "custom"       // anything else
)

// Context is the category of context files. They are rows of the same tables but no memories: no list and no
// search of memories returns them. See package contextfiles.
const Context = "context"

func categories() []string { return []string{Core, Daily, Conversation, Custom} }

// A Change is the new state of an owner's document. Fields that are nil or "" stay as they are.
type Change struct {
	Owner    tool.Owner
	Path     string
	Text     string
	Digest   string     // of Text
	Category string     // of a new document: Core
	Tags     []string   // nil: as they are
	Expires  *time.Time // nil: as it is; zero: never
	By       Author

	// Created and Updated are times that an imported document brings along.
	Created, Updated time.Time
}

// A Query is a search query.
type Query struct {
	Text     string
	Limit    int
	Category string    // "": all
	Path     string    // a file, or a prefix of paths
	Since    time.Time // changed at this time or later
	Until    time.Time // changed before; zero: no bound
	MinScore float64   // from 0 to 1
}

// Found is the result of a search.
type Found struct {
	Hits        []Hit
	More        bool     // there are more hits than the limit
	Duplicates  []string // paths of hits left out because a better one has nearly the same text
	Behind      bool     // the latest changes may be missing
	WordsOnly   bool     // embeddings were not available in time, so only words were compared
	Unembedded  bool     // some documents are found by words only, until their embeddings are made
	Suggestions []string // without hits: words that occur and may have been meant
	Total       int      // without hits: how many documents there are
}

// A Hit is a part of a document.
type Hit struct {
	Path     string    `json:"path"`
	From     int       `json:"from"` // the first line
	To       int       `json:"to"`   // the last line
	Shared   bool      `json:"shared"`
	Category string    `json:"category,omitempty"`
	Score    float64   `json:"score"` // how much of the query it matches, from 0 to 1
	Headings []string  `json:"headings,omitempty"`
	Snippet  string    `json:"snippet"`
	Updated  time.Time `json:"updated"`
}

// A Write is a change by memory_store. Fields that are nil or "" do not change.
type Write struct {
	Key      string
	Text     string
	Category string
	Tags     []string
	Expires  *time.Time // zero: never
}

// Stored is the result of a Write.
type Stored struct {
	Document
	Unchanged bool     // it was already so
	Similar   []string // paths of documents with nearly the same text
}

// A Forget names documents to remove, by one of Path and Query.
type Forget struct {
	Path   string
	Query  string // documents that contain all these words
	DryRun bool   // only list them
}
