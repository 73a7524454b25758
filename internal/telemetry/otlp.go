package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

const (
	requestTimeout = 10 * time.Second // of one request; exportTimeout limits all requests of a batch
	firstPause     = time.Second      // before the second attempt; doubled for each further one
	maxPause       = 10 * time.Second
	minPause       = 100 * time.Millisecond // even if the collector asks for less
	maxReply       = 64 << 10               // bytes of a collector's response to read
)

// An exporter sends spans to a collector with OTLP over HTTP in its JSON encoding, which
// every collector supports. The SDK's exporter would link generated code and gRPC: it makes
// the program 5 MB larger and its start 2 ms longer, even without tracing, and stdio clients
// start the program often.
//
// The batch processor calls ExportSpans from one goroutine at a time.
type exporter struct {
	url     string
	host    string // the part of url that may be logged
	headers http.Header
	client  *http.Client
	log     *slog.Logger
	scrub   func(string) string

	life   context.Context // canceled by abort, which ends all attempts
	abort  context.CancelFunc
	closed chan struct{} // closed after the last batch
	once   sync.Once

	lost int // spans lost since the collector last accepted a batch
}

func newExporter(endpoint *url.URL, c Config) *exporter {
	e := &exporter{
		url:     endpoint.String(),
		host:    endpoint.Host,
		headers: http.Header{},
		client: &http.Client{
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute,
			},
			// A redirect is not followed, because the headers may hold a key for this collector.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Timeout:       requestTimeout,
		},
		log:    c.Log,
		scrub:  c.Scrub,
		closed: make(chan struct{}),
	}
	for name, value := range c.Traces.Headers {
		e.headers.Set(name, value)
	}
	e.headers.Set("Content-Type", "application/json")
	e.headers.Set("Content-Encoding", "gzip")
	e.headers.Set("User-Agent", serviceName+"/"+c.Version)
	e.life, e.abort = context.WithCancel(context.Background())
	return e
}

// ExportSpans delivers one batch, or logs that it could not. It returns no error, because the
// SDK would log it through a global handler without scrubbing.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.life, cancel)()
	e.report(e.export(ctx, spans), len(spans))
	return nil
}

// Shutdown is called by the processor after the last batch.
func (e *exporter) Shutdown(context.Context) error {
	e.once.Do(func() {
		e.client.CloseIdleConnections()
		close(e.closed)
	})
	return nil
}

// report logs when delivery starts to fail and when it works again, but not each batch in
// between, so that a broken collector does not fill the log.
func (e *exporter) report(err error, spans int) {
	var partial *partialError
	switch {
	case err == nil && e.lost > 0:
		e.log.Info("traces are delivered again", "collector", e.host, "lost", e.lost)
		e.lost = 0
	case err == nil:
	case errors.As(err, &partial):
		e.log.Warn("the collector rejected some traces", "collector", e.host, "spans", partial.rejected, "error", err)
	default:
		if e.lost == 0 {
			e.log.Warn("traces cannot be delivered", "collector", e.host, "spans", spans, "error", err)
		}
		e.lost += spans
	}
}

// export encodes a batch once, and tries to deliver it until ctx ends.
func (e *exporter) export(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	body, err := pack(encoder{e.scrub}.request(spans))
	if err != nil {
		return err
	}
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := e.post(ctx, body)
		var retry *retryError
		if !errors.As(err, &retry) {
			return err
		}
		wait := pause/2 + rand.N(pause) // random, so that clients do not retry at the same time
		if retry.after >= 0 {
			wait = max(retry.after, minPause)
		}
		if !sleep(ctx, wait) {
			return err
		}
	}
}

// pack encodes a request as compressed JSON.
func pack(request exportRequest) ([]byte, error) {
	var body bytes.Buffer
	z, err := gzip.NewWriterLevel(&body, gzip.BestSpeed) // spans are similar, so a better level gains little
	if err != nil {
		return nil, fmt.Errorf("compressing the spans: %w", err)
	}
	if err := json.NewEncoder(z).Encode(request); err != nil {
		return nil, fmt.Errorf("encoding the spans: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("compressing the spans: %w", err)
	}
	return body.Bytes(), nil
}

// sleep waits for d, and reports whether it did. It returns at once if ctx ends earlier.
func sleep(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	return clock.Sleep(ctx, d) == nil
}

// A retryError is a failure that may not occur again.
type retryError struct {
	after time.Duration // the Retry-After of the collector; negative if there was none
	err   error
}

func (e *retryError) Error() string { return e.err.Error() }
func (e *retryError) Unwrap() error { return e.err }

// A partialError means that the collector accepted only a part of a batch.
type partialError struct {
	rejected int64
	message  string
}

func (e *partialError) Error() string {
	return fmt.Sprintf("%d spans were rejected: %q", e.rejected, e.message)
}

// post makes one attempt to deliver a batch.
func (e *exporter) post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return errors.New("the endpoint for traces is not a valid URL") // err may contain a key
	}
	req.Header = e.headers.Clone()
	resp, err := e.client.Do(req)
	if err != nil {
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
			err = wrapped.Err // without the URL, which may contain a key
		}
		if ctx.Err() != nil {
			return err
		}
		return &retryError{after: -1, err: err}
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	switch {
	case resp.StatusCode >= 300:
		return e.refusal(resp, reply)
	case err != nil || resp.StatusCode != http.StatusOK:
		return nil // accepted; sending it again would duplicate the spans
	}
	return e.partial(reply)
}

// refusal returns the error for a response other than success.
func (e *exporter) refusal(resp *http.Response, reply []byte) error {
	var status struct {
		Message string `json:"message"`
	}
	err := fmt.Errorf("the collector returned status %d", resp.StatusCode)
	if json.Unmarshal(reply, &status) == nil && status.Message != "" {
		err = fmt.Errorf("%w: %q", err, text.Clip(e.scrub(status.Message), maxMessage))
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		after, ok := outbound.RetryAfter(resp.Header.Get("Retry-After"), time.Now())
		if !ok {
			after = -1
		}
		return &retryError{after: after, err: err}
	}
	return err
}

// partial returns an error if the collector rejected some of the spans.
func (e *exporter) partial(reply []byte) error {
	var answer struct {
		PartialSuccess struct {
			RejectedSpans int64orText `json:"rejectedSpans"`
			ErrorMessage  string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(reply, &answer) != nil || answer.PartialSuccess.RejectedSpans <= 0 {
		return nil // an empty response, or one in protocol buffers, is a success
	}
	return &partialError{
		rejected: int64(answer.PartialSuccess.RejectedSpans),
		message:  text.Clip(e.scrub(answer.PartialSuccess.ErrorMessage), maxMessage),
	}
}

// int64orText is a 64-bit number that JSON may have as a number or, from protocol buffers, as
// a string.
type int64orText int64

func (n *int64orText) UnmarshalJSON(raw []byte) error {
	v, err := strconv.ParseInt(string(bytes.Trim(raw, `"`)), 10, 64)
	*n = int64orText(v)
	return err
}
