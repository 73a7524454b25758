package provider

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// submitGrace is how long a request that orders something may still take when the program
// is about to end: without the response it is not known whether it was accepted.
const submitGrace = 5 * time.Second

// An Order is work of a provider that takes long. Its JSON form is stored, so that the work
// goes on after the end of the process and is ordered once.
type Order struct {
	By
	// Sent says that a request was sent, or is about to be, and its response is not stored.
	Sent   bool
	Ticket *wire.Ticket `json:",omitempty"` // nil: there is none yet
	Tried  []string     `json:",omitempty"` // models that have refused
}

// tracker is an API with orders that can be asked for.
type tracker interface {
	Check(ctx context.Context, t wire.Ticket) (wire.Made, error)
}

// canceller is one with orders that can be cancelled.
type canceller interface {
	Cancel(ctx context.Context, t wire.Ticket) error
}

// errUnknown is the error of an order that may have been sent.
func errUnknown(o *Order) error {
	f := &wire.Failure{
		Provider: o.Model, Reason: wire.Unknown,
		Message: "the server ended between sending the order and storing the response",
	}
	return f.Shown()
}

// Submit makes the order of r. Before each request and after its response o is stored with
// save; if that fails nothing is sent. Files come at once if the provider has them.
func (p *Providers) Submit(ctx context.Context, r wire.Request, o *Order, save func() error) (wire.Made, error) {
	if o.Sent {
		return wire.Made{}, errUnknown(o)
	}
	list, err := p.candidates(r.Task(), r.Target().Model)
	if err != nil {
		return wire.Made{}, err
	}
	var last *wire.Failure
	for _, c := range list {
		if slices.Contains(o.Tried, c.name()) {
			continue
		}
		settle, err := p.hold(ctx, c, r)
		if err != nil {
			return wire.Made{}, err
		}
		o.Model, o.Cost, o.Sent = c.name(), c.cost(r), true
		if err := save(); err != nil {
			settle(0)
			return wire.Made{}, err
		}
		made, err := p.submit(ctx, c, r)
		switch {
		case err == nil && !made.Ended && made.Ticket.ID == "":
			return made, (&wire.Failure{
				Provider: c.endpoint, Reason: wire.Unknown, Message: "the response has no id of the order",
			}).Shown()
		case err == nil:
			settle(o.Cost)
			if made.Ended {
				return made, nil // the files are not stored yet
			}
			o.Ticket, o.Sent = &made.Ticket, false
			return made, save()
		case !errors.As(err, &last):
			return made, err // it is not known whether the request was accepted
		case last.Reason == wire.Unknown:
			settle(o.Cost)
			return made, last.Shown()
		}
		settle(0)
		o.Notes = append(o.Notes, note(c, last))
		o.Tried, o.Sent = append(o.Tried, c.name()), false
		if err := save(); err != nil {
			return made, err
		}
		if last.Final() {
			break
		}
	}
	if last == nil {
		last = &wire.Failure{Provider: o.Model, Reason: wire.Down}
	}
	return wire.Made{}, refusal(last, o.Notes)
}

// submit sends one order.
func (p *Providers) submit(ctx context.Context, c candidate, r wire.Request) (wire.Made, error) {
	sending, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(submitGrace, func() { stop(context.Cause(ctx)) })
	})()
	to := wire.To{Model: c.Model, Params: c.Params}
	switch r := r.(type) {
	case wire.SoundRequest:
		r.To, r.Prompt = to, p.scrubbed(r.Prompt)
		return c.api.(sounder).Sound(sending, r)
	case wire.MusicRequest:
		r.To, r.Prompt, r.Lyrics = to, p.scrubbed(r.Prompt), p.scrubbed(r.Lyrics)
		return c.api.(musician).Music(sending, r)
	case wire.VideoRequest:
		r.To, r.Prompt = to, p.scrubbed(r.Prompt)
		return c.api.(filmer).Video(sending, r)
	}
	return wire.Made{}, none(r.Task())
}

// owner returns the API that has an order.
func (p *Providers) owner(t wire.Task, o *Order) (candidate, error) {
	if p == nil {
		return candidate{}, none(t)
	}
	return p.candidate(t, o.Model)
}

// Check asks for an order. If ended is true, the error is final: else the order may still
// be made.
func (p *Providers) Check(ctx context.Context, t wire.Task, o *Order) (made wire.Made, err error) {
	c, err := p.owner(t, o)
	if err != nil {
		return wire.Made{Ended: true}, err // its provider is no longer set up
	}
	api, ok := c.api.(tracker)
	if !ok {
		return wire.Made{Ended: true}, none(t)
	}
	made, err = api.Check(ctx, *o.Ticket)
	var f *wire.Failure
	if errors.As(err, &f) {
		if f.Reason == wire.NoKey || f.Reason == wire.Gone {
			made.Ended = true // waiting changes nothing
		}
		return made, f.Shown()
	}
	return made, err
}

// Fetch downloads the files of an order.
func (p *Providers) Fetch(ctx context.Context, t wire.Task, o *Order, made wire.Made) ([]wire.File, error) {
	c, err := p.owner(t, o)
	if err != nil {
		return nil, err
	}
	api, ok := c.api.(interface {
		FetchAll(ctx context.Context, m wire.Made) ([]wire.File, error)
	})
	if !ok {
		return nil, none(t)
	}
	files, err := api.FetchAll(ctx, made)
	var f *wire.Failure
	if errors.As(err, &f) {
		return nil, f.Shown()
	}
	return files, err
}

// Cancel asks the provider to end an order. It reports whether the provider knows how.
func (p *Providers) Cancel(ctx context.Context, t wire.Task, o *Order) (known bool, err error) {
	c, err := p.owner(t, o)
	if err != nil || o.Ticket == nil {
		return false, err
	}
	api, ok := c.api.(canceller)
	if !ok {
		return false, nil
	}
	return true, api.Cancel(ctx, *o.Ticket)
}

// Poll returns how often it makes sense to ask for an order.
func Poll(t wire.Task) time.Duration {
	return cmp.Or(map[wire.Task]time.Duration{wire.Video: 10 * time.Second}[t], 3*time.Second)
}
