package tool

import (
	"slices"

	"github.com/mcp-tools/mcp-tools/policy"
)

// A Grant is what a call may do: its caller, and what limits it beyond that. Work that
// outlasts a call, such as a subagent, keeps the grant of the call that began it, as
// JSON, and makes its own calls under a grant from [Grant.For].
type Grant struct {
	Caller    Caller
	Narrow    policy.Narrow    // of this caller alone
	Within    []policy.Subject // the caller may do what all of these may do, too
	Transport string
	Token     string // id of the token; when it is revoked, the grant ends
	Identity  string // of the caller's rate limit
}

// For returns the grant of a caller that works for g. It may do what g may do and the
// rules allow the new caller, and of that only what narrow leaves.
func (g Grant) For(c Caller, narrow policy.Narrow) Grant {
	g.Caller, g.Narrow, g.Within = c, narrow, slices.Clone(g.Within)
	return g
}
