package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcp-tools/mcp-tools/internal/text"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

// WithAuditLog opens the audit log for use, after copying what killed processes
// have left in their journals to the store. If there is no store yet and nothing
// to copy, use gets nil and no store is made.
func (e *Env) WithAuditLog(ctx context.Context, use func(*audit.DB) error) error {
	o, err := e.LoadStoreOptions()
	if err != nil {
		return err
	}
	dir, err := e.DataDir()
	if err != nil {
		return err
	}
	if store.Missing(o.DSN) && !audit.Waiting(dir) {
		return use(nil)
	}
	s, err := store.Open(ctx, o)
	if err != nil {
		return err
	}
	err = e.RecoverAuditLog(ctx, s)
	if err == nil {
		err = use(audit.NewDB(s))
	}
	return errors.Join(err, s.Close())
}

// RecoverAuditLog copies the journals of killed processes to the store. If that
// fails it prints a message and returns nil: the records in the store can still
// be read.
func (e *Env) RecoverAuditLog(ctx context.Context, s *store.Store) error {
	dir, err := e.DataDir()
	if err != nil {
		return err
	}
	left, err := audit.NewDB(s).Recover(ctx, dir)
	if len(left) > 0 {
		fmt.Fprintf(e.Err, "%s of killed processes cannot be copied to the store; mcp-tools audit verify shows why.\n",
			text.Plural(len(left), "journal"))
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(e.Err, "The journals of killed processes are not in the store yet: %v.\n", err)
		return nil
	}
	return err
}
