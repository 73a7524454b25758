package tool

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// A Medium shows a Question to a person.
type Medium string

// The media that a client may have.
const (
	Person Medium = "elicitation"     // the person at the client
	Page   Medium = "elicitation.url" // the person, on a web page that the client opens
	Model  Medium = "sampling"        // its language model
	Roots  Medium = "roots"           // the client itself, for the directories that it works in
)

// A Question is put to the client during a call. Params are the parameters of the protocol's
// request, such as message and requestedSchema.
type Question struct {
	To     Medium
	Params any
}

// Asking is the error of a tool that needs answers first. The call is then made
// again from the beginning, with the answers: a tool must have no side effects
// before it asks.
type Asking struct {
	Questions map[string]Question
	State     string // comes back with the answers; clients cannot read or change it
}

func (a *Asking) Error() string {
	return "waiting for answers to " + strings.Join(slices.Sorted(maps.Keys(a.Questions)), ", ")
}

// Answers are the answers to an Asking, as the client wrote them.
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
