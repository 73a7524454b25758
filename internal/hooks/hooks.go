// Package hooks runs programs of the operator before and after calls of tools.
//
// A hook before a call can block it, have a person asked, or change its arguments. A hook after a call adds to the
// result, or works on the changed files, such as a formatter. Hooks narrow the policy and never widen it. Events, and
// the JSON on stdin and stdout, come from Claude Code as far as they apply.
//
// The package knows programs and their answers. It does not know policies: the server applies a [Ruling]. A hook
// before a call that fails blocks the call, because it may be there to protect something. Begin with [Set.Before] and
// [Set.After].
package hooks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Call is a call of a tool as hooks see it.
type Call struct {
	ID   string
	Tool string
	Risk tool.Risk
	Args json.RawMessage
}

// Options are the needs of hooks.
type Options struct {
	Programs interface {
		Run(ctx context.Context, s program.Spec, in io.Reader, out io.Writer) error
	}
	// Dir returns the real directory of the caller's workspace.
	Dir func(ctx context.Context) (string, error)
	// Changeable reports whether the caller could replace a file.
	Changeable func(ctx context.Context, path string) bool
	// Checkpoint keeps the files of the caller for undo while a program works on them.
	Checkpoint func(ctx context.Context, command string) (ended func())
	Log        *slog.Logger
}

// A Set has all hooks. A nil Set has none.
type Set struct {
	before, after []hook
	o             Options
}

// New returns the hooks of settings that were checked, or nil if there are none.
func New(s Settings, o Options) *Set {
	if len(s) == 0 {
		return nil
	}
	return &Set{before: s.compile(Before), after: s.compile(After), o: o}
}

// A Ruling is the decision of the hooks before a call.
type Ruling struct {
	Args json.RawMessage // the changed arguments of the call; nil: no hook has changed them
	Ask  string          // why a person must approve the call; "" for no reason
	Ran  []string        // the hooks, and their effects
}

// Before runs the hooks before a call. Its error blocks the call, and is written for the model. After an approval it runs them
// again.
func (s *Set) Before(ctx context.Context, c Call) (r Ruling, err error) {
	if s == nil {
		return Ruling{}, nil
	}
	for _, h := range s.before {
		if !h.wants(c, func() []string { return s.paths(ctx, c.Args) }) {
			continue
		}
		a, err := s.run(ctx, h, c, "")
		if err != nil {
			s.o.Log.Error("a hook failed, so its call was blocked", "hook", h.name, "tool", c.Tool, "err", err)
			return r, tool.Errorf(tool.Unavailable, "the operator's hook %s must agree to this call, and failed", h.name).
				Because(err).Try("do it another way, or tell the operator: the server's log has the cause")
		}
		if reason, blocked := a.blocks(); blocked {
			r.Ran = append(r.Ran, h.name+" blocked")
			return r, tool.Errorf(tool.Refused, "the operator's hook %s blocked this call: %s", h.name, reason).
				Try("follow the reason, or ask the user how to continue")
		}
		did := h.name
		if changed := a.Specific.Input; len(changed) > 0 && changed[0] == '{' && !equal(changed, c.Args) {
			c.Args, r.Args, did = changed, changed, did+" changed the arguments"
		}
		if a.Specific.Permission == "ask" {
			r.Ask = strings.TrimRight("the hook "+h.name+" asks: "+short(cmp.Or(a.Specific.Reason, a.Reason)), ": ")
			did += " asked"
		}
		r.Ran = append(r.Ran, did)
	}
	return r, nil
}

// After runs the hooks after a call that has not failed. It returns their messages about the call, for the
// model.
func (s *Set) After(ctx context.Context, c Call, result func() string) (says, ran []string) {
	if s == nil {
		return nil, nil
	}
	for _, h := range s.after {
		if !h.wants(c, func() []string { return s.paths(ctx, c.Args) }) {
			continue
		}
		ran = append(ran, h.name)
		ended := s.o.Checkpoint(ctx, strings.Join(h.Command, " "))
		a, err := s.run(ctx, h, c, result())
		ended()
		if err != nil {
			s.o.Log.Error("a hook after a call failed", "hook", h.name, "tool", c.Tool, "err", err)
			says = append(says, "the operator's hook "+h.name+" failed after the call")
			continue
		}
		reason, blocked := a.blocks()
		if !blocked {
			reason = ""
		}
		for _, said := range []string{reason, short(a.Specific.Context)} {
			if said != "" {
				says = append(says, "the operator's hook "+h.name+" says: "+said)
			}
		}
	}
	return says, ran
}

const (
	maxAnswer = 1 << 20  // bytes of stdout
	maxResult = 64 << 10 // bytes of a result that a hook gets
	maxReason = 2 << 10  // bytes of a text for the model
)

func short(s string) string { return text.Clip(strings.TrimSpace(s), maxReason) }

// input is the JSON on stdin.
type input struct {
	Session  string          `json:"session_id"`
	Event    Event           `json:"hook_event_name"`
	Tool     string          `json:"tool_name"`
	Args     json.RawMessage `json:"tool_input"`
	ID       string          `json:"tool_use_id"`
	Response *response       `json:"tool_response,omitempty"`
	Risk     string          `json:"risk"`
	Agent    string          `json:"agent"`
	User     string          `json:"user"`
}

type response struct {
	Content string `json:"content"`
}

// answer is the JSON on stdout, or the meaning of an exit code.
type answer struct {
	Continue *bool  `json:"continue"`
	Stop     string `json:"stopReason"`
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
	Specific struct {
		Permission string          `json:"permissionDecision"`
		Reason     string          `json:"permissionDecisionReason"`
		Input      json.RawMessage `json:"updatedInput"`
		Context    string          `json:"additionalContext"`
	} `json:"hookSpecificOutput"`
}

// blocks reports whether the hook objects, and why.
func (a answer) blocks() (reason string, blocked bool) {
	if a.Decision != "block" && a.Specific.Permission != "deny" && (a.Continue == nil || *a.Continue) {
		return "", false
	}
	return cmp.Or(short(a.Specific.Reason), short(a.Reason), short(a.Stop), "it gave no reason"), true
}

// exitBlocked is the exit code of a hook that objects. The reason is on stderr.
const exitBlocked = 2

// run runs a hook, and returns its answer. No output is no objection.
func (s *Set) run(ctx context.Context, h hook, c Call, result string) (a answer, err error) {
	spec, err := s.spec(ctx, h)
	if err != nil {
		return a, err
	}
	who := tool.CallerFrom(ctx)
	in := input{
		Session: who.Session, Event: h.Event, Tool: c.Tool, Args: c.Args, ID: c.ID, Risk: c.Risk.String(),
		Agent: who.Agent, User: who.User,
	}
	if h.Event == After {
		in.Response = &response{text.Clip(result, maxResult)}
	}
	stdin, err := json.Marshal(in)
	if err != nil {
		return a, err
	}
	var out bounded
	err = s.o.Programs.Run(ctx, spec, bytes.NewReader(stdin), &out)
	var failed *program.ExitError
	switch {
	case errors.As(err, &failed) && failed.Code == exitBlocked:
		return answer{Decision: "block", Reason: failed.Stderr}, nil
	case err != nil:
		return a, err
	}
	said := bytes.TrimSpace(out.Bytes())
	if len(said) == 0 || said[0] != '{' {
		return a, nil // a text for people, such as the name of a formatted file
	}
	if err := json.Unmarshal(said, &a); err != nil {
		return a, fmt.Errorf("its answer: %w", err)
	}
	return a, a.check()
}

// check refuses words that could be meant as an objection.
func (a answer) check() error {
	switch a.Decision {
	case "", "block", "approve":
	default:
		return fmt.Errorf("its decision is %.40q", a.Decision)
	}
	switch a.Specific.Permission {
	case "", "allow", "deny", "ask":
	default:
		return fmt.Errorf("its permissionDecision is %.40q", a.Specific.Permission)
	}
	if in := a.Specific.Input; len(in) > 0 && in[0] != '{' && string(in) != "null" {
		return errors.New("its updatedInput is no object")
	}
	return nil
}

// spec returns the program of a hook.
func (s *Set) spec(ctx context.Context, h hook) (program.Spec, error) {
	dir, err := s.o.Dir(ctx)
	if err != nil {
		return program.Spec{}, err
	}
	spec := program.Spec{
		Argv: h.Command, Tier: h.Sandbox, Write: []string{dir}, Within: dir, Timeout: h.Timeout,
		Network: len(h.Hosts) > 0, Hosts: h.Hosts,
		Limits: sandbox.Limits{Memory: 1 << 30, Processes: 128, FileSize: 256 << 20, Temp: 256 << 20},
	}
	for i, word := range h.Command {
		path := word
		if i == 0 && !strings.ContainsRune(word, filepath.Separator) {
			if path, err = program.Installed(word); err != nil {
				return spec, err
			}
		}
		if !filepath.IsAbs(path) {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue // a text that looks like a path
		}
		if info, err := os.Stat(real); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if s.o.Changeable(ctx, real) || s.o.Changeable(ctx, path) {
			return spec, fmt.Errorf("callers can change %s", path)
		}
		if i > 0 {
			spec.Read = append(spec.Read, path)
		}
	}
	return spec, nil
}

// bounded keeps output, and fails if there is too much.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxAnswer {
		return 0, fmt.Errorf("it writes more than %s", text.Bytes(maxAnswer))
	}
	return b.Buffer.Write(p)
}

// equal reports whether two texts are the same JSON, but for spaces.
func equal(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
