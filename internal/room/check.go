package room

import (
	"context"
	"fmt"
)

// A Check finds out whether something of a room works, and changes nothing. It
// reports as many findings as there are things to check; without one it does not
// apply to the settings.
type Check struct {
	Name string
	// Stored is set for a check that reads the store. It is left out if the store
	// cannot be used.
	Stored bool
	Run    func(context.Context, *Findings)
}

// A State is the outcome of a check.
type State string

// The outcomes.
const (
	Fine    State = "ok"
	Warning State = "warn" // works, but the operator should know
	Broken  State = "fail" // does not work
)

// A Finding is the result of a check.
type Finding struct {
	Check  string `json:"check"`
	State  State  `json:"state"`
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"` // for the operator
}

// Findings collects the results of the checks with one name.
type Findings struct {
	Name string
	List []Finding
}

// OK reports that something works.
func (f *Findings) OK(format string, args ...any) { f.add(Fine, "", format, args) }

// Advise reports something that works, and that the operator should know or can improve.
func (f *Findings) Advise(advice, format string, args ...any) { f.add(Warning, advice, format, args) }

// Fail reports something that does not work.
func (f *Findings) Fail(advice, format string, args ...any) { f.add(Broken, advice, format, args) }

func (f *Findings) add(s State, advice, format string, args []any) {
	f.List = append(f.List, Finding{f.Name, s, fmt.Sprintf(format, args...), advice})
}

// Find runs the check on an opened host.
func (r *Room) Find(ctx context.Context, c Check, h *Host) []Finding {
	f := &Findings{Name: c.Name}
	if err := r.Ready(h); err != nil {
		f.Fail("", "%v", err)
		return f.List
	}
	c.Run(ctx, f)
	return f.List
}
