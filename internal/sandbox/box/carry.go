package box

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/mirror"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// carry prepares the copies of files.
func (b *Box) carry(c sandbox.Carried) {
	b.carried = c
	if len(c.Binds) == 0 {
		return
	}
	o := mirror.Options{Hidden: c.Hidden, Locked: c.Locked, Dial: func(ctx context.Context) (net.Conn, error) {
		return b.dial(ctx, wire.DialBody{Files: true})
	}}
	for _, bind := range c.Binds {
		o.Copies = append(o.Copies, mirror.Copy{Here: bind.Host, There: bind.Inside, Write: bind.Write})
	}
	b.files = mirror.New(o)
}

// errDeaf means that the machine of a box does not answer.
var errDeaf = tool.Errorf(tool.Unavailable, "it does not answer").Try("try again: the next command gets another sandbox")

// watch loses the box if its machine does not answer while commands run.
func (b *Box) watch() {
	ticker := time.NewTicker(askAfter)
	defer ticker.Stop()
	for {
		select {
		case <-b.done:
			return
		case now := <-ticker.C:
			silent := now.Sub(time.Unix(0, b.heard.Load()))
			switch {
			case b.Live() == 0 || silent < askAfter:
				b.asked.Store(0)
			case b.asked.Load() == 0:
				b.asked.Store(now.UnixNano())
				go func() { _ = b.send(wire.Ping, 0, nil) }() // an error means that the box is lost
			case now.Sub(time.Unix(0, b.asked.Load())) >= lostAfter-askAfter:
				b.lose(fmt.Errorf("%s: %w", b.carried.Host, errDeaf))
				b.shut()
				return
			}
		}
	}
}

const (
	// While commands run, what they have changed is taken back every takeEvery, or less often: that may use the share
	// 1/takeShare of the time.
	takeEvery, takeShare = 2 * time.Second, 20
)

// follow takes the files back while commands run, so that calls see the changes of commands in the background.
func (b *Box) follow() {
	wait := takeEvery
	for {
		select {
		case <-b.done:
			return
		case <-time.After(wait):
		}
		if wait = takeEvery; b.Live() > 0 {
			begun := time.Now()
			if !b.takeFiles() {
				return
			}
			wait = max(takeEvery, takeShare*time.Since(begun))
		}
	}
}

// takeFiles takes the files back. It returns false if the box was lost.
func (b *Box) takeFiles() bool {
	notes, err := b.files.Fetch(context.Background())
	if errors.Is(err, mirror.ErrMissing) {
		return true // the files wait in the sandbox
	}
	if err != nil && b.Err() == nil {
		b.lose(fmt.Errorf("changes of commands could not be fetched from %s: %w", b.carried.Host, err))
		b.shut()
	}
	if err != nil {
		return errors.Is(err, mirror.ErrClosed)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes = append(b.notes, notes[:min(len(notes), max(0, maxNotes-len(b.notes)))]...)
	return true
}

// maxNotes is the maximum number of notes about files that wait for the end of a command.
const maxNotes = 20

// takeNotes returns the notes about files that no command has got yet.
func (b *Box) takeNotes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	notes := b.notes
	b.notes = nil
	return notes
}

// sendFiles sends the files that have changed, and returns the sink of a command that gets them back.
func (b *Box) sendFiles(ctx context.Context, s Sink) (Sink, error) {
	notes, err := b.files.Send(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case b.Err() != nil:
		return nil, b.Err()
	case errors.Is(err, mirror.ErrMissing):
		return nil, tool.Errorf(tool.Unavailable, "%w", err).Try("try again; if the error persists, tell the user")
	case err != nil:
		b.lose(err) // the next command gets a new sandbox with new copies
		go b.shut()
		return nil, tool.Errorf(tool.Unavailable, "the files of the workspace could not be sent to %s: %w", b.carried.Host, err).
			Try("try again; if the error persists, tell the user")
	}
	f := &fetching{Sink: s, box: b, ends: make(chan func(), 2)}
	f.note(notes)
	return f, nil
}

// A fetching is a sink that gets the end of a command after the files that the command has changed were taken back.
type fetching struct {
	Sink
	box    *Box
	ends   chan func() // the ends of the command, in their order
	start  sync.Once
	mu     sync.Mutex // one call of the Sink at a time
	exited bool       // Exited was called
}

func (f *fetching) note(notes []string) {
	if len(notes) > 0 {
		f.Output(sandbox.Stderr, []byte("mcp-tools: "+strings.Join(notes, "\nmcp-tools: ")+"\n"))
	}
}

// Output passes on output.
func (f *fetching) Output(s sandbox.Stream, data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Sink.Output(s, data)
}

// Skipped passes on that output was left out.
func (f *fetching) Skipped(s sandbox.Stream, n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Sink.Skipped(s, n)
}

// end does something after the ends before it. Gone is the last.
func (f *fetching) end(last bool, do func()) {
	f.start.Do(func() {
		f.box.sinks.Go(func() {
			for do := range f.ends {
				do()
			}
		})
	})
	f.ends <- do
	if last {
		close(f.ends)
	}
}

// Exited takes the files back, and passes on the exit status.
func (f *fetching) Exited(e wire.ExitBody) {
	f.end(false, func() {
		if !f.fetch() {
			return // the box is lost, and the command with it: its changes are unknown
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.exited = true
		f.Sink.Exited(e)
	})
}

// Gone fetches the changes of the descendants, and passes on the end.
func (f *fetching) Gone(err error) {
	f.end(true, func() {
		if err == nil && !f.fetch() {
			err = f.box.Err()
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.Sink.Gone(err)
	})
}

// fetch takes the files back. It returns false if the box was lost.
func (f *fetching) fetch() bool {
	if !f.box.takeFiles() {
		return false
	}
	f.note(f.box.takeNotes())
	return true
}
