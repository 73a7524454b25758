package tool

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// A Medium is whom a Question is put to.
type Medium string

// The media that a client may have.
const (
	Person Medium = "elicitation" // the person in front of it
	Model  Medium = "sampling"    // its language model
	Roots  Medium = "roots"       // the client itself: which directories it works in
)

// A Question is put to the client while a call is under way. Params are those
// of the protocol's own request, such as message and requestedSchema.
type Question struct {
	To     Medium
	Params any
}

// Asking is the error with which a tool says that it needs answers first. The
// call is then made again from the beginning, with the answers: whatever
// happens before a question must have no side effects.
type Asking struct {
	Questions map[string]Question
	State     string // comes back with the answers; clients cannot read or change it
}

func (a *Asking) Error() string {
	return "waiting for answers to " + strings.Join(slices.Sorted(maps.Keys(a.Questions)), ", ")
}

// Answers are what came back for an Asking, as the client wrote it.
type Answers struct {
	ByName map[string]json.RawMessage
	State  string
}

// AnswersFrom returns the answers that the running call came with.
func AnswersFrom(ctx context.Context) Answers {
	call, _ := ctx.Value(runningKey{}).(*Running)
	if call == nil {
		return Answers{}
	}
	return call.Answers
}
