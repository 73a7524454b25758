package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxLine     = 16 << 20 // bytes of one message
	maxWrite    = 32 << 10 // bytes that are written to stdin at once
	maxServed   = 32       // requests of the program that are served at the same time
	maxName     = 1000     // bytes of an id or a name that the program chooses
	readSize    = 64 << 10
	maxRefusals = 500 // bytes of an error message of the program
)

// Codes of JSON-RPC, and of ACP.
const (
	codeInvalid      = -32602
	codeNoMethod     = -32601
	codeInternal     = -32603
	codeAuthRequired = -32000
	codeNotFound     = -32002
)

// An rpcError is an error of the program, or one for it.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *rpcError) Error() string {
	return "the agent program refused: " + text.Clip(e.Message, maxRefusals)
}

// A message is a request, a notification or a response.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// A conn is a connection to a program.
type conn struct {
	process sandbox.Process
	lost    context.CancelCauseFunc // ends the work with the reason why the connection ended
	awake   chan struct{}           // holds a value when output has arrived
	reading sync.WaitGroup
	stop    context.CancelFunc // ends reading and serving

	writing chan struct{} // a lock that can be waited for
	mu      sync.Mutex
	last    int
	open    map[int]chan message // requests without a response
}

func newConn(lost context.CancelCauseFunc) *conn {
	return &conn{
		lost: lost, awake: make(chan struct{}, 1), writing: make(chan struct{}, 1), open: make(map[int]chan message),
	}
}

// arrived is called when there is more output.
func (c *conn) arrived(sandbox.Stream, []byte) {
	select {
	case c.awake <- struct{}{}:
	default:
	}
}

// serve reads messages until the program ends, or close.
func (c *conn) serve(s *session) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.ctx))
	c.stop = cancel
	over := make(chan struct{})
	c.reading.Go(func() {
		defer close(over)
		c.process.Wait(ctx, sandbox.WaitCondition{})
	})
	c.reading.Go(func() {
		if err := c.read(ctx, s, over); err != nil {
			c.lost(err)
		}
	})
}

// close ends the program and the goroutines that serve it.
func (c *conn) close(ctx context.Context) {
	c.stop()
	_ = c.process.Kill(ctx) // Remove kills too
	_ = c.process.Remove(ctx)
	c.reading.Wait()
}

// read passes on the lines of stdout until the program has ended or ctx ends.
func (c *conn) read(ctx context.Context, s *session, over <-chan struct{}) error {
	log := c.process.Log(sandbox.Stdout)
	var offset int64
	var line []byte
	buffer := make([]byte, readSize)
	for {
		n, err := log.ReadAt(buffer, offset)
		offset += int64(n)
		rest := buffer[:n]
		for {
			part, more, found := bytes.Cut(rest, []byte("\n"))
			if line = append(line, part...); len(line) > maxLine {
				return tool.Errorf(tool.Unavailable, "the agent program sent a message of more than %d bytes", maxLine)
			}
			if !found {
				break
			}
			s.receive(ctx, line)
			line, rest = nil, more
		}
		if n > 0 {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("reading the output of the agent program: %w", err)
		}
		select {
		case <-c.awake:
		case <-over:
			if offset >= log.Size() {
				if ctx.Err() != nil {
					return nil
				}
				return ended(c.process)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// write writes a message.
func (c *conn) write(ctx context.Context, m message) error {
	m.Version = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	select {
	case c.writing <- struct{}{}:
		defer func() { <-c.writing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for len(line) > 0 {
		n := min(len(line), maxWrite)
		if err := c.process.Write(ctx, line[:n], false); err != nil {
			return err
		}
		line = line[n:]
	}
	return nil
}

// A reply is a request of ours that is on its way.
type reply struct {
	id       int
	request  message
	response chan message
}

// begin registers a request. await sends it.
func (c *conn) begin(method string, params any) *reply {
	encoded, err := json.Marshal(params)
	if err != nil { // impossible: they are texts
		encoded = nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	r := &reply{id: c.last, response: make(chan message, 1)}
	r.request = message{ID: json.RawMessage(fmt.Sprint(r.id)), Method: method, Params: encoded}
	c.open[r.id] = r.response
	return r
}

// await sends the request, unless it was sent before, and waits for its response.
func (c *conn) await(ctx context.Context, r *reply, into any) error {
	if r.request.Method != "" {
		m := r.request
		r.request.Method = ""
		if err := c.write(ctx, m); err != nil {
			return err
		}
	}
	select {
	case m := <-r.response:
		if m.Error != nil {
			return m.Error
		}
		if err := json.Unmarshal(m.Result, into); err != nil {
			return tool.Errorf(tool.Unavailable,
				"the agent program sent a response that is not as ACP has it").Because(err)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// call makes a request.
func (c *conn) call(ctx context.Context, method string, params, into any) error {
	err := c.await(ctx, c.begin(method, params), into)
	var refused *rpcError
	if errors.As(err, &refused) && refused.Code != codeAuthRequired {
		return tool.Errorf(tool.Unavailable, "the agent program refused %s: %s", method,
			text.Clip(refused.Message, maxRefusals)).Try("try again, or ask the operator to check the acp settings")
	}
	return err
}

// notify sends a notification.
func (c *conn) notify(ctx context.Context, method string, params any) error {
	encoded, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return c.write(ctx, message{Method: method, Params: encoded})
}

// respond takes the response to a request of ours. Others are ignored.
func (c *conn) respond(m message) {
	var id int
	if json.Unmarshal(m.ID, &id) != nil {
		return
	}
	c.mu.Lock()
	waiting := c.open[id]
	delete(c.open, id)
	c.mu.Unlock()
	if waiting != nil {
		waiting <- m
	}
}
