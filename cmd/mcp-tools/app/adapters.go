package app

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/telemetry"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/results"
)

// This file adapts parts of the program to the interfaces of others.

// outputs keeps the output of commands, scrubbed.
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
	defer clean.Close() // ends the writer, also when the store is full
	return o.store.Put(tool.CallerFrom(ctx).Principal(), clean)
}

// meter counts the calls of an identity in the store.
func meter(m *store.Meter) server.Meter {
	return func(ctx context.Context, identity string, perMinute, burst int) (time.Duration, error) {
		return m.Take(ctx, "calls "+identity, store.Rate{Times: perMinute, Period: time.Minute, Burst: burst})
	}
}

// metricLabels returns all values that labels of metrics may have.
func metricLabels() telemetry.Labels {
	outcomes := []string{"ok", "asked"}
	for _, kind := range tool.Kinds() {
		outcomes = append(outcomes, string(kind))
	}
	return telemetry.Labels{
		Verdicts: []string{policy.Deny.String(), policy.Ask.String(), policy.Allow.String(), "none"},
		Outcomes: outcomes,
		Reasons:  []string{"rate", "queue", "connection", "repeat_refused", "repeat_advised"},
		Secrets:  scrub.Kinds(),
	}
}

// NewScrubber returns the scrubber that the settings describe. It masks the
// secrets that the settings refer to.
func NewScrubber(c config.Scrub, from config.Sources) (*scrub.Scrubber, error) {
	rules := make([]scrub.Rule, 0, len(c.Rules))
	for _, name := range slices.Sorted(maps.Keys(c.Rules)) {
		rules = append(rules, scrub.Rule{Name: name, Pattern: c.Rules[name]})
	}
	s, err := scrub.New(scrub.Options{Allow: c.Allow, Extra: rules})
	if err != nil {
		return nil, err
	}
	return s, setSecrets(s, c, from)
}
