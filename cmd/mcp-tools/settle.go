package main

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"
)

// A client that starts us waits for the first answer. What can wait, waits
// until it has that.
const startFirst = time.Second

// How far the heap may grow between collections, in percent. Ours is a few
// megabytes, so that twice as much room costs little and saves a tenth of the
// time of a call. The first collection would fall into the start, take a tenth
// of that, and find nothing.
const (
	roomAtStart = 400
	roomLater   = 200
)

// hurry puts off collecting garbage, unless somebody has chosen otherwise.
func hurry(getenv func(string) string) bool {
	if getenv("GOGC") != "" {
		return false
	}
	debug.SetGCPercent(roomAtStart)
	return true
}

// settle does what the start put off: collecting garbage, and
// finishing, or taking back, what a crash left half done. A change does the
// latter at once for the files that it needs.
func (h *house) settle(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var working sync.WaitGroup
	working.Go(func() { h.tellNews(ctx) })
	if h.meaning != nil {
		working.Go(func() { h.workOnMeaning(ctx) })
	}
	working.Go(func() {
		select {
		case <-time.After(startFirst):
			h.watchSkills(ctx)
		case <-ctx.Done():
		}
	})
	working.Go(func() {
		select {
		case <-time.After(startFirst):
		case <-ctx.Done():
			return
		}
		if h.app.hurried {
			debug.SetGCPercent(roomLater)
		}
		h.commands.Sweep()
		h.web.sweep()
		if err := h.files.Recover(ctx); err != nil && !errors.Is(err, context.Canceled) {
			h.log.Warn("changes to files that a crash interrupted could not all be settled", "err", err)
		}
		h.audit.Recover(ctx)
		h.sweepStore(ctx)
	})
	return func() { cancel(); working.Wait() }
}
