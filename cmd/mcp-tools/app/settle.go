package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/headstart"
)

// startFirst is the delay of work that can wait, so that the client that
// started the program gets its first response sooner.
const startFirst = time.Second

// startBackground starts the work that lasts as long as the server, and what the
// start put off: collecting garbage, and finishing, or reverting, what a crash
// left half done. stop ends it and waits.
func (a *App) startBackground(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var working sync.WaitGroup
	working.Go(func() { a.notifyClients(ctx) })
	if a.embeddings != nil {
		working.Go(func() { a.makeEmbeddings(ctx) })
	}
	working.Go(func() {
		select {
		case <-time.After(startFirst):
			a.watchSkills(ctx)
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
		a.commands.Sweep()
		a.web.sweep()
		if err := a.files.Recover(ctx); err != nil && !errors.Is(err, context.Canceled) {
			a.log.Warn("some file changes that a crash interrupted could not be finished or reverted", "err", err)
		}
		a.audit.Recover(ctx)
		a.sweepStore(ctx)
	})
	return func() { cancel(); working.Wait() }
}
