package telemetry

import (
	"maps"
	"slices"
	"sync/atomic"
)

// modelMetrics are the numbers of one language model.
type modelMetrics struct {
	ok, failed                           atomic.Uint64
	input, output, cacheRead, cacheWrite atomic.Uint64
	cost                                 atomic.Uint64 // millionths of a dollar
}

// A ModelUse is a request to a language model that has ended.
type ModelUse struct {
	Model                                string
	Failed                               bool
	Input, Output, CacheRead, CacheWrite int
	Cost                                 int64 // millionths of a dollar
}

// SetModels sets the models that are counted. It is called once, before the first
// [Calls.Model].
func (c *Calls) SetModels(names []string) {
	c.metrics.models = make(map[string]*modelMetrics, len(names))
	for _, name := range names {
		c.metrics.models[name] = new(modelMetrics)
	}
}

// Model counts a request to a model.
func (c *Calls) Model(u ModelUse) {
	m := c.metrics.models[u.Model]
	if m == nil {
		return
	}
	if u.Failed {
		m.failed.Add(1)
	} else {
		m.ok.Add(1)
	}
	m.input.Add(uint64(u.Input))
	m.output.Add(uint64(u.Output))
	m.cacheRead.Add(uint64(u.CacheRead))
	m.cacheWrite.Add(uint64(u.CacheWrite))
	m.cost.Add(uint64(u.Cost))
}

// writeModels writes the metrics of models, if there are any.
func (m *metrics) writeModels(p *page) {
	names := slices.Sorted(maps.Keys(m.models))
	if len(names) == 0 {
		return
	}
	p.begin("mcp_tools_model_cost_dollars_total", counterType, "Price of requests to language models.")
	for _, name := range names {
		p.sample(float64(m.models[name].cost.Load())/1e6, "model", name)
	}
	p.begin("mcp_tools_model_requests_total", counterType, "Requests to language models, by outcome.")
	for _, name := range names {
		p.sample(float64(m.models[name].failed.Load()), "model", name, "outcome", "failed")
		p.sample(float64(m.models[name].ok.Load()), "model", name, "outcome", "ok")
	}
	p.begin("mcp_tools_model_tokens_total", counterType, "Tokens of requests to language models, by kind.")
	for _, name := range names {
		one := m.models[name]
		p.sample(float64(one.cacheRead.Load()), "kind", "cache_read", "model", name)
		p.sample(float64(one.cacheWrite.Load()), "kind", "cache_write", "model", name)
		p.sample(float64(one.input.Load()), "kind", "input", "model", name)
		p.sample(float64(one.output.Load()), "kind", "output", "model", name)
	}
}
