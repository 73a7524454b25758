package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcp-tools/mcp-tools/internal/api"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

const (
	serviceName = "mcp-tools"
	scopeName   = "github.com/mcp-tools/mcp-tools"
	// exampleEndpoint is shown in errors.
	exampleEndpoint = "http://localhost:4318"

	batchDelay     = 5 * time.Second  // the time that a span waits for others
	exportTimeout  = 30 * time.Second // for the delivery of one batch
	requestTimeout = 10 * time.Second // of one request
	maxAttempts    = 5                // of a request
	maxMessage     = 256              // bytes of an error message in a span
)

// Traces configures where spans are sent. The zero value disables tracing.
type Traces struct {
	// Endpoint is the http or https URL of an OTLP collector. The path /v1/traces is added if it
	// is missing.
	Endpoint string
	// Headers are sent with every request. They usually have a key and are secret.
	Headers map[string]string

	HTTP outbound.Client // reaches the collector
}

// A tracer makes one span for each call. The SDK of OpenTelemetry sends them in batches to a collector, with OTLP over
// HTTP in its JSON encoding. Names of attributes follow the
// semantic conventions for MCP and generative AI.
type tracer struct {
	trace.Tracer
	provider *sdktrace.TracerProvider
	exporter sdktrace.SpanExporter
	scrub    func(string) string
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
	for name, value := range c.Traces.Headers {
		if strings.ContainsAny(value, "\r\n\x00") {
			return nil, fmt.Errorf("the value of the header %q for traces has a line break; remove it", name)
		}
	}
	base := *endpoint
	base.RawQuery = "" // it may have a key
	collector, err := api.New(api.Options{
		Name: "the collector", URL: base.String(), HTTP: c.Traces.HTTP, Key: api.Key(endpoint.RawQuery),
		Attach:  func(r *http.Request, query string) { r.URL.RawQuery = query }, // the exporter leaves it out
		Timeout: requestTimeout, Attempts: api.Attempts{Max: maxAttempts}, Safe: true,
	})
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(context.Background(),
		otlptracehttp.WithEndpointURL(endpoint.String()),
		otlptracehttp.WithHeaders(c.Traces.Headers),
		otlptracehttp.WithEncoding(otlptracehttp.EncodingJSON),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: false}), // collector does
		otlptracehttp.WithHTTPClient(collector.HTTP()))
	if err != nil {
		return nil, fmt.Errorf("preparing traces: %w", err)
	}
	reporting := &reporter{SpanExporter: exporter, scrub: c.Scrub, log: c.Log.With(slog.String("collector", endpoint.Host))}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(reporting, sdktrace.WithBatchTimeout(batchDelay), sdktrace.WithExportTimeout(exportTimeout)),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", serviceName), attribute.String("service.version", c.Version))))
	return &tracer{
		Tracer:   provider.Tracer(scopeName, trace.WithInstrumentationVersion(c.Version)),
		provider: provider, exporter: exporter, scrub: c.Scrub,
	}, nil
}

// A reporter logs when delivery starts to fail and when it works again, but not each batch in
// between, so that a broken collector does not fill the log.
type reporter struct {
	sdktrace.SpanExporter
	scrub func(string) string
	log   *slog.Logger

	mu   sync.Mutex
	lost int // spans lost since the collector last accepted a batch
}

// ExportSpans implements sdktrace.SpanExporter.
func (r *reporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := r.SpanExporter.ExportSpans(ctx, spans)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil:
		if r.lost == 0 {
			r.log.Warn("traces cannot be delivered", "spans", len(spans), "err", text.Clip(r.scrub(err.Error()), maxMessage))
		}
		r.lost += len(spans)
	case r.lost > 0:
		r.log.Info("traces are delivered again", "lost", r.lost)
		r.lost = 0
	}
	return nil // it is logged
}

// collectorURL parses an endpoint. Its errors do not contain the endpoint: it may have a key.
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

// Traceparent returns the span in ctx as the parent of calls that are made later, or nil.
func Traceparent(ctx context.Context) map[string]string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	if len(carrier) == 0 {
		return nil
	}
	return carrier
}

// start starts the span of a call. Its parent is the span that the client sent, or else the span
// in ctx. An invalid traceparent is ignored.
func (t *tracer) start(ctx context.Context, tool string, b Begin) (context.Context, trace.Span) {
	if from := (propagation.TraceContext{}).Extract(context.Background(), propagation.MapCarrier(b.Meta)); b.Meta["traceparent"] != "" {
		if sent := trace.SpanContextFromContext(from); sent.IsValid() {
			ctx = trace.ContextWithRemoteSpanContext(ctx, sent)
		}
	}
	attributes := []attribute.KeyValue{
		attribute.String("mcp.method.name", "tools/call"),
		attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.name", tool),
	}
	switch b.Transport {
	case "stdio":
		attributes = append(attributes, attribute.String("network.transport", "pipe"))
	case "http", "sse":
		attributes = append(attributes, attribute.String("network.transport", "tcp"),
			attribute.String("network.protocol.name", "http"))
	}
	if b.Caller.Session != "" { // hashed: over HTTP the id is a part of the credentials
		sum := sha256.Sum256([]byte("mcp session " + b.Caller.Session))
		attributes = append(attributes, attribute.String("mcp.session.id", hex.EncodeToString(sum[:8])))
	}
	if b.Caller.Profile != "" {
		attributes = append(attributes, attribute.String("mcp_tools.profile", b.Caller.Profile))
	}
	return t.Start(ctx, "tools/call "+tool, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attributes...))
}

// end ends the span of a call. An error is scrubbed before it is cut, because a
// pattern does not match half a key.
func (t *tracer) end(s trace.Span, e End) {
	defer s.End()
	if !s.IsRecording() {
		return
	}
	s.SetAttributes(attribute.String("mcp_tools.verdict", e.Verdict), attribute.String("mcp_tools.outcome", e.Outcome),
		attribute.Float64("mcp_tools.queue_wait", e.QueueWait.Seconds()), attribute.Int("mcp_tools.result.bytes", e.BytesOut))
	redactions := 0
	for _, n := range e.Redactions {
		redactions += n
	}
	if redactions > 0 {
		s.SetAttributes(attribute.Int("mcp_tools.redactions", redactions))
	}
	if e.Kind != "" {
		s.SetAttributes(attribute.String("mcp_tools.error.kind", e.Kind))
	}
	if e.Err == nil && e.Kind == "" {
		return
	}
	s.SetAttributes(attribute.String("error.type", "tool_error"))
	message := ""
	if e.Err != nil {
		message = text.Clip(t.scrub(e.Err.Error()), maxMessage)
	}
	s.SetStatus(codes.Error, message)
}

// shutdown delivers the queued spans. If ctx ends first it discards them.
func (t *tracer) shutdown(ctx context.Context) error {
	if ctx.Err() != nil { // then the SDK would not even begin
		var end context.CancelFunc
		ctx, end = context.WithTimeout(context.WithoutCancel(ctx), time.Millisecond)
		defer end()
	}
	err := t.provider.Shutdown(ctx)
	if err == nil {
		return nil
	}
	// The SDK leaves its goroutine to the delivery that runs: this ends it.
	return fmt.Errorf("delivering the last traces: %w", errors.Join(err, t.exporter.Shutdown(context.WithoutCancel(ctx))))
}
