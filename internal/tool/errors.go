package tool

import (
	"context"
	"errors"
	"fmt"
)

// A Kind classifies failures, in one word that models and programs can act on.
type Kind string

// The kinds. Anything that is not an *Error counts as Internal.
const (
	Invalid     Kind = "invalid"     // the arguments are wrong
	NotFound    Kind = "not_found"   // it does not exist, or the caller may not see it
	Refused     Kind = "refused"     // the policy or a person denied it
	Busy        Kind = "busy"        // too much at once; wait
	Conflict    Kind = "conflict"    // it has changed since the caller read it
	Timeout     Kind = "timeout"     // it took too long and was stopped
	Cancelled   Kind = "cancelled"   // the caller cancelled it
	TooLarge    Kind = "too_large"   // more than the limit
	Unavailable Kind = "unavailable" // something that it needs is missing or does not respond
	Internal    Kind = "internal"    // a fault of the server
)

// Kinds lists all kinds of failure.
func Kinds() []Kind {
	return []Kind{Invalid, NotFound, Refused, Busy, Conflict, Timeout, Cancelled, TooLarge, Unavailable, Internal}
}

// An Error is a failure with two readers. The model reads the kind, the failure and the next step; the log gets the
// cause as well. [Errorf] makes one, [Error.Try] adds the next step. All other errors of a tool are faults of the
// program: the model learns only that the tool failed.
type Error struct {
	Kind  Kind
	What  string // the failure, in lower case, with the text of the model quoted
	Next  string // the next step for the caller; may be empty
	cause error
}

// Errorf makes an Error. A %w verb keeps its operand as the cause.
func Errorf(kind Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, What: err.Error(), cause: errors.Unwrap(err)}
}

// Try adds the next step for the caller.
func (e *Error) Try(format string, args ...any) *Error {
	e.Next = fmt.Sprintf(format, args...)
	return e
}

// Because sets the cause. It is logged and not shown to the model.
func (e *Error) Because(cause error) *Error {
	e.cause = cause
	return e
}

// Error returns the text for the model.
func (e *Error) Error() string {
	text := string(e.Kind) + ": " + e.What
	if e.Next != "" {
		text += "; " + e.Next
	}
	return text
}

func (e *Error) Unwrap() error { return e.cause }

// AsError returns err as an Error that is safe to show. The text of an error that
// was not written for the model is its cause, for the log only.
func AsError(err error) *Error {
	var known *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.DeadlineExceeded):
		what := "the tool took too long and was stopped"
		return &Error{Kind: Timeout, What: what, Next: "ask for less, or for part of it", cause: err}
	case errors.Is(err, context.Canceled):
		return &Error{Kind: Cancelled, What: "the call was cancelled", cause: err}
	}
	const next = "try something else; the operator finds the cause in the log"
	return &Error{Kind: Internal, What: "the tool failed", Next: next, cause: err}
}
