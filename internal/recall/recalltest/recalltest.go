// Package recalltest is for tests that need a search over rows of a real store:
// it opens one that lasts as long as the test. It knows nothing that package
// recall does not. Begin with [Open].
package recalltest

import (
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/recall"
)

// Open opens a search until the end of the test.
func Open(t testing.TB, dir string, feed recall.Feed, shelves ...recall.Shelf) *recall.Recall {
	t.Helper()
	r := recall.Open(recall.Options{Dir: dir, Feed: feed, Shelves: shelves})
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}
