package store_test

import (
	"context"
	"fmt"
	"os"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// A pause is a row of the store, and an entry of the change feed from which other processes
// learn about it. Both are written in one transaction.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{DSN: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	err = s.Update(ctx, func(t *store.Tx) error {
		if _, err := t.Exec(`INSERT INTO pause (agent, session, reason, who, at) VALUES ($1, '', $2, 'ann', {{now}})`,
			"researcher", "it loops"); err != nil {
			return err
		}
		return t.Changed("pause", "researcher")
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	agents, err := store.Select(ctx, s, "SELECT agent FROM pause ORDER BY agent", nil, store.One[string])
	fmt.Println(s.Engine(), agents, err)
	// Output: sqlite [researcher] <nil>
}
