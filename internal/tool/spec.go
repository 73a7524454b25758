// Package tool defines tools: a Spec that describes one to models and to the
// policy, typed arguments with a schema derived from a struct, a Plan of a call,
// a Result, and an Error. It does not know any tool, protocol or policy rule.
//
// To add a tool, read tools/automation/datetime.go, the smallest one. To follow a
// call, begin with [New], [Prepared] and [Tool.Bind].
package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/policy"
)

// A Risk is the worst harm that one call can do. The zero Risk is refused, so
// that no tool is harmless by omission.
type Risk = policy.Risk

// The risks, from harmless to open-ended.
const (
	Reads    = policy.Reads    // changes nothing
	Writes   = policy.Writes   // adds or changes something, and the change can be reverted
	Destroys = policy.Destroys // removes or overwrites something permanently
	Runs     = policy.Runs     // runs code, or acts in the caller's name
)

// Nearest returns the name in from that was most likely meant by name, or ""
// when none is close enough to suggest.
func Nearest(name string, from []string) string { return policy.Nearest(name, from) }

// Hints describe a tool beyond its Risk.
type Hints struct {
	Idempotent bool // calling twice with the same arguments equals calling once
	OpenWorld  bool // it reaches beyond this machine and the caller's own data
}

// A Spec describes a tool to the model, to the policy and to the pipeline. It is the same for all callers and needs
// nothing else: a tool without its dependencies has it too, so that lists, schemas and documents can be made. [NewSet]
// reports a Spec without a name, a risk or a text.
type Spec struct {
	Name  string // lower_snake_case, unique in a Set
	Group string // the policy group it belongs to, "fs" for group:fs
	Title string // for people
	Doc   string // for models: effect, result, and cases for another tool
	Risk  Risk   // of the worst call; a tool may rate single calls lower
	Hints Hints

	// Also lists names that other systems gave this tool. They are accepted
	// on a call and never listed.
	Also []string
	// Means has, for some of these names, the arguments that the name implies, as
	// a JSON object. Arguments that a call sends override them.
	Means map[string]string
	// Bare is the argument that is meant by a text in place of the arguments. Empty
	// refuses that.
	Bare string
	// Timeout bounds one run. Zero leaves it to the server.
	Timeout time.Duration
	// MaxText bounds one string argument in bytes. Zero leaves it to the
	// server; a field may say otherwise with a maxlen tag.
	MaxText int
	// MaxShown bounds the text of a result that a model gets at once, in bytes; the
	// rest is stored for read_result. Zero leaves it to the server. The limit of
	// the server applies in any case.
	MaxShown int
	// Keywords help a client that searches tools instead of listing them.
	Keywords string
	// Core asks such a client to load the tool at once.
	Core bool
	// Output is a value of the type of the structured content. The schema is derived from its
	// type. Nil stands for a tool without structured content.
	Output any
	// Viewed marks a tool with results that the page of MCP Apps shows; see [Result.Showing].
	Viewed bool
	// Forwards marks a tool whose calls are calls of the tool that the argument name
	// names, with the argument arguments. Policy, approvals and audit see that call.
	Forwards bool
	// Composes marks a tool that makes calls of other tools while it runs. Policy, approvals
	// and audit see each of them; a tool that composes cannot call another one.
	Composes bool
	// Internal marks a tool that the server calls for work that outlasts a call, such as a
	// subagent's. It is not listed, and clients cannot call it.
	Internal bool
	// Repeats marks a tool that is made for polling, so that it may be called
	// more often with equal results.
	Repeats bool
	// Waits marks a tool that only waits. Its calls may have equal results as often as they like.
	Waits bool
}

// isName reports whether text is lower_snake_case of at most max bytes. It uses no
// regular expression, because compiling one would slow down every start.
func isName(text string, max int) bool {
	for i, c := range []byte(text) {
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return text != "" && len(text) <= max
}

// check returns everything that is missing or wrong in s, the Spec of a foreign tool or of one of
// ours.
func (s Spec) check(foreign bool) error {
	var problems []error
	missing := func(what string) {
		problems = append(problems, fmt.Errorf("tool %q has no %s", s.Name, what))
	}
	if foreign && !isForeignName(s.Name) {
		problems = append(problems, fmt.Errorf("tool name %q has others than at most 64 letters, digits, _ and -",
			s.Name))
	} else if !foreign && !isName(s.Name, 64) {
		problems = append(problems, fmt.Errorf("tool name %q is not lower_snake_case of at most 64 characters", s.Name))
	}
	if !isName(s.Group, 32) {
		missing("group")
	}
	if strings.TrimSpace(s.Title) == "" {
		missing("title")
	}
	if strings.TrimSpace(s.Doc) == "" {
		missing("description")
	}
	if !s.Risk.Valid() {
		missing("risk")
	}
	return errors.Join(problems...)
}

// checkMeans returns the entries of Means that are wrong.
func (s Spec) checkMeans() error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(s.Means)) {
		value, err := decode(json.RawMessage(s.Means[name]))
		if _, ok := value.(map[string]any); err != nil || !ok || !slices.Contains(s.Also, name) {
			problems = append(problems,
				fmt.Errorf("tool %q: Means[%q] is not a JSON object, or Also lacks the name", s.Name, name))
		}
	}
	return errors.Join(problems...)
}
