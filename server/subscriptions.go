package server

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// A Change describes a change in the library.
type Change struct {
	Agent, User string    // the owner; "" stands for all agents, or all users of the agent
	Ref         Ref       // a resource or a prompt; SKILL.md stands for all files of a skill, the zero Ref for all
	Only        *inbox.To // only sessions that this names; nil: all of the owner
	Listed      bool      // a resource was added or removed, or its description changed
}

// Changed notifies the clients that subscribed to a change and may see it. It does not wait for
// them: a client that reads slowly gets one notification for many changes.
func (s *Server) Changed(c Change) {
	if s.Library == nil {
		return
	}
	now := s.settings()
	for _, one := range s.notifiedSessions() {
		if c.affects(one.access.Caller) {
			one.notify(s.visibleChanges(now, one, c))
		}
	}
}

func (c Change) affects(who tool.Caller) bool {
	if c.Only != nil {
		return c.Only.Reaches(inbox.ToCaller(who))
	}
	return (c.Agent == "" || c.Agent == who.Agent) && (c.User == "" || c.User == who.User)
}

// visibleChanges returns the part of c that a session may see and asked for.
func (s *Server) visibleChanges(now *settings, one *session, c Change) (n pendingChanges) {
	subject := one.access.subject()
	switch {
	case c.Ref == (Ref{}):
		n.resources = slices.Contains(s.allowedLibraryTools(now, subject), true)
		n.prompts = n.resources
		n.uris = one.watchedURIs()
		maps.DeleteFunc(n.uris, func(uri string, _ struct{}) bool { return !s.mayRead(now, subject, Ref{URI: uri}) })
	case !s.mayRead(now, subject, c.Ref):
	case c.Ref.Prompt != "":
		n.prompts = true
	default:
		n.resources = c.Listed
		n.uris = one.watchedURIs()
		skill, isSkill := strings.CutSuffix(c.Ref.URI, skillMain) // it stands for all files of the skill
		maps.DeleteFunc(n.uris, func(uri string, _ struct{}) bool {
			return uri != c.Ref.URI && !(isSkill && strings.HasPrefix(uri, skill+"/"))
		})
	}
	return n
}

// allowedLibraryTools returns, for each tool of the library, whether a caller may use it.
func (s *Server) allowedLibraryTools(now *settings, subject policy.Subject) (may []bool) {
	if s.Library == nil {
		return nil
	}
	for _, name := range s.Library.Tools() {
		t, ok := now.tools.Lookup(name)
		may = append(may, ok && now.Policy.Verdict(subject, t.Spec.Name) == policy.Allow)
	}
	return may
}

// notifiedSessions returns the sessions that get notifications.
func (s *Server) notifiedSessions() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.sessions))
}

// pendingChanges are the notifications that a client has not got yet. Its uris are among the
// client's subscriptions, so their number is bounded.
type pendingChanges struct {
	tools, resources, prompts bool
	uris                      map[string]struct{}
}

func (n pendingChanges) empty() bool {
	return !n.tools && !n.resources && !n.prompts && len(n.uris) == 0
}

// merge adds more changes.
func (n *pendingChanges) merge(more pendingChanges) {
	n.tools, n.resources, n.prompts = n.tools || more.tools, n.resources || more.resources, n.prompts || more.prompts
	if n.uris == nil {
		n.uris = more.uris
		return
	}
	maps.Copy(n.uris, more.uris)
}

const (
	// maxSubscribed is how many resources one session, or one stream, may watch.
	maxSubscribed = 100
	// notifyPause is the minimum time between two rounds of notifications.
	notifyPause = 50 * time.Millisecond
)

// notify notifies a client without waiting for it.
func (s *session) notify(n pendingChanges) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending.merge(n)
	if !s.notifying && !s.closed && !s.pending.empty() {
		s.notifying = true
		go s.sendPending() // ends with the client's stream at the latest
	}
}

func (s *session) sendPending() {
	for {
		n := s.takePending()
		if n.empty() {
			return
		}
		if err := s.sendChanges(n); err != nil {
			s.server.log.Debug("a client could not be notified of a change", "err", err)
		}
		pause := time.NewTimer(notifyPause)
		select {
		case <-pause.C:
		case <-s.ended:
		case <-s.server.closing.Done():
		}
		pause.Stop()
	}
}

// takePending returns the pending notifications, and notes whether there are any.
func (s *session) takePending() (n pendingChanges) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		n = s.pending
	}
	s.pending = pendingChanges{}
	s.notifying = !n.empty()
	return n
}

func (s *session) sendChanges(n pendingChanges) error {
	var problems []error
	announce := func(changed bool, method string, wanted func(mcp.SubscriptionFilter) bool) {
		if changed {
			problems = append(problems, s.announce(method, wanted))
		}
	}
	announce(n.tools, mcp.MethodNotificationToolsListChanged,
		func(f mcp.SubscriptionFilter) bool { return f.ToolsListChanged })
	announce(n.resources, mcp.MethodNotificationResourcesListChanged,
		func(f mcp.SubscriptionFilter) bool { return f.ResourcesListChanged })
	announce(n.prompts, mcp.MethodNotificationPromptsListChanged,
		func(f mcp.SubscriptionFilter) bool { return f.PromptsListChanged })
	for _, uri := range slices.Sorted(maps.Keys(n.uris)) {
		problems = append(problems, s.deliver(mcp.MethodNotificationResourceUpdated, uri,
			func(f mcp.SubscriptionFilter) bool { return slices.Contains(f.ResourceSubscriptions, uri) }))
	}
	return errors.Join(problems...)
}

// announce notifies a client that a list has changed, over the streams that it
// opened for that.
func (s *session) announce(method string, wanted func(mcp.SubscriptionFilter) bool) error {
	return s.deliver(method, "", wanted)
}

// deliver sends a notification to a client over the streams that want it by their filter. uri
// is the URI of the resource, or "" for a list.
func (s *session) deliver(method, uri string, wanted func(mcp.SubscriptionFilter) bool) error {
	s.mu.Lock()
	push, legacy := s.push, s.client.initialized
	if uri != "" {
		_, legacy = s.subscribed[uri]
	}
	var listeners []*rpcRequest
	for x, filter := range s.streams {
		if wanted(filter) {
			listeners = append(listeners, x)
		}
	}
	s.mu.Unlock()
	params := func(meta map[string]any) any {
		if uri != "" {
			meta["uri"] = uri
		}
		if len(meta) == 0 {
			return nil
		}
		return meta
	}
	var problems []error
	if push != nil && legacy {
		problems = append(problems, push(s.server.clean(jsonrpc.Request(nil, method, params(map[string]any{})))))
	}
	for _, x := range listeners {
		meta := map[string]any{mcp.MetaKeySubscriptionID: x.msg.ID}
		problems = append(problems, x.send(jsonrpc.Request(nil, method, params(map[string]any{"_meta": meta}))))
	}
	return errors.Join(problems...)
}

// watchedURIs returns the resources that a session or one of its streams watches.
func (s *session) watchedURIs() map[string]struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]struct{}, len(s.subscribed))
	maps.Copy(all, s.subscribed)
	for _, filter := range s.streams {
		for _, uri := range filter.ResourceSubscriptions {
			all[uri] = struct{}{}
		}
	}
	return all
}

// subscribe starts or ends a subscription to a resource. It does not check whether
// the resource exists.
func (s *session) subscribe(uri string, begin bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !begin {
		delete(s.subscribed, uri)
		return nil
	}
	if _, known := s.subscribed[uri]; !known && len(s.subscribed) >= maxSubscribed {
		return tool.Errorf(tool.Busy, "%d resources are watched already", maxSubscribed).
			Try("end one of these subscriptions with resources/unsubscribe, then try again")
	}
	if s.subscribed == nil {
		s.subscribed = make(map[string]struct{})
	}
	s.subscribed[uri] = struct{}{}
	return nil
}

// subscriptionCounter counts the open subscriptions of each caller. A subscription holds a
// connection and its goroutines for as long as its client wants, and rate limits do
// not apply to it.
type subscriptionCounter struct {
	mu   sync.Mutex
	open map[string]int
}

// maxSubscriptions is how many subscriptions one caller may have open. A client
// needs one; a token may be used by several.
const maxSubscriptions = 32

func newSubscriptionCounter() *subscriptionCounter {
	return &subscriptionCounter{open: make(map[string]int)}
}

// enter counts one more subscription. ok is false if there are too many.
func (l *subscriptionCounter) enter(who string) (leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[who] >= maxSubscriptions {
		return nil, false
	}
	l.open[who]++
	return func() { l.leave(who) }, true
}

func (l *subscriptionCounter) leave(who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[who]--; l.open[who] == 0 {
		delete(l.open, who)
	}
}

// owner returns the key for counting subscriptions: the identity, or else the one session.
func (a Access) owner() string {
	if a.Identity != "" {
		return a.Identity
	}
	return a.Caller.Session
}
