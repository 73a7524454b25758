// Package indexertest is for tests that need a search over rows of a real store:
// it opens one that lasts as long as the test. It knows nothing that package
// recall does not. Begin with [Open].
package indexertest

import (
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/indexer"
)

// Open opens a search until the end of the test.
func Open(t testing.TB, dir string, feed indexer.Feed, shelves ...indexer.Source) *indexer.Indexer {
	t.Helper()
	r := indexer.Open(indexer.Options{Dir: dir, Feed: feed, Sources: shelves})
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}
