// Package bridge gives callers the tools of other MCP servers.
//
// Operators add servers, in the settings or with commands. The offer of a server is kept in the
// store, so that lists of tools never wait for a server and are the same while it is down. A
// server is connected to when one of its tools is called, and a connection that is idle is
// closed again. Callers get only accepted tools: a tool whose description or schema changes is
// held back until an operator agrees.
//
// The calls take the server's pipeline as all others do: policy, approvals, limits, scrubbing and the audit log
// see them. The package does not know how the programs of servers are isolated, nor the command line; upstream
// speaks the protocol.
//
// Begin with [Bridge] and [Bridge.Reload]; call.go has the way of a call, pool.go the connections, offer.go the
// accepted offers, access.go the rights of callers.
package bridge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/bridge/upstream"
)

const (
	debounce  = 500 * time.Millisecond // after the announcement of a change, before the list is read again
	listLimit = 3 * time.Minute        // to list the tools of a server
	// To list the tools of a server when a connection is opened, while callers wait for it.
	firstListLimit = 10 * time.Second
	maxCallers     = 1000            // callers whose hidden tools are remembered
	loadTimeout    = 3 * time.Second // for the store, at the start
)

// A Program is the command of a server, ready to be started.
type Program struct {
	Server      Server
	Environment []string // NAME=value, with the values of secrets
	Dir         string   // that the program may write to
}

// Options configures a Bridge.
type Options struct {
	Store    *store.Store
	Settings map[string]Server // of the settings
	Provided map[string]Server // of plugins, at the start; see [Bridge.Provide]
	Dir      string            // for files of servers
	// Start starts the program of a server in its sandbox.
	Start func(ctx context.Context, p Program, output func([]byte), gone func(error)) (upstream.Process, error)
	// Transport connects to the server, and to no private address but its own and its Hosts.
	Transport func(s Server) (http.RoundTripper, error)
	// Web returns a client for a login to the server. It reaches public addresses, and what Transport reaches.
	Web func(s Server) (Web, error)
	// Secret reads a secret of the vault. It is masked from then on.
	Secret func(name string) (string, error)
	Vault  Vault // of the tokens of logins; nil: there are no logins
	// Mask masks values, empty ones excepted, in everything that leaves the server. It may be nil.
	Mask func(name string, values ...string)
	// Scrub masks the secrets in a JSON document of a server, before it is stored. Nil masks nothing.
	Scrub func(document []byte) []byte
	// PublicURL is where a document about this client is served, for logins; "" for nowhere.
	PublicURL string
	Marks     tool.Marks
	// Complete asks our language model; nil: there is none.
	Complete func(ctx context.Context, r llm.Request) (llm.Reply, error)
	// Publish gets the tools when they have changed. It may be nil.
	Publish func(all []tool.Tool) error
	// Page returns the address of the console, "" if there is none. It may be nil.
	Page func() string
	// Passive is a bridge that connects to servers only when it is told to.
	Passive bool
	Version string
	Log     *slog.Logger
}

// A Bridge gives callers the tools of other servers. Its methods may be called concurrently.
type Bridge struct {
	o     Options
	pool  *pool
	state atomic.Pointer[state]

	loading  sync.Mutex        // held while the state is made and published
	provided map[string]Server // of plugins
	rows     rows              // that the state was made of

	life  context.Context
	stop  context.CancelFunc
	tasks sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	waiting map[string]bool    // servers whose lists are about to be read again
	opened  map[string]opened  // the lists of servers at their last connection
	parked  map[string]*parked // calls that wait for answers
}

// opened is the list that a server has sent on a new connection.
type opened struct {
	conn    *upstream.Conn
	listing Listing
}

// served is a server with the tools that callers get.
type served struct {
	name string
	Server
	settings bool // it is in the settings
	list     list
	known    bool              // its list is known
	tools    []Offered         // that callers get
	usable   map[string]string // from a name to the digest of its definition
	held     []Change          // that wait for an operator
	refused  []Change          // that an operator has refused
	left     []string          // tools that are left out, with the reason
	// wantsLogin means that it wanted one at the last connection.
	wantsLogin bool
}

// state is the bridge's knowledge at a moment. It does not change.
type state struct {
	servers map[string]*served
	ordered []*served
	grants  []Grant
	tools   []tool.Tool
	digest  string
	hidden  *sync.Map // from the principal of a caller to the names of tools that it does not see
	callers atomic.Int64
}

// New returns a bridge that knows nothing yet. The caller closes it.
func New(o Options) *Bridge {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	b := &Bridge{o: o, waiting: make(map[string]bool), parked: make(map[string]*parked),
		opened: make(map[string]opened)}
	b.provided = o.Provided
	b.life, b.stop = context.WithCancel(context.Background())
	b.pool = newPool(b.dial)
	b.state.Store(newState())
	return b
}

func newState() *state { return &state{servers: make(map[string]*served), hidden: new(sync.Map)} }

// Close closes all connections and waits for running work.
func (b *Bridge) Close() error {
	b.mu.Lock()
	b.closed = true
	for id, p := range b.parked {
		p.cancel(errors.New("the server is ending"))
		delete(b.parked, id)
	}
	b.mu.Unlock()
	b.stop()
	b.pool.close()
	b.tasks.Wait()
	return nil
}

// spawn runs work that Close waits for. It reports false after Close.
func (b *Bridge) spawn(work func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.tasks.Go(work)
	return true
}

func (b *Bridge) now() *state { return b.state.Load() }

// Connections returns how many connections are open.
func (b *Bridge) Connections() int { return b.pool.size() }

// Reload reads the operators' settings, and publishes the tools if they have changed.
func (b *Bridge) Reload(ctx context.Context) error {
	b.loading.Lock()
	defer b.loading.Unlock()
	r, err := read(ctx, b.o.Store)
	if err != nil {
		return err
	}
	return b.use(r)
}

// Load is Reload for the start, when the store may be slow. If there is no store yet, the settings count.
func (b *Bridge) Load(stored bool) {
	ctx, cancel := context.WithTimeout(b.life, loadTimeout)
	defer cancel()
	var err error
	if stored {
		err = b.Reload(ctx)
	}
	if !stored || err != nil {
		b.loading.Lock()
		defer b.loading.Unlock()
		err = errors.Join(err, b.use(rows{}))
	}
	if err != nil && b.life.Err() == nil {
		b.o.Log.Warn("the MCP servers that were added cannot be read; they are tried again later", "err", err)
	}
}

// Provide replaces the servers of plugins. Servers of operators come first.
func (b *Bridge) Provide(servers map[string]Server) error {
	b.loading.Lock()
	defer b.loading.Unlock()
	b.provided = servers
	return b.use(b.rows)
}

// use makes a state of rows and puts it in force. b.loading is held.
func (b *Bridge) use(r rows) error {
	b.rows = r
	s, before := b.compose(r), b.now()
	for name, was := range before.servers { // work under former settings ends
		if is := s.servers[name]; is == nil || is.Disabled ||
			is.identity(tool.Caller{}) != was.identity(tool.Caller{}) {
			b.pool.forget(name)
		}
	}
	b.state.Store(s)
	for _, one := range s.ordered {
		if !one.Disabled && !one.known && !b.o.Passive {
			b.refreshLater(one.name, 0)
		}
	}
	if s.digest == before.digest || b.o.Publish == nil {
		return nil
	}
	return b.o.Publish(s.tools)
}

// compose makes a state. Servers of the settings come first, so that rows cannot replace them.
func (b *Bridge) compose(r rows) *state {
	s := newState()
	s.grants = r.grants
	add := func(name string, c Server, settings bool) {
		if s.servers[name] != nil {
			return
		}
		one := &served{name: name, Server: c, settings: settings, usable: make(map[string]string)}
		one.list, one.known = r.lists[name]
		one.known = one.known && one.list.place == c.place()
		one.wantsLogin = r.logins[name]
		s.servers[name] = one
		s.ordered = append(s.ordered, one)
	}
	for _, name := range slices.Sorted(maps.Keys(b.o.Settings)) {
		add(name, b.o.Settings[name], true)
	}
	for _, name := range slices.Sorted(maps.Keys(r.servers)) {
		add(name, r.servers[name], false)
	}
	for _, name := range slices.Sorted(maps.Keys(b.provided)) {
		add(name, b.provided[name], true)
	}
	taken := make(map[string]bool)
	var parts []any
	asks, resources := false, false
	for _, one := range s.ordered {
		resources = resources || one.Resources && !one.Disabled
		asks = asks || one.Access == AccessGranted && !one.Disabled
		parts = append(parts, one.name, one.Server)
		if !one.known || one.Disabled {
			continue
		}
		one.held, one.refused = one.list.held()
		for _, o := range serve(one.list.accepted, one.list.offered) {
			if !one.offers(o.Name) {
				continue
			}
			name := toolName(one.name, o.Name)
			if taken[name] {
				one.left = append(one.left, fmt.Sprintf("%q: another tool is called %s", o.Name, name))
				continue
			}
			if b.masks(name) { // models allow no [REDACTED] in a name
				one.left = append(one.left, "a tool whose name has a secret in it")
				continue
			}
			made := b.toolOf(one, o)
			if _, err := tool.NewSet(made); err != nil {
				one.left = append(one.left, fmt.Sprintf("%q: %v", o.Name, err))
				continue
			}
			taken[name] = true
			one.tools = append(one.tools, o)
			one.usable[o.Name] = o.digest()
			s.tools = append(s.tools, made)
			parts = append(parts, one.usable[o.Name])
		}
		for _, why := range one.left {
			b.o.Log.Warn("a tool of an MCP server is left out", "server", one.name, "why", why)
		}
	}
	if asks {
		s.tools = append([]tool.Tool{tool.New(requestAccess{b})}, s.tools...)
	}
	if resources {
		s.tools = append([]tool.Tool{tool.New(readResources{b})}, s.tools...)
	}
	s.digest = digestOfJSON(parts, s.grants)
	return s
}

// Hidden returns the tools that a caller does not get.
func (b *Bridge) Hidden(c tool.Caller) []string {
	s := b.now()
	if len(s.ordered) == 0 {
		return nil
	}
	key := c.Principal()
	if known, ok := s.hidden.Load(key); ok {
		return known.([]string)
	}
	var hidden []string
	for _, one := range s.ordered {
		for _, o := range one.tools {
			if _, ok := s.access(one, c, o.Name); !ok {
				hidden = append(hidden, toolName(one.name, o.Name))
			}
		}
	}
	if len(s.closedTo(c)) == 0 {
		hidden = append(hidden, RequestTool)
	}
	if s.callers.Add(1) <= maxCallers {
		s.hidden.Store(key, hidden)
	}
	return hidden
}

// Needs returns the step that a missing tool waits for, if the tool belongs to a server that is
// open to all callers; else "".
func (b *Bridge) Needs(name string) string {
	for _, one := range b.now().ordered {
		rest, ours := strings.CutPrefix(name, one.name+"__")
		if !ours || rest == "" || one.Access == AccessGranted {
			continue
		}
		for _, c := range slices.Concat(one.held, one.refused) {
			if c.After != nil && toolName(one.name, c.Tool) == name {
				return fmt.Sprintf("an operator who accepts its changes: mcp-tools bridge show %s", one.name)
			}
		}
		switch {
		case one.Disabled:
			return fmt.Sprintf("the MCP server %q, which is disabled", one.name)
		case !one.known:
			return fmt.Sprintf("the MCP server %q, which is not connected yet: mcp-tools bridge test %s says why", one.name,
				one.name)
		}
	}
	return ""
}

// changed reloads the state after a change that has succeeded.
func (b *Bridge) changed(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	return b.Reload(ctx)
}

// server returns a server by its name.
func (b *Bridge) server(ctx context.Context, name string) (*served, error) {
	if b.now().servers[name] == nil {
		if err := b.Reload(ctx); err != nil {
			return nil, err
		}
	}
	if one := b.now().servers[name]; one != nil {
		return one, nil
	}
	known := slices.Sorted(maps.Keys(b.now().servers))
	missing := tool.Errorf(tool.NotFound, "there is no MCP server %q", name)
	if near := tool.Nearest(name, known); near != "" {
		return nil, missing.Try("did you mean %q?", near)
	}
	return nil, missing.Try("see mcp-tools bridge list")
}

// announced is called when a server says that a list of its has changed.
func (b *Bridge) announced(server string) { b.refreshLater(server, debounce) }

// refreshLater reads the list of a server after a delay, once for all announcements until then.
func (b *Bridge) refreshLater(server string, delay time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.waiting[server] {
		return
	}
	b.waiting[server] = true
	b.tasks.Go(func() {
		for wait := firstBackOff; ; wait = min(2*wait, maxBackOff) {
			select {
			case <-time.After(delay):
			case <-b.life.Done():
			}
			b.mu.Lock()
			delete(b.waiting, server) // announcements from now on cause another read
			b.mu.Unlock()
			if b.life.Err() != nil || b.refreshed(server) {
				return
			}
			b.mu.Lock()
			twice := b.waiting[server]
			b.waiting[server] = true
			b.mu.Unlock()
			if twice {
				return
			}
			delay = wait
		}
	})
}

// refreshed reads the list of a server. It returns false if it has to be tried again, because nothing is known
// of the server.
func (b *Bridge) refreshed(server string) bool {
	_, err := b.Refresh(b.life, server)
	if err == nil || b.life.Err() != nil {
		return true
	}
	b.o.Log.Warn("the tools of an MCP server could not be read", "server", server, "err", err)
	one := b.now().servers[server]
	return one == nil || one.Disabled || one.known
}

// A Listing is the answer of a server to the request for its tools.
type Listing struct {
	upstream.Info
	Tools    []Offered
	Problems []string // tools that cannot be used
	Waiting  []Change // that an operator must accept
}

// Refresh connects to a server, reads the list of its tools and keeps it.
func (b *Bridge) Refresh(ctx context.Context, name string) (l Listing, err error) {
	one, err := b.server(ctx, name)
	if err != nil {
		return l, err
	}
	ctx, cancel := context.WithTimeout(ctx, listLimit)
	defer cancel()
	key := poolKey{name, one.identity(tool.Caller{})}
	conn, release, err := b.pool.take(ctx, key, one.Server, func() { b.announced(name) })
	if err != nil {
		return l, err
	}
	defer release()
	b.mu.Lock()
	now, isNew := b.opened[name]
	delete(b.opened, name)
	b.mu.Unlock()
	if isNew && now.conn == conn { // it was just read
		return now.listing, nil
	}
	return b.list(ctx, name, one.Server, conn)
}

// list reads the list of a server's tools and keeps it.
func (b *Bridge) list(ctx context.Context, name string, s Server, conn *upstream.Conn) (l Listing, err error) {
	l.Info = conn.Info()
	raw, err := conn.List(ctx, mcp.MethodToolsList, "tools", maxTools)
	if err != nil {
		return l, b.failure(name, err)
	}
	l.Tools, l.Problems = readOffer(raw, b.scrub)
	for _, why := range l.Problems {
		b.o.Log.Warn("a tool of an MCP server cannot be used", "server", name, "why", why)
	}
	program, err := json.Marshal(strings.TrimSpace(cleaned(l.Name+" "+l.Version, maxTitle)))
	if err != nil {
		return l, err
	}
	found := list{protocol: l.Protocol, offered: l.Tools}
	if err := json.Unmarshal(b.scrub(program), &found.program); err != nil {
		return l, err
	}
	l.Waiting, err = keepList(ctx, b.o.Store, name, s, found, b.scrubbed)
	if err == nil && len(l.Waiting) > 0 {
		b.o.Log.Warn(fmt.Sprintf("%s of an MCP server changed; callers do not get them until mcp-tools bridge approve "+
			"accepts them", text.Plural(len(l.Waiting), "tool")), "server", name)
	}
	return l, b.changed(ctx, err)
}

func (b *Bridge) scrub(document []byte) []byte {
	if b.o.Scrub == nil {
		return document
	}
	return b.o.Scrub(document)
}

// scrubbed returns tools without secrets. One that is no tool without them stays as it is.
func (b *Bridge) scrubbed(all []Offered) []Offered {
	clean := slices.Clone(all)
	for i := range clean {
		raw, err := json.Marshal(all[i])
		var one Offered
		if masked := b.scrub(raw); err == nil && !bytes.Equal(masked, raw) && json.Unmarshal(masked, &one) == nil {
			clean[i] = one
		}
	}
	return clean
}

// masks reports whether a text has a secret in it.
func (b *Bridge) masks(text string) bool {
	quoted, err := json.Marshal(text)
	return err == nil && !bytes.Equal(b.scrub(quoted), quoted)
}

// dial opens a connection to a server, and reads the list of its tools before a call is made on it: the server may
// have been replaced by another version. A server that does not list its tools in time is used all the same.
func (b *Bridge) dial(ctx context.Context, name string, s Server, changed func()) (*upstream.Conn, error) {
	conn, err := b.connect(ctx, name, s, changed)
	one := b.now().servers[name]
	if one == nil {
		return conn, err
	}
	same := s.identity(tool.Caller{}) == one.identity(tool.Caller{})
	if wants := errors.Is(err, upstream.ErrLogin); same && wants != one.wantsLogin && (wants || err == nil) {
		if err := b.changed(ctx, keepWish(ctx, b.o.Store, name, wants)); err != nil {
			b.o.Log.Warn("operators do not see whether an MCP server wants a login", "server", name, "err", err)
		}
	}
	if err != nil {
		return conn, err
	}
	if !same { // other credentials may have other tools
		if !b.o.Passive {
			b.refreshLater(name, 0)
		}
		return conn, nil
	}
	ctx, cancel := context.WithTimeout(ctx, firstListLimit)
	defer cancel()
	listing, err := b.list(ctx, name, s, conn)
	if err != nil {
		b.o.Log.Warn("the tools of an MCP server could not be read", "server", name, "err", err)
		return conn, nil
	}
	b.mu.Lock()
	b.opened[name] = opened{conn, listing}
	b.mu.Unlock()
	return conn, nil
}

// connect connects to a server.
func (b *Bridge) connect(ctx context.Context, name string, s Server, changed func()) (*upstream.Conn, error) {
	client := upstream.Client{
		Name: "mcp-tools", Version: b.o.Version, Elicitation: s.Elicitation,
		Sampling: s.Sampling != "" && b.o.Complete != nil, Changed: changed,
	}
	known := b.now().servers[name]
	// A server that was of an older era is not asked again: some do not survive the question.
	stateless := known == nil || !known.known || mcp.IsModernProtocol(known.list.protocol)
	if s.URL != "" {
		headers, err := fillSecrets(s.Headers, b.o.Secret)
		if err != nil {
			return nil, err
		}
		b.maskValues(name, s, headers)
		transport, err := b.transport(name, s)
		if err != nil {
			return nil, err
		}
		at := upstream.HTTP{URL: s.URL, Header: make(http.Header), Transport: transport,
			SSE: s.Transport == TransportSSE}
		for header, value := range headers {
			at.Header.Set(header, value)
		}
		conn, err := upstream.Dial(ctx, client, at, stateless)
		return b.mirrored(conn, known), err
	}
	environment, err := fillSecrets(s.Environment, b.o.Secret)
	if err != nil {
		return nil, err
	}
	b.maskValues(name, s, environment)
	p := Program{Server: s, Dir: filepath.Join(b.o.Dir, name)}
	if identity := s.identity(tool.Caller{}); known == nil || identity != known.identity(tool.Caller{}) {
		p.Dir = filepath.Join(b.o.Dir, name+"-"+identity[:12]) // files of other credentials
	}
	for _, variable := range slices.Sorted(maps.Keys(environment)) {
		p.Environment = append(p.Environment, variable+"="+environment[variable])
	}
	start := func(ctx context.Context, output func([]byte), gone func(error)) (upstream.Process, error) {
		return b.o.Start(ctx, p, output, gone)
	}
	return upstream.Spawn(ctx, client, start, stateless)
}

// maskValues masks the values of variables and headers whose names say that they are secret.
func (b *Bridge) maskValues(name string, s Server, values map[string]string) {
	var secret []string
	for key, value := range values {
		if secretName().MatchString(key) {
			_, token, _ := strings.Cut(value, " ") // as in Bearer TOKEN
			secret = append(secret, value, token)
		}
	}
	if len(secret) > 0 && b.o.Mask != nil {
		b.o.Mask("mcp_servers."+name+" "+s.identity(tool.Caller{}), secret...)
	}
}

// mirrored gives a connection the arguments that go into headers too.
func (b *Bridge) mirrored(conn *upstream.Conn, known *served) *upstream.Conn {
	if conn != nil && known != nil {
		for _, o := range known.list.offered {
			conn.Mirror(o.Name, o.Input)
		}
	}
	return conn
}

// A Status describes a server for an operator.
type Status struct {
	Name     string
	Server   Server
	Settings bool // it is in the settings
	Known    bool // its tools are known
	Login    bool // it wanted a login at the last connection
	Protocol string
	Program  string
	Listed   time.Time
	Tools    []Tool
	Held     []Change // that wait
	Refused  []Change
	Left     []string
	Grants   []Grant
}

// A Tool is a tool of a server for an operator.
type Tool struct {
	Name     string // for callers
	Original string
	Risk     tool.Risk
	About    string
}

// Status describes all servers, or those named.
func (b *Bridge) Status(ctx context.Context, wanted ...string) (all []Status, err error) {
	if err := b.Reload(ctx); err != nil {
		return nil, err
	}
	for _, name := range wanted {
		if _, err := b.server(ctx, name); err != nil {
			return nil, err
		}
	}
	s := b.now()
	for _, one := range s.ordered {
		if len(wanted) > 0 && !slices.Contains(wanted, one.name) {
			continue
		}
		st := Status{
			Name: one.name, Server: one.Server, Settings: one.settings, Known: one.known, Login: one.wantsLogin, Protocol: one.list.protocol,
			Program: one.list.program, Listed: one.list.listed, Held: one.held,
			Refused: one.refused, Left: one.left,
		}
		for _, o := range one.tools {
			about, _, _ := strings.Cut(cleaned(cmp.Or(o.Description, o.Title), 200), "\n")
			st.Tools = append(st.Tools, Tool{toolName(one.name, o.Name), o.Name, one.riskOf(o), about})
		}
		for _, g := range s.grants {
			if g.Server == one.name {
				st.Grants = append(st.Grants, g)
			}
		}
		all = append(all, st)
	}
	return all, nil
}

// Add adds a server, or replaces one that was added.
func (b *Bridge) Add(ctx context.Context, name string, s Server, by string, replace bool) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if err := s.Check(); err != nil {
		return err
	}
	if _, taken := b.o.Settings[name]; taken {
		return tool.Errorf(tool.Conflict, "the settings have a server %q", name).Try("change it there")
	}
	return b.changed(ctx, addServer(ctx, b.o.Store, name, s, by, replace))
}

// Remove removes a server that was added, with its grants and its login.
func (b *Bridge) Remove(ctx context.Context, name string) error {
	if err := removeServer(ctx, b.o.Store, name); err != nil {
		return err
	}
	return errors.Join(b.forgetLogin(name), b.Reload(ctx))
}

// Approve accepts changes of tools as a server offers them now: the named ones, or all that wait.
func (b *Bridge) Approve(ctx context.Context, name string, tools ...string) ([]Change, error) {
	return b.decide(ctx, decision{server: name, tools: tools, accept: true})
}

func (b *Bridge) decide(ctx context.Context, d decision) ([]Change, error) {
	if _, err := b.server(ctx, d.server); err != nil {
		return nil, err
	}
	done, err := decide(ctx, b.o.Store, d)
	return done, b.changed(ctx, err)
}
