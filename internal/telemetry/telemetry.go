// Package telemetry lets the operator see what the program does: metrics for
// Prometheus, traces for OpenTelemetry, and the log.
//
// It knows how a call is counted and timed, how a span looks on the wire, and
// how a line of the log is kept clean. It does not know what a verdict, an
// outcome or a kind of secret is: whoever joins the parts says which words
// there are, and any other word is counted as "_other", because a label that a
// stranger can choose is memory that a stranger can take. Nothing it sends or
// writes holds arguments or results, and all text passes the scrubber first.
//
// The metrics are written by us, in the text format of Prometheus. Its library
// does much more, and for that makes the program 3 MB larger and start a
// millisecond later; clients that speak stdio start us often and scrape never.
//
// Begin with Calls, which is told of every call, and with NewLogger.
package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Config says what to count and where traces go.
type Config struct {
	Version string // of the program
	Commit  string // it was built from
	Words   Words
	Traces  Traces
	Scrub   func(string) string // takes credentials out of text; nil: text stays as it is
	Log     *slog.Logger        // is told when traces cannot be delivered; nil: nobody is
}

// Words are the values that labels may have.
type Words struct {
	Verdicts []string // what policy may decide
	Outcomes []string // how a call may end
	Reasons  []string // why a call may be held back
	Secrets  []string // the kinds of what is taken out of text
}

// Calls counts, times and traces the calls of tools. Its methods may be used
// by many goroutines at once.
type Calls struct {
	metrics *metrics
	tracer  *tracer // nil when traces are off
}

// New returns the observer of all calls. What it starts, Shutdown stops.
func New(c Config) (*Calls, error) {
	if c.Scrub == nil {
		c.Scrub = func(text string) string { return text }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	tracer, err := newTracer(c)
	if err != nil {
		return nil, err
	}
	return &Calls{metrics: newMetrics(c), tracer: tracer}, nil
}

// Know adds names of tools. Calls of a tool whose name nobody has added are
// counted as calls of "_unknown".
func (c *Calls) Know(names ...string) { c.metrics.know(names) }

// Begin is what is known of a call when it comes in.
type Begin struct {
	Tool      string // as the client named it
	Caller    tool.Caller
	Transport string            // "stdio", "http" or "sse"
	Meta      map[string]string // traceparent and tracestate, as they came
}

// End is what is known of a call when it leaves.
type End struct {
	Verdict    string
	Outcome    string
	Kind       string // of the error; empty when the call went well
	Duration   time.Duration
	QueueWait  time.Duration
	BytesOut   int
	Redactions map[string]int // how many secrets of which kind were taken out
	Err        error
}

// Start notes that a call begins. The function it returns is to be called
// once, at the end; the context carries the span, when there is one.
func (c *Calls) Start(ctx context.Context, b Begin) (context.Context, func(End)) {
	tool := c.metrics.tool(b.Tool)
	if c.tracer == nil {
		return ctx, func(e End) { c.metrics.record(tool, e) }
	}
	ctx, span := c.tracer.start(ctx, tool.name, b)
	return ctx, func(e End) {
		c.metrics.record(tool, e)
		c.tracer.end(span, e)
	}
}

// Running says how many calls run now.
func (c *Calls) Running(n int) { c.metrics.running.Store(int64(n)) }

// Queued says how many calls wait now.
func (c *Calls) Queued(n int) { c.metrics.queued.Store(int64(n)) }

// Sessions says how many sessions are open now.
func (c *Calls) Sessions(n int) { c.metrics.sessions.Store(int64(n)) }

// Limited counts a call that was held back.
func (c *Calls) Limited(reason string) { c.metrics.limited.of(reason).Add(1) }

// Reload counts an attempt to read the configuration again.
func (c *Calls) Reload(ok bool) {
	if ok {
		c.metrics.reloaded.Add(1)
	} else {
		c.metrics.unreloaded.Add(1)
	}
}

// Handler answers a scrape of the metrics.
func (c *Calls) Handler() http.Handler { return c.metrics.handler() }

// Shutdown delivers the spans that are left and stops. When ctx ends first it
// gives up what is left; either way nothing runs on after it.
func (c *Calls) Shutdown(ctx context.Context) error {
	if c.tracer == nil {
		return nil
	}
	return c.tracer.shutdown(ctx)
}
