package index

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// ErrDamaged is what an index answers whose files are not what was written. It
// is of use again after Reset.
var ErrDamaged = errors.New("the index is damaged")

// guard makes an error of what damaged files do to whoever reads them, which may
// be anything: they are mapped into memory, and where a file was cut, or the
// disk fails, reading it is a fault. Use it as in defer guard(&err)().
func guard(err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if p := recover(); p != nil {
			*err = fmt.Errorf("%w: %v", ErrDamaged, p)
		}
	}
}
