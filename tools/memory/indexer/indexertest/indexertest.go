// Package indexertest is for tests that need a search over rows of a real store: it opens one that lasts as
// long as the test. It knows nothing that package indexer does not. Begin with [Open].
package indexertest

import (
	"testing"

	"github.com/mcp-tools/mcp-tools/tools/memory/indexer"
)

// Open opens a search until the end of the test.
func Open(t testing.TB, dir string, feed indexer.Feed, sources ...indexer.Source) *indexer.Indexer {
	t.Helper()
	f := Follow(t, feed)
	x := indexer.Open(indexer.Options{Dir: dir, Follower: f, Sources: sources})
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// Follow follows a feed until the end of the test.
func Follow(t testing.TB, feed indexer.Feed) *indexer.Follower {
	t.Helper()
	f := indexer.NewFollower(feed, nil)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}
