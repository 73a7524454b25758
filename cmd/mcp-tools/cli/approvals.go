package cli

import (
	"cmp"
	"context"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

// withApprovals passes the store of approvals to use.
func (a *CLI) withApprovals(use func(*approvals.Store) error) error {
	return a.WithStore(func(s *store.Store) error { return use(approvals.New(approvals.Options{DB: s})) })
}

// approver is the user of the command line. This user may decide about all calls.
func approver() approvals.Approver { return approvals.Approver{Name: app.SystemUser(), Channel: "cli"} }

// decide records the answer and prints the result.
func (a *CLI) decide(ctx context.Context, store *approvals.Store, id string, answer approvals.Answer) error {
	d, err := store.Answer(ctx, id, answer, approver())
	if err := cmp.Or(err, store.MarkAttended(ctx)); err != nil {
		return err
	}
	return a.say("%s: %s.", id, d.Text())
}
