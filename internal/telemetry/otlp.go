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

	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

const (
	requestTimeout = 10 * time.Second // of one request; exportTimeout bounds all that a batch may need
	firstPause     = time.Second      // before the second attempt, doubled with each further one
	longestPause   = 10 * time.Second
	leastPause     = 100 * time.Millisecond // even for a collector that wants us back at once
	maxReply       = 64 << 10               // bytes read of a collector's answer
)

// An exporter sends spans to a collector: OTLP over HTTP in its JSON encoding,
// which every collector takes. The SDK's own exporter brings generated code and
// gRPC, which make the program 5 MB larger and start 2 ms later, also for those
// who never trace; it is started by every client that speaks stdio to it.
//
// The batch processor calls ExportSpans from one goroutine at a time.
type exporter struct {
	url     string
	host    string // the part of url that may be logged
	headers http.Header
	client  *http.Client
	log     *slog.Logger
	scrub   func(string) string

	life   context.Context // ends with abort, and all attempts with it
	abort  context.CancelFunc
	closed chan struct{} // when the processor has handed over its last batch
	once   sync.Once

	lost int // spans since the collector last took some
}

func newExporter(endpoint *url.URL, c Config) *exporter {
	e := &exporter{
		url:     endpoint.String(),
		host:    endpoint.Host,
		headers: http.Header{},
		client: &http.Client{
			Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute},
			// A collector has no reason to redirect, and the headers are for it alone.
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

// ExportSpans delivers one batch or logs that it could not. It returns no
// error: the SDK would print it through a global handler, past our scrubber.
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

// report logs when delivery breaks and when it works again, and not each batch
// in between: a collector that is down must not fill the log.
func (e *exporter) report(err error, spans int) {
	var partial *partialError
	switch {
	case err == nil && e.lost > 0:
		e.log.Info("traces are delivered again", "collector", e.host, "lost", e.lost)
		e.lost = 0
	case err == nil:
	case errors.As(err, &partial):
		e.log.Warn("the collector refused some traces", "collector", e.host, "spans", partial.rejected, "error", err)
	default:
		if e.lost == 0 {
			e.log.Warn("traces cannot be delivered", "collector", e.host, "spans", spans, "error", err)
		}
		e.lost += spans
	}
}

// export encodes a batch once and tries to deliver it until ctx ends.
func (e *exporter) export(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	body, err := pack(encoder{e.scrub}.request(spans))
	if err != nil {
		return err
	}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := e.post(ctx, body)
		var again *retryError
		if !errors.As(err, &again) {
			return err
		}
		wait := pause/2 + rand.N(pause) // so that many clients do not come back at once
		if again.after >= 0 {
			wait = max(again.after, leastPause)
		}
		if !sleep(ctx, wait) {
			return err
		}
	}
}

// pack turns a request into compressed JSON.
func pack(request exportRequest) ([]byte, error) {
	var body bytes.Buffer
	z, err := gzip.NewWriterLevel(&body, gzip.BestSpeed) // spans are alike: a better level takes longer and wins little
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

// sleep waits, and reports whether it did. A wait that ctx would cut short is
// not begun.
func sleep(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// A retryError is a failure that may be gone the next time.
type retryError struct {
	after time.Duration // what the collector asked for; negative: it did not say
	err   error
}

func (e *retryError) Error() string { return e.err.Error() }
func (e *retryError) Unwrap() error { return e.err }

// A partialError is a batch that was taken, but not all of it.
type partialError struct {
	rejected int64
	message  string
}

func (e *partialError) Error() string {
	return fmt.Sprintf("%d spans were rejected: %q", e.rejected, e.message)
}

// post makes one attempt.
func (e *exporter) post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return errors.New("the endpoint for traces cannot be requested") // err repeats it
	}
	req.Header = e.headers.Clone()
	resp, err := e.client.Do(req)
	if err != nil {
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
			err = wrapped.Err // the URL may hold a key
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
		return nil // taken; whatever is wrong with the answer, sending twice is worse
	}
	return e.partial(reply)
}

// refusal says what an answer other than success means.
func (e *exporter) refusal(resp *http.Response, reply []byte) error {
	var status struct {
		Message string `json:"message"`
	}
	err := fmt.Errorf("the collector answered %d", resp.StatusCode)
	if json.Unmarshal(reply, &status) == nil && status.Message != "" {
		err = fmt.Errorf("%w: %q", err, cut(e.scrub(status.Message), maxMessage))
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		after, said := outbound.RetryAfter(resp.Header.Get("Retry-After"), time.Now())
		if !said {
			after = -1
		}
		return &retryError{after: after, err: err}
	}
	return err
}

// partial looks for spans that a collector took the rest without.
func (e *exporter) partial(reply []byte) error {
	var answer struct {
		PartialSuccess struct {
			RejectedSpans int64orText `json:"rejectedSpans"`
			ErrorMessage  string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(reply, &answer) != nil || answer.PartialSuccess.RejectedSpans <= 0 {
		return nil // an empty answer, or one in protocol buffers, is still a success
	}
	return &partialError{
		rejected: int64(answer.PartialSuccess.RejectedSpans),
		message:  cut(e.scrub(answer.PartialSuccess.ErrorMessage), maxMessage),
	}
}

// int64orText reads a 64-bit number, which JSON made from protocol buffers
// puts in quotes and other JSON does not.
type int64orText int64

func (n *int64orText) UnmarshalJSON(raw []byte) error {
	v, err := strconv.ParseInt(string(bytes.Trim(raw, `"`)), 10, 64)
	*n = int64orText(v)
	return err
}
