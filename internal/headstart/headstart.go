// Package headstart delays garbage collection while the program starts.
//
// Half of what a start allocates are tables that libraries build before main. That is
// enough for a first collection, which takes a tenth of the start and frees little. So
// this package also acts before main; no other package of this program does. Go
// initializes packages in the order of their import paths, as soon as their imports are
// initialized: this one imports almost nothing, and comes before the largest. It changes
// nothing if the environment sets GOGC. Begin with [End].
package headstart

import (
	"os"
	"runtime/debug"
)

// How much the heap may grow between collections, in percent. It has a few megabytes, so
// twice the default costs little and saves a tenth of the time of a call.
const (
	gcPercentAtStart = 400
	gcPercentLater   = 200
)

// delayed is initialized before main, which delays garbage collection.
var delayed = delay(os.Getenv("GOGC"))

// delay delays garbage collection and returns true, unless gogc is set.
func delay(gogc string) bool {
	if gogc != "" {
		return false
	}
	debug.SetGCPercent(gcPercentAtStart)
	return true
}

// End ends the delay.
func End() {
	if delayed {
		debug.SetGCPercent(gcPercentLater)
	}
}
