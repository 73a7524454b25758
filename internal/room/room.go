// Package room is the contract between a noun of the program, such as the scheduled jobs, and
// the rest of the program.
//
// A noun declares itself as a [Room]: its name, its texts, and the verbs for operators. The
// command line, its completion, the manual pages, the reference and the operator's HTTP API
// follow from the declaration; a new verb is one entry in the list of its room.
//
// Rooms are declared first and opened later. A declared room describes itself with
// nothing behind it, so that help and completion need no store. [Room.Open] fills
// the noun that the verbs refer to, when the first of them is called.
//
// A Verb is not a tool: no policy decides about it, nothing in its result is masked
// or cut, and no agent can call it.
package room

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Room is one noun of the program. Every part but the name may be empty.
//
// A package declares its room in a function that returns a *Room, and its verbs refer to
// a value that Open fills. [Faults] reports the mistakes in the declarations of all rooms.
// A caller finds a verb with [Room.Verb], and [Room.Prepare] opens the room and returns
// the plan of the call.
type Room struct {
	Name  string // of its command
	Title string // one line for lists
	Doc   string // for the help
	Verbs []Verb
	// Checks find out for doctor whether the noun works on this machine.
	Checks []Check
	// Open makes the verbs and the checks work. It starts nothing and reads no file.
	Open func(*Host) error

	once   sync.Once
	opened error
}

// Ready opens the room, the first time that it is called.
func (r *Room) Ready(h *Host) error {
	r.once.Do(func() {
		if r.Open != nil {
			r.opened = r.Open(h)
		}
	})
	return r.opened
}

// A Host has the parts of the program that every room may use. A part that one room alone needs is a parameter of its
// constructor.
type Host struct {
	Store *store.Store // opened when first used
	Log   *slog.Logger
	// Data returns the directory for files. A room asks when it needs files, because with a
	// database elsewhere a machine may have no place for them.
	Data func() (string, error)
}

// Where says from where a verb may be called. Nothing is remote by omission.
type Where int

// The places, each with those before it.
const (
	Local    Where = iota // the command line only
	Console               // and the console, for people with the right to decide all approvals
	Operator              // and over HTTP, with a token that decides all approvals
	Approver              // and with a token that decides some; the verb checks the caller
)

// A Verb is an action of operators on a noun. [Do] and [Prepare] make one of a function with typed arguments: a struct
// with the tags of a tool's arguments. Its command, flags, completion, help and manual page follow from the fields, and
// its request over HTTP if Where permits that. The Data of its result is for programs, the text for people; a verb
// above Reads is in the audit log.
type Verb struct {
	Name    string // one word, or two as in "requests list"
	Title   string // one line for lists
	Doc     string // for the help
	Example string
	Risk    tool.Risk
	Args    []string // parameters that are given by their place; all others are flags
	// Files are parameters that have the content of a file. On the command line they are
	// the path of the file, or - for the standard input.
	Files []string
	Where Where
	// Hidden are parameters that the audit log must not have, such as what a person types into a page.
	Hidden []string
	// Owned is set for a verb whose parameters agent and user are those of the
	// settings unless they are given.
	Owned bool
	// Top is set for a verb that is a command by itself, as in mcp-tools pause.
	Top bool
	// Streams is set for a verb that passes its results to [Emit].
	Streams bool
	// Visits is set for a verb that sends the person to a page of another site, with [BrowserOf]. It may run for minutes.
	Visits bool
	// Letters are the flags of one letter, by parameter.
	Letters map[string]string
	// Complete returns the words that complete the first of Args, each with a
	// description after a tab.
	Complete func(context.Context) ([]string, error)

	tool tool.Tool
}

// Do makes a verb that do executes. The parameters of the verb are the fields of A, with the
// tags of a tool's arguments; do gets them checked. [By] returns the caller.
func Do[A any](v Verb, do func(context.Context, A) (tool.Result, error)) Verb {
	v.tool = tool.New(doer[A]{v.spec(), do})
	return v
}

// Prepare makes a verb whose plan can ask for a confirmation, with [tool.Plan.Ask].
func Prepare[A any](v Verb, prepare func(context.Context, A) (tool.Plan, error)) Verb {
	v.tool = tool.Prepared(preparer[A]{v.spec(), prepare})
	return v
}

func (v Verb) spec() tool.Spec {
	return tool.Spec{Name: v.Name, Title: v.Title, Doc: v.Doc, Risk: v.Risk}
}

type doer[A any] struct {
	spec tool.Spec
	do   func(context.Context, A) (tool.Result, error)
}

func (d doer[A]) Spec() tool.Spec { return d.spec }

func (d doer[A]) Do(ctx context.Context, args A) (tool.Result, error) { return d.do(ctx, args) }

type preparer[A any] struct {
	spec    tool.Spec
	prepare func(context.Context, A) (tool.Plan, error)
}

func (p preparer[A]) Spec() tool.Spec { return p.spec }

func (p preparer[A]) Prepare(ctx context.Context, args A) (tool.Plan, error) {
	return p.prepare(ctx, args)
}

// Asks reports whether the verb can ask for a confirmation.
func (v Verb) Asks() bool { return v.tool.Rates }

// Params returns the parameters of the verb.
func (v Verb) Params() []tool.Param { return v.tool.Params() }

// recorded returns arguments as the audit log has them.
func (v Verb) recorded(args []byte) []byte {
	if len(v.Hidden) == 0 {
		return args
	}
	all := map[string]json.RawMessage{}
	_ = json.Unmarshal(args, &all) // arguments that are not an object have nothing to record
	for name := range all {        // a name that is corrected later may stand for a hidden one
		if slices.Contains(v.Hidden, name) || !slices.ContainsFunc(v.Params(), func(p tool.Param) bool { return p.Name == name }) {
			all[name] = json.RawMessage(`"(hidden)"`)
		}
	}
	out, err := json.Marshal(all)
	if err != nil {
		return []byte("{}")
	}
	return out
}

// Schema returns the JSON Schema of the arguments.
func (v Verb) Schema() []byte { return v.tool.Schema() }

// MaxText is the maximum length of a text among the arguments, in bytes.
const MaxText = 1 << 20

// limits of arguments. A person typed them, or a console made them.
var limits = tool.Limits{Params: 40, Text: MaxText, Items: 10_000, Depth: 8}

// Prepare opens the room if it is needed, checks the arguments, a JSON object, and
// returns the plan of the call. It changes nothing.
func (r *Room) Prepare(ctx context.Context, v Verb, h *Host, args []byte) (tool.Plan, error) {
	call, err := v.tool.Bind(args, limits)
	if err != nil {
		return tool.Plan{}, err
	}
	if err := r.Ready(h); err != nil {
		return tool.Plan{}, err
	}
	return call.Prepare(ctx)
}

// Verb returns the verb with a name.
func (r *Room) Verb(name string) (Verb, bool) {
	for _, v := range r.Verbs {
		if v.Name == name {
			return v, true
		}
	}
	return Verb{}, false
}

// Faults returns the mistakes in declarations: names that are missing or occur twice, and verbs without a function, a
// title or a risk.
func Faults(rooms []*Room) error {
	var problems []error
	seen := make(map[string]bool)
	for _, r := range rooms {
		for _, v := range r.Verbs {
			name := r.Name + " " + v.Name
			if seen[name] {
				problems = append(problems, fmt.Errorf("there are two verbs %q", name))
			}
			seen[name] = true
			problems = append(problems, v.check(name))
		}
	}
	return errors.Join(problems...)
}

func (v Verb) check(name string) error {
	known := make(map[string]bool)
	for _, p := range v.Params() {
		known[p.Name] = true
	}
	for _, arg := range slices.Concat(v.Args, v.Files, v.Hidden) {
		if !known[strings.TrimSuffix(arg, "...")] {
			return fmt.Errorf("%s has no parameter %q", name, arg)
		}
	}
	if v.Name == "" || v.Title == "" || !v.Risk.Valid() {
		return fmt.Errorf("%s needs a name, a title and a risk", name)
	}
	return v.tool.FormError()
}
