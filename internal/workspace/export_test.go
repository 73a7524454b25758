package workspace

import "context"

// Settle waits until the index of the caller's workspace is ready. It returns false if
// there is none.
func (w *Workspace) Settle(ctx context.Context) bool {
	p, err := w.resolve(ctx, ".", toList)
	if err != nil {
		return false
	}
	index := w.indexes.get(p.mount)
	return index != nil && index.Settle(ctx)
}
