package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// A reply is a collector's response to one request.
type reply struct {
	code  int // 0 breaks the connection
	after string
	body  string
}

// replies is the connection to a collector that returns a list of responses, and then repeats the
// last one. It works within a synctest bubble, where a real connection does not.
type replies struct {
	list []reply
	seen int
}

func (r *replies) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	now := r.list[min(r.seen, len(r.list)-1)]
	r.seen++
	if now.code == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{
		StatusCode: now.code,
		Header:     http.Header{"Retry-After": {now.after}},
		Body:       io.NopCloser(strings.NewReader(now.body)),
		Request:    req,
	}, nil
}

func testExporter(t *testing.T, wire http.RoundTripper, log io.Writer) *exporter {
	t.Helper()
	endpoint, err := url.Parse("http://collector.test/v1/traces?key=" + secret())
	if err != nil {
		t.Fatal(err)
	}
	e := newExporter(endpoint, Config{Scrub: scrubSecret, Log: slog.New(slog.NewTextHandler(log, nil))})
	e.client.Transport = wire
	t.Cleanup(e.abort)
	return e
}

func oneSpan() []sdktrace.ReadOnlySpan {
	return tracetest.SpanStubs{{Name: "tools/call read_file"}}.Snapshots()
}

func TestDelivery(t *testing.T) {
	later := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	tests := []struct {
		name     string
		replies  func() []reply // called within the bubble, for its clock
		attempts int
		least    time.Duration
		most     time.Duration
		want     string // part of the error; "" for none
	}{
		{"taken", func() []reply { return []reply{{code: 200, body: "{}"}} }, 1, 0, 0, ""},
		{"taken with an answer that is no JSON", func() []reply { return []reply{{code: 200, body: "\x0a\x00"}} }, 1, 0, 0, ""},
		{"accepted", func() []reply { return []reply{{code: 202}} }, 1, 0, 0, ""},
		{"bad request", func() []reply { return []reply{{code: 400, body: `{"code":3,"message":"no ` + secret() + `"}`}} }, 1, 0, 0,
			`the collector returned status 400: "no [REDACTED]"`},
		{"unauthorised", func() []reply { return []reply{{code: 401, body: "<html>"}} }, 1, 0, 0, "the collector returned status 401"},
		{"server error", func() []reply { return []reply{{code: 500}} }, 1, 0, 0, "the collector returned status 500"},
		{"too many, in seconds", func() []reply { return []reply{{code: 429, after: "7"}, {code: 200}} }, 2,
			7 * time.Second, 7 * time.Second, ""},
		{"unavailable, with a date", func() []reply { return []reply{{code: 503, after: later(9 * time.Second)}, {code: 200}} }, 2,
			8 * time.Second, 9 * time.Second, ""},
		{"a date in the past", func() []reply { return []reply{{code: 503, after: later(-time.Hour)}, {code: 200}} }, 2,
			minPause, minPause, ""},
		{"asked for longer than there is", func() []reply { return []reply{{code: 503, after: "60"}} }, 1, 0, 0, "the collector returned status 503"},
		{"asked for nonsense", func() []reply { return []reply{{code: 429, after: "-5"}, {code: 200}} }, 2,
			firstPause / 2, firstPause * 3 / 2, ""},
		{"twice a bad gateway", func() []reply { return []reply{{code: 502}, {code: 504}, {code: 200}} }, 3,
			firstPause * 3 / 2, firstPause * 9 / 2, ""},
		{"broken connection", func() []reply { return []reply{{}, {code: 200}} }, 2, firstPause / 2, firstPause * 3 / 2, ""},
		{"part of it", func() []reply {
			return []reply{{code: 200, body: `{"partialSuccess":{"rejectedSpans":"3","errorMessage":"old ` + secret() + `"}}`}}
		}, 1, 0, 0, `3 spans were rejected: "old [REDACTED]"`},
		{"part of it, as a number", func() []reply { return []reply{{code: 200, body: `{"partialSuccess":{"rejectedSpans":2}}`}} }, 1, 0, 0,
			"2 spans were rejected"},
		{"no part of it", func() []reply { return []reply{{code: 200, body: `{"partialSuccess":{"errorMessage":"be careful"}}`}} }, 1, 0, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wire := &replies{list: tt.replies()}
				e := testExporter(t, wire, io.Discard)
				ctx, cancel := context.WithTimeout(t.Context(), exportTimeout)
				defer cancel()
				start := time.Now()
				err := e.export(ctx, oneSpan())
				took := time.Since(start)
				if wire.seen != tt.attempts {
					t.Errorf("%d attempts, want %d", wire.seen, tt.attempts)
				}
				if took < tt.least || took > tt.most {
					t.Errorf("it took %v, want %v to %v", took, tt.least, tt.most)
				}
				if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error is %v, want %q", err, tt.want)
				}
				if err != nil && strings.Contains(err.Error(), secret()) {
					t.Errorf("the error holds a secret: %v", err)
				}
			})
		})
	}
}

// TestDeliveryGivesUp checks that a batch is retried only until exportTimeout, and not in a tight
// loop.
func TestDeliveryGivesUp(t *testing.T) {
	for name, forever := range map[string]reply{"at once": {code: 429, after: "0"}, "whenever": {code: 503}, "down": {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wire := &replies{list: []reply{forever}}
				e := testExporter(t, wire, io.Discard)
				ctx, cancel := context.WithTimeout(t.Context(), exportTimeout)
				defer cancel()
				start := time.Now()
				err := e.export(ctx, oneSpan())
				took, most := time.Since(start), int(exportTimeout/minPause)
				if err == nil || took > exportTimeout || wire.seen < 3 || wire.seen > most {
					t.Errorf("%d attempts in %v ended with %v", wire.seen, took, err)
				}
			})
		})
	}
}

func TestBrokenDeliveryIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		wire := &replies{list: []reply{{code: 400}, {code: 403}, {code: 200}, {code: 200}, {code: 200, body: `{"partialSuccess":{"rejectedSpans":"1"}}`}}}
		e := testExporter(t, wire, &log)
		for range 5 {
			if err := e.ExportSpans(t.Context(), oneSpan()); err != nil {
				t.Error(err)
			}
		}
		var got []string
		for line := range strings.Lines(log.String()) {
			_, line, _ = strings.Cut(line, "level=")
			got = append(got, strings.TrimSpace(line))
		}
		want := []string{
			`WARN msg="traces cannot be delivered" collector=collector.test spans=1 error="the collector returned status 400"`,
			`INFO msg="traces are delivered again" collector=collector.test lost=2`,
			`WARN msg="the collector rejected some traces" collector=collector.test spans=1 error="1 spans were rejected: \"\""`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

// A silent collector never responds.
type silent struct{}

func (silent) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// TestShutdownEndsWithItsContext checks Shutdown with a silent collector. synctest fails the test
// if a goroutine is left.
func TestShutdownEndsWithItsContext(t *testing.T) {
	for name, limit := range map[string]time.Duration{"over before it began": 0, "in time": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				e := testExporter(t, silent{}, &log)
				tracer := startTracer(Config{Scrub: scrubSecret, Traces: Traces{Sample: 1}}, e)
				for range 3 * sdktrace.DefaultMaxExportBatchSize {
					_, span := tracer.start(t.Context(), "read_file", Begin{})
					tracer.end(span, End{})
				}
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				start := time.Now()
				if err := tracer.shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error is %v, want a deadline", err)
				}
				if took := time.Since(start); took != limit {
					t.Errorf("it took %v, want %v", took, limit)
				}
				if !strings.Contains(log.String(), "traces cannot be delivered") {
					t.Errorf("the loss was not logged: %q", log.String())
				}
				if err := tracer.shutdown(t.Context()); err != nil {
					t.Errorf("the second time: %v", err)
				}
			})
		})
	}
}

func TestEveryTypeOfValue(t *testing.T) {
	tests := []struct {
		value attribute.Value
		want  string
	}{
		{attribute.Value{}, `{}`},
		{attribute.BoolValue(false), `{"boolValue":false}`},
		{attribute.Int64Value(math.MaxInt64), `{"intValue":"9223372036854775807"}`},
		{attribute.Float64Value(0.5), `{"doubleValue":0.5}`},
		{attribute.Float64Value(math.NaN()), `{"doubleValue":"NaN"}`},
		{attribute.Float64Value(math.Inf(1)), `{"doubleValue":"Infinity"}`},
		{attribute.Float64Value(math.Inf(-1)), `{"doubleValue":"-Infinity"}`},
		{attribute.StringValue(""), `{"stringValue":""}`},
		{attribute.StringValue("a " + secret()), `{"stringValue":"a [REDACTED]"}`},
		{attribute.StringValue("\xff"), `{"stringValue":"\ufffd"}`},
		{attribute.ByteSliceValue([]byte(secret())), `{"bytesValue":"W1JFREFDVEVEXQ=="}`},
		{attribute.BoolSliceValue([]bool{true}), `{"arrayValue":{"values":[{"boolValue":true}]}}`},
		{attribute.Int64SliceValue([]int64{1, -2}), `{"arrayValue":{"values":[{"intValue":"1"},{"intValue":"-2"}]}}`},
		{attribute.Float64SliceValue([]float64{}), `{"arrayValue":{"values":[]}}`},
		{attribute.StringSliceValue([]string{secret()}), `{"arrayValue":{"values":[{"stringValue":"[REDACTED]"}]}}`},
		{attribute.SliceValue(attribute.StringValue(secret()), attribute.BoolValue(true)),
			`{"arrayValue":{"values":[{"stringValue":"[REDACTED]"},{"boolValue":true}]}}`},
		{attribute.MapValue(attribute.String("k", secret())), `{"kvlistValue":{"values":[{"key":"k","value":{"stringValue":"[REDACTED]"}}]}}`},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			got, err := json.Marshal(encoder{scrubSecret}.value(tt.value))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestRichSpans checks that all fields of a span are exported and scrubbed.
func TestRichSpans(t *testing.T) {
	at := time.Unix(1, 5)
	id := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
	})
	attrs := []attribute.KeyValue{attribute.String("k", secret())}
	stubs := tracetest.SpanStubs{
		{
			Name: "look at " + secret(), SpanContext: id, SpanKind: trace.SpanKindClient, StartTime: at, EndTime: at,
			Events:               []sdktrace.Event{{Name: "event " + secret(), Time: at, Attributes: attrs}},
			Links:                []sdktrace.Link{{SpanContext: id, Attributes: attrs}},
			Status:               sdktrace.Status{Code: codes.Ok},
			InstrumentationScope: instrumentation.Scope{Name: "one", SchemaURL: "schema"},
			DroppedAttributes:    1, DroppedEvents: 2, DroppedLinks: 3,
		},
		{
			Name: "other", SpanContext: id, SpanKind: trace.SpanKindInternal, StartTime: at, EndTime: at,
			InstrumentationScope: instrumentation.Scope{Name: "two"},
		},
		{
			Name: "again", SpanContext: id, SpanKind: trace.SpanKindInternal, StartTime: at, EndTime: at,
			InstrumentationScope: instrumentation.Scope{Name: "one", SchemaURL: "schema"},
		},
	}
	got, err := json.Marshal(encoder{scrubSecret}.request(stubs.Snapshots()))
	if err != nil {
		t.Fatal(err)
	}
	const (
		ids   = `"traceId":"01000000000000000000000000000000","spanId":"0200000000000000"`
		times = `"startTimeUnixNano":"1000000005","endTimeUnixNano":"1000000005"`
		attr  = `"attributes":[{"key":"k","value":{"stringValue":"[REDACTED]"}}]`
	)
	want := `{"resourceSpans":[{"resource":{"attributes":[]},"scopeSpans":[
		{"scope":{"name":"one"},"schemaUrl":"schema","spans":[
			{` + ids + `,"flags":257,"name":"look at [REDACTED]","kind":3,` + times + `,
				"droppedAttributesCount":1,"droppedEventsCount":2,"droppedLinksCount":3,
				"events":[{"timeUnixNano":"1000000005","name":"event [REDACTED]",` + attr + `}],
				"links":[{` + ids + `,` + attr + `}],"status":{"code":1}},
			{` + ids + `,"flags":257,"name":"again","kind":1,` + times + `,"status":{}}]},
		{"scope":{"name":"two"},"spans":[{` + ids + `,"flags":257,"name":"other","kind":1,` + times + `,"status":{}}]}]}]}`
	if diff := cmp.Diff(decoded(t, want), decoded(t, string(got))); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}
