package tool

import (
	"context"
	"errors"
	"fmt"
)

// Kind says what sort of failure an Error is, in one word that models and
// programs can act on.
type Kind string

// The kinds. Anything that is not an *Error counts as Internal.
const (
	Invalid     Kind = "invalid"     // the arguments are wrong; mend them
	NotFound    Kind = "not_found"   // no such thing, or none that you may see
	Refused     Kind = "refused"     // policy, or a person, said no
	Busy        Kind = "busy"        // too much at once; wait
	Conflict    Kind = "conflict"    // it changed since you looked
	Timeout     Kind = "timeout"     // it took too long and was stopped
	Cancelled   Kind = "cancelled"   // the caller gave up
	TooLarge    Kind = "too_large"   // more than the limit
	Unavailable Kind = "unavailable" // something it needs is missing or down
	Internal    Kind = "internal"    // our fault
)

// Kinds lists all kinds of failure.
func Kinds() []Kind {
	return []Kind{Invalid, NotFound, Refused, Busy, Conflict, Timeout, Cancelled, TooLarge, Unavailable, Internal}
}

// An Error is a failure with two readers. The model reads the kind, what
// happened and what to do next; the log reads the cause as well.
type Error struct {
	Kind  Kind
	What  string // what happened, in lower case, with the model's words quoted
	Next  string // what to do instead; may be empty
	cause error
}

// Errorf makes an Error. A %w verb keeps its operand as the cause.
func Errorf(kind Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, What: err.Error(), cause: errors.Unwrap(err)}
}

// Try adds what the caller should do next.
func (e *Error) Try(format string, args ...any) *Error {
	e.Next = fmt.Sprintf(format, args...)
	return e
}

// Because keeps a cause for the log without showing it to the model.
func (e *Error) Because(cause error) *Error {
	e.cause = cause
	return e
}

// Error is what the model reads.
func (e *Error) Error() string {
	text := string(e.Kind) + ": " + e.What
	if e.Next != "" {
		text += "; " + e.Next
	}
	return text
}

func (e *Error) Unwrap() error { return e.cause }

// AsError returns err as an Error that is safe to show. An error that was not
// written for the model keeps its text for the log only.
func AsError(err error) *Error {
	var known *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Kind: Timeout, What: "the tool took too long and was stopped", Next: "ask for less, or for part of it", cause: err}
	case errors.Is(err, context.Canceled):
		return &Error{Kind: Cancelled, What: "the call was cancelled", cause: err}
	}
	return &Error{Kind: Internal, What: "the tool failed", Next: "try something else; the operator finds the cause in the log", cause: err}
}
