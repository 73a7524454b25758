package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/server/jsonrpc"
)

// A LibraryRequest is one request about resources, prompts or completions, from
// any transport.
type LibraryRequest struct {
	Access
	Method     mcp.MCPMethod // what is asked: resources/read, prompts/list, ...
	Ref        Ref           // about what; lists are about nothing
	Cursor     string        // of a list, as the client has it
	Args       map[string]string
	Completion CompletionRequest // to be completed
	// Subscribe remembers or forgets a subscription to Ref.
	Subscribe func() error
	Trace     map[string]string
}

// A LibraryResult is the result of a LibraryRequest, scrubbed and bounded.
type LibraryResult struct {
	Resources []Resource
	Templates []Template
	Prompts   []Prompt
	Next      string // the cursor of the next page
	Parts     []tool.Part
	Filled    FilledPrompt
	Values    []string
	More      bool // there are more values than these
}

// QueryLibrary runs one request about the library. Every such request is rate
// limited, checked against the policy, scrubbed, bounded and recorded here. An
// item that the policy does not allow, or allows only with an approval, is not
// found.
//
// The error is a *[tool.Error], scrubbed.
func (s *Server) QueryLibrary(ctx context.Context, q LibraryRequest) (LibraryResult, error) {
	c := s.newCall(Request{Access: q.Access, Tool: string(q.Method), Args: q.arguments(), Trace: q.Trace}, q.kind())
	governor := ""
	if t, ok := s.governingTool(q.Ref); ok {
		governor = t.Spec.Name
	}
	ctx, observe := s.Observer.Start(ctx, c.begin(governor))
	a, found, err := c.queryLibrary(ctx, q)
	if err == nil {
		found, removed := s.scrubLibraryResult(found)
		found = c.clipLibraryResult(found) // after scrubbing: half a key matches no pattern
		end := outcome{attempt: a, name: "ok", size: found.size(), digest: found.digest(), removed: removed}
		if failed := c.record(ctx, observe, end); failed != nil {
			return LibraryResult{}, failed
		}
		return found, nil
	}
	known := libraryError(err)
	if failed := c.record(ctx, observe,
		outcome{attempt: a, name: string(known.Kind), kind: known.Kind, err: known}); failed != nil {
		known = failed
	}
	shown := *known
	shown.What, shown.Next = s.scrub.Text(known.What), s.scrub.Text(known.Next)
	return LibraryResult{}, &shown
}

// libraryError returns err as an error that does not mention tools.
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

// queryLibrary runs all steps of a library request: limits, policy, the library.
func (c *call) queryLibrary(ctx context.Context, q LibraryRequest) (a attempt, found LibraryResult, err error) {
	release, err := c.admit(ctx)
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
	ctx, cancel := context.WithTimeoutCause(ctx, c.now.Limits.Timeout, errOvertime)
	defer cancel()
	running := &tool.Running{Caller: c.Caller, Tool: a.tool.Spec.Name, Call: c.id}
	found, err = c.callLibrary(tool.With(ctx, running), q)
	switch known := (*tool.Error)(nil); {
	case err == nil:
		return a, found, nil
	case errors.As(err, &known) && known.Kind == tool.NotFound:
		return a, found, c.notFoundError(q) // in the same words as for what is forbidden
	case ctx.Err() == nil:
		return a, found, err
	case !errors.Is(context.Cause(ctx), errOvertime):
		return a, found, context.Cause(ctx)
	}
	return a, found, tool.Errorf(tool.Timeout, "it took longer than %s to look up", c.now.Limits.Timeout).
		Try("try again later, or ask for less")
}

// permit checks the policy of the tool that governs the item. Every caller may
// list: a list holds only the items that the caller may read.
func (c *call) permit(q LibraryRequest) (governor tool.Tool, verdict policy.Verdict, found bool, err error) {
	if c.server.Library == nil {
		return governor, policy.Deny, false,
			tool.Errorf(tool.Unavailable, "there are no resources and no prompts here").Try("use tools")
	}
	if q.Ref == (Ref{}) {
		return governor, policy.Allow, false, nil
	}
	if t, ok := c.server.governingTool(q.Ref); ok {
		governor, verdict = t, c.now.Policy.Verdict(c.subject(), t.Spec.Name)
	}
	if verdict != policy.Allow {
		return governor, verdict, false, c.notFoundError(q)
	}
	return governor, verdict, true, nil
}

// mayRead reports whether a caller may see what ref names.
func (s *Server) mayRead(now *settings, subject policy.Subject, ref Ref) bool {
	t, ok := s.governingTool(ref)
	return ok && now.Policy.Verdict(subject, t.Spec.Name) == policy.Allow
}

func (c *call) mayRead(ref Ref) bool { return c.server.mayRead(c.now, c.subject(), ref) }

// notFoundError returns the error for an item that does not exist or that this
// caller may not see.
func (c *call) notFoundError(q LibraryRequest) error {
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
	written, err := jsonrpc.Marshal(struct {
		URI      string            `json:"uri,omitempty"`
		Prompt   string            `json:"prompt,omitempty"`
		Cursor   string            `json:"cursor,omitempty"`
		Args     map[string]string `json:"arguments,omitempty"`
		Argument string            `json:"argument,omitempty"`
		Value    string            `json:"value,omitempty"`
	}{q.Ref.URI, q.Ref.Prompt, q.Cursor, q.Args, q.Completion.Name, q.Completion.Value})
	if err != nil { // strings
		return nil
	}
	return written
}

// check returns an error for parameters that are invalid for every library.
func (q LibraryRequest) check(l tool.Limits) error {
	switch q.Method {
	case mcp.MethodResourcesRead, mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe:
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
	switch q.Method {
	case mcp.MethodResourcesList:
		return c.listResources(ctx, q)
	case mcp.MethodResourcesTemplatesList:
		if q.Cursor != "" {
			return found, badCursor(q)
		}
		found.Templates = keepIf(lib.Templates(), func(t Template) bool { return c.mayRead(Ref{URI: t.URI}) })
	case mcp.MethodResourcesRead:
		found.Parts, err = lib.Read(ctx, c.Caller, q.Ref.URI)
	case mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe:
		err = q.Subscribe()
	case mcp.MethodPromptsList:
		return c.listPrompts(ctx, q)
	case mcp.MethodPromptsGet:
		found.Filled, err = lib.Prompt(ctx, c.Caller, q.Ref.Prompt, q.Args)
	case mcp.MethodCompletionComplete:
		if q.Ref.Prompt == "" &&
			!slices.ContainsFunc(lib.Templates(), func(t Template) bool { return t.URI == q.Ref.URI }) {
			return found, c.notFoundError(q)
		}
		found.Values, found.More, err = lib.Complete(ctx, c.Caller, q.Completion)
	default:
		return found, fmt.Errorf("the library has no method %s", q.Method)
	}
	return found, err
}

// listResources returns the next page that is not empty, or the end.
func (c *call) listResources(ctx context.Context, q LibraryRequest) (found LibraryResult, err error) {
	place, err := decodeCursor(q)
	if err != nil {
		return found, err
	}
	for range maxSkipped {
		page, next, err := c.server.Library.Resources(ctx, c.Caller, place)
		if err != nil {
			return found, err
		}
		found.Resources = keepIf(page, func(r Resource) bool { return validURI(r.URI) && c.mayRead(Ref{URI: r.URI}) })
		found.Next, err = c.encodeCursor(q, next)
		if err != nil || next == "" || len(found.Resources) > 0 {
			return found, err
		}
		place = next
	}
	return found, nil
}

// listPrompts returns a page of prompts. Its cursor is an index.
func (c *call) listPrompts(ctx context.Context, q LibraryRequest) (found LibraryResult, err error) {
	place, err := decodeCursor(q)
	if err != nil {
		return found, err
	}
	from := 0
	if place != "" {
		if from, err = strconv.Atoi(place); err != nil || from < 0 {
			return found, badCursor(q)
		}
	}
	all, err := c.server.Library.Prompts(ctx, c.Caller)
	if err != nil {
		return found, err
	}
	seen := keepIf(all, func(one Prompt) bool {
		return one.Name != "" && len(one.Name) <= maxURI && c.mayRead(Ref{Prompt: one.Name})
	})
	from = min(from, len(seen))
	to := c.pageEnd(seen, from)
	if found.Prompts = seen[from:to]; to < len(seen) {
		found.Next, err = c.encodeCursor(q, strconv.Itoa(to))
	}
	return found, err
}

// pageEnd returns the index at which a page of prompts is full.
func (c *call) pageEnd(all []Prompt, from int) int {
	room := c.now.Limits.ResultHard / 2 // scrubbing may make a text longer
	for to := from; to < len(all); to++ {
		written, err := jsonrpc.Marshal(all[to])
		if room -= len(written); to > from && (err != nil || to-from == maxPage || room < 0) {
			return to
		}
	}
	return len(all)
}

// keepIf returns a new list of the elements for which ok returns true.
func keepIf[T any](list []T, ok func(T) bool) []T {
	kept := make([]T, 0, len(list))
	for _, one := range list {
		if ok(one) {
			kept = append(kept, one)
		}
	}
	return kept
}

// encodeCursor returns the cursor that the client gets for a place in a list. It
// needs no state in this process: another process may serve the next page.
func (c *call) encodeCursor(q LibraryRequest, place string) (string, error) {
	if place == "" {
		return "", nil
	}
	if len(place) > MaxCursor || c.server.scrub.Text(place) != place { // once encoded, it could not be scrubbed
		return "", fmt.Errorf("the library's cursor is longer than %d bytes, or has a secret in it", MaxCursor)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(string(q.Method) + " " + place)), nil
}

// decodeCursor returns the place in the list that the cursor of a request holds.
func decodeCursor(q LibraryRequest) (string, error) {
	if q.Cursor == "" {
		return "", nil
	}
	if len(q.Cursor) > 2*(MaxCursor+jsonrpc.MaxQuoted) {
		return "", badCursor(q)
	}
	plain, err := base64.RawURLEncoding.Strict().DecodeString(q.Cursor)
	place, ours := strings.CutPrefix(string(plain), string(q.Method)+" ")
	if err != nil || !ours || place == "" || len(place) > MaxCursor || !utf8.ValidString(place) {
		return "", badCursor(q)
	}
	return place, nil
}

func badCursor(q LibraryRequest) error {
	return tool.Errorf(tool.Invalid, "that is no cursor of %s", q.Method).Try("begin again without a cursor")
}

// Maximum lengths of texts in a list, in bytes.
const (
	maxNameShown = 200
	maxDocShown  = 1000
)

// scrubLibraryResult returns f without credentials, and how many were removed.
func (s *Server) scrubLibraryResult(f LibraryResult) (clean LibraryResult, removed map[string]int) {
	r := redactor{scrub: s.scrub}
	f.Resources, f.Templates, f.Prompts = slices.Clone(f.Resources), slices.Clone(f.Templates), slices.Clone(f.Prompts)
	f.Values, f.Filled.Messages = slices.Clone(f.Values), slices.Clone(f.Filled.Messages)
	for i := range f.Resources {
		one := &f.Resources[i]
		r.texts(&one.URI, &one.Name, &one.Title, &one.Description, &one.MIME)
	}
	for i := range f.Templates {
		one := &f.Templates[i]
		r.texts(&one.URI, &one.Name, &one.Title, &one.Description, &one.MIME)
	}
	for i := range f.Prompts {
		one := &f.Prompts[i]
		r.texts(&one.Name, &one.Title, &one.Description)
		one.Arguments = slices.Clone(one.Arguments)
		for k := range one.Arguments {
			a := &one.Arguments[k]
			r.texts(&a.Name, &a.Title, &a.Description)
		}
	}
	for i := range f.Values {
		r.texts(&f.Values[i])
	}
	r.texts(&f.Filled.Description)
	f.Parts = r.parts(f.Parts)
	for i, m := range f.Filled.Messages {
		f.Filled.Messages[i].Part = r.parts([]tool.Part{m.Part})[0]
	}
	return f, r.removed
}

func (r *redactor) texts(texts ...*string) {
	for _, one := range texts {
		*one = r.text(*one)
	}
}

func (r *redactor) parts(parts []tool.Part) []tool.Part {
	parts = r.result(tool.Result{Parts: parts}).Parts
	for i := range parts {
		parts[i].MIME = r.text(parts[i].MIME)
	}
	return parts
}

// clipLibraryResult shortens what exceeds the limits. Names of prompts and of
// their arguments, and URIs, are never shortened: a shortened one is wrong.
func (c *call) clipLibraryResult(f LibraryResult) LibraryResult {
	for i := range f.Resources {
		r := &f.Resources[i]
		clipTexts(&r.Description, &r.Name, &r.Title)
	}
	for i := range f.Templates {
		t := &f.Templates[i]
		clipTexts(&t.Description, &t.Name, &t.Title)
	}
	for i := range f.Prompts {
		one := &f.Prompts[i]
		clipTexts(&one.Description, &one.Title)
		for k := range one.Arguments {
			a := &one.Arguments[k]
			clipTexts(&a.Description, &a.Title)
		}
	}
	room := c.now.Limits.ResultHard
	f.Resources = clipList(c, &room, f.Resources)
	f.Templates = clipList(c, &room, f.Templates)
	f.Prompts = clipList(c, &room, f.Prompts)
	f.Filled.Description = text.Clip(f.Filled.Description, maxDocShown)
	for i := range f.Parts {
		f.Parts[i] = clipPart(f.Parts[i], &room)
	}
	for i := range f.Filled.Messages {
		m := &f.Filled.Messages[i]
		m.Part = clipPart(m.Part, &room)
	}
	f.Values = keepIf(f.Values, func(v string) bool { return len(v) <= maxURI }) // half a value is another
	if len(f.Values) > maxCompletions {
		f.Values, f.More = f.Values[:maxCompletions], true
	}
	return f
}

// clipTexts shortens texts that only people and models read.
func clipTexts(doc *string, names ...*string) {
	*doc = text.Clip(*doc, maxDocShown)
	for _, name := range names {
		*name = text.Clip(*name, maxNameShown)
	}
}

// clipList returns the elements of a list that fit into room.
func clipList[T any](c *call, room *int, list []T) []T {
	for i, one := range list {
		written, err := json.Marshal(one)
		if *room -= len(written); err != nil || *room < 0 {
			c.server.log.Error("the library lists more than there is room for", "left out", len(list)-i)
			return list[:i]
		}
	}
	return list
}

// clipPart shortens a part to the room that is left.
func clipPart(part tool.Part, room *int) tool.Part {
	left := max(*room, 0)
	*room -= len(part.Text) + len(part.Data)
	switch {
	case len(part.Data) > left:
		part.Text = fmt.Sprintf("[%s of %d bytes left out: that is more than there is room for]", part.MIME,
			len(part.Data))
		part.Data, part.MIME = nil, "text/plain"
	case len(part.Text) > left:
		cut := runeStart(part.Text, left)
		part.Text = fmt.Sprintf("%s\n[the other %d bytes left out: that is more than there is room for]",
			part.Text[:cut], len(part.Text)-cut)
	}
	return part
}

// size returns the number of bytes of text and data in f, or of its lists.
func (f LibraryResult) size() int {
	n := tool.Result{Parts: f.Parts}.Size()
	for _, m := range f.Filled.Messages {
		n += len(m.Part.Text) + len(m.Part.Data)
	}
	if n > 0 {
		return n
	}
	return len(f.marshal())
}

func (f LibraryResult) digest() digest { return sum("library", f.marshal()) }

func (f LibraryResult) marshal() []byte {
	written, err := json.Marshal(f)
	if err != nil { // strings, numbers and times
		return nil
	}
	return written
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
	m, s := x.msg, x.session.server
	q := LibraryRequest{Access: x.access, Method: mcp.MCPMethod(m.Method), Trace: m.Meta.Trace}
	subscribing := q.Method == mcp.MethodResourcesSubscribe || q.Method == mcp.MethodResourcesUnsubscribe
	if wrong := q.parseParams(m.Params); wrong != nil {
		return s.refusal(m.ID, wrong)
	}
	if subscribing {
		q.Subscribe = func() error {
			return x.session.subscribe(q.Ref.URI, q.Method == mcp.MethodResourcesSubscribe)
		}
	}
	found, err := s.QueryLibrary(ctx, q)
	if err != nil {
		return s.refusal(m.ID, q.rpcError(tool.AsError(err), m.Modern()))
	}
	return jsonrpc.Respond(m.ID, `,"result":`, s.writeLibraryResult(q, found, m.Modern()))
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
		q.Cursor = given.Cursor
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
		f.Data = map[string]string{"uri": text.Clip(q.Ref.URI, maxURI)} // which one, for clients that read several
		if !modern {
			f.Code = mcp.RESOURCE_NOT_FOUND
		}
	case tool.Invalid, tool.Refused, tool.Conflict, tool.TooLarge:
		f.Code = mcp.INVALID_PARAMS
	case tool.Busy:
		f.Code = codeBusy
	}
	return f
}

// writeLibraryResult writes a result as JSON, for a client of either era.
func (s *Server) writeLibraryResult(q LibraryRequest, f LibraryResult, modern bool) []byte {
	var body any
	stamp := s.listStamp
	switch q.Method {
	case mcp.MethodResourcesList:
		body = struct {
			Resources []any  `json:"resources"`
			Next      string `json:"nextCursor,omitempty"`
		}{mapSlice(f.Resources, Resource.written), f.Next}
	case mcp.MethodResourcesTemplatesList:
		body = map[string]any{"resourceTemplates": mapSlice(f.Templates, Template.written)}
	case mcp.MethodPromptsList:
		body = struct {
			Prompts []any  `json:"prompts"`
			Next    string `json:"nextCursor,omitempty"`
		}{mapSlice(f.Prompts, Prompt.written), f.Next}
	case mcp.MethodResourcesRead:
		body = map[string]any{"contents": mapSlice(f.Parts,
			func(p tool.Part) any { return contents(p, s.scrub.Text(q.Ref.URI)) })}
		stamp = s.readStamp
	case mcp.MethodPromptsGet:
		body = struct {
			Description string `json:"description,omitempty"`
			Messages    []any  `json:"messages"`
		}{f.Filled.Description, mapSlice(f.Filled.Messages, Message.written)}
		stamp = s.resultStamp
	case mcp.MethodCompletionComplete:
		body = map[string]any{"completion": struct {
			Values []string `json:"values"`
			More   bool     `json:"hasMore"`
		}{f.Values, f.More}}
		stamp = s.resultStamp
	default:
		body, stamp = struct{}{}, s.resultStamp
	}
	written, err := jsonrpc.Marshal(body)
	if err != nil { // strings, numbers and what appendPart has written
		return []byte("{}")
	}
	if !modern {
		return written
	}
	if written = written[:len(written)-1]; len(written) == 1 { // nothing but the brace
		stamp = stamp[1:]
	}
	return append(written, stamp...)
}

func mapSlice[T any](list []T, write func(T) any) []any {
	all := make([]any, len(list)) // [] and not null
	for i, one := range list {
		all[i] = write(one)
	}
	return all
}

func (r Resource) written() any {
	var notes map[string]string
	if !r.Modified.IsZero() {
		notes = map[string]string{"lastModified": r.Modified.UTC().Format(time.RFC3339)}
	}
	return struct {
		URI         string            `json:"uri"`
		Name        string            `json:"name"`
		Title       string            `json:"title,omitempty"`
		Description string            `json:"description,omitempty"`
		MIME        string            `json:"mimeType,omitempty"`
		Size        int64             `json:"size,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}{r.URI, r.Name, r.Title, r.Description, r.MIME, r.Size, notes}
}

func (t Template) written() any {
	return struct {
		URI         string `json:"uriTemplate"`
		Name        string `json:"name"`
		Title       string `json:"title,omitempty"`
		Description string `json:"description,omitempty"`
		MIME        string `json:"mimeType,omitempty"`
	}{t.URI, t.Name, t.Title, t.Description, t.MIME}
}

func (p Prompt) written() any {
	return struct {
		Name        string `json:"name"`
		Title       string `json:"title,omitempty"`
		Description string `json:"description,omitempty"`
		Arguments   []any  `json:"arguments,omitempty"`
	}{p.Name, p.Title, p.Description, mapSlice(p.Arguments, Argument.written)}
}

func (a Argument) written() any {
	return struct {
		Name        string `json:"name"`
		Title       string `json:"title,omitempty"`
		Description string `json:"description,omitempty"`
		Required    bool   `json:"required,omitempty"`
	}{a.Name, a.Title, a.Description, a.Required}
}

func (m Message) written() any {
	role := "user"
	if m.Assistant {
		role = "assistant"
	}
	return struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}{role, appendPart(nil, m.Part)}
}

// contents returns a part of a resource as the protocol shows it. An empty text
// has a text member too.
func contents(p tool.Part, uri string) any {
	if p.URI != "" {
		uri = p.URI
	}
	if p.Data != nil {
		return struct {
			URI  string `json:"uri"`
			MIME string `json:"mimeType,omitempty"`
			Blob []byte `json:"blob"`
		}{uri, p.MIME, p.Data}
	}
	return struct {
		URI  string `json:"uri"`
		MIME string `json:"mimeType,omitempty"`
		Text string `json:"text"`
	}{uri, p.MIME, p.Text}
}
