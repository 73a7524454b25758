package server

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/server/jsonrpc"
)

// This file answers the methods of the protocol itself: the handshake of the
// legacy revisions, discovery in the stateless era, ping, and subscriptions.

// capabilitiesOf returns what a server with this configuration can do.
func capabilitiesOf(c Config) mcp.ServerCapabilities {
	type listed = struct {
		ListChanged bool `json:"listChanged,omitempty"`
	}
	can := mcp.ServerCapabilities{Tools: &listed{ListChanged: true}}
	if keepsTasks(c.Tools) {
		can.Extensions = map[string]any{string(tasksExtension): struct{}{}}
	}
	if c.Library == nil {
		return can
	}
	can.Prompts, can.Completions = &listed{ListChanged: true}, &struct{}{}
	can.Resources = &struct {
		Subscribe   bool `json:"subscribe,omitempty"`
		ListChanged bool `json:"listChanged,omitempty"`
	}{Subscribe: true, ListChanged: true}
	return can
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
func (x *rpcRequest) initialize() []byte {
	var params mcp.InitializeParams
	if len(x.msg.Params) > 0 && json.Unmarshal(x.msg.Params, &params) != nil {
		return x.failure(jsonrpc.Errorf(mcp.INVALID_REQUEST,
			`the params of initialize are invalid: want "protocolVersion", "capabilities" and "clientInfo"`))
	}
	version := mcp.NegotiateLegacyVersion(params.ProtocolVersion)
	s := x.session
	capabilities := s.server.capabilities
	capabilities.Extensions = nil // tasks are of the stateless era
	s.mu.Lock()
	s.client = client{
		name: programName(params.ClientInfo), capabilities: params.Capabilities, version: version, initialized: true,
	}
	s.mu.Unlock()
	return x.success(mcp.InitializeResult{
		ProtocolVersion: version, Capabilities: capabilities,
		ServerInfo:   s.server.implementation(),
		Instructions: s.server.instructionsFor(x.access, params.Capabilities),
	})
}

// programName returns the name and the version of a client's program in one line.
func programName(of mcp.Implementation) string {
	name, _ := tool.Clean(strings.Join(strings.Fields(of.Name+" "+of.Version), " "))
	return text.Clip(name, maxProgram)
}

// maxProgram bounds the name of a client's program, in bytes.
const maxProgram = 100

// discover answers server/discover, which replaces the handshake in the stateless
// era.
func (x *rpcRequest) discover() []byte {
	s := x.session.server
	result, err := jsonrpc.Marshal(struct {
		SupportedVersions []string               `json:"supportedVersions"`
		Capabilities      mcp.ServerCapabilities `json:"capabilities"`
		Instructions      string                 `json:"instructions,omitempty"`
	}{mcp.ValidProtocolVersions, s.capabilities, s.instructionsFor(x.access, x.clientInfo().capabilities)})
	if err != nil { // strings and booleans
		return jsonrpc.Failure(x.msg.ID, jsonrpc.Errorf(mcp.INTERNAL_ERROR, "internal error"))
	}
	result = append(result[:len(result)-1], s.listStamp...)
	return s.clean(jsonrpc.Respond(x.msg.ID, `,"result":`, result))
}

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

func (s *Server) implementation() mcp.Implementation {
	return mcp.Implementation{Name: s.Name, Title: s.Title, Version: s.Version}
}

// listen serves subscriptions/listen: it acknowledges what the client will be
// notified of, and answers when the client, the server or the session ends the
// stream. Notifications are sent by session.deliver.
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
	x.session.setFilter(x, filter)
	defer x.session.setFilter(x, mcp.SubscriptionFilter{})
	meta := map[string]any{mcp.MetaKeySubscriptionID: x.msg.ID}
	acknowledged := map[string]any{"_meta": meta, "notifications": filter}
	err := x.send(jsonrpc.Request(nil, mcp.MethodNotificationSubscriptionsAcknowledged, acknowledged))
	if err == nil && !filter.IsEmpty() {
		select {
		case <-ctx.Done():
		case <-s.closing.Done():
		}
	}
	meta[mcp.MetaKeyServerInfo] = s.implementation()
	return x.success(map[string]any{"_meta": meta, "resultType": mcp.ResultTypeComplete})
}

// subscription returns what a subscriptions/listen may subscribe to: what the
// server can announce, without resources that the caller may not see.
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

// setFilter sets what a stream subscribes to. An empty filter removes it.
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

// success writes a result that has not been scrubbed.
func (x *rpcRequest) success(result any) []byte {
	return x.session.server.clean(jsonrpc.Success(x.msg.ID, result))
}

// failure writes an error that may quote the client.
func (x *rpcRequest) failure(f *jsonrpc.Error) []byte { return x.session.server.refusal(x.msg.ID, f) }
