// Package lsp speaks the Language Server Protocol with a program that may be hostile: it hangs, floods, lies about
// positions, or asks for forbidden files. All its messages are bounded, and it changes nothing.
//
// The types are the small part of the protocol that is used here. go.lsp.dev/protocol v0.12.0 has all of them and
// was refused: it decodes the renaming of a file in a WorkspaceEdit as an edit of nothing, so that half of a change
// would be made, it has no types for answers with several forms, and its unsigned positions hide lies.
//
// The package does not know files, tools or callers. Begin with [New].
package lsp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxMessage = 16 << 20 // bytes
	maxValues  = 500_000  // in a message: a value of two bytes takes a hundred when it is decoded
	maxDepth   = 200
	// maxUnasked bounds the bytes of notifications and requests of a server since the last request to it.
	maxUnasked = 64 << 20
	maxFiles   = 5000 // with diagnostics
	maxTasks   = 100  // that report their progress
	maxQueue   = 64   // messages that the server has not yet read
)

// A Program is a running language server.
type Program interface {
	// Write writes to its stdin. It blocks while the program does not read, until ctx ends.
	Write(ctx context.Context, data []byte) error
	// Kill ends it, with all that it has started.
	Kill() error
}

// A Conn is a connection to a language server. Its methods may be called concurrently.
type Conn struct {
	program Program
	config  map[string]any // the settings of the server, by section
	frames  jsonrpc.Frames
	numbers atomic.Int64
	queue   chan []byte
	ctx     context.Context // ends with the connection
	end     context.CancelCauseFunc
	ending  sync.Once
	working sync.WaitGroup

	mu      sync.Mutex
	waiting map[string]chan reply
	unasked int
	reports map[string]Report // by URI
	tasks   map[string]bool   // that the server works on
	changed chan struct{}     // closed when reports or tasks change
	awaited string            // part of the message that says that the server has read the workspace; "" after it
	words   string            // the last error that the server has shown
}

type reply struct {
	result jsontext.Value
	err    error
}

// A Report has the diagnostics of a file.
type Report struct {
	Version     *int // of the text that they are about; nil: the server does not say
	Number      int  // of the report, counted from 1
	Diagnostics []Diagnostic
}

// A ResponseError is an error that a server answers.
type ResponseError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *ResponseError) Error() string { return text.Clip(tool.Line(e.Message), 300) }

// New returns a connection whose program is not yet known. The output of the program goes to [Conn.Output], its end to
// [Conn.Lose], and the program itself to [Conn.Open].
func New(config map[string]any) *Conn {
	c := &Conn{
		config: config, frames: jsonrpc.Frames{Max: maxMessage}, queue: make(chan []byte, maxQueue),
		waiting: make(map[string]chan reply), reports: make(map[string]Report), tasks: make(map[string]bool),
		changed: make(chan struct{}),
	}
	c.ctx, c.end = context.WithCancelCause(context.Background())
	return c
}

// Open begins to write to the program.
func (c *Conn) Open(p Program) {
	c.program = p
	c.working.Go(func() {
		for {
			select {
			case message := <-c.queue:
				if err := p.Write(c.ctx, jsonrpc.Frame(message)); err != nil {
					c.Lose(fmt.Errorf("it does not read: %w", err))
					return
				}
			case <-c.ctx.Done():
				return
			}
		}
	})
}

// Expect takes the server for busy until it logs a message with these words.
func (c *Conn) Expect(words string) {
	c.mu.Lock()
	c.awaited = words
	c.mu.Unlock()
}

// Close ends the program and waits for the goroutines of the connection.
func (c *Conn) Close() error {
	c.Lose(errors.New("it was ended"))
	var err error
	c.ending.Do(func() {
		if c.program != nil {
			err = c.program.Kill()
		}
	})
	c.working.Wait()
	return err
}

// Lose ends the connection, for a reason that [Conn.Err] returns.
func (c *Conn) Lose(err error) { c.end(err) }

// Done is closed when the connection has ended. The caller then calls Close.
func (c *Conn) Done() <-chan struct{} { return c.ctx.Done() }

// Err returns why the connection has ended, or nil.
func (c *Conn) Err() error { return context.Cause(c.ctx) }

// Output takes the stdout of the program. It does not block.
func (c *Conn) Output(data []byte) {
	if c.ctx.Err() != nil {
		return
	}
	if err := c.frames.Take(data, c.incoming); err != nil {
		c.Lose(err)
	}
}

// incoming handles a message of the server.
func (c *Conn) incoming(raw []byte) {
	if depth, values := tool.Extent(raw); depth > maxDepth || values > maxValues {
		c.Lose(fmt.Errorf("it sent a message with %d values, the maximum is %d", values, maxValues))
		return
	}
	var id, params, result, failure jsontext.Value
	var method string
	ok := jsonrpc.Members(raw, func(name string, value []byte) {
		switch name {
		case "id":
			id = value
		case "method":
			_ = json.Unmarshal(value, &method) // "" is a response
		case "params":
			params = value
		case "result":
			result = value
		case "error":
			failure = value
		}
	})
	switch {
	case !ok:
		c.Lose(errors.New("it sent a message that is not JSON"))
	case method == "":
		c.answer(string(id), result, failure)
	case c.floods(len(raw)):
		c.Lose(fmt.Errorf("it sent more than %d bytes that nothing asked for", maxUnasked))
	case id != nil:
		c.respond(id, method, params)
	default:
		c.notice(method, params)
	}
}

func (c *Conn) floods(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unasked += n
	return c.unasked > maxUnasked
}

// answer passes on the response to a request. Responses to no request are dropped.
func (c *Conn) answer(id string, result, failure jsontext.Value) {
	c.mu.Lock()
	to := c.waiting[id]
	delete(c.waiting, id)
	c.mu.Unlock()
	if to == nil {
		return
	}
	r := reply{result: result}
	if failure != nil {
		e := &ResponseError{}
		if json.Unmarshal(failure, e) != nil {
			e.Message = "an error that cannot be read"
		}
		r.err = e
	}
	to <- r // has room for it
}

// respond answers a request of the server. It gets its settings; everything that would change something is refused.
func (c *Conn) respond(id jsontext.Value, method string, params jsontext.Value) {
	var result any
	switch method {
	case "workspace/configuration":
		var asked struct {
			Items []struct {
				Section string `json:"section"`
			} `json:"items"`
		}
		_ = json.Unmarshal(params, &asked) // unreadable items have no settings
		values := make([]any, len(asked.Items))
		for i, item := range asked.Items {
			values[i] = c.config[item.Section]
		}
		result = values
	case "workspace/applyEdit":
		result = map[string]any{"applied": false, "failureReason": "this client makes no changes of a server"}
	case "window/workDoneProgress/create", "client/registerCapability", "client/unregisterCapability",
		"window/showMessageRequest", "workspace/workspaceFolders", "workspace/diagnostic/refresh",
		"workspace/semanticTokens/refresh", "workspace/inlayHint/refresh", "workspace/codeLens/refresh":
	default:
		c.send(jsonrpc.Failure(id, jsonrpc.Errorf(-32601, "this client does not have this method")))
		return
	}
	c.send(jsonrpc.Success(id, result))
}

// send queues a message without waiting. A server that does not read for so long is lost.
func (c *Conn) send(message []byte) {
	select {
	case c.queue <- message:
	default:
		c.Lose(errors.New("it does not read its messages"))
	}
}

// notice handles a notification.
func (c *Conn) notice(method string, params jsontext.Value) {
	switch method {
	case "textDocument/publishDiagnostics":
		var p struct {
			URI         string       `json:"uri"`
			Version     *int         `json:"version"`
			Diagnostics []Diagnostic `json:"diagnostics"`
		}
		if json.Unmarshal(params, &p) == nil {
			c.report(p.URI, p.Version, p.Diagnostics)
		}
	case "window/showMessage", "window/logMessage":
		var p struct {
			Type    int    `json:"type"`
			Message string `json:"message"`
		}
		if json.Unmarshal(params, &p) == nil {
			c.hear(p.Message, p.Type == 1 && method == "window/showMessage")
		}
	case "$/progress":
		var p struct {
			Token jsontext.Value `json:"token"`
			Value struct {
				Kind string `json:"kind"`
			} `json:"value"`
		}
		if json.Unmarshal(params, &p) == nil {
			c.advance(string(p.Token), p.Value.Kind)
		}
	}
}

// maxDiagnostics bounds the diagnostics of a file that are kept.
const maxDiagnostics = 500

func (c *Conn) report(uri string, version *int, all []Diagnostic) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, known := c.reports[uri]
	if !known && (len(c.reports) >= maxFiles || len(uri) > maxURI) {
		return
	}
	all = all[:min(len(all), maxDiagnostics)]
	for i := range all {
		all[i].Message = text.Clip(all[i].Message, 2000)
	}
	c.reports[uri] = Report{Version: version, Number: old.Number + 1, Diagnostics: all}
	c.wake()
}

// hear notes a message for people.
func (c *Conn) hear(message string, failed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if failed {
		c.words = text.ClipWords(tool.Line(text.Clip(message, 2000)), 300)
	}
	if c.awaited != "" && strings.Contains(message, c.awaited) {
		c.awaited = ""
		c.wake()
	}
}

func (c *Conn) advance(token, kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case kind == "begin" && len(c.tasks) < maxTasks && len(token) < 200:
		c.tasks[token] = true
	case kind == "end":
		delete(c.tasks, token)
	}
	c.wake()
}

// wake wakes the waiters for a change. c.mu is held.
func (c *Conn) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// Reports returns the diagnostics of a file, if the server has reported any, perhaps none.
func (c *Conn) Reports(uri string) (Report, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.reports[uri]
	return r, ok
}

// Words returns the last error that the server has shown to people, "" for none.
func (c *Conn) Words() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.words
}

// Await calls ready with the known reports, at each change, until it returns true. It returns
// false when ctx or the connection ends.
func (c *Conn) Await(ctx context.Context, ready func(reports map[string]Report, busy bool) bool) bool {
	for {
		c.mu.Lock()
		done, changed := ready(c.reports, len(c.tasks) > 0 || c.awaited != ""), c.changed
		c.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		case <-c.ctx.Done():
			return false
		}
	}
}

// Call sends a request and decodes the result. result may be nil. If ctx ends, the server is told to stop.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	id := jsontext.Value(strconv.FormatInt(c.numbers.Add(1), 10))
	answered := make(chan reply, 1)
	c.mu.Lock()
	c.waiting[string(id)], c.unasked = answered, 0
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, string(id))
		c.mu.Unlock()
	}()
	if err := c.put(ctx, jsonrpc.Request(id, method, params)); err != nil {
		return err
	}
	select {
	case r := <-answered:
		if r.err != nil || result == nil {
			return r.err
		}
		if err := json.Unmarshal(r.result, result); err != nil {
			return fmt.Errorf("the answer to %s is none: %w", method, err)
		}
		return nil
	case <-c.ctx.Done():
		return c.Err()
	case <-ctx.Done():
		c.send(jsonrpc.Request(nil, "$/cancelRequest", map[string]any{"id": id}))
		return context.Cause(ctx)
	}
}

// Notify sends a notification.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	return c.put(ctx, jsonrpc.Request(nil, method, params))
}

// put queues a message, and waits while the queue is full.
func (c *Conn) put(ctx context.Context, message []byte) error {
	if message == nil {
		return errors.New("the message cannot be written")
	}
	select {
	case c.queue <- message:
		return nil
	case <-c.ctx.Done():
		return c.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
