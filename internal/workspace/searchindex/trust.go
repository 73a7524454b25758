package searchindex

import (
	"errors"
	"os"
	"path/filepath"
)

// trust is what of a file system can be relied upon.
type trust byte

const (
	trustNothing trust = iota
	trustStamps        // the time of the last change of a file cannot be set back
	trustEvents        // and every change is an event
)

var (
	errNoTrust  = errors.New("on this file system changes cannot be noticed")
	errNoEvents = errors.New("not all directories can be watched")
	errLost     = errors.New("events were lost")
)

// beneathRepo reports whether a directory is beneath a repository: then
// .gitignore counts in it.
func beneathRepo(dir string) bool {
	for dir = absolute(dir); ; {
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		if _, err := os.Lstat(filepath.Join(up, ".git")); err == nil {
			return true
		}
		dir = up
	}
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
