package web

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A room is where the answers are that calls work on, those of all callers
// together. A body becomes many times its size in memory when text is made of
// it; so only so many are read at a time. Of large bodies few are let in at all,
// and one of them is read at a time: they wait for each other, and small ones
// pass by.
type room struct {
	readers, images chan struct{}
	large           chan struct{} // bodies that are in memory
	heavy           chan struct{} // the one of them that is read
	// patience is how long a page that can be asked for again waits for its turn.
	// A large one waits for half of that, each time: its host waits too.
	patience time.Duration
}

const (
	leastReaders = 2 // so that small pages pass by a large one
	mostReaders  = 4 // more of them than processors would only take more memory
	mostImages   = 2
	mostLarge    = 4
	largeBody    = 1 << 20 // bytes
	usualWait    = 20 * time.Second
)

func newRoom() room {
	return room{
		readers: make(chan struct{}, max(leastReaders, min(runtime.GOMAXPROCS(0), mostReaders))), images: make(chan struct{}, mostImages),
		large: make(chan struct{}, mostLarge), heavy: make(chan struct{}, 1),
		patience: usualWait,
	}
}

// A place is what one call has of a room. It has to leave it in the end.
type place struct {
	room
	taken   []chan struct{}
	isLarge bool
}

// patient is a place that waits as long as its context: for the answer to what
// may not be sent twice.
func (r room) patient() *place {
	r.patience = 0
	return &place{room: r}
}

func (p *place) leave() {
	for _, of := range p.taken {
		<-of
	}
	p.taken = nil
}

// take waits until there is one of so many.
func (p *place) take(ctx context.Context, of chan struct{}, patience time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var over <-chan time.Time
	if patience > 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case of <- struct{}{}:
		p.taken = append(p.taken, of)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-over:
		return tool.Errorf(tool.Busy, "too many pages are being read already").
			Try("ask for this one again in half a minute, and for fewer large ones at once")
	}
}

// grow makes the body of the call a large one.
func (p *place) grow(ctx context.Context) error {
	if p.isLarge {
		return nil
	}
	if err := p.take(ctx, p.large, p.patience/2); err != nil {
		return err
	}
	p.isLarge = true
	return nil
}

// turn waits for the right to make text of a body.
func (p *place) turn(ctx context.Context) error {
	if p.isLarge {
		if err := p.take(ctx, p.heavy, p.patience/2); err != nil {
			return err
		}
	}
	return p.take(ctx, p.readers, p.patience)
}

// whole reads a body to its end. Where its length is said, it has its room at
// once; growing into it would take several times that. Of one that turns out to
// be large the rest is only read when it is let in.
func (p *place) whole(ctx context.Context, a *outbound.Answer) ([]byte, error) {
	length := min(max(a.Length, 0), mostAnswer)
	var b bytes.Buffer
	b.Grow(int(min(length, largeBody)) + bytes.MinRead)
	if _, err := b.ReadFrom(io.LimitReader(a.Body, largeBody)); err != nil || b.Len() < largeBody {
		return b.Bytes(), err
	}
	if err := p.grow(ctx); err != nil {
		return nil, err
	}
	b.Grow(int(max(length-largeBody, 0)) + bytes.MinRead)
	_, err := b.ReadFrom(a.Body)
	return b.Bytes(), err
}
