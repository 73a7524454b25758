package orders

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/media/provider"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// do works on an order until it has ended.
func (o *Orders) do(ctx context.Context, h *jobs.Held) (string, error) {
	k, err := read(h.Job)
	if err != nil {
		return "", err
	}
	ctx = tool.With(ctx, &tool.Running{Caller: k.Caller, Call: k.Call})
	files, err := o.make(ctx, h, &k)
	if err != nil {
		if errors.Is(context.Cause(ctx), jobs.ErrCancelled) || o.wasCancelled(ctx, k.ID) {
			o.cancelAt(ctx, k)
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", errors.New(tool.AsError(err).Error())
	}
	saving, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel() // the result is saved even if the program is about to end
	saved, err := o.save(saving, k.prompt(), files)
	if err != nil {
		return "", errors.New(tool.AsError(err).Error())
	}
	result, err := json.Marshal(product{saved, k.By})
	return string(result), err
}

// wasCancelled reports whether an order that this process has lost was cancelled.
func (o *Orders) wasCancelled(ctx context.Context, id string) bool {
	if !errors.Is(context.Cause(ctx), jobs.ErrLost) {
		return false
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer stop()
	j := jobs.Job{}
	err := o.Store.View(ctx, func(t *store.Tx) (err error) {
		j, err = o.queue.Get(t, id)
		return err
	})
	return err == nil && j.State == jobs.Cancelled
}

// make places an order at a provider, or goes on with one, and returns the result.
func (o *Orders) make(ctx context.Context, h *jobs.Held, k *kept) ([]wire.File, error) {
	task := k.request().Task()
	save := func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
		defer cancel() // the id of an order is stored even if it is being cancelled
		encoded, err := json.Marshal(k.state)
		if err != nil {
			return err
		}
		return o.Store.Update(ctx, func(t *store.Tx) error { return h.Save(t, string(encoded)) })
	}
	if k.Ticket == nil {
		if k.Picture != "" {
			picture, err := o.picture(ctx, k.Picture)
			if err != nil {
				return nil, err
			}
			k.Video.Picture = picture
		}
		made, err := o.Providers.Submit(ctx, k.request(), &k.Order, save)
		if err != nil {
			return nil, err
		}
		if made.Ended {
			return o.Providers.Fetch(ctx, task, &k.Order, made)
		}
	}
	every := cmp.Or(o.Poll, provider.Poll(task))
	late := h.Created.Add(limit)
	for failures := 0; ; {
		made, err := o.Providers.Check(ctx, task, &k.Order)
		if err == nil && made.Ended {
			var files []wire.File
			if files, err = o.Providers.Fetch(ctx, task, &k.Order, made); err == nil {
				return files, nil
			}
			made.Ended = false // the link may work later
		}
		switch failures++; {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil:
			failures = 0
		case made.Ended, failures >= maxFailures:
			return nil, err
		default:
			o.Log.Debug("a question about an order failed", "order", k.ID, "model", k.Model, "err", err)
		}
		if time.Now().After(late) {
			o.cancelAt(ctx, *k)
			return nil, tool.Errorf(tool.Timeout, "%s did not make it within %s (its id is %q)", k.Model, limit,
				k.Ticket.ID).Try("order something shorter, or use another model")
		}
		if message := text.Clip(made.Message, 200); err == nil && message != k.Message {
			k.Message = message
			if err := save(); err != nil {
				return nil, err
			}
		}
		if err := clock.Sleep(ctx, every); err != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// what returns a noun for the ordered media.
func (k kept) what() string {
	return map[wire.Task]string{wire.Sound: "sound effect", wire.Music: "music",
		wire.Video: "video"}[k.request().Task()]
}

// took is how long an order took until now, or until its end.
func (k kept) took() time.Duration {
	end := k.Ended
	if !k.State.Final() {
		end = time.Now()
	}
	return end.Sub(k.Created).Round(time.Second)
}

// report describes the state of an order in words.
func (k kept) report() string {
	var lines []string
	switch k.State {
	case jobs.Done:
		for _, f := range k.product.Files {
			lines = append(lines, fmt.Sprintf("[%s saved as %s: %s, %s]", k.what(), f.Path, f.Name, text.Bytes(f.Size)))
		}
		by := "Made by " + k.product.Model
		if k.product.Cost > 0 {
			by += fmt.Sprintf(" for about %s", k.product.Cost)
		}
		lines = append(lines, fmt.Sprintf("%s in %s.", by, k.took()))
	case jobs.Failed:
		lines = append(lines, fmt.Sprintf("The %s was not made (order %s): %s", k.what(), k.ID, k.Reason))
	case jobs.Cancelled:
		lines = append(lines, fmt.Sprintf("The order %s was cancelled: %s", k.ID, k.Reason))
		if k.Ticket != nil {
			lines = append(lines, "The provider may bill it nevertheless.")
		}
	default:
		words := string(k.State)
		if k.Message != "" {
			words = k.Message
		}
		lines = append(lines, fmt.Sprintf("The %s is being made (order %s, %s, %s so far).", k.what(), k.ID, words,
			k.took()))
	}
	notes := k.product.Notes
	if k.State != jobs.Done && k.State != jobs.Failed { // the reason of a failure has them
		notes = k.Order.Notes
	}
	return strings.Join(append(lines, notes...), "\n")
}

// An answer is the structured content of the tools.
type answer struct {
	Order  string   `json:"order"`
	Status string   `json:"status"`
	Files  []string `json:"files,omitempty"`
	Model  string   `json:"model,omitempty"`
	Cost   float64  `json:"cost,omitempty"` // in dollars, an estimate
	Reason string   `json:"reason,omitempty"`
}

// data returns an order for programs.
func (k kept) data() answer {
	a := answer{Order: k.ID, Status: string(k.State), Model: k.Model, Reason: k.Reason}
	if k.State == jobs.Done {
		a.Model, a.Cost = k.product.Model, float64(k.product.Cost)/1e6
	}
	for _, f := range k.product.Files {
		a.Files = append(a.Files, f.Path)
	}
	return a
}
