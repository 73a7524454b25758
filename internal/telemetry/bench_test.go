package telemetry

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

// taker is a collector that accepts everything immediately.
type taker struct{}

func (taker) Check(context.Context, outbound.Request) error { return nil }

func (taker) Do(context.Context, outbound.Request) (*outbound.Answer, error) {
	return &outbound.Answer{Status: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

func BenchmarkCall(b *testing.B) {
	begin := Begin{Tool: "read_file", Transport: "stdio", Meta: map[string]string{"traceparent": parent}}
	begin.Caller.Session = "a session"
	end := End{Verdict: "allow", Outcome: "ok", Duration: 3 * time.Millisecond, BytesOut: 100}
	run := func(b *testing.B, c *Calls) {
		c.AddTools("read_file")
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				_, done := c.Start(context.Background(), begin)
				done(end)
			}
		})
	}
	b.Run("metrics", func(b *testing.B) { run(b, testCalls(b, Config{})) })
	b.Run("metrics and traces", func(b *testing.B) {
		c := testCalls(b, Config{Traces: Traces{Endpoint: "http://collector.test", HTTP: taker{}}})
		run(b, c)
	})
}
