// Package lazyregexp compiles regular expressions when they are first used. Those
// of package variables would otherwise be compiled at every start of the program,
// which costs more than all other variables together. It knows nothing else;
// begin with New.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles expr at its first call and returns the same
// regular expression each time. It panics then if expr is invalid.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
