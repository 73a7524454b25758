package server

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/server/jsonrpc"
)

// A Change describes a change in the library.
type Change struct {
	Agent, User string // the owner; "" stands for all agents, or all users of the agent
	Ref         Ref    // a resource or a prompt; the zero Ref stands for all
	Listed      bool   // a resource was added or removed, or its description changed
}

// Changed notifies the clients that may see what has changed and asked for it. It
// does not wait for them: a client that reads slowly gets one notification for
// many changes.
func (s *Server) Changed(c Change) {
	if s.Library == nil {
		return
	}
	now := s.settings()
	for _, one := range s.listening() {
		if c.concerns(one.access.Caller) {
			one.hearOf(s.sift(now, one, c))
		}
	}
}

func (c Change) concerns(who tool.Caller) bool {
	return (c.Agent == "" || c.Agent == who.Agent) && (c.User == "" || c.User == who.User)
}

// sift returns what a session may know of c and asked for.
func (s *Server) sift(now *settings, one *session, c Change) (n news) {
	subject := one.access.subject()
	switch {
	case c.Ref == (Ref{}):
		n.resources = slices.Contains(s.opened(now, subject), true)
		n.prompts = n.resources
		n.uris = one.wanted()
		maps.DeleteFunc(n.uris, func(uri string, _ struct{}) bool { return !s.mayRead(now, subject, Ref{URI: uri}) })
	case !s.mayRead(now, subject, c.Ref):
	case c.Ref.Prompt != "":
		n.prompts = true
	default:
		n.resources = c.Listed
		n.uris = one.wanted()
		maps.DeleteFunc(n.uris, func(uri string, _ struct{}) bool { return uri != c.Ref.URI })
	}
	return n
}

// opened returns, for each tool of the library, whether a caller may use it.
func (s *Server) opened(now *settings, subject policy.Subject) (may []bool) {
	if s.Library == nil {
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			_ = s.panicked("the library", r) // is in the log
			may = nil
		}
	}()
	for _, name := range s.Library.Tools() {
		t, ok := s.Config.Tools.Lookup(name)
		may = append(may, ok && now.Policy.Verdict(subject, t.Spec.Name) == policy.Allow)
	}
	return may
}

// listening returns the sessions that get notifications.
func (s *Server) listening() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.sessions))
}

// news are the notifications that a client has not got yet. Its uris are among
// those that the client subscribed to, so their number is bounded.
type news struct {
	tools, resources, prompts bool
	uris                      map[string]struct{}
}

func (n news) none() bool { return !n.tools && !n.resources && !n.prompts && len(n.uris) == 0 }

// and adds more news.
func (n *news) and(more news) {
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
	// newsPause is the least time between one round of announcements and the next.
	newsPause = 50 * time.Millisecond
)

// hearOf notifies a client without waiting for it.
func (s *session) hearOf(n news) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.news.and(n)
	if !s.telling && !s.closed && !s.news.none() {
		s.telling = true
		go s.tell() // ends with the client's stream at the latest
	}
}

func (s *session) tell() {
	for {
		n := s.takeNews()
		if n.none() {
			return
		}
		if err := s.announceAll(n); err != nil {
			s.server.log.Debug("a client could not be notified of a change", "err", err)
		}
		pause := time.NewTimer(newsPause)
		select {
		case <-pause.C:
		case <-s.ended:
		case <-s.server.closing.Done():
		}
		pause.Stop()
	}
}

// takeNews returns the pending notifications, and notes whether there are any.
func (s *session) takeNews() (n news) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		n = s.news
	}
	s.news = news{}
	s.telling = !n.none()
	return n
}

func (s *session) announceAll(n news) error {
	var problems []error
	say := func(news bool, method string, wanted func(mcp.SubscriptionFilter) bool) {
		if news {
			problems = append(problems, s.announce(method, wanted))
		}
	}
	say(n.tools, mcp.MethodNotificationToolsListChanged,
		func(f mcp.SubscriptionFilter) bool { return f.ToolsListChanged })
	say(n.resources, mcp.MethodNotificationResourcesListChanged,
		func(f mcp.SubscriptionFilter) bool { return f.ResourcesListChanged })
	say(n.prompts, mcp.MethodNotificationPromptsListChanged,
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

// deliver is announce for lists and, with a URI, for one resource.
func (s *session) deliver(method, uri string, wanted func(mcp.SubscriptionFilter) bool) error {
	s.mu.Lock()
	push, legacy := s.push, s.client.initialized
	if uri != "" {
		_, legacy = s.subscribed[uri]
	}
	var listeners []*exchange
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

// wanted are the resources that a session watches in one way or another.
func (s *session) wanted() map[string]struct{} {
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

// subscribe begins or ends to watch a resource, be it there or not: that is
// for resources/read to tell.
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
