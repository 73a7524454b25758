package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Provider is an endpoint, and the models of it that may be used.
type Provider struct {
	Endpoint
	Models []string         // the first one is the provider's default
	Prices map[string]Price // of models that are not in the table, or cost something else
}

// Options describe the models of the program. Without providers there are none.
type Options struct {
	Providers []Provider
	HTTP      outbound.Client // reaches the providers, within Limits
	Default   string          // PROVIDER/NAME; "" is the first model of the first provider
	Budgets   Budgets
	Store     *store.Store             // keeps the use; nil keeps nothing, and there are no budgets
	Scrub     func(text string) string // the text to send; nil leaves it as it is
	Record    func(context.Context, Use)
	// Near is called in the transaction that reaches four fifths of a budget of a day, with the
	// principal of the budget or, for the budget of all, "". It may be nil.
	Near func(t *store.Tx, principal, used string) error
	Log  *slog.Logger
}

// SetKeys gives the providers their keys. A provider whose key cannot be read is left out, and reported to failed: the
// rest works without.
func (o *Options) SetKeys(key func(provider string) (string, error), failed func(provider string, err error)) {
	var usable []Provider
	for _, p := range o.Providers {
		var err error
		if p.Key, err = key(p.Name); err != nil {
			failed(p.Name, err)
			continue
		}
		usable = append(usable, p)
	}
	o.Providers = usable
	provider, _, _ := strings.Cut(o.Default, "/")
	if !slices.ContainsFunc(usable, func(p Provider) bool { return p.Name == provider }) {
		o.Default = ""
	}
}

// URLs returns the addresses of the providers that have one in the settings.
func (o *Options) URLs() (urls []string) {
	for _, p := range o.Providers {
		urls = append(urls, p.URL)
	}
	return urls
}

// A Use is a request that has ended, for the audit log and metrics.
type Use struct {
	Model   string // PROVIDER/NAME
	Begun   time.Time
	Usage   Usage
	Cost    Money
	Session string // the one that has paid
	Err     error
}

// Models are all models that the operator has set up. The methods may be called concurrently. A
// nil *Models has no model.
type Models struct {
	o       Options
	names   []string // PROVIDER/NAME, the default first
	clients map[string]*Client
	prices  map[string]Price // by PROVIDER/NAME
	ledger  *ledger          // nil without a store
}

// NewModels returns the models that o describes. It sends nothing yet.
func NewModels(o Options) (*Models, error) {
	m := &Models{o: o, clients: make(map[string]*Client), prices: make(map[string]Price)}
	if m.o.Log == nil {
		m.o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Store != nil {
		m.ledger = &ledger{o.Store, o.Budgets, o.Near}
	}
	for _, p := range o.Providers {
		client, err := NewClient(p.Endpoint, o.HTTP)
		if err != nil {
			return nil, err
		}
		m.clients[p.Name] = client
		for _, name := range p.Models {
			full := p.Name + "/" + name
			m.names = append(m.names, full)
			if price, ok := p.Prices[name]; ok {
				m.prices[full] = price
			} else if price, ok := PriceOf(name); ok {
				m.prices[full] = price
			}
		}
	}
	if o.Default != "" {
		at := slices.Index(m.names, o.Default)
		if at < 0 {
			return nil, fmt.Errorf("the default model %q is not among the models of a provider", o.Default)
		}
		m.names = slices.Insert(slices.Delete(m.names, at, at+1), 0, o.Default)
	}
	return m, nil
}

// Names returns the models as PROVIDER/NAME, the default first.
func (m *Models) Names() []string {
	if m == nil {
		return nil
	}
	return slices.Clone(m.names)
}

// Find returns the full name of a model. A caller may leave the provider out, and
// with "" the default model is meant.
func (m *Models) Find(name string) (string, error) {
	all := m.Names()
	if len(all) == 0 {
		return "", tool.Errorf(tool.Unavailable, "no model is set up").
			Try("do it without, or ask the operator to add a provider to the models section of the settings")
	}
	if name == "" {
		return all[0], nil
	}
	for _, full := range all {
		if _, short, _ := strings.Cut(full, "/"); full == name || short == name {
			return full, nil
		}
	}
	return "", tool.Errorf(tool.NotFound, "no model %q", name).Try("use one of %s", strings.Join(all, ", "))
}

// Complete sends a request to a model for the caller in ctx, within the budgets. The
// usage of the reply is valid also if there is an error. Errors are a *tool.Error, a
// *tool.Asking if the model is the client's (see [Models.Usable]), or the cause of ctx.
func (m *Models) Complete(ctx context.Context, r Request) (Reply, error) {
	if len(m.Names()) == 0 && r.Model == "" && len(r.Tools) == 0 && canSample(ctx) {
		return sample(ctx, m.scrubbed(r))
	}
	full, err := m.Find(r.Model)
	if err != nil {
		return Reply{}, err
	}
	if r.MaxTokens <= 0 {
		r.MaxTokens = DefaultMaxTokens
	}
	provider, name, _ := strings.Cut(full, "/")
	r = m.scrubbed(r)
	r.Model = name
	held, err := m.reserve(ctx, full, &r)
	if err != nil {
		return Reply{}, err
	}
	begun := time.Now()
	reply, err := m.clients[provider].Complete(ctx, r)
	reply.Model = full
	reply.Cost = m.prices[full].Of(reply.Usage)
	if m.ledger != nil {
		if failed := m.ledger.settle(ctx, held, Amount{int64(reply.Usage.Total()), reply.Cost}); failed != nil {
			m.o.Log.Warn("the use of a model is counted as its maximum", "model", full, "err", failed)
		}
	}
	if m.o.Record != nil {
		m.o.Record(ctx, Use{full, begun, reply.Usage, reply.Cost, held.session, err})
	}
	return reply, err
}

// minReply is the shortest maximum of a reply that a budget leaves.
const minReply = 256

// reserve takes the most that a request can use from the budgets. If the budget of a
// request has less, it shortens the maximum of the reply.
func (m *Models) reserve(ctx context.Context, full string, r *Request) (reservation, error) {
	if m.ledger == nil {
		return reservation{}, nil
	}
	price, known := m.prices[full]
	if (m.o.Budgets.inMoney() || r.Limit.Money > 0) && !known {
		return reservation{}, tool.Errorf(tool.Unavailable,
			"the price of %q is not known, and there is a budget in dollars",
			full).Try("use another model, or ask the operator to set models.providers.%s.prices",
			strings.SplitN(full, "/", 2)[0])
	}
	input, limit := r.estimate(), m.o.Budgets.Call
	most := func(output int) Amount {
		return Amount{int64(input + output), Money(float64(input)*price.highest() + float64(output)*price.Output)}
	}
	for r.MaxTokens > minReply && most(r.MaxTokens).exceeds(limit) != "" {
		r.MaxTokens = max(r.MaxTokens*3/4, minReply)
	}
	amount := most(r.MaxTokens)
	if over := amount.exceeds(limit); over != "" {
		return reservation{}, tool.Errorf(tool.TooLarge, "the request may use %s, more than one request may use", over).
			Try("send a shorter conversation, or ask the operator to raise models.budget.call")
	}
	c := tool.CallerFrom(ctx)
	owner := r.Owner
	if owner == (tool.Caller{}) {
		owner = c
	}
	return m.ledger.reserve(ctx, reservation{
		principal: c.Principal(), owner: owner.Principal(), session: owner.Session, Amount: amount,
		purpose: r.Purpose, limit: r.Limit,
	})
}

// estimate returns about how many tokens a request has.
func (r *Request) estimate() int {
	size := len(r.System) + len(r.Schema)
	for _, t := range r.Tools {
		size += len(t.Name) + len(t.Doc) + len(t.Schema)
	}
	for _, msg := range r.Messages {
		size += len(msg.Text) + len(msg.Kept)
		for _, c := range msg.Calls {
			size += len(c.Name) + len(c.Args)
		}
		for _, result := range msg.Results {
			size += len(result.Text)
		}
	}
	return size/3 + 16*len(r.Messages)
}

// scrubbed returns a request without credentials. It leaves the provider's own data as it is.
func (m *Models) scrubbed(r Request) Request {
	if m == nil || m.o.Scrub == nil {
		return r
	}
	scrub := m.o.Scrub
	r.System = scrub(r.System)
	r.Messages = slices.Clone(r.Messages)
	for i := range r.Messages {
		msg := &r.Messages[i]
		msg.Text = scrub(msg.Text)
		msg.Calls, msg.Results = slices.Clone(msg.Calls), slices.Clone(msg.Results)
		for j := range msg.Calls {
			if args := scrub(msg.Calls[j].Args); json.Valid([]byte(args)) {
				msg.Calls[j].Args = args
			} else {
				msg.Calls[j].Args = "{}"
			}
		}
		for j := range msg.Results {
			msg.Results[j].Text = scrub(msg.Results[j].Text)
		}
	}
	return r
}
