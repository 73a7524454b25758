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
)

// A reply is a collector's response to one request.
type reply struct {
	code  int // 0 breaks the connection
	after string
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
		Body:       io.NopCloser(strings.NewReader("{}")),
		Request:    req,
	}, nil
}

func testTracer(t *testing.T, wire http.RoundTripper, log io.Writer) *tracer {
	t.Helper()
	tr, err := newTracer(Config{Scrub: scrubSecret, Log: slog.New(slog.NewTextHandler(log, nil)),
		Traces: Traces{Endpoint: "http://collector.test/v1/traces?key=" + secret()}})
	if err != nil {
		t.Fatal(err)
	}
	tr.client.Transport = wire
	return tr
}

func TestDelivery(t *testing.T) {
	tests := []struct {
		name     string
		replies  []reply
		attempts int
		least    time.Duration
		most     time.Duration
		want     string // part of the error; "" for none
	}{
		{"taken", []reply{{code: 200}}, 1, 0, 0, ""},
		{"accepted", []reply{{code: 202}}, 1, 0, 0, ""},
		{"unauthorised", []reply{{code: 401}}, 1, 0, 0, "the collector returned status 401"},
		{"too many, in seconds", []reply{{code: 429, after: "7"}, {code: 200}}, 2, 7 * time.Second, 7 * time.Second, ""},
		{"asked for longer than there is", []reply{{code: 503, after: "60"}}, 1, 0, 0, "status 503"},
		{"asked for nonsense", []reply{{code: 429, after: "-5"}, {code: 200}}, 2, firstPause / 2, firstPause * 3 / 2, ""},
		{"twice a bad gateway", []reply{{code: 502}, {code: 504}, {code: 200}}, 3, firstPause * 3 / 2, firstPause * 9 / 2, ""},
		{"broken connection", []reply{{}, {code: 200}}, 2, firstPause / 2, firstPause * 3 / 2, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wire := &replies{list: tt.replies}
				tr := testTracer(t, wire, io.Discard)
				start := time.Now()
				err := tr.export([]span{{}})
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
				if err := tr.shutdown(t.Context()); err != nil {
					t.Error(err)
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
				tr := testTracer(t, wire, io.Discard)
				start := time.Now()
				err := tr.export([]span{{}})
				took, most := time.Since(start), int(2*exportTimeout/firstPause)
				if err == nil || took > exportTimeout || wire.seen < 3 || wire.seen > most {
					t.Errorf("%d attempts in %v ended with %v", wire.seen, took, err)
				}
				if err := tr.shutdown(t.Context()); err != nil {
					t.Error(err)
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
			`WARN msg="traces cannot be delivered" collector=collector.test spans=1 err="the collector returned status 400"`,
			`INFO msg="traces are delivered again" collector=collector.test lost=2`,
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
				tr := testTracer(t, silent{}, &log)
				for range 3 * maxBatch {
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
				if took := time.Since(start); took != limit {
					t.Errorf("it took %v, want %v", took, limit)
				}
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
