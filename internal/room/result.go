package room

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Table is a list as the data of a result: JSON has the items, and people see the
// rows.
type Table struct {
	Items any // a slice
	Rows  [][]string
}

// MarshalJSON returns the items.
func (t Table) MarshalJSON() ([]byte, error) { return json.Marshal(t.Items) }

// Rows returns a list as a table with a head, or the text none if it is empty.
func Rows[T any](list []T, none string, head []string, row func(T) []string) tool.Result {
	items := append([]T{}, list...) // JSON has a list, also if there is none
	if len(list) == 0 && none != "" {
		return tool.Text(none).With(Table{Items: items})
	}
	rows := [][]string{head}
	for _, one := range list {
		rows = append(rows, row(one))
	}
	return tool.Result{Data: Table{items, rows}}
}

// Said returns a result with data for programs and a line for people.
func Said(data any, format string, args ...any) tool.Result {
	return tool.Textf(format, args...).With(data)
}

// Beside returns r with a text for the waiting person. The command line prints it on stderr;
// programs do not get it.
func Beside(r tool.Result, format string, args ...any) tool.Result {
	return r.Add(tool.Part{Text: fmt.Sprintf(format, args...), For: tool.ForPerson})
}

// A Difference is a change of a thing that a person accepts or refuses.
type Difference struct {
	In    string   `json:"in"` // the owner of the thing, such as a server
	Of    string   `json:"of"`
	State string   `json:"state"` // changed, new or gone
	Lines []string `json:"lines"` // each begins with - or +
	// Seen identifies the new state. An answer names it, so that it counts for no other one.
	Seen    string `json:"seen"`
	Refused bool   `json:"refused,omitempty"`
}

// Differing is the data of a result with differences. Pages show them as such; the text of the result has them too.
type Differing interface{ Differences() []Difference }

// Corrected is the data of a result with a text that people correct.
type Corrected interface{ Correct() string }

type emitKey struct{}

// Streaming returns a context for a verb that streams: emit gets its results.
func Streaming(ctx context.Context, emit func(tool.Result) error) context.Context {
	return context.WithValue(ctx, emitKey{}, emit)
}

// Emit passes on one result of a verb that streams: its Data to programs, its Text to
// people. Results without Data are for people only.
func Emit(ctx context.Context, r tool.Result) error {
	emit, ok := ctx.Value(emitKey{}).(func(tool.Result) error)
	if !ok {
		return errors.New("the verb was not called as one that streams")
	}
	return emit(r)
}

// ConsoleChannel is the channel of people at the console.
const ConsoleChannel = "console"

// A Person is the caller of a verb.
type Person struct {
	Name    string // of the system's user, or of the token
	Channel string // cli, http or ConsoleChannel
	// Agent and User limit the callers about whom the person decides; empty stands
	// for all.
	Agent, User string
	Decides     bool // the person decides about calls, and does nothing else
}

// Operates reports whether the person may call the verbs of operators.
func (p Person) Operates() bool { return p.Agent == "" && p.User == "" && !p.Decides }

type personKey struct{}

// As returns a context for calls of verbs by a person.
func As(ctx context.Context, who Person) context.Context {
	return context.WithValue(ctx, personKey{}, who)
}

// By returns the caller of the verb.
func By(ctx context.Context) Person {
	who, _ := ctx.Value(personKey{}).(Person)
	return who
}

// Mistake returns an error about the arguments.
func Mistake(format string, args ...any) error {
	return tool.Errorf(tool.Invalid, format, args...)
}
