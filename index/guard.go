package index

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// ErrDamaged is returned when the files of an index differ from the written ones. The index can
// be used again after Reset.
var ErrDamaged = errors.New("the index is damaged")

// catchFaults turns a panic into an error. Segments are mapped into memory: if a
// file is truncated or the disk fails, reading it is a fault, and damaged
// content may cause any other panic. Use it as in defer catchFaults(&err)().
func catchFaults(err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if p := recover(); p != nil {
			*err = fmt.Errorf("%w: %v", ErrDamaged, p)
		}
	}
}
