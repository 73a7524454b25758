// Package headstart puts off collecting garbage while the program starts.
//
// Half of what a start allocates are the tables that libraries make before main:
// enough for a first collection, which takes a tenth of the start and finds
// little. So this package acts before main as well, which nothing else here
// does. Packages are initialized in the order of their import paths, as soon as
// what they import is: this one imports next to nothing, and comes before the
// largest. It knows nothing of what the program does, and leaves everything as it
// is when GOGC is set in the environment. Begin with [End].
package headstart

import (
	"os"
	"runtime/debug"
)

// How far the heap may grow between collections, in percent. Ours is a few
// megabytes, so that twice as much room costs little and saves a tenth of the
// time of a call.
const (
	roomAtStart = 400
	roomLater   = 200
)

// begun is set before main: that it is made is the head start.
var begun = begin(os.Getenv("GOGC"))

// begin reports whether collecting is put off from now on.
func begin(chosen string) bool {
	if chosen != "" {
		return false
	}
	debug.SetGCPercent(roomAtStart)
	return true
}

// End has garbage collected as usual from now on.
func End() {
	if begun {
		debug.SetGCPercent(roomLater)
	}
}
