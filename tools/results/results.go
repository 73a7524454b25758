// Package results holds the tool that pages through what was too long to hand
// over at once. It knows nothing of where that is kept. Begin with read.go.
package results

import (
	"context"

	"github.com/mcp-tools/mcp-tools/tools"
)

const group = "results"

// A Store gives back what was kept. Each method answers fs.ErrNotExist for an
// id that does not exist, has expired, or belongs to another owner.
type Store interface {
	// Page returns up to limit bytes from offset, never half a character, and
	// the size of the whole.
	Page(owner, id string, offset int64, limit int) (text string, total int64, err error)
	// Tail returns the last lines, up to limit bytes.
	Tail(owner, id string, lines, limit int) (text string, total int64, err error)
	// Grep returns the matching lines with their numbers and context, up to
	// limit bytes, and how many matched in all.
	Grep(ctx context.Context, owner, id, pattern string, around, limit int) (text string, matches int, err error)
}

// Tools lists the tools of the group.
func Tools(s Store) []tools.Tool {
	return []tools.Tool{
		tools.New(readResult{s}),
	}
}
