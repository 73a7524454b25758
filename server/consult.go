package server

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/server/jsonrpc"
)

// An Inquiry is one question to the library, whichever way it came in.
type Inquiry struct {
	Access
	Method mcp.MCPMethod // what is asked: resources/read, prompts/list, ...
	Ref    Ref           // about what; lists are about nothing
	Cursor string        // of a list, as the client has it
	Args   map[string]string
	Blank  Blank // to be completed
	// Keep remembers or forgets a subscription to Ref.
	Keep  func() error
	Trace map[string]string
}

// A Finding is what an inquiry comes to, fit to be shown.
type Finding struct {
	Resources []Resource
	Templates []Template
	Prompts   []Prompt
	Next      string // the cursor of the next page
	Parts     []tool.Part
	Filled    Filled
	Values    []string
	More      bool // there are more values than these
}

// Consult asks the library for one caller. It is the only way to it: whatever
// is listed, read, filled in, completed or subscribed to is limited, decided,
// scrubbed, bounded and written down here. What the policy does not simply
// allow is treated as missing: a resource never needs an approval.
//
// An error is a *[tool.Error], scrubbed.
func (s *Server) Consult(ctx context.Context, q Inquiry) (Finding, error) {
	c := s.newCall(Request{Access: q.Access, Tool: string(q.Method), Args: q.arguments(), Trace: q.Trace}, q.kind())
	governor := ""
	if t, ok := s.governor(q.Ref); ok {
		governor = t.Spec.Name
	}
	ctx, observe := s.Observer.Start(ctx, c.begin(governor))
	a, found, err := c.lookUp(ctx, q)
	if err == nil {
		found, removed := s.scrubFinding(found)
		found = c.bound(found) // after scrubbing: half a key matches no pattern
		end := outcome{attempt: a, word: "ok", size: found.size(), digest: found.digest(), removed: removed}
		if failed := c.record(ctx, observe, end); failed != nil {
			return Finding{}, failed
		}
		return found, nil
	}
	known := libraryError(err)
	if failed := c.record(ctx, observe,
		outcome{attempt: a, word: string(known.Kind), kind: known.Kind, err: known}); failed != nil {
		known = failed
	}
	shown := *known
	shown.What, shown.Next = s.scrub.Text(known.What), s.scrub.Text(known.Next)
	return Finding{}, &shown
}

// libraryError is err in words that are not about tools.
func libraryError(err error) *tool.Error {
	if known := (*tool.Error)(nil); errors.As(err, &known) {
		return known
	}
	known := tool.AsError(err)
	if known.Kind == tool.Internal {
		return tool.Errorf(tool.Internal, "it could not be looked up").Because(err).
			Try("try again later; the operator finds the cause in the log")
	}
	return known
}

// lookUp takes an inquiry from the transport to the library.
func (c *call) lookUp(ctx context.Context, q Inquiry) (a attempt, found Finding, err error) {
	release, err := c.admit(ctx)
	a.waited = time.Since(c.start)
	if err != nil {
		return a, found, err
	}
	defer release()
	defer func() {
		if r := recover(); r != nil {
			found, err = Finding{}, c.server.panicked("the library", r)
		}
	}()
	if ctx.Err() != nil { // cancelled while it waited
		return a, found, context.Cause(ctx)
	}
	a.args = sum(c.Tool, c.Args)
	if err := q.check(c.now.Limits.Args); err != nil {
		return a, found, err
	}
	if a.tool, a.verdict, a.found, err = c.permit(q); err != nil {
		return a, found, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.now.Limits.Timeout, errOvertime)
	defer cancel()
	running := &tool.Running{Caller: c.Caller, Tool: a.tool.Spec.Name, Call: c.id}
	found, err = c.consult(tool.With(ctx, running), q)
	switch known := (*tool.Error)(nil); {
	case err == nil:
		return a, found, nil
	case errors.As(err, &known) && known.Kind == tool.NotFound:
		return a, found, c.notThere(q) // in the same words as for what is forbidden
	case ctx.Err() == nil:
		return a, found, err
	case !errors.Is(context.Cause(ctx), errOvertime):
		return a, found, context.Cause(ctx)
	}
	return a, found, tool.Errorf(tool.Timeout, "it took longer than %s to look up", c.now.Limits.Timeout).
		Try("try again later, or ask for less")
}

// permit decides by the policy of the tool that governs what is asked for. Every
// caller may list: a list holds what its reader may see.
func (c *call) permit(q Inquiry) (governor tool.Tool, verdict policy.Verdict, found bool, err error) {
	if c.server.Library == nil {
		return governor, policy.Deny, false,
			tool.Errorf(tool.Unavailable, "there are no resources and no prompts here").Try("use tools")
	}
	if q.Ref == (Ref{}) {
		return governor, policy.Allow, false, nil
	}
	if t, ok := c.server.governor(q.Ref); ok {
		governor, verdict = t, c.now.Policy.Verdict(c.subject(), t.Spec.Name)
	}
	if verdict != policy.Allow {
		return governor, verdict, false, c.notThere(q)
	}
	return governor, verdict, true, nil
}

// mayRead reports whether a caller may see what ref names.
func (s *Server) mayRead(now *settings, subject policy.Subject, ref Ref) bool {
	t, ok := s.governor(ref)
	return ok && now.Policy.Verdict(subject, t.Spec.Name) == policy.Allow
}

func (c *call) sees(ref Ref) bool { return c.server.mayRead(c.now, c.subject(), ref) }

// notThere is the error about what does not exist, or is hidden from this caller.
func (c *call) notThere(q Inquiry) error {
	quoted := func(s string) string { return text.Clip(c.server.scrub.Text(s), jsonrpc.MaxQuoted) }
	switch {
	case q.Ref.Prompt != "":
		return tool.Errorf(tool.NotFound, "there is no prompt %q here", quoted(q.Ref.Prompt)).
			Try("call prompts/list to see what there is")
	case q.Method == mcp.MethodCompletionComplete:
		return tool.Errorf(tool.NotFound, "there is no resource template %q here", quoted(q.Ref.URI)).
			Try("call resources/templates/list to see what there is")
	}
	return tool.Errorf(tool.NotFound, "there is no resource %q here", quoted(q.Ref.URI)).
		Try("call resources/list and resources/templates/list to see what there is")
}

// kind is what the audit log calls it.
func (q Inquiry) kind() string {
	if q.Method == mcp.MethodCompletionComplete {
		return "completion"
	}
	if strings.HasPrefix(string(q.Method), "prompts/") {
		return "prompt"
	}
	return "resource"
}

// Arguments are what the audit log keeps of it.
func (q Inquiry) arguments() []byte {
	written, err := jsonrpc.Marshal(struct {
		URI      string            `json:"uri,omitempty"`
		Prompt   string            `json:"prompt,omitempty"`
		Cursor   string            `json:"cursor,omitempty"`
		Args     map[string]string `json:"arguments,omitempty"`
		Argument string            `json:"argument,omitempty"`
		Value    string            `json:"value,omitempty"`
	}{q.Ref.URI, q.Ref.Prompt, q.Cursor, q.Args, q.Blank.Name, q.Blank.Value})
	if err != nil { // strings
		return nil
	}
	return written
}

// check refuses what no library should have to look at.
func (q Inquiry) check(l tool.Limits) error {
	switch q.Method {
	case mcp.MethodResourcesRead, mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe:
		if !soundURI(q.Ref.URI) {
			return tool.Errorf(tool.Invalid,
				"params.uri must be the URI of a resource, with a scheme, in at most %d bytes", maxURI).
				Try("call resources/list to see some")
		}
	case mcp.MethodPromptsGet, mcp.MethodCompletionComplete:
		if name := q.Ref.URI + q.Ref.Prompt; name == "" || len(name) > maxURI || !utf8.ValidString(name) {
			return tool.Errorf(tool.Invalid,
				"the name of the prompt, or the URI of the template, is missing or has more than %d bytes", maxURI).
				Try("call prompts/list or resources/templates/list to see what there is")
		}
	}
	if q.Method == mcp.MethodCompletionComplete && q.Blank.Name == "" {
		return tool.Errorf(tool.Invalid, "params.argument.name is missing").
			Try("name the argument that is to be completed")
	}
	for _, given := range []map[string]string{q.Args, q.Blank.Given, {q.Blank.Name: q.Blank.Value}} {
		if len(given) > l.Params {
			return tool.Errorf(tool.Invalid, "there are %d arguments; at most %d are taken", len(given), l.Params).
				Try("give fewer")
		}
		for name, value := range given {
			if len(name) > jsonrpc.MaxQuoted || len(value) > l.Text {
				return tool.Errorf(tool.Invalid, "the argument %q is too long", text.Clip(name, jsonrpc.MaxQuoted)).
					Try("its name may have %d bytes and its value %d", jsonrpc.MaxQuoted, l.Text)
			}
		}
	}
	return nil
}

// soundURI reports whether a text can be the URI of a resource. What its parts
// mean is the library's business.
func soundURI(uri string) bool {
	scheme, rest, ok := strings.Cut(uri, ":")
	return ok && rest != "" && len(uri) <= maxURI && utf8.ValidString(uri) && !strings.ContainsFunc(uri, tool.Hidden) &&
		scheme != "" && strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
}
