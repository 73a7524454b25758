package tree

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// Stats returns the state of files, in the order of names. It reads several at a
// time. A file that does not exist or cannot be read has the zero Info, and so
// have the remaining files when ctx ends. 0 workers means one for each processor.
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
