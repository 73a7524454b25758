package inbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

// The modes of [Rules.Receive].
const (
	Off  = "off"
	Pull = "pull"
	Hook = "hook"
)

// Mode returns how messages arrive from a channel: Off, Pull or Hook.
func (b *Inbound) Mode(ctx context.Context, name string) (string, error) {
	if mode := b.Receive[name]; mode != "" {
		return mode, nil
	}
	needed, err := b.needed(ctx, name)
	if err != nil || !needed {
		return Off, err
	}
	c, err := b.Accounts.Channel(name)
	if err != nil {
		return Off, err
	}
	if _, can := c.(chat.Puller); can {
		return Pull, nil
	}
	if _, can := c.(chat.Hook); can {
		return Hook, nil
	}
	return Off, nil
}

// needed reports whether a chat of a channel is bound or an approver's.
func (b *Inbound) needed(ctx context.Context, name string) (bool, error) {
	for _, one := range b.Bindings {
		if one.Chat.Channel == name || one.Chat.Channel == anything {
			return true, nil
		}
	}
	for _, who := range b.Approvers {
		for _, p := range who.At {
			if p.Channel == name {
				return true, nil
			}
		}
	}
	if b.Store.Unused() {
		return false, nil
	}
	list, err := Bound(ctx, b.Store)
	for _, one := range list {
		if one.Chat.Channel == name {
			return true, nil
		}
	}
	return false, err
}

const (
	// pullLease is the lease of the process that pulls a channel. While nothing arrives, its renewal every third of it is
	// the only statement. If the process is killed, messages wait at their service until the lease ends.
	pullLease = 2 * time.Minute
	firstBack = time.Second
	lastBack  = time.Minute
	// deniedBack is the pause after the service has refused the credentials.
	deniedBack = 10 * time.Minute
)

// receive pulls all channels that are to be pulled, until ctx ends.
func (b *Inbound) receive(ctx context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	for _, name := range b.Accounts.Names() {
		if mode := b.Receive[name]; mode == "" || mode == Pull {
			working.Go(func() { b.pull(ctx, name) })
		}
	}
}

// pull pulls a channel whenever no other process does.
func (b *Inbound) pull(ctx context.Context, name string) {
	changed, end := b.Store.Watch(bindingTopic)
	defer end()
	for back := firstBack; ctx.Err() == nil; {
		began := time.Now()
		wait, err := b.pullOnce(ctx, name)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			var timer <-chan time.Time // nil: none
			if wait > 0 {
				timer = time.After(wait)
			}
			select {
			case <-timer:
			case <-changed: // it is needed now, or another process has given it back
			case <-ctx.Done():
			}
			continue
		}
		b.Log.Warn("receiving from a channel was interrupted", "channel", name, "err", err)
		if time.Since(began) > lastBack {
			back = firstBack
		}
		wait = back
		if known := (*chat.Error)(nil); errors.As(err, &known) {
			wait = max(wait, known.After)
			if known.Kind == chat.Denied {
				wait = deniedBack
			}
		}
		back = min(2*back, lastBack)
		_ = clock.Sleep(ctx, wait)
	}
}

// pullOnce pulls a channel until that is interrupted, with an error. If nothing is to be pulled, or another process
// pulls, there is no error but the time until it may be pulled; 0 is until a change.
func (b *Inbound) pullOnce(ctx context.Context, name string) (wait time.Duration, err error) {
	mode, err := b.Mode(ctx, name)
	if err != nil || mode != Pull {
		return 0, err
	}
	c, err := b.Accounts.Channel(name)
	if err != nil {
		return 0, err
	}
	puller, can := c.(chat.Puller)
	if !can {
		b.Log.Error("nothing can be pulled from this channel; set receive to hook", "channel", name)
		return 0, nil
	}
	position, held, left, err := b.take(ctx, name)
	if err != nil || !held {
		return left, err
	}
	return 0, b.hold(ctx, name, puller, position)
}

// take takes the lease of a channel, unless another process has it. Then left is the time until that one ends.
func (b *Inbound) take(ctx context.Context, name string) (
	position string, held bool, left time.Duration, err error) {
	err = b.Store.Update(ctx, func(t *store.Tx) error {
		position, held = "", false
		if _, err := t.Exec("INSERT INTO chat_receiver (channel) VALUES ($1) ON CONFLICT (channel) DO NOTHING",
			name); err != nil {
			return err
		}
		n, err := t.Exec(`UPDATE chat_receiver SET owner = $2, until = {{now}} + $3
			WHERE channel = $1 AND (until <= {{now}} OR owner = $2)`, name, b.me, b.lease.Milliseconds())
		if held = n > 0; err != nil {
			return err
		}
		var ms int64
		err = t.Row("SELECT position, until - {{now}} FROM chat_receiver WHERE channel = $1", []any{name}, &position, &ms)
		left = time.Duration(max(ms, 1)) * time.Millisecond
		return err
	})
	return position, held && err == nil, left, err
}

var errLost = errors.New("another process receives from the channel now")

// hold pulls a channel under a lease, and gives it back.
func (b *Inbound) hold(ctx context.Context, name string, p chat.Puller, position string) (err error) {
	held, cancel := context.WithCancelCause(ctx)
	// The lease runs in the store while a renewal hangs, so a timer ends the pull before it is over.
	valid := b.lease * 3 / 4
	expire := time.AfterFunc(valid, func() { cancel(errLost) })
	defer expire.Stop()
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for clock.Sleep(held, b.lease/3) == nil {
			began := time.Now()
			switch kept, err := b.renew(held, name); {
			case err == nil && !kept:
				cancel(errLost)
			case err == nil:
				expire.Reset(time.Until(began.Add(valid)))
			}
		}
	})
	err = p.Pull(held, position, func(position string, in []chat.Incoming) error {
		return b.accept(held, name, in, func(t *store.Tx) error {
			n, err := t.Exec(`UPDATE chat_receiver SET position = $3, problem = '',
				until = {{now}} + $4, at = CASE WHEN $5 > 0 THEN {{now}} ELSE at END
				WHERE channel = $1 AND owner = $2 AND until > {{now}}`, name, b.me, position,
				b.lease.Milliseconds(), len(in))
			if err == nil && n == 0 {
				err = errLost
			}
			return err
		})
	})
	if cause := context.Cause(held); cause != nil && ctx.Err() == nil {
		err = cause
	}
	if err == nil {
		err = errors.New("the service has ended the connection")
	}
	cancel(nil)
	renewing.Wait()
	problem := text.Clip(err.Error(), maxProblem)
	if ctx.Err() != nil {
		problem = ""
	}
	end, done := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer done()
	gone := b.Store.Update(end, func(t *store.Tx) error {
		_, err := t.Exec("UPDATE chat_receiver SET until = 0, problem = $3 WHERE channel = $1 AND owner = $2", name,
			b.me, problem)
		return errors.Join(err, t.Changed(bindingTopic, name))
	})
	b.warn(ctx, "a channel could not be given back; its lease ends soon", gone)
	return err
}

const maxProblem = 300

func (b *Inbound) renew(ctx context.Context, name string) (kept bool, err error) {
	err = b.Store.Update(ctx, func(t *store.Tx) error {
		n, err := t.Exec(`UPDATE chat_receiver SET until = {{now}} + $3, problem = ''
			WHERE channel = $1 AND owner = $2 AND until > {{now}}`, name, b.me, b.lease.Milliseconds())
		kept = n > 0
		return err
	})
	return kept, err
}

// A Receiver is the state of a channel that is received from.
type Receiver struct {
	Channel string    `json:"channel"`
	Pulled  bool      `json:"pulled"`           // by a process, now
	Last    time.Time `json:"last,omitzero"`    // when something has arrived
	Problem string    `json:"problem,omitzero"` // of the last attempt to receive
	Dropped int       `json:"dropped"`          // events of senders that sent too many
}

// Receivers returns the state of the channels that were received from.
func Receivers(ctx context.Context, s *store.Store) (list []Receiver, err error) {
	if s.Unused() {
		return nil, nil
	}
	return store.Select(ctx, s, "SELECT channel, until > {{now}}, at, problem, dropped FROM chat_receiver ORDER BY channel",
		nil, func(scan store.Scan) (r Receiver, err error) {
			var at int64
			err = scan(&r.Channel, &r.Pulled, &at, &r.Problem, &r.Dropped)
			r.Last = store.FromMillis(at)
			return r, err
		})
}

const (
	// maxHook is the length of a request of a service, in bytes.
	maxHook = 1 << 20
	// maxHooks is how many requests are read and stored at once.
	maxHooks = 32
)

// ServeHTTP answers the requests of services at /hooks/{name}. The response is sent when the
// events are stored.
func (b *Inbound) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	mode, err := Off, error(nil)
	if b.Accounts.Kind(name) != "" {
		mode, err = b.Mode(r.Context(), name)
	}
	c, usable := b.channel(name)
	hook, can := c.(chat.Hook)
	if err == nil && (mode != Hook || usable && !can) {
		respond(w, http.StatusNotFound, "there is nothing here")
		return
	}
	if err != nil || !usable {
		b.Log.Warn("a request of a service cannot be taken", "channel", name, "err", err)
		respond(w, http.StatusServiceUnavailable, "try again later")
		return
	}
	select {
	case b.full <- struct{}{}:
		defer func() { <-b.full }()
	default:
		w.Header().Set("Retry-After", "5")
		respond(w, http.StatusServiceUnavailable, "too many requests at once")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxHook))
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		respond(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("a request has at most %d bytes", maxHook))
		return
	}
	if err != nil {
		respond(w, http.StatusBadRequest, "the request could not be read")
		return
	}
	in, answer, err := hook.Receive(r, body, time.Now())
	if err != nil {
		status, words := http.StatusBadRequest, "the request is not understood"
		if chat.KindOf(err) == chat.Forged {
			status, words = http.StatusUnauthorized, "the request is not authentic, or too old"
		}
		b.Log.Info("a request of a service was refused", "channel", name, "from", r.RemoteAddr, "err", err)
		respond(w, status, words)
		return
	}
	err = b.accept(r.Context(), name, in, func(t *store.Tx) error {
		_, err := t.Exec(`INSERT INTO chat_receiver (channel, at) VALUES ($1, {{now}})
			ON CONFLICT (channel) DO UPDATE SET at = {{now}}`, name)
		return err
	})
	if err != nil {
		b.Log.Error("a message from a service could not be stored", "channel", name, "err", err)
		respond(w, http.StatusServiceUnavailable, "try again later")
		return
	}
	kind := answer.Type
	if kind == "" {
		kind = "application/json"
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(answer.Body) // the service repeats requests without a response
}

func respond(w http.ResponseWriter, status int, words string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, words+"\n") // the service has disconnected otherwise
}
