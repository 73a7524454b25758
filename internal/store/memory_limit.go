package store

import (
	"fmt"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// MemoryLimits are the most that one owner remembers; 0 is as much as one likes.
type MemoryLimits struct {
	Documents int64
	Bytes     int64 // of present versions
}

// countMemory adds to what an owner has, and refuses what would be too much:
// then the transaction has to end. Less than before is never too much. Who
// changes what the same owner has waits until the transaction is over.
func (t *Tx) countMemory(o memory.Owner, documents, bytes int64) error {
	if documents == 0 && bytes == 0 {
		return nil
	}
	var now MemoryLimits
	err := t.Row(`INSERT INTO memory_owner (agent, usr, documents, bytes) VALUES ($1, $2, $3, $4)
		ON CONFLICT (agent, usr) DO UPDATE SET documents = memory_owner.documents + $3, bytes = memory_owner.bytes + $4
		RETURNING documents, bytes`, []any{o.Agent, o.User, documents, bytes}, &now.Documents, &now.Bytes)
	if err != nil {
		return err
	}
	most := t.store.memoryLimits
	const next = "forget what is not needed any more with memory_forget, or give new memories an expiry; the operator can raise memory."
	switch {
	case documents > 0 && most.Documents > 0 && now.Documents > most.Documents:
		return tool.Errorf(tool.TooLarge, "this would be more than %d memories", most.Documents).Try(next + "max_documents")
	case bytes > 0 && most.Bytes > 0 && now.Bytes > most.Bytes:
		return tool.Errorf(tool.TooLarge, "all memories together would have more than %s", sized(most.Bytes)).Try(next + "max_bytes")
	}
	return nil
}

func sized(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}
