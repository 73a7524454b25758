package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcp-tools/mcp-tools/internal/text"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

// WithAuditLog opens the record for one use, with what processes that were killed
// have not carried to the store. Where there is no store yet and nothing to carry,
// there is no record, and none is made.
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

// RecoverAuditLog carries what killed processes have left to the store, and says
// so when something has to stay. What the store has is of use without it.
func (e *Env) RecoverAuditLog(ctx context.Context, s *store.Store) error {
	dir, err := e.DataDir()
	if err != nil {
		return err
	}
	left, err := audit.NewDB(s).Recover(ctx, dir)
	if len(left) > 0 {
		fmt.Fprintf(e.Err, "%s of killed processes cannot be carried to the store; mcp-tools audit verify tells why.\n", text.Plural(len(left), "journal"))
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(e.Err, "What killed processes have left is not in the store yet: %v.\n", err)
		return nil
	}
	return err
}
