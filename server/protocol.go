package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// This file joins the server with mcp-go's. mcp-go answers the methods of the protocol: handshakes,
// discovery, ping, lists, resources, prompts, completions and subscriptions. Each request has a
// coreSession: the handlers and hooks of mcp-go find the request through it, and run its pipeline.
//
// mcp-go gets a message of ours in place of the client's, without arguments and ids: it would
// decode 5 MB of arguments six times, and round large ids. tools/call and the tasks of
// the stateless era do not pass through it, see callTool and serveTask.

// anyItem is the one resource and the one prompt that mcp-go knows. The request has the real
// name.
const anyItem = "item:any"

// newCore returns the server of mcp-go for a configuration.
func (s *Server) newCore(more ...mcpserver.ServerOption) *mcpserver.MCPServer {
	hooks := &mcpserver.Hooks{}
	hooks.AddAfterInitialize(func(ctx context.Context, _ any, _ *mcp.InitializeRequest, r *mcp.InitializeResult) {
		x := requestOf(ctx)
		r.Capabilities.Extensions = x.extensions()
		r.Instructions = s.instructionsFor(x.access, x.session.clientInfo().capabilities)
	})
	hooks.AddAfterDiscover(func(ctx context.Context, _ any, _ *mcp.DiscoverRequest, r *mcp.DiscoverResult) {
		x := requestOf(ctx)
		r.Capabilities.Extensions = x.extensions()
		r.Instructions = s.instructionsFor(x.access, x.clientInfo().capabilities)
	})
	hooks.AddAfterSubscriptionsListen(
		func(ctx context.Context, _ any, _ *mcp.SubscriptionsListenRequest, r *mcp.SubscriptionsListenResult) {
			r.EnsureResultMeta().SetSubscriptionID(requestOf(ctx).msg.ID)
		})
	options := []mcpserver.ServerOption{
		mcpserver.WithHooks(hooks), mcpserver.WithTitle(s.Title), mcpserver.WithToolCapabilities(true),
		mcpserver.WithToolFilter(func(ctx context.Context, _ []mcp.Tool) []mcp.Tool { return sessionOf(ctx).tools }),
		mcpserver.WithCacheHints(listTTL.Milliseconds(), mcp.CacheScopePrivate),
		mcpserver.WithMethodCacheHints(mcp.MethodResourcesRead, 0, mcp.CacheScopePrivate),
	}
	if s.Library != nil {
		options = append(options, libraryOptions(hooks)...)
	}
	core := mcpserver.NewMCPServer(s.Name, s.Version, append(options, more...)...)
	if s.Library != nil {
		core.AddResource(mcp.NewResource(anyItem, anyItem), readAny)
		core.AddPrompt(mcp.NewPrompt(anyItem), getAny)
	}
	return core
}

// extensions returns the extensions that the server has for the caller: tasks are of the stateless era, and a caller
// without skills does not see that others have some.
func (x *rpcRequest) extensions() map[string]any {
	all := map[string]any{}
	if x.msg.Modern() && keepsTasks(x.session.server.Config.Tools) {
		all[string(tasksExtension)] = struct{}{}
	}
	if x.seesSkills() {
		all[skillsExtension] = map[string]bool{"directoryRead": true}
	}
	if x.showsApps() {
		all[appsExtension] = appsSupport{[]string{appMIME}}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// libraryOptions adds mcp-go's answers about a library: its hooks and handlers run the
// pipeline, and return the results in mcp-go's types.
func libraryOptions(hooks *mcpserver.Hooks) []mcpserver.ServerOption {
	hooks.AddAfterListResources(func(ctx context.Context, _ any, _ *mcp.ListResourcesRequest, r *mcp.ListResourcesResult) {
		r.Resources = convert(requestOf(ctx).query(ctx).Resources, protocolResource)
	})
	hooks.AddAfterListResourceTemplates(
		func(ctx context.Context, _ any, _ *mcp.ListResourceTemplatesRequest, r *mcp.ListResourceTemplatesResult) {
			r.ResourceTemplates = convert(requestOf(ctx).query(ctx).Templates, protocolTemplate)
		})
	hooks.AddAfterListPrompts(func(ctx context.Context, _ any, _ *mcp.ListPromptsRequest, r *mcp.ListPromptsResult) {
		r.Prompts = convert(requestOf(ctx).query(ctx).Prompts, protocolPrompt)
	})
	hooks.AddAfterSubscribe(func(ctx context.Context, _ any, _ *mcp.SubscribeRequest, _ *mcp.EmptyResult) {
		requestOf(ctx).query(ctx)
	})
	hooks.AddAfterUnsubscribe(func(ctx context.Context, _ any, _ *mcp.UnsubscribeRequest, _ *mcp.EmptyResult) {
		requestOf(ctx).query(ctx)
	})
	return []mcpserver.ServerOption{
		mcpserver.WithResourceCapabilities(true, true), mcpserver.WithPromptCapabilities(true),
		mcpserver.WithCompletions(), mcpserver.WithPromptCompletionProvider(completer{}),
	}
}

// readAny is mcp-go's handler of resources/read.
func readAny(ctx context.Context, _ mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	x := requestOf(ctx)
	found := x.query(ctx)
	uri := x.session.server.scrub.Text(x.asked.Ref.URI)
	return convert(found.Parts, func(p tool.Part) mcp.ResourceContents {
		from := uri
		if p.URI != "" {
			from = p.URI
		}
		if p.Data != nil {
			return mcp.BlobResourceContents{URI: from, MIMEType: p.MIME, Blob: base64.StdEncoding.EncodeToString(p.Data)}
		}
		return mcp.TextResourceContents{URI: from, MIMEType: p.MIME, Text: p.Text, Meta: pageMeta(p.MIME)}
	}), nil
}

// getAny is mcp-go's handler of prompts/get.
func getAny(ctx context.Context, _ mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	filled := requestOf(ctx).query(ctx).Filled
	return &mcp.GetPromptResult{
		Description: filled.Description,
		Messages: convert(filled.Messages, func(m tool.Message) mcp.PromptMessage {
			role := mcp.RoleUser
			if m.Assistant {
				role = mcp.RoleAssistant
			}
			return mcp.PromptMessage{Role: role, Content: writtenContent{json: appendPart(nil, m.Part)}}
		}),
	}, nil
}

// writtenContent is content of a message that is JSON already.
type writtenContent struct {
	mcp.TextContent
	json json.RawMessage
}

// MarshalJSON implements json.Marshaler.
func (w writtenContent) MarshalJSON() ([]byte, error) { return w.json, nil }

// completer is mcp-go's provider of completions.
type completer struct{}

// CompletePromptArgument completes an argument of the prompt or template in the request.
func (completer) CompletePromptArgument(ctx context.Context, _ string, _ mcp.CompleteArgument,
	_ mcp.CompleteContext) (*mcp.Completion, error) {
	found := requestOf(ctx).query(ctx)
	return &mcp.Completion{Values: append([]string{}, found.Values...), HasMore: found.More}, nil
}

func protocolResource(r tool.Resource) mcp.Resource {
	p := mcp.Resource{URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIME}
	if r.Size > 0 {
		p.Size = &r.Size
	}
	if !r.Notes.Modified.IsZero() {
		p.Annotations = &mcp.Annotations{LastModified: r.Notes.Modified.Format(time.RFC3339Nano)}
	}
	return p
}

func protocolTemplate(t tool.Template) mcp.ResourceTemplate {
	p := mcp.NewResourceTemplate(t.URI, t.Name)
	p.Title, p.Description, p.MIMEType = t.Title, t.Description, t.MIME
	return p
}

func protocolPrompt(p tool.Prompt) mcp.Prompt {
	return mcp.Prompt{
		Name: p.Name, Title: p.Title, Description: p.Description,
		Arguments: convert(p.Arguments, func(a tool.Argument) mcp.PromptArgument {
			return mcp.PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required}
		}),
	}
}

// convert returns f of each element. The result is never nil, so that a list is
// written as [].
func convert[A, B any](list []A, f func(A) B) []B {
	all := make([]B, len(list))
	for i, one := range list {
		all[i] = f(one)
	}
	return all
}

// A coreSession is the session of mcp-go for one request: mcp-go cancels by session
// and id, so that a session of several clients, or requests with equal ids, would cancel one another.
type coreSession struct {
	id    string
	x     *rpcRequest // nil for a list that no client asked for
	tools []mcp.Tool
	notes chan mcp.JSONRPCNotification // the acknowledgement of a subscription
}

// newCoreSession returns a session with an id of its own.
func (s *Server) newCoreSession(x *rpcRequest) *coreSession {
	return &coreSession{
		id: fmt.Sprint(s.requests.Add(1)), x: x, notes: make(chan mcp.JSONRPCNotification, 1),
	}
}

func sessionOf(ctx context.Context) *coreSession {
	return mcpserver.ClientSessionFromContext(ctx).(*coreSession)
}

func requestOf(ctx context.Context) *rpcRequest { return sessionOf(ctx).x }

// These methods implement mcpserver.ClientSession.

// SessionID returns the id of the session.
func (c *coreSession) SessionID() string { return c.id }

// Initialize does nothing: SetProtocolVersion ends the handshake.
func (c *coreSession) Initialize() {}

// Initialized returns true, because the server has no session before its first request.
func (c *coreSession) Initialized() bool { return true }

// NotificationChannel returns the channel for the acknowledgement of a subscription.
func (c *coreSession) NotificationChannel() chan<- mcp.JSONRPCNotification { return c.notes }

// SetProtocolVersion completes the handshake of a legacy revision.
func (c *coreSession) SetProtocolVersion(version string) {
	var params mcp.InitializeParams
	if len(c.x.msg.Params) > 0 && json.Unmarshal(c.x.msg.Params, &params) != nil {
		return // mcp-go has read them before
	}
	s := c.x.session
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = client{
		name: programName(params.ClientInfo), capabilities: params.Capabilities, version: version, initialized: true,
	}
}

// SetSubscriptionFilter begins a subscription, or ends it with an empty filter.
func (c *coreSession) SetSubscriptionFilter(filter mcp.SubscriptionFilter) {
	c.x.session.setFilter(c.x, filter)
}

// SubscriptionFilter is not asked for: session.deliver sends the notifications.
func (c *coreSession) SubscriptionFilter() (mcp.SubscriptionFilter, bool) {
	return mcp.SubscriptionFilter{}, true
}

// ask lets mcp-go answer a method with params of ours. An empty version stands for the legacy revisions.
func (s *Server) ask(ctx context.Context, c *coreSession, method mcp.MCPMethod, version string,
	params map[string]any) ([]byte, *jsonrpc.Error) {
	if params == nil {
		params = map[string]any{}
	}
	if version != "" {
		params["_meta"] = map[string]any{
			mcp.MetaKeyProtocolVersion: version, mcp.MetaKeyClientCapabilities: struct{}{},
		}
	}
	message := jsonrpc.Request(jsontext.Value("1"), string(method), params)
	switch reply := s.core.HandleMessage(s.core.WithContext(ctx, c), message).(type) {
	case mcp.JSONRPCResponse:
		result, err := text.JSON(reply.Result)
		if err != nil {
			return nil, jsonrpc.Errorf(mcp.INTERNAL_ERROR, "the result could not be written")
		}
		return result, nil
	case mcp.JSONRPCError:
		return nil, jsonrpc.Errorf(reply.Error.Code, "%s", reply.Error.Message)
	}
	return nil, jsonrpc.Errorf(mcp.INTERNAL_ERROR, "internal error")
}

// serveProtocol answers a request by mcp-go.
func (x *rpcRequest) serveProtocol(ctx context.Context, params map[string]any) []byte {
	s, m := x.session.server, x.msg
	version := ""
	if m.Modern() {
		version = m.Meta.Version
	}
	result, refused := s.ask(ctx, s.newCoreSession(x), mcp.MCPMethod(m.Method), version, params)
	if x.refused != nil { // by the pipeline
		refused = x.refused
	}
	if refused != nil {
		return x.failure(refused)
	}
	reply := jsonrpc.Respond(m.ID, `,"result":`, result)
	if x.asked != nil { // the pipeline has scrubbed it, but for binary data
		return reply
	}
	return s.clean(reply)
}

// success writes a result of the server that has not been scrubbed.
func (x *rpcRequest) success(result any) []byte {
	return x.session.server.clean(jsonrpc.Success(x.msg.ID, result))
}

// removedMethods are methods of the legacy revisions that the stateless era
// does not have.
func removedMethods() []mcp.MCPMethod {
	return []mcp.MCPMethod{
		mcp.MethodInitialize, mcp.MethodPing, mcp.MethodSetLogLevel,
		mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe,
	}
}

// checkEra refuses requests whose revision is unknown, and methods that the
// request's era does not have.
func (x *rpcRequest) checkEra() *jsonrpc.Error {
	m, method := x.msg, mcp.MCPMethod(x.msg.Method)
	if !m.Modern() {
		if method == mcp.MethodServerDiscover || method == mcp.MethodSubscriptionsListen {
			return jsonrpc.Errorf(mcp.METHOD_NOT_FOUND, "%q requires protocol version %s or later",
				m.Method, mcp.ProtocolVersion20260728)
		}
		return nil
	}
	switch {
	case !mcp.IsValidProtocolVersion(m.Meta.Version):
		refused := mcp.UnsupportedProtocolVersionError{Version: m.Meta.Version, Supported: mcp.ValidProtocolVersions}
		f := jsonrpc.Errorf(mcp.UNSUPPORTED_PROTOCOL_VERSION, "%s", refused.Error())
		f.Data = mcp.UnsupportedProtocolVersionData{Supported: refused.Supported, Requested: refused.Version}
		return f
	case m.Meta.Capabilities == nil:
		return jsonrpc.Errorf(mcp.INVALID_PARAMS, "missing or invalid _meta field %s", mcp.MetaKeyClientCapabilities)
	case slices.Contains(removedMethods(), method):
		return jsonrpc.Errorf(mcp.METHOD_NOT_FOUND, "%q was removed in protocol version %s",
			m.Method, mcp.ProtocolVersion20260728)
	}
	return nil
}

// initialize answers the handshake of the legacy revisions.
func (x *rpcRequest) initialize(ctx context.Context) []byte {
	var params map[string]any
	var check mcp.InitializeParams
	if len(x.msg.Params) > 0 &&
		(json.Unmarshal(x.msg.Params, &check) != nil || json.Unmarshal(x.msg.Params, &params) != nil) {
		return x.failure(jsonrpc.Errorf(mcp.INVALID_REQUEST,
			`the params of initialize are invalid: want "protocolVersion", "capabilities" and "clientInfo"`))
	}
	delete(params, "_meta")
	return x.serveProtocol(ctx, params)
}

// programName returns the name and the version of a client's program in one line.
func programName(of mcp.Implementation) string {
	return text.Clip(tool.Line(of.Name+" "+of.Version), maxProgram)
}

// maxProgram bounds the name of a client's program, in bytes.
const maxProgram = 100

// instructionsFor returns the text about the server for the model of a caller.
func (s *Server) instructionsFor(a Access, client mcp.ClientCapabilities) string {
	now, about := s.settings(), s.Instructions
	profile, _ := now.Policy.Profile(now.Policy.ProfileOf(a.subject()))
	if profile.Autonomy == policy.ReadOnly || a.Narrow.ReadOnly {
		about += "\n\nThis session is read-only: tools that change something are not available."
	}
	if chooses := a.ChooseWorkspace != nil && client.Roots != nil; a.Caller.Workspace == "" && len(s.FileGroups) > 0 &&
		!chooses {
		about += "\n\nThere is no workspace, so tools for files and commands are not listed. The user chooses one: " +
			"mcp-tools connect CLIENT --workspace DIR."
	}
	return strings.TrimSpace(about)
}

// listen serves subscriptions/listen: mcp-go acknowledges the subscriptions, and answers when
// the client, the server or the session ends the stream. Notifications are sent by
// session.deliver.
func (x *rpcRequest) listen(ctx context.Context) []byte {
	filter, refused := x.subscription()
	if refused != nil {
		return x.failure(refused)
	}
	s := x.session.server
	leave, ok := s.listeners.enter(x.access.owner())
	if !ok {
		s.Observer.Limited("connection")
		return jsonrpc.Failure(x.msg.ID, jsonrpc.Errorf(codeBusy,
			"busy: %d subscriptions are already open; end one of them, then try again", maxSubscriptions))
	}
	defer leave()
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(s.closing, end)()
	c := s.newCoreSession(x)
	acknowledged := make(chan struct{})
	go func() {
		defer close(acknowledged)
		select {
		case <-c.notes:
			meta := map[string]any{mcp.MetaKeySubscriptionID: x.msg.ID} // mcp-go has the id of our message
			err := x.send(jsonrpc.Request(nil, mcp.MethodNotificationSubscriptionsAcknowledged,
				map[string]any{"_meta": meta, "notifications": filter}))
			if err != nil {
				end()
			}
		case <-ctx.Done():
		}
	}()
	result, refused := s.ask(ctx, c, mcp.MethodSubscriptionsListen, x.msg.Meta.Version,
		map[string]any{"notifications": filter})
	if refused != nil {
		end()
	}
	<-acknowledged
	if refused != nil {
		return x.failure(refused)
	}
	return s.clean(jsonrpc.Respond(x.msg.ID, `,"result":`, result))
}

// subscription returns the subscriptions of a subscriptions/listen: announcements of the
// server, without resources that the caller may not see.
func (x *rpcRequest) subscription() (allowed mcp.SubscriptionFilter, refused *jsonrpc.Error) {
	var params struct {
		Notifications mcp.SubscriptionFilter `json:"notifications"`
	}
	if len(x.msg.Params) > 0 && json.Unmarshal(x.msg.Params, &params) != nil {
		return allowed, jsonrpc.Errorf(mcp.INVALID_REQUEST, "params.notifications is not a subscription filter")
	}
	want, s := params.Notifications, x.session.server
	allowed.ToolsListChanged = want.ToolsListChanged
	if s.Library == nil {
		return allowed, nil
	}
	if len(want.ResourceSubscriptions) > maxSubscribed {
		return allowed, jsonrpc.Errorf(mcp.INVALID_PARAMS,
			"one stream can watch at most %d resources; name fewer of them", maxSubscribed)
	}
	allowed.PromptsListChanged, allowed.ResourcesListChanged = want.PromptsListChanged, want.ResourcesListChanged
	now, subject := s.settings(), x.access.subject()
	allowed.ResourceSubscriptions = keepIf(want.ResourceSubscriptions, func(uri string) bool {
		return validURI(uri) && s.mayRead(now, subject, Ref{URI: uri})
	})
	return allowed, nil
}

// setFilter sets the subscriptions of a stream. An empty filter removes it.
func (s *session) setFilter(x *rpcRequest, filter mcp.SubscriptionFilter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if filter.IsEmpty() {
		delete(s.streams, x)
		return
	}
	if s.streams == nil {
		s.streams = make(map[*rpcRequest]mcp.SubscriptionFilter)
	}
	s.streams[x] = filter
}

// failure writes an error that may quote the client.
func (x *rpcRequest) failure(f *jsonrpc.Error) []byte { return x.session.server.refusal(x.msg.ID, f) }
