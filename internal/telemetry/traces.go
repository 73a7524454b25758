package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	randv2 "math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

const (
	serviceName = "mcp-tools"
	// exampleEndpoint is shown in errors.
	exampleEndpoint = "http://localhost:4318"

	maxQueue   = 2048            // spans; more are lost
	maxBatch   = 512             // spans of one request
	batchDelay = 5 * time.Second // the time that a span waits for others

	exportTimeout  = 30 * time.Second // for the delivery of one batch
	requestTimeout = 10 * time.Second // of one request
	firstPause     = time.Second      // before the second attempt; doubled for each further one
	maxPause       = 10 * time.Second
	maxMessage     = 256 // bytes of an error message in a span
)

// Traces configures where spans are sent. The zero value disables tracing.
type Traces struct {
	// Endpoint is the http or https URL of an OTLP collector. The path /v1/traces is added if it
	// is missing.
	Endpoint string
	// Headers are sent with every request. They usually have a key and are secret.
	Headers map[string]string
}

// A tracer makes one span for each call, and sends them in batches to a collector with OTLP over
// HTTP in its JSON encoding, which every collector supports. The OpenTelemetry SDK would make
// every start of the program longer, also without traces. Names of attributes follow the
// semantic conventions for MCP and generative AI.
type tracer struct {
	config Config
	url    *url.URL
	client *http.Client
	queue  chan span
	done   chan struct{} // closed when the last batch was sent
	life   context.Context
	abort  context.CancelFunc // ends all attempts

	mu     sync.Mutex
	closed bool
	lost   int // spans lost since the collector last accepted a batch
}

// A span is one call, in the JSON encoding of OTLP: ids in hexadecimal, 64-bit numbers as text.
type span struct {
	TraceID    string      `json:"traceId"`
	SpanID     string      `json:"spanId"`
	Parent     string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"` // 2 is a server
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes"`
	Status     spanStatus  `json:"status"`
	sampled    bool
}

type spanStatus struct {
	Code    int    `json:"code,omitempty"` // 2 is an error
	Message string `json:"message,omitempty"`
}

type attribute struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

func textAttribute(key, value string) attribute {
	return attribute{key, map[string]any{"stringValue": value}}
}

func countAttribute(key string, n int) attribute {
	return attribute{key, map[string]any{"intValue": strconv.Itoa(n)}}
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
	t := &tracer{
		config: c, url: endpoint, queue: make(chan span, maxQueue), done: make(chan struct{}),
		client: &http.Client{
			Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
				IdleConnTimeout: time.Minute},
			// A redirect is not followed, because the headers may hold a key for this collector.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Timeout:       requestTimeout,
		},
	}
	t.life, t.abort = context.WithCancel(context.Background())
	go t.run()
	return t, nil
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

// parentKey is the key of the running span in a context.
type parentKey struct{}

// traceparent matches the W3C header: a trace, a span, and whether it is sampled.
var traceparent = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]([0-9a-f])$`)
})

// Traceparent returns the span in ctx as the parent of calls that are made later, or nil.
func Traceparent(ctx context.Context) map[string]string {
	s, ok := ctx.Value(parentKey{}).(*span)
	if !ok {
		return nil
	}
	flags := "00"
	if s.sampled {
		flags = "01"
	}
	return map[string]string{"traceparent": "00-" + s.TraceID + "-" + s.SpanID + "-" + flags}
}

// start starts the span of a call. Its parent is the span that the client sent, or else the span
// in ctx. An invalid traceparent is ignored.
func (t *tracer) start(ctx context.Context, tool string, b Begin) (context.Context, *span) {
	s := &span{
		SpanID: randomHex(8), Name: "tools/call " + tool, Kind: 2, Start: nanoseconds(),
		Attributes: []attribute{
			textAttribute("mcp.method.name", "tools/call"),
			textAttribute("gen_ai.operation.name", "execute_tool"),
			textAttribute("gen_ai.tool.name", tool),
		},
	}
	outer, nested := ctx.Value(parentKey{}).(*span)
	m := traceparent().FindStringSubmatch(b.Meta["traceparent"])
	switch {
	case m != nil && strings.Trim(m[1], "0") != "" && strings.Trim(m[2], "0") != "":
		flags, _ := strconv.ParseUint(m[3], 16, 8)
		s.TraceID, s.Parent, s.sampled = m[1], m[2], flags&1 == 1
	case nested:
		s.TraceID, s.Parent, s.sampled = outer.TraceID, outer.SpanID, outer.sampled
	default:
		s.TraceID, s.sampled = randomHex(16), true
	}
	switch b.Transport {
	case "stdio":
		s.Attributes = append(s.Attributes, textAttribute("network.transport", "pipe"))
	case "http", "sse":
		s.Attributes = append(s.Attributes, textAttribute("network.transport", "tcp"),
			textAttribute("network.protocol.name", "http"))
	}
	if b.Caller.Session != "" { // hashed: over HTTP the id is a part of the credentials
		sum := sha256.Sum256([]byte("mcp session " + b.Caller.Session))
		s.Attributes = append(s.Attributes, textAttribute("mcp.session.id", hex.EncodeToString(sum[:8])))
	}
	if b.Caller.Profile != "" {
		s.Attributes = append(s.Attributes, textAttribute("mcp_tools.profile", b.Caller.Profile))
	}
	return context.WithValue(ctx, parentKey{}, s), s
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

func nanoseconds() string { return strconv.FormatInt(time.Now().UnixNano(), 10) }

// end ends the span of a call and queues it. An error is scrubbed before it is cut, because a
// pattern does not match half a key.
func (t *tracer) end(s *span, e End) {
	if !s.sampled {
		return
	}
	s.End = nanoseconds()
	s.Attributes = append(s.Attributes, textAttribute("mcp_tools.verdict", e.Verdict),
		textAttribute("mcp_tools.outcome", e.Outcome),
		attribute{"mcp_tools.queue_wait", map[string]any{"doubleValue": e.QueueWait.Seconds()}},
		countAttribute("mcp_tools.result.bytes", e.BytesOut))
	redactions := 0
	for _, n := range e.Redactions {
		redactions += n
	}
	if redactions > 0 {
		s.Attributes = append(s.Attributes, countAttribute("mcp_tools.redactions", redactions))
	}
	if e.Kind != "" {
		s.Attributes = append(s.Attributes, textAttribute("mcp_tools.error.kind", e.Kind))
	}
	if e.Err != nil || e.Kind != "" {
		s.Attributes = append(s.Attributes, textAttribute("error.type", "tool_error"))
		s.Status.Code = 2
	}
	if e.Err != nil {
		s.Status.Message = text.Clip(t.config.Scrub(e.Err.Error()), maxMessage)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	select {
	case t.queue <- *s:
	default:
		t.lost++
	}
}

// run sends the queued spans until shutdown.
func (t *tracer) run() {
	defer close(t.done)
	for first := range t.queue {
		batch := []span{first}
		late := time.After(batchDelay)
	gather:
		for len(batch) < maxBatch {
			select {
			case s, open := <-t.queue:
				if !open {
					break gather
				}
				batch = append(batch, s)
			case <-late:
				break gather
			}
		}
		t.report(t.export(batch), len(batch))
	}
}

// report logs when delivery starts to fail and when it works again, but not each batch in
// between, so that a broken collector does not fill the log.
func (t *tracer) report(err error, spans int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	log := t.config.Log.With(slog.String("collector", t.url.Host))
	switch {
	case err != nil:
		if t.lost == 0 {
			log.Warn("traces cannot be delivered", "spans", spans, "err", err)
		}
		t.lost += spans
	case t.lost > 0:
		log.Info("traces are delivered again", "lost", t.lost)
		t.lost = 0
	}
}

// export delivers a batch within exportTimeout.
func (t *tracer) export(batch []span) error {
	object := func(pairs ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	resource := []attribute{textAttribute("service.name", serviceName),
		textAttribute("service.version", t.config.Version)}
	scope := object("name", "github.com/mcp-tools/mcp-tools", "version", t.config.Version)
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	err := errors.Join(json.NewEncoder(z).Encode(object("resourceSpans", []any{object(
		"resource", object("attributes", resource),
		"scopeSpans", []any{object("scope", scope, "spans", batch)})})), z.Close())
	if err != nil {
		return fmt.Errorf("encoding the spans: %w", err)
	}
	ctx, cancel := context.WithTimeout(t.life, exportTimeout)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		after, err := t.post(ctx, body.Bytes())
		if err == nil || after < 0 {
			return err
		}
		wait := max(after, pause/2+randv2.N(pause)) // random, so that clients do not retry at the same time
		if deadline, _ := ctx.Deadline(); time.Until(deadline) <= wait || clock.Sleep(ctx, wait) != nil {
			return err
		}
	}
}

// post makes one attempt to deliver a batch. If it fails and may be tried again, after is how
// long the collector wants to wait; otherwise it is negative.
func (t *tracer) post(ctx context.Context, body []byte) (after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url.String(), bytes.NewReader(body))
	if err != nil {
		return -1, errors.New("the endpoint for traces is not a valid URL") // err may contain a key
	}
	for name, value := range t.config.Traces.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Content-Encoding", "gzip")
	req.Header.Set("User-Agent", serviceName+"/"+t.config.Version)
	resp, err := t.client.Do(req)
	if err != nil {
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
			err = wrapped.Err // without the URL, which may contain a key
		}
		return 0, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection is used again
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		after, _ = outbound.RetryAfter(resp.Header.Get("Retry-After"), time.Now())
	default:
		after = -1
	}
	return after, fmt.Errorf("the collector returned status %d", resp.StatusCode)
}

// shutdown delivers the queued spans. If ctx ends first it discards them.
func (t *tracer) shutdown(ctx context.Context) error {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		close(t.queue)
	}
	t.mu.Unlock()
	defer t.client.CloseIdleConnections()
	defer t.abort()
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		t.abort()
		<-t.done
		return fmt.Errorf("delivering the last traces: %w", context.Cause(ctx))
	}
}
