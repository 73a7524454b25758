package search

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// Files searches files of r; see Search.
func (m *Matcher) Files(ctx context.Context, r *root.Root, names []string, check LinkCheck) (Found, error) {
	return m.Search(ctx, Source{Root: r, CheckLinks: check}, names)
}

// Bytes searches content as a file of that name. ok is false if no line matches.
func (m *Matcher) Bytes(name string, content []byte) (found FileMatches, ok bool) {
	w, p := newWorker(m), m.newPage(0, m.maxMatches(), maxHeldBytes)
	got, err := w.text(context.Background(), memorySource(content), m.maxMatches(), p)
	if err != nil || got.matches == 0 {
		return FileMatches{}, false
	}
	found = FileMatches{Name: name, Matches: got.matches, Binary: got.binary}
	if p != nil {
		found.Lines = p.lines
	}
	return found, true
}
