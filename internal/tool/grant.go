package tool

import (
	"slices"

	"github.com/mcp-tools/mcp-tools/policy"
)

// A Grant has the rights of a call: its caller, and the limits in addition to the caller's.
// Work that outlasts a call, such as a subagent, keeps the grant of the call that began it, as
// JSON, and makes its own calls under a grant from [Grant.For].
type Grant struct {
	Caller    Caller
	Narrow    policy.Narrow    // of this caller alone
	Within    []policy.Subject // callers whose rights also limit the caller
	Transport string
	Token     string // id of the token; when it is revoked, the grant ends
	Identity  string // of the caller's rate limit
}

// For returns the grant of a caller that works for g: the rights that g and the rules both
// allow, reduced by narrow.
func (g Grant) For(c Caller, narrow policy.Narrow) Grant {
	g.Caller, g.Narrow, g.Within = c, narrow, slices.Clone(g.Within)
	return g
}
