package app

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/telemetry"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/results"
)

// This file holds what stands between two parts that do not know each other:
// nothing but renaming happens here.

// Journal writes the server's entries into the audit log.
type Journal struct{ Log *audit.Log }

func (j Journal) Append(ctx context.Context, e server.Entry) error {
	phase := audit.Done
	if e.Intent {
		phase = audit.Intent
	}
	c := e.Caller
	return j.Log.Append(ctx, audit.Record{
		Phase: phase, Call: e.Call, Parent: e.Parent, Kind: e.Kind, Tool: e.Tool, Alias: e.Alias,
		Agent: c.Agent, User: c.User, Session: c.Session, Transport: e.Transport, Profile: c.Profile,
		Risk: e.Risk, Verdict: e.Verdict, Approval: e.Approval, Outcome: e.Outcome,
		ArgsDigest: e.ArgsDigest, ArgsShape: e.Args, ResultDigest: e.Digest, Bytes: int64(e.Bytes), Redactions: e.Redactions,
		Duration: float64(e.Duration) / float64(time.Millisecond), Error: e.Error, Trace: e.Trace,
	})
}

// outputs keeps what commands write, scrubbed on the way.
type outputs struct {
	store *results.Store
	scrub *scrub.Scrubber
}

func (o outputs) Keep(ctx context.Context, r io.Reader) (string, error) {
	clean, dirty := io.Pipe()
	go func() {
		w := o.scrub.NewWriter(dirty)
		_, err := io.Copy(w, r)
		dirty.CloseWithError(errors.Join(err, w.Close()))
	}()
	defer clean.Close() // so that the writer ends, also when there is no room
	return o.store.Put(tool.CallerFrom(ctx).Principal(), clean)
}

// meter counts an identity's calls in the store.
func meter(m *store.Meter) server.Meter {
	return func(ctx context.Context, identity string, perMinute, burst int) (time.Duration, error) {
		return m.Take(ctx, "calls "+identity, store.Rate{Times: perMinute, Period: time.Minute, Burst: burst})
	}
}

// watcher counts and traces calls.
type watcher struct{ calls *telemetry.Calls }

func (w watcher) Start(ctx context.Context, b server.Begin) (context.Context, func(server.End)) {
	ctx, end := w.calls.Start(ctx, telemetry.Begin{Tool: b.Tool, Caller: b.Caller, Transport: b.Transport, Meta: b.Trace})
	return ctx, func(e server.End) {
		end(telemetry.End{
			Verdict: e.Verdict, Outcome: e.Outcome, Kind: e.Kind, Duration: e.Duration, QueueWait: e.Waited,
			BytesOut: e.Bytes, Redactions: e.Redacted, Err: e.Err,
		})
	}
}

func (w watcher) Running(n int) { w.calls.Running(n) }

func (w watcher) Queued(n int) { w.calls.Queued(n) }

func (w watcher) Sessions(n int) { w.calls.Sessions(n) }

func (w watcher) Limited(reason string) { w.calls.Limited(reason) }

// metricWords are the values that metrics may have: everything that the parts say.
func metricWords() telemetry.Words {
	outcomes := []string{"ok", "asked"}
	for _, kind := range tool.Kinds() {
		outcomes = append(outcomes, string(kind))
	}
	return telemetry.Words{
		Verdicts: []string{policy.Deny.String(), policy.Ask.String(), policy.Allow.String(), "none"},
		Outcomes: outcomes,
		Reasons:  []string{"rate", "queue", "connection"},
		Secrets:  scrub.Kinds(),
	}
}

// NewScrubber makes the scrubber that the settings describe, and gives it the
// secrets that it must know by value.
func NewScrubber(c config.Scrub, from config.Sources) (*scrub.Scrubber, error) {
	rules := make([]scrub.Rule, 0, len(c.Rules))
	for _, r := range c.Rules {
		rules = append(rules, scrub.Rule{Name: r.Name, Pattern: r.Pattern})
	}
	s, err := scrub.New(scrub.Options{Hex: scrub.Hex(c.Hex), Kinds: c.Kinds, Allow: c.Allow, Extra: rules})
	if err != nil {
		return nil, err
	}
	return s, setSecrets(s, c, from)
}
