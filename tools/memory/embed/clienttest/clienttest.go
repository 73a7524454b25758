// Package clienttest is for tests that need a client of an embeddings endpoint, such as the
// endpoint of package embedtest: it makes one that lasts as long as the test. Begin with
// [Open].
package clienttest

import (
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/tools/memory/embed"
)

// Open makes a client of a server on this machine until the end of the test.
func Open(t testing.TB, server string) *embed.Client {
	t.Helper()
	c, err := embed.New(embed.Options{
		URL: server + "/v1", HTTP: egresstest.Within(t, embed.Limits(), server), Model: "m", Batch: 8,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
