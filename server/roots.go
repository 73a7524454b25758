package server

import (
	"context"
	"encoding/json"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// This file lets a client choose its workspace with MCP roots, where the operator has
// chosen none, and hides tools that cannot work.

// rootsTimeout is how long requests wait for the roots of the client.
const rootsTimeout = 3 * time.Second

// askRoots asks the client for its roots, once after the handshake and again when it
// says that they have changed. The requests that follow wait for the answer.
func (s *session) askRoots(ctx context.Context) {
	s.mu.Lock()
	push := s.push
	if s.access.ChooseWorkspace == nil || s.client.capabilities.Roots == nil || push == nil {
		s.mu.Unlock()
		return
	}
	known := make(chan struct{})
	s.rootsKnown = known
	s.mu.Unlock()
	go func() {
		defer close(known)
		ctx, cancel := context.WithTimeout(ctx, rootsTimeout)
		defer cancel()
		raw, err := s.ask(ctx, push, string(mcp.MethodListRoots), nil)
		if err != nil {
			s.server.log.Info("the roots of the client are not known", "err", err)
			return
		}
		s.chooseRoot(raw, known)
	}()
}

// chooseRoot sets the workspace of the session to the client's answer, unless the client was
// asked again since known.
func (s *session) chooseRoot(raw json.RawMessage, known chan struct{}) {
	var answer mcp.ListRootsResult
	if err := json.Unmarshal(raw, &answer); err != nil {
		s.server.log.Info("the roots of the client are not known", "err", err)
		return
	}
	var dirs []string
	for _, r := range answer.Roots {
		if dir := pathOfRoot(r.URI); dir != "" {
			dirs = append(dirs, dir)
		}
	}
	dir := s.access.ChooseWorkspace(dirs)
	s.mu.Lock()
	changed := s.rootsKnown == known && s.root != dir
	if changed {
		s.root = dir
	}
	s.mu.Unlock()
	if changed {
		s.notify(pendingChanges{tools: true})
	}
}

// rootsKey names the question for the roots of a client of the stateless era, and is the
// state that comes back with the answer.
const rootsKey = "roots"

// mayChoose reports whether a client of the stateless era may still choose the workspace.
// It cannot be asked before a call needs one, and says nothing when its roots change.
func (x *rpcRequest) mayChoose() bool {
	if x.access.ChooseWorkspace == nil || !x.msg.Modern() || !x.can(tool.Roots) {
		return false
	}
	x.session.mu.Lock()
	defer x.session.mu.Unlock()
	return x.session.rootsKnown == nil
}

// rootsFirst returns the question for the roots of the client if it must be answered
// before a call, or nil. It takes the answer out of a call that is sent again.
func (x *rpcRequest) rootsFirst(ctx context.Context) *InputRequest {
	s, m := x.session, x.msg
	if m.Call.State == rootsKey && x.access.ChooseWorkspace != nil {
		var answers map[string]json.RawMessage
		_ = json.Unmarshal(m.Call.Answers, &answers) // then there is no answer
		known := make(chan struct{})
		close(known)
		s.mu.Lock()
		s.rootsKnown = known
		s.mu.Unlock()
		s.chooseRoot(answers[rootsKey], known)
		m.Call.State, m.Call.Answers = "", nil
		x.access = s.withRoots(ctx, m.Method, x.access)
	}
	t, ok := s.server.settings().tools.Lookup(m.Name)
	if !ok || !t.Spec.Forwards && !t.Spec.Composes && !slices.Contains(s.server.FileGroups, t.Spec.Group) ||
		!x.mayChoose() {
		return nil
	}
	return &InputRequest{Questions: map[string]tool.Question{rootsKey: {To: tool.Roots}}, State: rootsKey}
}

// pathOfRoot returns the path of a root, or "" if it is not a directory of this machine.
func pathOfRoot(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return ""
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/")
	}
	if path = filepath.FromSlash(path); !filepath.IsAbs(path) {
		return ""
	}
	return path
}

// withRoots returns the access of a request with the workspace that the client has
// chosen. It waits for the answer of a client that was asked.
func (s *session) withRoots(ctx context.Context, method string, a Access) Access {
	if a.ChooseWorkspace == nil || method == string(mcp.MethodPing) || method == string(mcp.MethodInitialize) {
		return a
	}
	s.mu.Lock()
	known := s.rootsKnown
	s.mu.Unlock()
	if known != nil {
		select {
		case <-known:
		case <-ctx.Done():
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root != "" {
		a.Caller.Workspace = s.root
	}
	return a
}

// hasFiles reports whether there is a workspace, or will be when a call needs one.
func (a Access) hasFiles() bool { return a.Caller.Workspace != "" || a.chooses }

// hides reports whether a tool is not listed for a caller because it could not work, or
// is internal.
func (s *Server) hides(t tool.Tool, a Access) bool {
	unusable := s.unusable(a.Caller)
	return t.Spec.Internal || !a.hasFiles() && slices.Contains(s.FileGroups, t.Spec.Group) ||
		slices.Contains(unusable, t.Spec.Group) || slices.Contains(unusable, t.Spec.Name)
}

// unusable returns the tools and groups that do not work for a caller.
func (s *Server) unusable(c tool.Caller) []string {
	if s.Unusable == nil {
		return nil
	}
	return s.Unusable(c)
}

// ToolsChanged notifies all clients that the tools may have changed that work for them.
func (s *Server) ToolsChanged() {
	for _, one := range s.notifiedSessions() {
		one.notify(pendingChanges{tools: true})
	}
}
