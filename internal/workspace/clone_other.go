//go:build !linux

package workspace

import "os"

func (t *tracker) clone(*os.File, int64) (n int64, ok bool) { return 0, false }
