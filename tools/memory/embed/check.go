package embed

import (
	"context"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// Check asks the endpoint of embeddings for a vector. open returns the client and a
// function that closes it; without a client there is no endpoint.
func Check(open func() (client *Client, end func() error, err error)) room.Check {
	return room.Check{Name: "embeddings", Run: func(ctx context.Context, f *room.Findings) {
		client, end, err := open()
		if err != nil {
			f.Fail("correct the setting, or set the secret that it refers to", "%v", err)
			return
		}
		if client == nil {
			return
		}
		defer func() { _ = end() }() // nothing is left to write
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		numbers, err := client.Query(ctx, "hello")
		if err != nil {
			f.Advise("check memory.embeddings and the endpoint; until then memories are found by words only", "%v", err)
			return
		}
		f.OK("%s answers with vectors of %s", client.o.URL, text.Plural(len(numbers), "number"))
	}}
}
