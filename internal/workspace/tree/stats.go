package tree

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// Stats tells of files, several at a time, in the order of names. What is gone,
// or cannot be reached, or was not looked at because ctx ended, has the zero
// Info. 0 workers are as many as there are processors.
func Stats(ctx context.Context, r *root.Root, names []string, workers int) []root.Info {
	const batch = 64
	infos := make([]root.Info, len(names))
	var taken atomic.Int64
	work := func() {
		for ctx.Err() == nil {
			to := int(taken.Add(batch))
			from := to - batch
			if from >= len(names) {
				return
			}
			for i := from; i < min(to, len(names)); i++ {
				if info, err := r.Lstat(names[i]); err == nil {
					infos[i] = info
				}
			}
		}
	}
	o := Options{Workers: workers}
	var all sync.WaitGroup
	for range min(o.workers(), len(names)/batch+1) - 1 {
		all.Go(work)
	}
	work()
	all.Wait()
	return infos
}
