package server

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// A Library has the things that callers read without a tool: resources and prompts. It answers
// for one caller and shows only that caller's own. It does not decide whether a caller may ask:
// [Server.QueryLibrary] decides that by the policy of the tool that Tool names.
//
// Its methods are called concurrently. URIs, names and arguments come from clients and are not
// trusted. Errors are made with [tool.Errorf]. A missing thing and a thing of another caller
// are both [tool.NotFound].
type Library interface {
	// Tools lists the names of all tools that Tool may return.
	Tools() []string
	// Tool returns the name of the tool whose policy decides about ref, also if
	// ref does not exist; "" if it cannot exist. It depends on nothing but ref.
	Tool(ref Ref) string
	// Templates lists the forms that URIs of resources have.
	Templates() []tool.Template
	// Resources lists the resources that c can read.
	Resources(ctx context.Context, c tool.Caller) ([]tool.Resource, error)
	// Read returns the content of a resource: text, or data with its type.
	Read(ctx context.Context, c tool.Caller, uri string) ([]tool.Part, error)
	// Prompts lists all that c can get, always in the same order.
	Prompts(ctx context.Context, c tool.Caller) ([]tool.Prompt, error)
	// Prompt fills in a prompt.
	Prompt(ctx context.Context, c tool.Caller, name string, args map[string]string) (tool.FilledPrompt, error)
	// Complete proposes values for an argument, the best first.
	Complete(ctx context.Context, c tool.Caller, about CompletionRequest) (values []string, more bool, err error)
}

// A Ref names one thing in a library: a resource by its URI, a template by its
// own, or a prompt by its name.
type Ref struct{ URI, Prompt string }

// A CompletionRequest asks for values of an argument of a prompt or a template.
type CompletionRequest struct {
	Of    Ref
	Name  string
	Value string            // the part that the user has typed
	Given map[string]string // the other arguments that are already set
}

const (
	// maxURI bounds the URI of a resource; longer ones do not exist.
	maxURI = 2048
	// maxCompletions is how many values a completion may have, by the protocol.
	maxCompletions = 100
)

// A LibraryRequest is one request about resources, prompts or completions, from
// any transport.
type LibraryRequest struct {
	Access
	Method     mcp.MCPMethod // the method: resources/read, prompts/list, ...
	Ref        Ref           // the subject; lists have none
	Args       map[string]string
	Completion CompletionRequest // to be completed
	Cursor     string            // of the page before, for lists of skills and of their files
	// Subscribe remembers or forgets a subscription to Ref.
	Subscribe func() error
	Trace     map[string]string
	apps      bool // the client shows MCP Apps, and may read their page
}

// A LibraryResult is the result of a LibraryRequest, scrubbed and bounded.
type LibraryResult struct {
	Resources []tool.Resource
	Templates []tool.Template
	Prompts   []tool.Prompt
	Parts     []tool.Part
	Filled    tool.FilledPrompt
	Skills    []Skill
	Next      string // the cursor of the next page of skills or of their files; "" after the last
	Values    []string
	More      bool   // there are more values than these
	Call      string // the id of the request
}

// QueryLibrary runs one request about the library. Every such request is rate
// limited, checked against the policy, scrubbed, bounded and recorded here. An
// item that the policy does not allow, or allows only with an approval, is not
// found.
//
// The error is a *[tool.Error], scrubbed.
func (s *Server) QueryLibrary(ctx context.Context, q LibraryRequest) (LibraryResult, error) {
	c := s.newCall(Request{Access: q.Access, Tool: string(q.Method), Args: q.arguments(), Trace: q.Trace}, q.kind())
	governor, _ := s.governingTool(q.Ref)
	ctx, observe := s.Observer.Start(ctx, c.begin(governor.Spec.Name))
	a, found, err := c.queryLibrary(ctx, q)
	var removed map[string]int
	if err == nil {
		found, removed = c.scrubLibraryResult(found)
		written, _ := text.JSON(found) // strings, numbers and times
		end := outcome{attempt: a, name: "ok", size: len(written), digest: sum("library", written), removed: removed}
		if most := c.now.Limits.ResultHard; len(written) > most {
			err = tool.Errorf(tool.TooLarge, "the result has %d bytes, the maximum is %d", len(written), most).
				Try("use tools to read a part of it")
		} else if failed := c.record(ctx, observe, end); failed != nil {
			return LibraryResult{}, failed
		} else {
			found.Call = c.id
			return found, nil
		}
	}
	known := tool.AsError(err)
	if failed := c.record(ctx, observe,
		outcome{attempt: a, name: string(known.Kind), kind: known.Kind, err: known}); failed != nil {
		known = failed
	}
	shown := *known
	shown.What, shown.Next = s.scrub.Text(known.What), s.scrub.Text(known.Next)
	return LibraryResult{}, &shown
}

// queryLibrary runs all steps of a library request: limits, policy, the library.
func (c *call) queryLibrary(ctx context.Context, q LibraryRequest) (a attempt, found LibraryResult, err error) {
	ctx, _, release, err := c.admit(ctx)
	a.waited = time.Since(c.start)
	if err != nil {
		return a, found, err
	}
	defer release()
	defer func() {
		if r := recover(); r != nil {
			found, err = LibraryResult{}, c.server.panicked("the library", r)
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
	ends := new(tool.Ends)
	ctx = tool.With(ctx, &tool.Running{Caller: c.Caller, Tool: a.tool.Spec.Name, Call: c.id, Ends: ends})
	defer func() {
		if _, failed := ends.Do(ctx); err == nil {
			err = failed
		}
	}()
	err = limited(ctx, c.now.Limits.Timeout, "it", func(ctx context.Context) (err error) {
		found, err = c.callLibrary(ctx, q)
		return err
	})
	if known := (*tool.Error)(nil); errors.As(err, &known) && known.Kind == tool.NotFound {
		err = c.notFoundError(q) // in the same words as for forbidden tools
	}
	return a, found, err
}

// permit checks the policy of the tool that governs the item. Every caller may
// list: a list holds only the items that the caller may read.
func (c *call) permit(q LibraryRequest) (governor tool.Tool, verdict policy.Verdict, found bool, err error) {
	if c.server.Library == nil {
		return governor, policy.Deny, false,
			tool.Errorf(tool.Unavailable, "there are no resources and no prompts here").Try("use tools")
	}
	if q.Ref == (Ref{}) || q.forPage() {
		return governor, policy.Allow, false, nil
	}
	if t, ok := c.server.governingTool(q.Ref); ok {
		governor, verdict = t, c.now.verdict(c.Access, t.Spec.Name)
	}
	if verdict != policy.Allow {
		return governor, verdict, false, c.notFoundError(q)
	}
	return governor, verdict, true, nil
}

// governingTool returns the tool whose policy decides about ref, if there is one.
func (s *Server) governingTool(ref Ref) (t tool.Tool, ok bool) {
	if s.Library == nil {
		return t, false
	}
	return s.settings().tools.Lookup(s.Library.Tool(ref))
}

// mayRead reports whether a caller may see the subject of ref.
func (s *Server) mayRead(now *settings, subject policy.Subject, ref Ref) bool {
	t, ok := s.governingTool(ref)
	return ok && now.Policy.Verdict(subject, t.Spec.Name) == policy.Allow
}

// notFoundError returns the error for an item that does not exist or that this
// caller may not see.
func (c *call) notFoundError(q LibraryRequest) error {
	what, name, lists := "resource", q.Ref.URI, "resources/list and resources/templates/list"
	switch {
	case q.Ref.Prompt != "":
		what, name, lists = "prompt", q.Ref.Prompt, "prompts/list"
	case q.Method == mcp.MethodCompletionComplete:
		what, lists = "resource template", "resources/templates/list"
	case q.Method == methodSkillsGet:
		what, lists = "skill", methodSkillsList
	case q.Method == methodDirectoryRead:
		what, lists = "directory", methodSkillsList
	}
	if strings.HasPrefix(name, tool.ResultScheme) {
		return tool.Errorf(tool.NotFound, "there is no result %q of yours: it has expired, or was removed for later ones",
			text.Clip(name, jsonrpc.MaxQuoted)).Try("repeat the call that gave it only if that call changes nothing")
	}
	return tool.Errorf(tool.NotFound, "there is no %s %q here", what,
		text.Clip(c.server.scrub.Text(name), jsonrpc.MaxQuoted)).Try("call %s to see what there is", lists)
}

// kind returns the kind of the request for the audit log.
func (q LibraryRequest) kind() string {
	if q.Method == mcp.MethodCompletionComplete {
		return "completion"
	}
	if strings.HasPrefix(string(q.Method), "prompts/") {
		return "prompt"
	}
	return "resource"
}

// arguments returns the parameters as JSON, for the audit log.
func (q LibraryRequest) arguments() []byte {
	written, _ := text.JSON(map[string]any{ // strings
		"about": q.Ref, "arguments": q.Args, "complete": q.Completion.Name, "value": q.Completion.Value,
	})
	return written
}

// check returns an error for parameters that are invalid for every library.
func (q LibraryRequest) check(l tool.Limits) error {
	switch q.Method {
	case mcp.MethodResourcesRead, mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe,
		methodSkillsGet, methodDirectoryRead:
		if !validURI(q.Ref.URI) {
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
	if q.Method == mcp.MethodCompletionComplete && q.Completion.Name == "" {
		return tool.Errorf(tool.Invalid, "params.argument.name is missing").
			Try("name the argument that is to be completed")
	}
	for _, given := range []map[string]string{q.Args, q.Completion.Given, {q.Completion.Name: q.Completion.Value}} {
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

// validURI reports whether uri can be the URI of a resource: a scheme and a path
// without hidden characters.
func validURI(uri string) bool {
	scheme, rest, ok := strings.Cut(uri, ":")
	return ok && rest != "" && len(uri) <= maxURI && utf8.ValidString(uri) && !strings.ContainsFunc(uri, tool.Hidden) &&
		scheme != "" && strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
}

// callLibrary calls the library, and removes the items that the caller may not see.
func (c *call) callLibrary(ctx context.Context, q LibraryRequest) (found LibraryResult, err error) {
	lib := c.server.Library
	may := func(ref Ref) bool { return c.server.mayRead(c.now, c.subject(), ref) }
	switch q.Method {
	case mcp.MethodResourcesList:
		found.Resources, err = lib.Resources(ctx, c.Caller)
		found.Resources = keepIf(found.Resources, func(r tool.Resource) bool { return may(Ref{URI: r.URI}) })
	case mcp.MethodResourcesTemplatesList:
		found.Templates = keepIf(lib.Templates(), func(t tool.Template) bool { return may(Ref{URI: t.URI}) })
	case mcp.MethodResourcesRead:
		if q.forPage() {
			found.Parts = []tool.Part{c.server.page()}
			break
		}
		found.Parts, err = lib.Read(ctx, c.Caller, q.Ref.URI)
	case mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe:
		err = q.Subscribe()
	case mcp.MethodPromptsList:
		found.Prompts, err = lib.Prompts(ctx, c.Caller)
		found.Prompts = keepIf(found.Prompts, func(p tool.Prompt) bool { return may(Ref{Prompt: p.Name}) })
	case mcp.MethodPromptsGet:
		found.Filled, err = lib.Prompt(ctx, c.Caller, q.Ref.Prompt, q.Args)
	case mcp.MethodCompletionComplete:
		if q.Ref.Prompt == "" &&
			!slices.ContainsFunc(lib.Templates(), func(t tool.Template) bool { return t.URI == q.Ref.URI }) {
			return found, c.notFoundError(q)
		}
		found.Values, found.More, err = lib.Complete(ctx, c.Caller, q.Completion)
		if len(found.Values) > maxCompletions {
			found.Values, found.More = found.Values[:maxCompletions], true
		}
	case methodSkillsList:
		found.Skills, found.Next, err = c.listSkills(ctx, q.Cursor, may)
	case methodSkillsGet:
		var one Skill
		if one, err = c.skill(ctx, q.Ref.URI); err == nil {
			found.Skills = []Skill{one}
		}
	case methodDirectoryRead:
		found.Resources, found.Next, err = c.readDirectory(ctx, q.Ref.URI, q.Cursor)
	}
	return found, err
}

// keepIf returns a new list of the elements that ok accepts.
func keepIf[T any](list []T, ok func(T) bool) []T {
	kept := make([]T, 0, len(list))
	for _, one := range list {
		if ok(one) {
			kept = append(kept, one)
		}
	}
	return kept
}

// scrubLibraryResult returns f without credentials, and the number of credentials removed.
func (c *call) scrubLibraryResult(f LibraryResult) (clean LibraryResult, removed map[string]int) {
	s := c.server
	r := redactor{scrub: s.scrubFor(c.Caller)}
	clean = LibraryResult{
		Resources: scrubList(s, f.Resources), Templates: scrubList(s, f.Templates), Prompts: scrubList(s, f.Prompts),
		Values: scrubList(s, f.Values), More: f.More, Parts: r.parts(f.Parts),
		Skills: f.Skills, Next: f.Next, // made of scrubbed files
	}
	clean.Filled.Description = r.text(f.Filled.Description)
	for _, m := range f.Filled.Messages {
		clean.Filled.Messages = append(clean.Filled.Messages,
			tool.Message{Assistant: m.Assistant, Part: r.parts([]tool.Part{m.Part})[0]})
	}
	return clean, r.removed
}

// scrubList returns a list without credentials in any of its texts.
func scrubList[T any](s *Server, list []T) (clean []T) {
	written, err := json.Marshal(list)
	if err != nil || json.Unmarshal(s.scrub.JSON(written), &clean) != nil { // strings, numbers and times
		return nil
	}
	return clean
}

func (r *redactor) parts(parts []tool.Part) []tool.Part {
	parts = r.result(tool.Result{Parts: parts}).Parts
	for i := range parts {
		parts[i].MIME = r.text(parts[i].MIME)
	}
	return parts
}

// libraryParams are the params of all requests about the library.
type libraryParams struct {
	URI       string            `json:"uri"`
	Name      string            `json:"name"`
	Cursor    string            `json:"cursor"`
	Arguments map[string]string `json:"arguments"`
	Ref       struct {
		Type string `json:"type"`
		URI  string `json:"uri"`
		Name string `json:"name"`
	} `json:"ref"`
	Argument struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"argument"`
	Context struct {
		Arguments map[string]string `json:"arguments"`
	} `json:"context"`
}

// serveLibrary answers requests about resources, prompts and completions.
func (x *rpcRequest) serveLibrary(ctx context.Context) []byte {
	m := x.msg
	x.asked = &LibraryRequest{
		Access: x.access, Method: mcp.MCPMethod(m.Method), Trace: m.Meta.Trace, apps: x.showsApps(),
	}
	if wrong := x.asked.parseParams(m.Params); wrong != nil {
		return x.failure(wrong)
	}
	x.asked.Subscribe = func() error {
		return x.session.subscribe(x.asked.Ref.URI, x.asked.Method == mcp.MethodResourcesSubscribe)
	}
	return x.answerAsked(ctx)
}

// answerAsked answers the request about the library that is in asked.
func (x *rpcRequest) answerAsked(ctx context.Context) []byte {
	var params map[string]any
	switch x.asked.Method {
	case mcp.MethodResourcesRead, mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe:
		params = map[string]any{"uri": anyItem}
	case mcp.MethodPromptsGet:
		params = map[string]any{"name": anyItem}
	case mcp.MethodCompletionComplete:
		params = map[string]any{
			"ref":      map[string]string{"type": "ref/prompt", "name": anyItem},
			"argument": map[string]string{"name": anyItem, "value": ""},
		}
	}
	return x.serveProtocol(ctx, params)
}

// query runs the request about the library. After an error it sets refused, and
// the result is empty.
func (x *rpcRequest) query(ctx context.Context) LibraryResult {
	found, err := x.session.server.QueryLibrary(ctx, *x.asked)
	if err != nil {
		x.refused = x.asked.rpcError(tool.AsError(err), x.msg.Modern())
		return LibraryResult{}
	}
	if x.session.server.Inbox != nil {
		x.call = found.Call
	}
	return found
}

// parseParams reads the params of a request.
func (q *LibraryRequest) parseParams(params []byte) *jsonrpc.Error {
	var given libraryParams
	if len(params) > 0 {
		if err := json.Unmarshal(params, &given); err != nil {
			field := "params"
			if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) && wrong.Field != "" {
				field += "." + wrong.Field
			}
			return jsonrpc.Errorf(mcp.INVALID_PARAMS, "%s has the wrong type for %s",
				text.Clip(field, jsonrpc.MaxQuoted), q.Method)
		}
	}
	switch q.Method {
	case mcp.MethodResourcesList, mcp.MethodResourcesTemplatesList, mcp.MethodPromptsList:
		if given.Cursor != "" {
			return jsonrpc.Errorf(mcp.INVALID_PARAMS, "%s has one page; call it without a cursor", q.Method)
		}
	case methodSkillsList:
		q.Cursor = given.Cursor
	case methodDirectoryRead:
		q.Ref.URI, q.Cursor = given.URI, given.Cursor
	case mcp.MethodPromptsGet:
		q.Ref.Prompt, q.Args = given.Name, given.Arguments
	case mcp.MethodCompletionComplete:
		switch given.Ref.Type {
		case "ref/prompt":
			q.Ref.Prompt = given.Ref.Name
		case "ref/resource":
			q.Ref.URI = given.Ref.URI
		default:
			return jsonrpc.Errorf(mcp.INVALID_PARAMS, `params.ref.type must be "ref/prompt" or "ref/resource"`)
		}
		q.Completion = CompletionRequest{Of: q.Ref, Name: given.Argument.Name, Value: given.Argument.Value,
			Given: given.Context.Arguments}
	default:
		q.Ref.URI = given.URI
	}
	return nil
}

// rpcError returns err as a JSON-RPC error.
func (q LibraryRequest) rpcError(err *tool.Error, modern bool) *jsonrpc.Error {
	f := jsonrpc.Errorf(mcp.INTERNAL_ERROR, "%s", err.Error())
	switch err.Kind {
	case tool.NotFound:
		f.Code = mcp.INVALID_PARAMS
		if q.Ref.URI == "" || q.Method == mcp.MethodCompletionComplete {
			break
		}
		f.Data = map[string]string{"uri": text.Clip(q.Ref.URI, maxURI)} // the resource, for clients that read several
		if !modern && !aboutSkills(q.Method) {
			f.Code = mcp.RESOURCE_NOT_FOUND
		}
	case tool.Invalid, tool.Refused, tool.Conflict, tool.TooLarge:
		f.Code = mcp.INVALID_PARAMS
	case tool.Busy:
		f.Code = codeBusy
	}
	return f
}
