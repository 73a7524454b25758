package server

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
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
// allow is as if it were not there: nobody is asked for a resource.
//
// An error is a *[tool.Error], scrubbed.
func (s *Server) Consult(ctx context.Context, q Inquiry) (Finding, error) {
	p := &passage{
		Request: Request{Access: q.Access, Tool: string(q.Method), Args: q.arguments(), Trace: q.Trace},
		server:  s, now: s.settings(), id: rand.Text(), start: time.Now(), kind: q.kind(),
	}
	begin := Begin{Caller: p.Caller, Transport: p.Transport, Trace: p.Trace}
	if t, ok := s.governor(q.Ref); ok {
		begin.Tool = t.Spec.Name
	}
	ctx, p.seen = s.Watcher.Start(ctx, begin)
	found, err := p.look(ctx, q)
	if err == nil {
		found = p.bound(p.redact(found)) // in this order: half a key matches no pattern
		p.resultSum = found.digest()
		if failed := p.conclude(ctx, "ok", "", found.size(), nil); failed != nil {
			return Finding{}, failed
		}
		return found, nil
	}
	known := lapse(err)
	if failed := p.conclude(ctx, string(known.Kind), known.Kind, 0, known); failed != nil {
		known = failed
	}
	shown := *known
	shown.What, shown.Next = s.scrub.Text(known.What), s.scrub.Text(known.Next)
	return Finding{}, &shown
}

// lapse is err in words that are not about tools.
func lapse(err error) *tool.Error {
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

// look takes an inquiry from the door to the library.
func (p *passage) look(ctx context.Context, q Inquiry) (found Finding, err error) {
	leave, err := p.enter(ctx)
	if err != nil {
		return found, err
	}
	defer leave()
	defer func() {
		if r := recover(); r != nil {
			found, err = Finding{}, p.server.panicked("the library", r)
		}
	}()
	if ctx.Err() != nil { // given up while it waited
		return found, context.Cause(ctx)
	}
	p.callSum = sum(p.Tool, p.Args)
	if err := q.check(p.now.Limits.Args); err != nil {
		return found, err
	}
	if err := p.permit(q); err != nil {
		return found, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.now.Limits.Timeout, errOvertime)
	defer cancel()
	running := &tool.Running{Caller: p.Caller, Tool: p.tool.Spec.Name, Call: p.id}
	found, err = p.answer(tool.With(ctx, running), q)
	switch known := (*tool.Error)(nil); {
	case err == nil:
		return found, nil
	case errors.As(err, &known) && known.Kind == tool.NotFound:
		return found, p.noSuch(q) // in the words for what is forbidden
	case ctx.Err() == nil:
		return found, err
	case !errors.Is(context.Cause(ctx), errOvertime):
		return found, context.Cause(ctx)
	}
	return found, tool.Errorf(tool.Timeout, "it took longer than %s to look up", p.now.Limits.Timeout).Try("try again later, or ask for less")
}

// permit decides by the policy of the tool in charge. A list is open to
// everybody: it shows what its reader may see.
func (p *passage) permit(q Inquiry) error {
	if p.server.Library == nil {
		return tool.Errorf(tool.Unavailable, "there are no resources and no prompts here").Try("use tools")
	}
	if q.Ref == (Ref{}) {
		p.verdict = policy.Allow
		return nil
	}
	if t, ok := p.server.governor(q.Ref); ok {
		p.verdict = p.now.Policy.Verdict(p.subject(), t.Spec.Name)
		p.tool, p.known = t, p.verdict == policy.Allow
	}
	if !p.known {
		return p.noSuch(q)
	}
	return nil
}

// mayRead reports whether a caller may see what ref names.
func (s *Server) mayRead(now *settings, subject policy.Subject, ref Ref) bool {
	t, ok := s.governor(ref)
	return ok && now.Policy.Verdict(subject, t.Spec.Name) == policy.Allow
}

func (p *passage) sees(ref Ref) bool { return p.server.mayRead(p.now, p.subject(), ref) }

// noSuch is the answer about what is not there, or not for this caller.
func (p *passage) noSuch(q Inquiry) error {
	quoted := func(text string) string { return clip(p.server.scrub.Text(text), maxQuoted) }
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

// arguments are what the audit log keeps of it.
func (q Inquiry) arguments() []byte {
	written, err := marshal(struct {
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
			return tool.Errorf(tool.Invalid, "params.uri must be the URI of a resource, with a scheme, in at most %d bytes", maxURI).
				Try("call resources/list to see some")
		}
	case mcp.MethodPromptsGet, mcp.MethodCompletionComplete:
		if name := q.Ref.URI + q.Ref.Prompt; name == "" || len(name) > maxURI || !utf8.ValidString(name) {
			return tool.Errorf(tool.Invalid, "the name of the prompt, or the URI of the template, is missing or has more than %d bytes", maxURI).
				Try("call prompts/list or resources/templates/list to see what there is")
		}
	}
	if q.Method == mcp.MethodCompletionComplete && q.Blank.Name == "" {
		return tool.Errorf(tool.Invalid, "params.argument.name is missing").Try("name the argument that is to be completed")
	}
	for _, given := range []map[string]string{q.Args, q.Blank.Given, {q.Blank.Name: q.Blank.Value}} {
		if len(given) > l.Params {
			return tool.Errorf(tool.Invalid, "there are %d arguments; at most %d are taken", len(given), l.Params).Try("give fewer")
		}
		for name, value := range given {
			if len(name) > maxQuoted || len(value) > l.Text {
				return tool.Errorf(tool.Invalid, "the argument %q is too long", clip(name, maxQuoted)).
					Try("its name may have %d bytes and its value %d", maxQuoted, l.Text)
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
