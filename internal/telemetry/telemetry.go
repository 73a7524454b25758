// Package telemetry shows the operator the work of the program: metrics for Prometheus, traces
// for OpenTelemetry, and the log.
//
// It knows how calls are counted and timed, the wire format of spans, and the format of log
// lines. It does not know the verdicts, outcomes and kinds of secrets: its caller declares
// these label values, and any other value is counted as "_other". Otherwise clients could fill
// the memory with labels. It never sends or logs arguments or results, and it scrubs all text.
//
// Begin with [Calls], the observer of every call, and with [NewLogger].
package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Config configures the metrics and traces.
type Config struct {
	Version string // of the program
	Commit  string // of the program
	Labels  Labels
	Metrics bool // counts calls for Handler
	Traces  Traces
	Scrub   func(string) string // removes credentials from text; nil changes nothing
	Log     *slog.Logger        // for failures to deliver traces; nil discards
}

// Labels are the values that labels may have.
type Labels struct {
	Verdicts []string // decisions of the policy
	Outcomes []string // how calls end
	Reasons  []string // why calls are rejected by a limit
	Secrets  []string // kinds of secrets that are removed from text
}

// Calls counts, times and traces tool calls. It is safe for concurrent use.
type Calls struct {
	metrics *metrics // nil when metrics and traces are off: most servers have no reader of them
	tracer  *tracer  // nil when traces are off
}

// New returns a Calls. The caller ends it with Shutdown.
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
	calls := &Calls{tracer: tracer}
	if c.Metrics || tracer != nil {
		calls.metrics = newMetrics(c)
	}
	return calls, nil
}

// AddTools adds names of tools. Calls of other names are counted for tool "_unknown".
func (c *Calls) AddTools(names ...string) {
	if c.metrics != nil {
		c.metrics.addTools(names)
	}
}

// Begin describes a call at its start.
type Begin struct {
	Tool      string // as the client named it
	Caller    tool.Caller
	Transport string            // "stdio", "http" or "sse"
	Meta      map[string]string // traceparent and tracestate of the request
}

// End describes a call at its end.
type End struct {
	Verdict    string
	Outcome    string
	Kind       string // of the error; "" if there was none
	Duration   time.Duration
	QueueWait  time.Duration
	BytesOut   int
	Redactions map[string]int // number of secrets removed, by kind
	Err        error
}

// Start records the start of a call. The caller calls the returned function once, at the end.
// The returned context has the span of the call, if there is one.
func (c *Calls) Start(ctx context.Context, b Begin) (context.Context, func(End)) {
	if c.metrics == nil {
		return ctx, func(End) {}
	}
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

// Running sets the number of running calls.
func (c *Calls) Running(n int) {
	if c.metrics != nil {
		c.metrics.running.Set(float64(n))
	}
}

// Queued sets the number of waiting calls.
func (c *Calls) Queued(n int) {
	if c.metrics != nil {
		c.metrics.queued.Set(float64(n))
	}
}

// Sessions sets the number of open sessions.
func (c *Calls) Sessions(n int) {
	if c.metrics != nil {
		c.metrics.sessions.Set(float64(n))
	}
}

// Limited counts a call that was rejected by a limit.
func (c *Calls) Limited(reason string) {
	if c.metrics != nil {
		c.metrics.limited.of(reason).Inc()
	}
}

// Reload counts an attempt to reload the configuration.
func (c *Calls) Reload(ok bool) {
	if c.metrics == nil {
		return
	}
	result := "ok"
	if !ok {
		result = "failed"
	}
	c.metrics.reloads.WithLabelValues(result).Inc()
}

// Handler returns a handler for scrapes of the metrics. Metrics must be on.
func (c *Calls) Handler() http.Handler { return c.metrics.handler() }

// Shutdown delivers the remaining spans and stops. If ctx ends first, it discards them. Either
// way no goroutine is left.
func (c *Calls) Shutdown(ctx context.Context) error {
	if c.tracer == nil {
		return nil
	}
	return c.tracer.shutdown(ctx)
}
