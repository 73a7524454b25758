package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/headstart"
)

// A client that starts us waits for the first answer. What can wait, waits
// until it has that.
const startFirst = time.Second

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
		headstart.End()
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
