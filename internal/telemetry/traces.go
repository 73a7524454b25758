package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

const (
	serviceName = "mcp-tools"
	// exportTimeout is the max time for the delivery of one batch. New spans
	// wait in a queue of fixed size, and are dropped when it is full.
	exportTimeout = 30 * time.Second
	// maxMessage is the maximum size of an error message in a span, in bytes.
	maxMessage = 256
	// exampleEndpoint is shown in errors.
	exampleEndpoint = "http://localhost:4318"
)

// Traces configures where spans are sent. The zero value disables tracing.
type Traces struct {
	// Endpoint is the http or https URL of an OTLP collector. The path /v1/traces is added if it
	// is missing.
	Endpoint string
	// Headers are sent with every request. They usually have a key and are secret.
	Headers map[string]string
	// Sample is the share of calls to trace, from 0 to 1. If the client decides whether its call
	// is traced, its decision is used.
	Sample float64
}

// A tracer creates spans of calls. Names of attributes follow the OpenTelemetry semantic
// conventions for MCP and generative AI.
type tracer struct {
	tracer    trace.Tracer
	processor sdktrace.SpanProcessor
	exporter  *exporter
	scrub     func(string) string
}

// newTracer returns nil if tracing is disabled.
func newTracer(c Config) (*tracer, error) {
	if c.Traces.Endpoint == "" {
		return nil, nil
	}
	endpoint, err := collectorURL(c.Traces.Endpoint)
	if err != nil {
		return nil, err
	}
	if !(c.Traces.Sample >= 0 && c.Traces.Sample <= 1) {
		return nil, fmt.Errorf("the share of calls to trace is %v, not a number from 0 to 1", c.Traces.Sample)
	}
	for name, value := range c.Traces.Headers {
		if strings.ContainsAny(value, "\r\n\x00") {
			return nil, fmt.Errorf("the value of the header %q for traces has a line break; remove it", name)
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

// collectorURL parses an endpoint. Its errors do not contain the endpoint, which may have a key.
func collectorURL(endpoint string) (*url.URL, error) {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the endpoint for traces is not a URL; use one like %q", exampleEndpoint)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("the endpoint for traces must begin with http:// or https:// and a host, like %q",
			exampleEndpoint)
	case u.User != nil:
		return nil, fmt.Errorf("the endpoint for traces has a user name or password; use a header instead")
	}
	if !strings.HasSuffix(u.Path, "/v1/traces") {
		u = u.JoinPath("v1", "traces")
	}
	return u, nil
}

// start starts the span of a call. Its parent is the span that the client sent, or else the span
// in ctx. An invalid traceparent is ignored.
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
		attrs = append(attrs,
			attribute.String("network.transport", "tcp"), attribute.String("network.protocol.name", "http"))
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

// sessionHash returns an identifier of a session that does not reveal its id, because over HTTP
// the id is a part of the credentials.
func sessionHash(id string) string {
	sum := sha256.Sum256([]byte("mcp session " + id))
	return hex.EncodeToString(sum[:8])
}

// end ends the span of a call.
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

// message returns the text of an error without secrets. It is scrubbed before it is cut, because
// a pattern does not match half a key, and cut before it is queued, to save memory.
func (t *tracer) message(err error) string {
	if err == nil {
		return ""
	}
	return text.Clip(t.scrub(err.Error()), maxMessage)
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
