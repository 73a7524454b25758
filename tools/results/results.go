// Package results holds the tool that pages through what was too long to hand
// over at once. It knows nothing of where that is kept. Begin with read.go.
package results

import (
	"context"
	"errors"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const group = "results"

// A Store gives back what was kept. Each method answers fs.ErrNotExist for an
// id that does not exist, has expired, or belongs to another owner.
type Store interface {
	// Page returns up to limit bytes from offset.
	Page(owner, id string, offset int64, limit int) (Page, error)
	// Tail returns the last lines, up to limit bytes.
	Tail(owner, id string, lines, limit int) (Page, error)
	// Grep returns up to limit lines that match, each with its surroundings.
	// A pattern that cannot be used is ErrPattern, with the reason.
	Grep(ctx context.Context, owner, id, pattern string, around, limit int) (Found, error)
}

// ErrPattern is why a Store refuses a pattern.
var ErrPattern = errors.New("the pattern cannot be used")

// A Page is a piece of a result, never half a character.
type Page struct {
	Text   string
	Offset int64 // where it begins, in bytes
	Next   int64 // where to go on; Size at the end
	Size   int64 // of the whole
}

// Found is what Grep found.
type Found struct {
	Lines   []Line
	Matches int  // among them
	All     bool // the whole result was searched
}

// A Line is one line of a result.
type Line struct {
	Number int
	Text   string
	Match  bool
}

// Tools lists the tools of the group.
func Tools(s Store, m tool.Marks) []tool.Tool {
	return []tool.Tool{
		tool.New(readResult{s, m}),
	}
}
