package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
)

// Terms are what a person's word for one call rests on beside its arguments,
// such as which program a command names today. A word is good only as long as
// the terms are the same: they are found out again right before the call runs.
type Terms struct {
	Facts map[string]string // by name; shown to the person, scrubbed
	Once  bool              // no rule may allow calls like this one from now on
}

// A Termer is a Doer whose calls have Terms, or of some of which it is clear
// before a person is asked that they are refused whatever is said. An error is
// the call's: it does not run, and nobody is asked. No error promises nothing:
// Do looks again.
//
// It is asked of calls that the policy wants approved, and of no others, so it
// tells nobody anything who may not make the call. Like rating it must have no
// side effects, and nothing that others notice: no name is looked up, no host
// asked, no secret fetched.
type Termer[A any] interface {
	Terms(ctx context.Context, args A) (Terms, error)
}

// Terms says what a person's word for this very call rests on.
func (c Call) Terms(ctx context.Context) (Terms, error) {
	if c.terms == nil {
		return Terms{}, nil
	}
	return c.terms(ctx)
}

// Basis is a digest of the facts, "" when there are none.
func (t Terms) Basis() string {
	if len(t.Facts) == 0 {
		return ""
	}
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(t.Facts)) {
		for _, text := range []string{name, t.Facts[name]} {
			sum := sha256.Sum256([]byte(text)) // of equal length each, so none can pass for two
			h.Write(sum[:])
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
