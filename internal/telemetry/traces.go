package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const (
	serviceName = "mcp-tools"
	// exportTimeout is how long one batch may be tried for. New spans wait in
	// a queue of fixed size meanwhile and are dropped when it is full.
	exportTimeout = 30 * time.Second
	// maxMessage bounds the text of an error in a span, in bytes.
	maxMessage = 256
)

// Traces says where spans go. The zero value turns them off.
type Traces struct {
	// Endpoint is the http or https URL of a collector that takes OTLP over
	// HTTP. The path /v1/traces is added where it is missing.
	Endpoint string
	// Headers go with every request. They usually hold a key and are secret.
	Headers map[string]string
	// Sample is the share, from 0 to 1, of calls that are traced. Where the
	// client says whether it traces its call, we do the same.
	Sample float64
}

// A tracer makes spans of calls. The names of attributes follow the semantic
// conventions of OpenTelemetry for MCP and generative AI where these have one.
type tracer struct {
	tracer    trace.Tracer
	processor sdktrace.SpanProcessor
	exporter  *exporter
	scrub     func(string) string
}

// newTracer returns nil when traces are off.
func newTracer(c Config) (*tracer, error) {
	if c.Traces.Endpoint == "" {
		return nil, nil
	}
	endpoint, err := collectorURL(c.Traces.Endpoint)
	if err != nil {
		return nil, err
	}
	if !(c.Traces.Sample >= 0 && c.Traces.Sample <= 1) {
		return nil, fmt.Errorf("the share of calls to trace is %v; give a number from 0 to 1", c.Traces.Sample)
	}
	for name, value := range c.Traces.Headers {
		if strings.ContainsAny(value, "\r\n\x00") {
			return nil, fmt.Errorf("the value of the header %q for traces holds a line break; remove it", name)
		}
	}
	return startTracer(c, newExporter(endpoint, c)), nil
}

func startTracer(c Config, e *exporter) *tracer {
	processor := sdktrace.NewBatchSpanProcessor(e, sdktrace.WithExportTimeout(exportTimeout))
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(processor),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(c.Traces.Sample))),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", serviceName),
			attribute.String("service.version", c.Version),
			attribute.String("telemetry.sdk.name", "opentelemetry"),
			attribute.String("telemetry.sdk.language", "go"),
			attribute.String("telemetry.sdk.version", sdk.Version()),
		)),
	)
	return &tracer{
		tracer:    provider.Tracer("github.com/mcp-tools/mcp-tools", trace.WithInstrumentationVersion(c.Version)),
		processor: processor,
		exporter:  e,
		scrub:     c.Scrub,
	}
}

// collectorURL checks an endpoint. Its errors do not repeat the endpoint,
// which may hold a key.
func collectorURL(endpoint string) (*url.URL, error) {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the endpoint for traces is not a URL; write it like %q", "http://localhost:4318")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("the endpoint for traces must begin with http:// or https:// and name a host, like %q", "http://localhost:4318")
	case u.User != nil:
		return nil, fmt.Errorf("the endpoint for traces holds a user name or password; put it in a header instead")
	}
	if !strings.HasSuffix(u.Path, "/v1/traces") {
		u = u.JoinPath("v1", "traces")
	}
	return u, nil
}

// start opens the span of a call. Its parent is the one that the client names,
// else the span that ctx is in; a traceparent that is malformed counts as none.
func (t *tracer) start(ctx context.Context, tool string, b Begin) (context.Context, trace.Span) {
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier(b.Meta))
	attrs := append(make([]attribute.KeyValue, 0, 8),
		attribute.String("mcp.method.name", "tools/call"),
		attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.name", tool),
	)
	switch b.Transport {
	case "stdio":
		attrs = append(attrs, attribute.String("network.transport", "pipe"))
	case "http", "sse":
		attrs = append(attrs, attribute.String("network.transport", "tcp"), attribute.String("network.protocol.name", "http"))
	}
	if b.Caller.Session != "" {
		attrs = append(attrs, attribute.String("mcp.session.id", sessionHash(b.Caller.Session)))
	}
	if b.Caller.Profile != "" {
		attrs = append(attrs, attribute.String("mcp_tools.profile", b.Caller.Profile))
	}
	return t.tracer.Start(ctx, "tools/call "+tool,
		trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attrs...))
}

// sessionHash names a session without giving it away: on HTTP the id is half
// of what it takes to speak in the session.
func sessionHash(id string) string {
	sum := sha256.Sum256([]byte("mcp session " + id))
	return hex.EncodeToString(sum[:8])
}

// end closes the span of a call.
func (t *tracer) end(span trace.Span, e End) {
	if !span.IsRecording() {
		return
	}
	attrs := append(make([]attribute.KeyValue, 0, 8),
		attribute.String("mcp_tools.verdict", e.Verdict),
		attribute.String("mcp_tools.outcome", e.Outcome),
		attribute.Float64("mcp_tools.queue_wait", e.QueueWait.Seconds()),
		attribute.Int("mcp_tools.result.bytes", e.BytesOut),
	)
	redactions := 0
	for _, n := range e.Redactions {
		redactions += n
	}
	if redactions > 0 {
		attrs = append(attrs, attribute.Int("mcp_tools.redactions", redactions))
	}
	if e.Kind != "" {
		attrs = append(attrs, attribute.String("mcp_tools.error.kind", e.Kind))
	}
	if e.Err != nil || e.Kind != "" {
		attrs = append(attrs, attribute.String("error.type", "tool_error"))
		span.SetStatus(codes.Error, t.message(e.Err))
	}
	span.SetAttributes(attrs...)
	span.End()
}

// message is the text of an error, without secrets and in this order: half a
// key matches no pattern. It is cut here and not on the way out because spans
// wait in a queue.
func (t *tracer) message(err error) string {
	if err == nil {
		return ""
	}
	return cut(t.scrub(err.Error()), maxMessage)
}

// cut shortens text to at most n bytes without breaking a character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	const more = "…"
	n -= len(more)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + more
}

func (t *tracer) shutdown(ctx context.Context) error {
	err := t.processor.Shutdown(ctx)
	t.exporter.abort()
	<-t.exporter.closed // the processor closes the exporter when its own goroutine is done
	if err != nil {
		return fmt.Errorf("delivering the last traces: %w", err)
	}
	return nil
}
