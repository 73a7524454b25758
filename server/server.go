// Package server speaks MCP with clients and runs every call through one pipeline.
//
// It knows transports (stdio.go, http.go, sse.go), identities (caller.go) and the steps of a
// call (call.go: begin there). It does not know any tool, file or database: it declares its
// needs as small interfaces. Messages are in internal/jsonrpc.
package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"github.com/mcp-tools/mcp-tools/internal/hooks"
	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/slots"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/scrub"
)

// A Config holds the parts of a Server. All callers share them, and they do not
// change while the server lives.
type Config struct {
	Name, Title, Version string
	Instructions         string
	Tools                *tool.Set
	FileGroups           []string // groups of tools that need a workspace; callers without one do not see them
	// Unusable returns the tools, and groups of tools, that do not work for a caller. The
	// caller does not see them. Nil: all work.
	Unusable func(tool.Caller) []string
	// Substitute returns advice for a call of an unknown tool that other systems have: usable
	// tools here, or "". It may be nil.
	Substitute func(name string, usable func(tool string) bool) string
	// Needs returns the settings that a tool of this name or alias needs, "" for an unknown
	// name. It may be nil.
	Needs func(name string) string

	Scrub    *scrub.Scrubber
	AuditLog AuditLog
	Ready    func() error // why calls would fail on this machine; nil: they do not
	// Failing is Ready for each call: it looks only if calls failed before. nil: as if they did not.
	Failing func() error
	// Elsewhere returns the plan of a call about something that another replica has; there is false for all others. nil:
	// there are no other replicas.
	Elsewhere func(ctx context.Context, call RemoteCall) (plan tool.Plan, there bool, err error)
	// TaskElsewhere answers a request about a task that another replica has; there is false for all others. nil: as Elsewhere.
	TaskElsewhere func(ctx context.Context, task RemoteTask) (t tool.Task, there bool, err error)

	Rows SessionRows // sessions that replicas share; nil: they belong to this one
	// Lacks describes the missing parts of this server, for operators, such as the key of the vault; "" for nothing.
	// nil: nothing.
	Lacks     func() string
	Results   ResultStore
	Approvals Approvals                   // nil: only the client can be asked
	Page      func(id string) string      // address of the page of a question, "" while there is none; may be nil
	DataFlags string                      // flags with which commands reach the data of this server, such as --data DIR; "": none is needed
	Library   Library                     // nil: there are only tools
	Skills    SkillLibrary                // the skills of Library; nil: there are none
	AppPage   func() string               // returns the HTML that shows results in MCP Apps; nil for none
	Observer  Observer                    // nil measures nothing
	Meter     Meter                       // nil: identities are counted by this process alone
	Enter     Enter                       // nil: calls cannot be stopped
	Inbox     *inbox.Inbox                // events for the end of results; nil: nothing
	Used      func(tool.Caller, tool.Use) // called after each call of a tool; may be nil
	// Begun is called when a caller has listed its tools, as clients do when a session begins, with whether
	// it may use a tool. It may be nil.
	Begun    func(c tool.Caller, mayUse func(name string) bool)
	Ended    func(tool.Caller) // called when a session has ended; may be nil
	Stopping func()            // called when the shutdown begins, before calls in flight finish; may be nil
	Log      *slog.Logger
	Settings Settings
}

// A Meter counts one call of an identity in all processes together, and allows perMinute of
// them in the long run and burst at once. If the call is not allowed, it returns the time to
// wait.
type Meter func(ctx context.Context, key string, r Rate) (wait time.Duration, err error)

// Enter begins a call, whose context end ends. If an operator has paused such calls, it
// returns the error for the caller. Otherwise it calls end with such an error when an operator
// pauses or revokes the caller later. leave must be called after the call.
type Enter func(ctx context.Context, a *Access, end context.CancelCauseFunc) (leave func(), err error)

// Settings may change while the server runs.
type Settings struct {
	Tools           *tool.Set // with the tools that come and go; nil: the tools of the Config
	Policy          *policy.Policy
	Limits          Limits
	ApprovalTimeout time.Duration
	ApprovalWait    Wait
	AuditAbout      bool // record the first line of the argument that a call is about, not only the digest of all
	AuditArgs       bool // record the beginning of all arguments, too
	AuditResults    bool // record the beginning of results
	Cache           Cache
	Hooks           *hooks.Set // nil: none
}

// Limits bound callers. New refuses zero values, so that no limit is missing by
// mistake.
type Limits struct {
	PerMinute, Burst int                      // calls of one session
	PerHour          int                      // calls of one principal, in all sessions of all processes; 0 for any number
	Running, Queued  int                      // of one session
	TotalRunning     int                      // of the process; one user has at most half of them, see internal/slots
	Idle             int                      // calls of one user that only wait, and hold no slot for it
	Timeout          time.Duration            // of one run, unless the tool has its own
	ToolTime         map[string]time.Duration // of one run of a tool, by its name, in place of those
	Args             tool.Limits
	Result           int // bytes of text to the model
	ResultHard       int // bytes of anything
	// RepeatWarn is the number of equal results in a row that leads to advice, and RepeatStop
	// the number of the equal call in a row that is refused. 0 switches them off.
	RepeatWarn, RepeatStop int
}

func (l Limits) check() error {
	args := l.Args
	if min(l.PerMinute, l.Burst, l.Running, l.Queued, l.TotalRunning, l.Idle, int(l.Timeout), args.Params, args.Text,
		args.Items, args.Depth, l.Result, l.RepeatWarn+1, l.RepeatStop+1, l.PerHour+1) <= 0 || l.ResultHard < l.Result {
		return fmt.Errorf("a limit is missing, negative, or above its hard limit: %+v", l)
	}
	return nil
}

// settings are Settings with values derived from them.
type settings struct {
	Settings
	tools      *tool.Set
	ordered    []tool.Tool
	described  func(i int) mcp.Tool // the tools in order, as tools/list shows them
	structured func(i int) mcp.Tool // the same, with schemas of structured content
	lists      listCache
	cache      *resultCache
}

// A Server serves one set of tools to any number of clients.
type Server struct {
	Config
	log         *slog.Logger
	scrub       *scrub.Scrubber
	resultStamp []byte // ends a result
	taskStamp   []byte // ends a result that is a task
	current     atomic.Pointer[settings]
	queue       *slots.Queue
	rates       *rates
	loops       *loops
	listeners   *subscriptionCounter
	seal        *seal
	left        leftQuestions
	edits       editableCalls // of open questions
	closing     context.Context
	shut        func()

	core     *mcpserver.MCPServer // answers the methods of the protocol
	requests atomic.Uint64        // that core has answered
	// fallback answers methods that the server does not know, or returns nil.
	// Conformance tests set it.
	fallback func(context.Context, *rpcRequest) []byte

	open atomic.Int64

	mu       sync.Mutex
	sessions map[*session]struct{} // that get notifications
}

// listTTL is how long a client of the stateless era may keep a list. Clients that
// listen are notified of changes.
const listTTL = time.Minute

// New returns a server. It starts nothing: the transports do.
func New(c Config) (*Server, error) {
	if c.Tools == nil || c.AuditLog == nil || c.Results == nil || c.Log == nil || c.Settings.Policy == nil {
		return nil, errors.New("a server needs tools, a policy, an audit log, a store for results and a log")
	}
	if err := c.Settings.Limits.check(); err != nil {
		return nil, err
	}
	if c.Observer == nil {
		c.Observer = noObserver{}
	}
	seal, err := newSeal()
	if err != nil {
		return nil, err
	}
	s := &Server{
		Config: c, log: c.Log, scrub: c.Scrub, seal: seal,
		resultStamp: resultStamp(c, "complete"),
		taskStamp:   resultStamp(c, "task"),
		queue:       slots.New(c.Settings.Limits.slots()),
		rates:       newRates(),
		loops:       newLoops(),
		listeners:   newSubscriptionCounter(),
		sessions:    make(map[*session]struct{}),
	}
	s.queue.Running, s.queue.Waiting = c.Observer.Running, c.Observer.Queued
	s.core = s.newCore()
	s.current.Store(s.generation(c.Settings))
	closing, shut := context.WithCancel(context.Background())
	s.closing, s.shut = closing, sync.OnceFunc(func() {
		shut()
		if c.Stopping != nil {
			c.Stopping()
		}
	})
	return s, nil
}

func (s *Server) settings() *settings { return s.current.Load() }

// generation derives values from next, and from the secrets that the scrubber knows.
func (s *Server) generation(next Settings) *settings {
	now := &settings{
		Settings: next, tools: cmp.Or(next.Tools, s.Config.Tools),
		lists: listCache{written: make(map[listKey][]byte)}, cache: newResultCache(next.Cache),
	}
	now.ordered = slices.Collect(now.tools.All())
	now.described, now.structured = descriptions(now.ordered, false), descriptions(now.ordered, true)
	return now
}

// descriptions returns a function that describes the i-th of some tools. Each is described
// once, when a list first has it.
func descriptions(all []tool.Tool, structured bool) func(i int) mcp.Tool {
	made := make([]struct {
		once sync.Once
		tool mcp.Tool
	}, len(all))
	return func(i int) mcp.Tool {
		m := &made[i]
		m.once.Do(func() { m.tool = describe(all[i], structured) })
		return m.tool
	}
}

// Apply changes the settings of a running server, and notifies the clients whose
// lists change.
func (s *Server) Apply(next Settings) error {
	if next.Policy == nil {
		return errors.New("settings need a policy")
	}
	if err := next.Limits.check(); err != nil {
		return err
	}
	listening, before := s.notifiedSessions(), s.settings()
	lists := make([][]byte, len(listening))
	for i, one := range listening {
		lists[i] = s.fullList(one.access)
	}
	now := s.generation(next)
	s.current.Store(now)
	s.queue.Resize(next.Limits.slots())
	for i, one := range listening {
		subject := one.access.subject()
		changed := pendingChanges{tools: !bytes.Equal(s.fullList(one.access), lists[i])}
		if !slices.Equal(s.allowedLibraryTools(before, subject), s.allowedLibraryTools(now, subject)) {
			changed.resources, changed.prompts = true, true
		}
		one.notify(changed)
	}
	return nil
}

// fullList returns the list of a caller with the tools that others find by tool_search.
func (s *Server) fullList(a Access) []byte {
	a.searches = true
	return s.ToolsList(a)
}

// Close ends the streams that would otherwise stay open. The transports end their
// own calls.
func (s *Server) Close() { s.shut() }

// addSession makes a session receive notifications.
func (s *Server) addSession(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[one] = struct{}{}
}

func (s *Server) removeSession(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, one)
}

// countSessions reports how many sessions are open.
func (s *Server) countSessions(change int64) { s.Observer.Sessions(int(s.open.Add(change))) }
