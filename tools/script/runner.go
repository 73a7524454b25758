package script

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/child"
	"github.com/mcp-tools/mcp-tools/internal/slots"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/script/engine"
)

const (
	// maxCalls is how many calls a script may make.
	maxCalls = 200
	// maxTime bounds a script. While a person is asked it is not counted.
	maxTime = 60 * time.Second
	// maxScripts is how many scripts run at the same time; of one user at most half.
	maxScripts = 16
	// maxQueued is how many scripts of one session wait.
	maxQueued = 100
	// maxMemory bounds the process of a script where the kernel can.
	maxMemory = 320 << 20
)

// An Inner is a call that a script makes.
type Inner struct {
	Grant  tool.Grant // of the script
	Script string     // the call of the script
	Tool   string
	Args   json.RawMessage
	// Asking is called before a person is asked, and its result after the answer.
	Asking func() (answered func())
}

// A Runner runs scripts. Its methods may be called concurrently.
type Runner struct {
	// Start starts a process of this program with the arguments.
	Start func(ctx context.Context, args []string, memory int64) (sandbox.Link, error)
	// Call makes a call through the pipeline of the server.
	Call func(ctx context.Context, c Inner) tool.Result
	// Time bounds a script, without the time of questions to a person; 0 is 60 s.
	Time time.Duration
	// Marks are put around the value of a script that has read text from outside.
	Marks tool.Marks

	once  sync.Once
	slots *slots.Queue
}

// An Outcome is how a script ended.
type Outcome struct {
	Value         json.RawMessage // its value; nil for nothing
	Text          string          // likewise, if it is a string
	Printed       string
	Calls, Failed int

	outside bool // it has read text from outside
	marks   tool.Marks
}

// Run runs a script for the call that ctx belongs to. args is the script's variable args.
func (r *Runner) Run(ctx context.Context, code string, args json.RawMessage) (Outcome, error) {
	running := tool.RunningFrom(ctx)
	if running.Grant == nil || running.Usable == nil {
		return Outcome{}, tool.Errorf(tool.Unavailable, "this call belongs to no session").
			Try("call it through the server")
	}
	tool.Idle(ctx) // a slot for a script takes the place of the one for a call
	r.once.Do(func() {
		r.slots = slots.New(slots.Limits{Total: maxScripts, Running: maxScripts, Queued: maxQueued})
	})
	slot, err := r.slots.Acquire(ctx, slots.For{Account: running.Caller.Account(), Line: running.Caller.Session})
	if err != nil {
		return Outcome{}, err
	}
	defer slot.Release()
	link, err := r.Start(ctx, []string{engine.Arg}, maxMemory)
	if err != nil {
		return Outcome{}, tool.Errorf(tool.Unavailable, "scripts cannot be started here").Because(err).
			Try("call the tools one by one")
	}
	s := &session{runner: r, link: link, code: code, grant: running.Grant(), id: running.Call}
	s.out.marks = r.Marks
	defer s.close()
	for _, t := range running.Usable() {
		if !t.Spec.Composes && !t.Spec.Internal {
			s.names = append(s.names, t.Spec.Name)
		}
	}
	return s.run(ctx, args)
}

// Check returns why a script cannot be read, or nil.
func Check(code string) error { return engine.Check(code) }

func (r *Runner) limit() time.Duration { return cmp.Or(r.Time, maxTime) }

// A session is a script that runs.
type session struct {
	runner *Runner
	link   sandbox.Link
	code   string
	names  []string
	grant  tool.Grant
	id     string
	out    Outcome
	once   sync.Once
}

func (s *session) close() { s.once.Do(func() { s.link.Close() }) }

// errOvertime ends a script.
var errOvertime = errors.New("the script took too long")

func (s *session) run(ctx context.Context, args json.RawMessage) (Outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := s.runner.limit()
	clock := &clock{timer: time.AfterFunc(limit, func() { cancel(errOvertime) }), left: limit, since: time.Now()}
	defer clock.stop()
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { s.close(); close(ended) })
	defer func() {
		if !stop() {
			<-ended
		}
	}()
	err := engine.Send(s.link, engine.Start{Code: s.code, Args: args, Tools: s.names})
	for err == nil {
		var m engine.Message
		if err = engine.Receive(s.link, &m); err != nil {
			break
		}
		s.out.Printed += m.Printed
		switch {
		case m.End != nil:
			return s.end(*m.End)
		case m.Call == nil:
			err = errors.New("an empty message")
		case s.out.Calls == maxCalls:
			return s.out, s.failed(tool.TooLarge, fmt.Sprintf("the script makes more than %d calls and was ended",
				maxCalls),
				"do part of the work in another script")
		default:
			reply := s.call(ctx, *m.Call, clock)
			if ctx.Err() == nil {
				err = engine.Send(s.link, reply)
			}
		}
	}
	return s.out, s.broken(ctx, err)
}

// broken returns the error of a script whose process has ended early.
func (s *session) broken(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errOvertime):
		return s.failed(tool.Timeout, fmt.Sprintf("the script took longer than %s and was ended", s.runner.limit()),
			"do part of the work in another script")
	case cause != nil:
		return cause
	case child.IsOutOfMemory(err):
		return s.failed(tool.TooLarge, "the script needs too much memory and was ended", "keep less at once")
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return tool.Errorf(tool.Unavailable, "the process of the script ended").Because(err).
			Try("keep less in memory, or call the tools one by one")
	}
	return fmt.Errorf("the process of the script: %w", err)
}

// call makes a call for the script.
func (s *session) call(ctx context.Context, c engine.Call, clock *clock) engine.Reply {
	s.out.Calls++
	tool.Progress(ctx, float64(s.out.Calls), 0, "call of "+text.Clip(c.Tool, 80))
	res := s.runner.Call(ctx, Inner{
		Grant: s.grant, Script: s.id, Tool: c.Tool, Args: c.Args, Asking: clock.pause,
	})
	s.out.outside = s.out.outside || tool.Quoted(res.Text())
	if res.Failed {
		s.out.Failed++
		return engine.Reply{Error: res.Text(), Kind: string(res.Kind)}
	}
	return valueOf(res)
}

// valueOf returns a result in the form for a script: structured content or JSON as a value,
// else text. A text from outside comes without its marks: the result of the script has them.
func valueOf(res tool.Result) engine.Reply {
	if res.Data != nil {
		if value, err := json.Marshal(res.Data); err == nil {
			return engine.Reply{Value: value}
		}
	}
	whole := tool.Unquoted(res.Text())
	if trimmed := strings.TrimSpace(whole); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if json.Valid([]byte(trimmed)) {
			return engine.Reply{Value: json.RawMessage(trimmed)}
		}
	}
	for _, part := range res.Parts {
		if len(part.Data) > 0 {
			whole += fmt.Sprintf("\n[%s, %s]", part.MIME, text.Bytes(int64(len(part.Data))))
		}
	}
	return engine.Reply{Text: strings.TrimPrefix(whole, "\n")}
}

// end returns the script's value, or its error.
func (s *session) end(e engine.End) (Outcome, error) {
	if e.Error == "" {
		s.out.Value, s.out.Text = e.Value, e.Text
		return s.out, nil
	}
	what := e.Error
	if e.Line > 0 {
		what += fmt.Sprintf("\nat line %d", e.Line)
		if lines := strings.Split(s.code, "\n"); e.Line <= len(lines) {
			what += ": " + text.Clip(strings.TrimSpace(lines[e.Line-1]), 200)
		}
	}
	return s.out, s.failed(tool.Invalid, what, "")
}

// failed returns an error with the script's actions until then.
func (s *session) failed(kind tool.Kind, what, next string) error {
	if next != "" {
		what += "; " + next
	}
	return tool.Errorf(kind, "%s", s.out.quoted(what+s.out.account()))
}

// quoted returns the script's value, between marks if it may be text from outside.
func (o Outcome) quoted(made string) string {
	if !o.outside {
		made, _ = tool.Clean(made)
		return made
	}
	return o.marks.Quote("a script that has read text from outside", made)
}

// account describes the output and the calls of a script.
func (o Outcome) account() string {
	var b strings.Builder
	if o.Printed != "" {
		b.WriteString("\nprinted:\n" + strings.TrimSuffix(o.Printed, "\n"))
	}
	if o.Calls > 0 {
		fmt.Fprintf(&b, "\ncalls: %d", o.Calls)
		if o.Failed > 0 {
			fmt.Fprintf(&b, " (%d failed)", o.Failed)
		}
	}
	return b.String()
}

// String returns the outcome as a model reads it.
func (o Outcome) String() string {
	value := o.Text
	if o.Value != nil {
		var b bytes.Buffer
		if json.Compact(&b, o.Value) == nil {
			value = b.String()
		}
	}
	if value == "" {
		value = "the script returned nothing: end it with return VALUE; " +
			"the result of a tool is text, or a value if it is JSON"
	}
	return o.quoted(value + o.account())
}

// A clock calls a function when a time is over that is not paused.
type clock struct {
	mu    sync.Mutex
	timer *time.Timer
	left  time.Duration
	since time.Time // when it last went on
}

// pause stops the clock until the function that it returns is called.
func (c *clock) pause() (goOn func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.timer.Stop() {
		return func() {}
	}
	c.left -= time.Since(c.since)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.since = time.Now()
		c.timer.Reset(max(c.left, time.Millisecond))
	}
}

func (c *clock) stop() { c.timer.Stop() }
