package tool

import (
	"context"
	"strings"
	"unicode/utf8"
)

// An Owner owns stored data: one user of an agent or, with an empty User, all users of the agent together.
type Owner struct{ Agent, User string }

// Shared returns the owner of the data that all users of the agent see.
func (o Owner) Shared() Owner { return Owner{Agent: o.Agent} }

// OwnerFrom returns the owner of what the running call stores. It refuses a call without a caller, and names that a
// database cannot store.
func OwnerFrom(ctx context.Context) (Owner, error) {
	c := CallerFrom(ctx)
	names := c.Agent + c.User + c.Session
	if c == (Caller{}) || strings.ContainsRune(names, 0) || !utf8.ValidString(names) {
		return Owner{}, Errorf(Refused, "this call has no caller with a usable name").
			Try("ask the operator to configure an agent or user name")
	}
	return Owner{Agent: c.Agent, User: c.User}, nil
}
