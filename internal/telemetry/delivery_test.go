package telemetry

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

// A reply is a collector's response to one request.
type reply struct {
	code  int // 0 breaks the connection
	after string
}

// replies is the connection to a collector that returns a list of responses, and then repeats the
// last one. It works within a synctest bubble, where a real connection does not.
type replies struct {
	list  []reply
	seen  int
	query string
}

func (*replies) Check(context.Context, outbound.Request) error { return nil }

func (r *replies) Do(ctx context.Context, req outbound.Request) (*outbound.Answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := r.list[min(r.seen, len(r.list)-1)]
	r.seen++
	sent, err := http.NewRequestWithContext(ctx, req.Method, req.URL, nil)
	if err != nil {
		return nil, err
	}
	if _, err := req.Secret.Attach(ctx, sent); err != nil {
		return nil, err
	}
	r.query = sent.URL.RawQuery
	if now.code == 0 {
		return nil, errors.New("connection refused")
	}
	return &outbound.Answer{
		Status: now.code, Header: http.Header{"Retry-After": {now.after}}, Body: io.NopCloser(strings.NewReader("{}")),
	}, nil
}

func testTracer(t *testing.T, wire outbound.Client, log io.Writer) *tracer {
	t.Helper()
	tr, err := newTracer(Config{Scrub: scrubSecret, Log: slog.New(slog.NewTextHandler(log, nil)), Traces: Traces{
		Endpoint: "http://collector.test/v1/traces?key=" + secret(), HTTP: wire,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestDelivery checks that spans arrive although the collector refuses them at first.
func TestDelivery(t *testing.T) {
	for name, list := range map[string][]reply{
		"taken": {{code: 200}}, "too many": {{code: 429, after: "7"}, {code: 200}},
		"bad gateways": {{code: 502}, {code: 504}, {code: 200}}, "broken connection": {{}, {code: 200}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				wire := &replies{list: list}
				tr := testTracer(t, wire, &log)
				_, s := tr.start(t.Context(), "read_file", Begin{})
				tr.end(s, End{})
				if err := tr.shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				if wire.seen != len(list) || log.Len() > 0 {
					t.Errorf("%d attempts of %d, and the log %q", wire.seen, len(list), log.String())
				}
				if wire.query != "key="+secret() {
					t.Errorf("the collector got the query %q", wire.query)
				}
			})
		})
	}
}

func TestBrokenDeliveryIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		tr := testTracer(t, &replies{list: []reply{{code: 400}, {code: 403}, {code: 200}}}, &log)
		for range 4 {
			_, s := tr.start(t.Context(), "read_file", Begin{})
			tr.end(s, End{})
			time.Sleep(2 * batchDelay)
		}
		if err := tr.shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		var got []string
		for line := range strings.Lines(log.String()) {
			_, line, _ = strings.Cut(line, "level=")
			got = append(got, strings.TrimSpace(line))
		}
		want := []string{
			`WARN msg="traces cannot be delivered" collector=collector.test spans=1 err="traces export: failed to send to http://collector.test/v1/traces: 400 Bad Request (body: {})"`,
			`INFO msg="traces are delivered again" collector=collector.test lost=2`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

// A silent collector never responds.
type silent struct{}

func (silent) Check(context.Context, outbound.Request) error { return nil }

func (silent) Do(ctx context.Context, _ outbound.Request) (*outbound.Answer, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestShutdownEndsWithItsContext checks Shutdown with a silent collector. synctest fails the test
// if a goroutine is left.
func TestShutdownEndsWithItsContext(t *testing.T) {
	for name, limit := range map[string]time.Duration{"over before it began": 0, "in time": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				tr := testTracer(t, silent{}, &log)
				for range 3 * sdktrace.DefaultMaxExportBatchSize {
					_, s := tr.start(t.Context(), "read_file", Begin{})
					tr.end(s, End{})
				}
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				start := time.Now()
				if err := tr.shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error is %v, want a deadline", err)
				}
				if took := time.Since(start); took > limit+time.Millisecond {
					t.Errorf("it took %v, want %v", took, limit)
				}
				synctest.Wait()
				if !strings.Contains(log.String(), "traces cannot be delivered") {
					t.Errorf("the loss was not logged: %q", log.String())
				}
				if err := tr.shutdown(t.Context()); err != nil {
					t.Errorf("the second time: %v", err)
				}
			})
		})
	}
}
