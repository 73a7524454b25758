package tool

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Ends are the functions to call when a tool has run, before its result is scrubbed and recorded: the call is not
// done before that. They also have notes for the end of the result. The zero value is empty.
type Ends struct {
	mu    sync.Mutex
	keys  map[any]bool
	list  []func(context.Context) error
	notes []string
	done  bool
}

// AtEnd calls f when the tool of the running call has run, also if it has failed or was cancelled; the last f comes first.
// If f fails the call fails with its error. There is one f for each key. AtEnd reports whether f will be called: not if
// there is one with the key, if the tool has run already, or outside of a server.
func AtEnd(ctx context.Context, key any, f func(context.Context) error) bool {
	call, _ := ctx.Value(runningKey{}).(*Running)
	if call == nil || call.Ends == nil {
		return false
	}
	e := call.Ends
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done || e.keys[key] {
		return false
	}
	if e.keys == nil {
		e.keys = make(map[any]bool)
	}
	e.keys[key] = true
	e.list = append(e.list, f)
	return true
}

// Note adds a line to the end of the result of the running call. It reports whether there is a call that has not ended.
func Note(ctx context.Context, text string) bool {
	call, _ := ctx.Value(runningKey{}).(*Running)
	if call == nil || call.Ends == nil {
		return false
	}
	call.Ends.mu.Lock()
	defer call.Ends.mu.Unlock()
	if call.Ends.done {
		return false
	}
	call.Ends.notes = append(call.Ends.notes, text)
	return true
}

// Do calls each function once, and returns the notes and the errors. It goes on when ctx ends: the effects of the
// tool are final.
func (e *Ends) Do(ctx context.Context) (notes []string, err error) {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for {
		e.mu.Lock()
		n := len(e.list)
		if n == 0 {
			e.done = true
			notes = slices.Clone(e.notes)
			e.mu.Unlock()
			return notes, errors.Join(errs...)
		}
		f := e.list[n-1]
		e.list = e.list[:n-1]
		e.mu.Unlock()
		errs = append(errs, f(ctx))
	}
}
