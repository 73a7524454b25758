// Package orders orders sound, music and video from providers. This takes minutes, so an order
// is a job of the store: it survives the end of every process.
//
// A provider is asked once. Before the request is sent the order is stored as sent, and after
// it the provider's id: whichever process goes on asks for that id. If a process dies in
// between, it is not known whether the provider has accepted the order. It then fails and says
// so, because none of the providers documents a key to recognize repeated requests, and a
// second request could cost twice.
//
// The made media are saved in the workspace of the caller, by package generated, and the
// caller's session gets an event. The tools are here, too. Begin with [Orders.Place]; order.go
// has the work on one order.
package orders

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/media/generated"
	"github.com/mcp-tools/mcp-tools/tools/media/provider"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// Options are the needs of Orders.
type Options struct {
	Store     *store.Store
	Jobs      *jobs.Loop // nil: one of its own
	Inbox     *inbox.Inbox
	Files     workspace.Files // of the caller, for pictures
	Made      generated.Files
	Providers *provider.Providers
	Poll      time.Duration // between two questions to a provider; 0 is the default of the task
	Lease     time.Duration // of a job; 0 is the default
	Log       *slog.Logger
}

const (
	jobKind = "media"
	// keep is the time until an ended order is removed. Its files stay.
	keep = 24 * time.Hour
	// slots is how many orders one process works on at once, and maxOpen how many of one
	// caller are open.
	slots   = 16
	maxOpen = 5
	// attempts is how often an order goes on after the process that worked on it has died.
	attempts = 100
	// limit is how long a provider may take.
	limit = 45 * time.Minute
	// maxFailures is how many questions in a row may fail until the order does.
	maxFailures = 10
	saveTimeout = 30 * time.Second
	maxPicture  = 10 << 20
)

// Orders has the orders of all callers. Its methods may be called concurrently.
type Orders struct {
	Options
	queue *jobs.Queue
}

// New returns Orders. It does nothing until Start, or until something is ordered.
func New(o Options) *Orders {
	all := &Orders{Options: o}
	all.Log = cmp.Or(all.Log, slog.New(slog.DiscardHandler))
	all.queue = &jobs.Queue{
		Store: o.Store, Loop: o.Jobs, Kind: jobKind, Do: all.do, Ended: ended, Slots: slots, Keep: keep, Lease: o.Lease, Log: all.Log,
	}
	return all
}

// Start begins to work on orders, including orders that other processes have left.
func (o *Orders) Start() { o.queue.Start() }

// Close stops working. Orders that have not ended go on in another process, or after the
// next Start.
func (o *Orders) Close() error { return o.queue.Close() }

// CanWork reports whether a provider makes anything that can be ordered.
func (o *Orders) CanWork() bool {
	return o.Providers.Can(wire.Sound) || o.Providers.Can(wire.Music) || o.Providers.Can(wire.Video)
}

// A Wish is the wish of an order: one of the requests.
type Wish struct {
	Sound   *wire.SoundRequest `json:",omitempty"`
	Music   *wire.MusicRequest `json:",omitempty"`
	Video   *wire.VideoRequest `json:",omitempty"`
	Picture string             `json:",omitempty"` // the path of the first frame of a video
}

// request returns the request of a wish.
func (w Wish) request() wire.Request {
	switch {
	case w.Sound != nil:
		return *w.Sound
	case w.Music != nil:
		return *w.Music
	}
	return *w.Video
}

// prompt returns the wish, in words.
func (w Wish) prompt() string {
	switch {
	case w.Sound != nil:
		return w.Sound.Prompt
	case w.Music != nil:
		return w.Music.Prompt
	}
	return w.Video.Prompt
}

// A payload is an order as its job keeps it.
type payload struct {
	Wish
	Caller tool.Caller
	Call   string // that placed it
}

// A state is how far an order is.
type state struct {
	provider.Order
	Message string `json:",omitempty"` // in the provider's words
}

// A product is the result of an order.
type product struct {
	Files []generated.File
	provider.By
}

// A kept is an order as it is stored.
type kept struct {
	jobs.Job
	payload
	state
	product product
}

// Place orders something for the caller in ctx, and returns the id of the order.
func (o *Orders) Place(ctx context.Context, w Wish) (id string, err error) {
	c := tool.CallerFrom(ctx)
	encoded, err := json.Marshal(payload{w, c, tool.RunningFrom(ctx).Call})
	if err != nil {
		return "", err
	}
	if w.Picture != "" {
		if _, err := o.picture(ctx, w.Picture); err != nil { // before anything is ordered
			return "", err
		}
	}
	err = o.Store.UpdateInTurn(ctx, "media_order", func(t *store.Tx) error {
		open, err := o.queue.List(t, owner(c))
		if err != nil {
			return err
		}
		if len(open) >= maxOpen {
			return tool.Errorf(tool.Busy, "%d orders of yours are not done yet", len(open)).
				Try("wait until one is")
		}
		id, _, err = o.queue.Enqueue(t, jobs.New{
			Owner: owner(c), Agent: c.Agent, Payload: string(encoded), Attempts: attempts,
		})
		return err
	})
	if err == nil {
		o.Start()
	}
	return id, err
}

// owner returns the owner of the jobs of a caller: its session, or the caller if it has
// none.
func owner(c tool.Caller) string {
	if key := c.Key(); key != "" {
		return key
	}
	return c.Principal()
}

// picture reads a picture of the workspace.
func (o *Orders) picture(ctx context.Context, name string) (*wire.File, error) {
	file, err := o.Files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if file.Size > maxPicture {
		return nil, tool.Errorf(tool.TooLarge, "%q has %s, the maximum is %s", name, text.Bytes(file.Size),
			text.Bytes(maxPicture)).Try("make it smaller first")
	}
	data, err := io.ReadAll(io.NewSectionReader(file, 0, file.Size))
	if err != nil {
		return nil, err
	}
	kind := wire.MIMEOf(data, "")
	if !wire.OneOf(kind, "image/png", "image/jpeg", "image/webp") {
		return nil, tool.Errorf(tool.Invalid, "%q is no picture that providers read but %s", name, kind).
			Try("send a PNG, JPEG or WebP file")
	}
	return &wire.File{Name: file.Name, MIME: kind, Data: data}, nil
}

// get returns an order of a caller: one of its session, or of another session of the same
// agent and user.
func (o *Orders) get(ctx context.Context, c tool.Caller, id string) (k kept, err error) {
	err = o.Store.View(ctx, func(t *store.Tx) error {
		j, err := o.queue.Get(t, id)
		if err == nil {
			if k, err = read(j); err != nil {
				return err
			}
			if k.Caller.Principal() == c.Principal() {
				return nil
			}
		}
		if err == nil || errors.Is(err, store.ErrNotFound) {
			return tool.Errorf(tool.NotFound, "no order %q", text.Clip(id, 50)).
				Try("orders are kept for a day after their end; made files are in the directory generated")
		}
		return err
	})
	return k, err
}

func read(j jobs.Job) (k kept, err error) {
	k.Job = j
	if err := json.Unmarshal([]byte(j.Payload), &k.payload); err != nil {
		return k, fmt.Errorf("an order cannot be read: %w", err)
	}
	if j.Saved != "" {
		if err := json.Unmarshal([]byte(j.Saved), &k.state); err != nil {
			return k, fmt.Errorf("the state of an order cannot be read: %w", err)
		}
	}
	if j.Result != "" {
		if err := json.Unmarshal([]byte(j.Result), &k.product); err != nil {
			return k, fmt.Errorf("the result of an order cannot be read: %w", err)
		}
	}
	return k, nil
}

// byCaller is the reason of an order that its caller has cancelled.
const byCaller = "it was cancelled"

// cancel ends an order. If no process works on it, cancel cancels it at the provider.
func (o *Orders) cancel(ctx context.Context, c tool.Caller, id string) (k kept, err error) {
	k, err = o.get(ctx, c, id)
	if err != nil || k.State.Final() {
		return k, err
	}
	waiting := k.State == jobs.Queued
	if err := o.Store.Update(ctx, func(t *store.Tx) (err error) {
		k.Job, err = o.queue.Cancel(t, id, byCaller)
		return err
	}); err != nil {
		return k, err
	}
	if waiting && k.State == jobs.Cancelled && k.Ticket != nil {
		o.cancelAt(ctx, k)
	}
	return k, nil
}

// cancelAt cancels an order at its provider.
func (o *Orders) cancelAt(ctx context.Context, k kept) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer stop()
	if _, err := o.Providers.Cancel(ctx, k.request().Task(), &k.Order); err != nil {
		o.Log.Warn("an order could not be cancelled at the provider", "order", k.ID, "model", k.Model, "err", err)
	}
}

// ended is called in the transaction that ends an order. It informs the session that has
// placed it.
func ended(t *store.Tx, j jobs.Job) error {
	k, err := read(j)
	if err != nil || k.Caller.Key() == "" || j.Reason == byCaller {
		return nil // no session wants to know
	}
	_, err = inbox.Add(t, inbox.ToCaller(k.Caller), inbox.Event{
		ID: "media " + j.ID, Kind: inbox.Media, Subject: j.ID, Text: k.report(), Data: k.data(),
	})
	return err
}

// save puts the result into the workspace.
func (o *Orders) save(ctx context.Context, title string, files []wire.File) (list []generated.File, err error) {
	for _, file := range files {
		saved, err := o.Made.Save(ctx, title, bytes.NewReader(file.Data))
		if err != nil {
			return list, err
		}
		list = append(list, saved)
	}
	return list, nil
}
