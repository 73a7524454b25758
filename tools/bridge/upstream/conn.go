// Package upstream is a client of other MCP servers: it speaks all revisions of the protocol over
// stdio, streamable HTTP and the older HTTP with SSE. Servers are not trusted: their messages,
// pages and requests are bounded, redirects stay at the server, and a server that breaks a bound is
// disconnected.
//
// A connection is never repaired. When it is lost, its holder opens another.
//
// mcp-go's client does the handshake, and its HTTP transports carry messages; mcpgo_test.go shows why the rest is
// ours.
//
// The package knows nothing of tools of ours, callers, settings or the store. Begin with [Dial];
// conn.go has the messages, stdio.go and http.go carry them.
package upstream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/go-json-experiment/json/jsontext"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

const (
	// MaxMessage bounds one message of a server, in bytes.
	MaxMessage = 10 << 20

	maxUnasked   = 100_000 // messages in a row that answer nothing
	maxServed    = 8       // requests of the server that are answered at the same time
	maxRounds    = 10      // times that one call may ask
	maxComplaint = 500     // bytes that an error repeats of the server's

	startLimit = 90 * time.Second // npx may download the server first
	endLimit   = 5 * time.Second  // for the last message to a server
)

var (
	// ErrLost means that the connection has ended.
	ErrLost = errors.New("the connection to the server has ended")
	// ErrNotSent means that the server has not got the request, so it may be sent again.
	ErrNotSent = errors.New("the server did not get the request")
	// ErrLogin means that the server wants a login.
	ErrLogin = errors.New("the server wants a login")
)

// A Client is our name for a server, and our answers to its questions.
type Client struct {
	Name, Version string
	// Elicitation and Sampling declare that questions of these kinds are answered.
	Elicitation, Sampling bool
	// Changed is called when the server says that one of its lists has changed. It must not
	// block. It may be nil.
	Changed func()
}

// Info is the description of a server by itself.
type Info struct {
	Name, Version string
	Protocol      string // the revision that is spoken
	Instructions  string
	Tools         bool // it has tools
	Resources     bool
	Prompts       bool
	announces     bool // changes of its list of tools
}

// A link carries messages to a server. Messages from the server go to the incoming of the Conn.
type link interface {
	// send sends a message. If it is a request it may read the answer before it returns: then
	// the answer was passed on. asked is the call that the message belongs to, or nil.
	send(ctx context.Context, m outgoing, asked *Call) error
	// opened is called after the handshake. Messages that the server sends by itself arrive from
	// now on.
	opened()
	close() error
}

// An outgoing message is one that is sent, with the values of the headers of HTTP.
type outgoing struct {
	body   []byte
	id     int64 // of a request; 0 for other messages
	method string
	header http.Header
}

// A message is one that has arrived.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *jsonrpc.Error  `json:"error"`
}

// A Question is a request of the server during a call.
type Question struct {
	Method string // elicitation/create or sampling/createMessage
	Params json.RawMessage
}

// A Call is a request to the server that may take long.
type Call struct {
	// Progress is called with the progress that the server reports, from one goroutine. It must not block. It may be
	// nil.
	Progress func(done, total float64, message string)
	// Ask answers a question of the server. Nil refuses all.
	Ask func(ctx context.Context, q Question) (json.RawMessage, error)

	ctx context.Context // of the call, for questions of the server
}

// A Conn is a connection to a server. Its methods may be called concurrently.
type Conn struct {
	link   link
	client Client
	about  atomic.Pointer[Info]
	life   context.Context // until the connection ends
	end    context.CancelCauseFunc
	tasks  sync.WaitGroup

	mu      sync.Mutex
	closing bool
	last    int64
	waiting map[int64]*pending
	unasked int                 // messages since the last answer
	serving int                 // requests of the server
	asking  *Call               // that requests of the server belong to, if the transport does not say
	turn    chan struct{}       // is held by the call in asking
	tools   map[string]mcp.Tool // with arguments that are in headers too
}

// pending is a request without an answer.
type pending struct {
	answer chan message
	call   *Call
}

func newConn(client Client) *Conn {
	c := &Conn{
		client: client, waiting: make(map[int64]*pending), turn: make(chan struct{}, 1),
		tools: make(map[string]mcp.Tool),
	}
	c.about.Store(new(Info))
	c.life, c.end = context.WithCancelCause(context.Background())
	return c
}

// Info returns the description of the server by itself.
func (c *Conn) Info() Info { return *c.about.Load() }

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.life.Done() }

// Err returns why the connection has ended, or nil.
func (c *Conn) Err() error { return context.Cause(c.life) }

// Close ends the connection, and the process of the server if there is one.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.lose(errors.New("it was closed"))
	err := c.link.close()
	c.tasks.Wait()
	return err
}

// lose ends the connection. It may be called more than once, and from any goroutine.
func (c *Conn) lose(why error) {
	c.end(fmt.Errorf("%w: %w", ErrLost, why))
}

// spawn runs work that ends with the connection. It reports false if the connection is closed.
func (c *Conn) spawn(work func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return false
	}
	c.tasks.Go(work)
	return true
}

// relates reports whether the transport has a request and its related messages in one exchange of
// HTTP.
func (c *Conn) relates() bool {
	l, overHTTP := c.link.(*httpLink)
	return overHTTP && !l.older
}

func (c *Conn) modern() bool { return mcp.IsModernProtocol(c.Info().Protocol) }

// incoming takes a message of the server. asked is the call in whose answer it came, or nil if
// the transport does not say. It does not block.
func (c *Conn) incoming(raw []byte, asked *Call) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return
	}
	if raw[0] == '[' { // a batch: two revisions have them
		var batch []json.RawMessage
		if json.Unmarshal(raw, &batch) == nil {
			for _, one := range batch {
				if one[0] == '[' { // each level would be read again from its start
					c.count()
					continue
				}
				c.incoming(one, asked)
			}
		}
		return
	}
	var m message
	if json.Unmarshal(raw, &m) != nil {
		c.count() // some programs write log lines to stdout
		return
	}
	hasID := len(m.ID) > 0 && string(m.ID) != "null"
	switch {
	case m.Method != "" && hasID:
		c.count()
		c.serve(m, asked)
	case m.Method != "":
		c.count()
		c.notified(m)
	case hasID:
		id, err := strconv.ParseInt(string(m.ID), 10, 64)
		if err != nil {
			c.count()
			return
		}
		c.mu.Lock()
		p := c.waiting[id]
		delete(c.waiting, id)
		if p != nil {
			c.unasked = 0
		}
		c.mu.Unlock()
		if p == nil {
			c.count()
			return
		}
		p.answer <- m
	default:
		c.count()
	}
}

// count counts a message that answers nothing. A server that sends nothing else is cut off.
func (c *Conn) count() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unasked++; c.unasked > maxUnasked {
		c.lose(fmt.Errorf("the server sent more than %d messages that answer nothing", maxUnasked))
	}
}

func (c *Conn) notified(m message) {
	switch mcp.MCPMethod(m.Method) {
	case "notifications/progress":
		var p struct {
			Token    int64   `json:"progressToken"`
			Progress float64 `json:"progress"`
			Total    float64 `json:"total"`
			Message  string  `json:"message"`
		}
		if json.Unmarshal(m.Params, &p) != nil {
			return
		}
		c.mu.Lock()
		w := c.waiting[p.Token]
		c.mu.Unlock()
		if w != nil && w.call != nil && w.call.Progress != nil { // a token that we did not give goes nowhere
			w.call.Progress(p.Progress, p.Total, text.Clip(p.Message, maxComplaint))
		}
	case "notifications/tools/list_changed", "notifications/resources/list_changed",
		"notifications/prompts/list_changed":
		if c.client.Changed != nil {
			c.client.Changed()
		}
	}
}

// serve answers a request of the server.
func (c *Conn) serve(m message, asked *Call) {
	c.mu.Lock()
	if asked == nil {
		asked = c.asking
	}
	busy := c.serving >= maxServed
	if !busy {
		c.serving++
	}
	c.mu.Unlock()
	if busy { // a server that asks more gets no answer
		return
	}
	c.spawn(func() {
		defer func() {
			c.mu.Lock()
			c.serving--
			c.mu.Unlock()
		}()
		var body []byte
		if result, err := c.answer(m, asked); err == nil {
			body = jsonrpc.Success(jsontext.Value(m.ID), result)
		} else {
			failed := jsonrpc.Errorf(mcp.INTERNAL_ERROR, "the question was not answered")
			_ = errors.As(err, &failed)
			body = jsonrpc.Failure(jsontext.Value(m.ID), failed)
		}
		ctx, cancel := context.WithTimeout(c.life, endLimit)
		defer cancel()
		_ = c.link.send(ctx, outgoing{body: body}, nil) // then the server gets no answer
	})
}

func (c *Conn) answer(m message, asked *Call) (json.RawMessage, error) {
	switch mcp.MCPMethod(m.Method) {
	case mcp.MethodPing:
		return json.RawMessage("{}"), nil
	case mcp.MethodElicitationCreate, mcp.MethodSamplingCreateMessage:
		if asked == nil || asked.Ask == nil {
			return nil, jsonrpc.Errorf(mcp.INVALID_REQUEST, "no call of ours allows questions")
		}
		c.mu.Lock()
		during := asked.ctx
		c.mu.Unlock()
		ctx, cancel := context.WithCancelCause(during)
		defer cancel(nil)
		defer context.AfterFunc(c.life, func() { cancel(c.Err()) })()
		return asked.Ask(ctx, Question{Method: m.Method, Params: m.Params})
	}
	return nil, jsonrpc.Errorf(mcp.METHOD_NOT_FOUND, "this client does not have the method")
}

// request sends a request and waits for the answer.
func (c *Conn) request(ctx context.Context, method mcp.MCPMethod, params map[string]any, call *Call) (
	json.RawMessage, error,
) {
	if err := c.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	p := &pending{answer: make(chan message, 1), call: call}
	c.mu.Lock()
	c.last++
	id := c.last
	c.waiting[id] = p
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
	}()
	m, err := c.write(id, method, params, call)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.life, func() { cancel(c.Err()) })()
	if call != nil {
		c.mu.Lock()
		call.ctx = ctx
		c.mu.Unlock()
	}
	if err := c.link.send(ctx, m, call); err != nil {
		select {
		case got := <-p.answer: // it came before the error
			return result(got)
		default:
		}
		if errors.Is(err, ErrNotSent) { // also if ctx ended at the same moment
			if ctx.Err() != nil {
				err = fmt.Errorf("%w: %w", ErrNotSent, context.Cause(ctx))
			}
			return nil, err
		}
		if ctx.Err() != nil {
			c.cancelled(ctx, id, method)
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	select {
	case got := <-p.answer:
		return result(got)
	case <-ctx.Done():
		select {
		case got := <-p.answer:
			return result(got)
		default:
		}
		c.cancelled(ctx, id, method)
		return nil, context.Cause(ctx)
	}
}

func result(m message) (json.RawMessage, error) {
	if m.Error != nil {
		m.Error.Message = text.Clip(m.Error.Message, maxComplaint)
		return nil, m.Error
	}
	if len(m.Result) == 0 || m.Result[0] != '{' {
		return nil, errors.New("the server sent an answer without a result")
	}
	return m.Result, nil
}

// cancelled notifies the server that the caller no longer waits for a response. Over HTTP of
// the stateless era the end of the request says that.
func (c *Conn) cancelled(ctx context.Context, id int64, method mcp.MCPMethod) {
	if method == mcp.MethodInitialize || method == mcp.MethodServerDiscover || c.relates() && c.modern() ||
		c.life.Err() != nil {
		return
	}
	c.spawn(func() { // the caller has waited long enough
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
		defer cancel()
		defer context.AfterFunc(c.life, cancel)()
		_ = c.notify(ctx, string(mcp.MethodNotificationCancelled),
			map[string]any{"requestId": id, "reason": "no longer needed"})
	})
}

// notify sends a notification.
func (c *Conn) notify(ctx context.Context, method string, params any) error {
	return c.link.send(ctx, outgoing{body: jsonrpc.Request(nil, method, params), method: method}, nil)
}

// write writes a request with the additional fields of the stateless era.
func (c *Conn) write(id int64, method mcp.MCPMethod, params map[string]any, call *Call) (outgoing, error) {
	meta := map[string]any{}
	if call != nil && call.Progress != nil {
		meta["progressToken"] = id
	}
	if c.modern() {
		meta[mcp.MetaKeyProtocolVersion] = c.Info().Protocol
		meta[mcp.MetaKeyClientCapabilities] = c.capabilities()
		meta[mcp.MetaKeyClientInfo] = c.implementation()
	}
	if len(meta) > 0 {
		params = with(params, map[string]any{"_meta": meta})
	}
	encoded, err := text.JSON(params)
	if err != nil {
		return outgoing{}, err
	}
	m := outgoing{id: id, method: string(method), header: http.Header{}}
	var sent any // nil if there are no params
	if params != nil {
		sent = json.RawMessage(encoded)
	}
	m.body = jsonrpc.Request(strconv.AppendInt(nil, id, 10), m.method, sent)
	if c.relates() && c.modern() {
		for name, value := range mcp.StandardHeaders(c.Info().Protocol, method, encoded) {
			m.header.Set(name, value)
		}
		name, _ := params["name"].(string)
		c.mu.Lock()
		described, mirrored := c.tools[name]
		c.mu.Unlock()
		if mirrored && method == mcp.MethodToolsCall {
			for name, value := range mcp.GenerateParamHeaders(&described, encoded) {
				m.header.Set(name, value)
			}
		}
	}
	return m, nil
}

// with returns params with more of them.
func with(params, more map[string]any) map[string]any {
	all := make(map[string]any, len(params)+len(more))
	maps.Copy(all, params)
	maps.Copy(all, more)
	return all
}

func (c *Conn) capabilities() (can mcp.ClientCapabilities) {
	if c.client.Elicitation {
		can.Elicitation = new(mcp.ElicitationCapability)
	}
	if c.client.Sampling {
		can.Sampling = new(mcp.SamplingCapability)
	}
	return can
}

func (c *Conn) implementation() mcp.Implementation {
	return mcp.Implementation{Name: c.client.Name, Version: c.client.Version}
}

// shake does the handshake: mcp-go's client asks whether the server is of the stateless era, and else initializes.
func (c *Conn) shake(ctx context.Context, stateless bool) error {
	w := &handshake{conn: c}
	version := mcp.LATEST_LEGACY_PROTOCOL_VERSION
	if stateless {
		version = mcp.LATEST_PROTOCOL_VERSION
	}
	hello, err := mcpclient.NewClient(w).Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: version, Capabilities: c.capabilities(), ClientInfo: c.implementation(),
	}})
	if err != nil {
		return fmt.Errorf("the handshake: %w", cmp.Or(w.err, err))
	}
	can := hello.Capabilities
	c.about.Store(&Info{
		Name: text.Clip(hello.ServerInfo.Name, 100), Version: text.Clip(hello.ServerInfo.Version, 100),
		Protocol: hello.ProtocolVersion, Instructions: text.Clip(hello.Instructions, 2000),
		Tools: can.Tools != nil, Resources: can.Resources != nil, Prompts: can.Prompts != nil,
		announces: can.Tools != nil && can.Tools.ListChanged,
	})
	return nil
}

// A handshake carries the messages of mcp-go's client. It is used for the handshake only: the client decodes
// arguments and results, at a higher cost than the call, and drops members that it does not know.
type handshake struct {
	conn *Conn
	err  error // of the last message, as it was
}

func (w *handshake) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	if errors.Is(w.err, ErrLogin) { // another question would get the same answer
		return nil, w.err
	}
	var params map[string]any
	encoded, err := json.Marshal(r.Params)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(encoded, &params); err != nil {
		return nil, err
	}
	raw, err := w.conn.request(ctx, mcp.MCPMethod(r.Method), params, nil)
	var said *jsonrpc.Error
	if err == nil {
		err = believed(mcp.MCPMethod(r.Method), raw)
	}
	if w.err = err; errors.As(err, &said) { // it may name the revisions that the server speaks
		return transport.NewJSONRPCErrorResponse(r.ID, said.Code, said.Message, said.Data), nil
	}
	return &transport.JSONRPCResponse{ID: r.ID, Result: asked(raw)}, err
}

// asked returns an answer to the handshake without the capabilities that are not asked for: mcp-go refuses the
// answer if any has another form than it expects.
func asked(raw json.RawMessage) json.RawMessage {
	var answer, can map[string]json.RawMessage
	if json.Unmarshal(raw, &answer) != nil || json.Unmarshal(answer["capabilities"], &can) != nil {
		return raw
	}
	maps.DeleteFunc(can, func(name string, _ json.RawMessage) bool {
		return name != "tools" && name != "resources" && name != "prompts"
	})
	var err error
	if answer["capabilities"], err = json.Marshal(can); err != nil {
		return raw
	}
	if less, err := json.Marshal(answer); err == nil {
		return less
	}
	return raw
}

// believed checks the revision of an answer. Servers of old revisions answer anything with anything: for the
// stateless era only the versions are a proof.
func believed(method mcp.MCPMethod, raw json.RawMessage) error {
	var said struct {
		Version  string   `json:"protocolVersion"`
		Versions []string `json:"supportedVersions"`
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		return err
	}
	if method == mcp.MethodServerDiscover {
		if !mcp.IsModernProtocol(mcp.NegotiateMutuallySupportedVersion(said.Versions)) {
			return errors.New("the server is of an earlier era")
		}
	} else if !mcp.IsValidProtocolVersion(said.Version) || mcp.IsModernProtocol(said.Version) {
		return fmt.Errorf("the server speaks the revision %q of MCP, which this client does not know",
			text.Clip(said.Version, 40))
	}
	return nil
}

func (w *handshake) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) error {
	w.err = w.conn.notify(ctx, n.Method, nil)
	return w.err
}

func (w *handshake) SetProtocolVersion(version string) {
	w.conn.about.Store(&Info{Protocol: version})
	if l, overHTTP := w.conn.link.(*httpLink); overHTTP {
		l.library.SetProtocolVersion(version)
	}
}

func (w *handshake) Start(context.Context) error                            { return nil }
func (w *handshake) SetNotificationHandler(func(n mcp.JSONRPCNotification)) {}
func (w *handshake) GetSessionId() string                                   { return "" }
func (w *handshake) Close() error                                           { return nil }

// listen gets the notifications of a server of the stateless era, until the connection ends.
func (c *Conn) listen() {
	if !c.modern() || !c.Info().announces || c.client.Changed == nil {
		return
	}
	c.spawn(func() {
		for wait := time.Second; c.life.Err() == nil; wait = min(2*wait, time.Minute) {
			begun := time.Now()
			_, err := c.request(c.life, mcp.MethodSubscriptionsListen, map[string]any{
				"notifications": map[string]any{"toolsListChanged": true},
			}, nil)
			var refused *jsonrpc.Error
			if errors.As(err, &refused) {
				return
			}
			if time.Since(begun) > time.Minute {
				wait = time.Second
			}
			select {
			case <-time.After(wait):
			case <-c.life.Done():
			}
		}
	})
}

// Do makes a request and returns its result. Questions of the server are answered by call.Ask, one
// call at a time if the transport does not name the call of a question. call may be nil.
func (c *Conn) Do(ctx context.Context, method mcp.MCPMethod, params map[string]any, call *Call) (
	json.RawMessage, error,
) {
	if call != nil && call.Ask != nil {
		if !c.relates() && !c.modern() {
			select {
			case c.turn <- struct{}{}:
				defer func() { <-c.turn }()
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-c.life.Done():
				return nil, fmt.Errorf("%w: %w", ErrNotSent, c.Err())
			}
			c.mu.Lock()
			c.asking = call
			call.ctx = ctx
			c.mu.Unlock()
			defer func() {
				c.mu.Lock()
				c.asking = nil
				c.mu.Unlock()
			}()
		}
	}
	for range maxRounds {
		raw, err := c.request(ctx, method, params, call)
		if err != nil || !c.modern() {
			return raw, err
		}
		var asks struct {
			Type  string `json:"resultType"`
			Needs map[string]struct {
				Method string          `json:"method"`
				Params json.RawMessage `json:"params"`
			} `json:"inputRequests"`
			State string `json:"requestState"`
		}
		if !bytes.Contains(raw, []byte(`"input_required"`)) || json.Unmarshal(raw, &asks) != nil ||
			asks.Type != "input_required" {
			return raw, nil
		}
		if call == nil || call.Ask == nil || len(asks.Needs) == 0 || len(asks.Needs) > maxServed {
			return nil, jsonrpc.Errorf(mcp.INVALID_REQUEST, "the server asks a question that is not allowed")
		}
		answers := make(map[string]json.RawMessage, len(asks.Needs))
		for name, q := range asks.Needs {
			answer, err := call.Ask(ctx, Question{Method: q.Method, Params: q.Params})
			if err != nil {
				return nil, err
			}
			answers[name] = answer
		}
		params = with(params, map[string]any{"inputResponses": answers, "requestState": asks.State})
	}
	return nil, jsonrpc.Errorf(mcp.INTERNAL_ERROR, "the server asks without end")
}

// Page bounds of a list.
const (
	maxPages    = 50
	maxListSize = 20 << 20 // bytes of all pages together
)

// List returns the members of a list that has pages, as the server has written them.
func (c *Conn) List(ctx context.Context, method mcp.MCPMethod, member string, max int) ([]json.RawMessage, error) {
	var all []json.RawMessage
	seen, cursor, size := map[string]bool{}, "", 0
	for range maxPages {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		raw, err := c.request(ctx, method, params, nil)
		if err != nil {
			return nil, err
		}
		var page map[string]json.RawMessage
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(page[member], &list); err != nil {
			return nil, fmt.Errorf("%s: the answer has no list of %s", method, member)
		}
		all, size, cursor = append(all, list...), size+len(raw), ""
		_ = json.Unmarshal(page["nextCursor"], &cursor) // without one this is the last page
		switch {
		case len(all) > max || size > maxListSize:
			return nil, fmt.Errorf("%s: the server lists more than %d %s, or more than %s", method, max, member,
				text.Bytes(maxListSize))
		case cursor == "":
			return all, nil
		case seen[cursor]:
			return nil, fmt.Errorf("%s: the server repeats a page", method)
		}
		seen[cursor] = true
	}
	return nil, fmt.Errorf("%s: the server has more than %d pages", method, maxPages)
}

// Mirror makes later calls of a tool send the arguments in headers that its schema wants there. It
// is needed for servers of the stateless era over HTTP.
func (c *Conn) Mirror(name string, schema json.RawMessage) {
	if !bytes.Contains(schema, []byte(`"x-mcp-header"`)) {
		return
	}
	described := mcp.NewToolWithRawSchema(name, "", schema)
	if mcp.ValidateParamHeaderAnnotations(&described) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tools[name] = described
}

// open does the handshake on a connection whose link works.
func (c *Conn) open(ctx context.Context, stateless bool) (*Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit,
		fmt.Errorf("the server did not answer within %s", startLimit))
	defer cancel()
	if err := c.shake(ctx, stateless); err != nil {
		err = cmp.Or(lostReason(c, err), err)
		return nil, errors.Join(err, c.Close())
	}
	c.link.opened()
	c.listen()
	return c, nil
}

// lostReason returns why the connection was lost, if it was: that says more than the request that failed.
func lostReason(c *Conn, err error) error {
	if lost := c.Err(); lost != nil && !errors.Is(err, ErrLogin) {
		return lost
	}
	return nil
}
