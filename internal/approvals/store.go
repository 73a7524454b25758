// Package approvals keeps the questions that wait for a person's word, and the
// rules that persons have made of their words.
//
// Every question is one private file in the directory approvals of the data
// directory, so that a server can ask and another process, such as
// `mcp-tools approvals allow`, can answer. Any number of processes share the
// directory. Every change is made under one file lock and replaces a whole
// file, so that of several answers exactly one is the first. A question belongs
// to the process that asked: it ends with that process, however that dies, and
// a word that was given is taken by nobody else, once, for exactly the call
// that was shown.
//
// It does not know what a tool is, when a call must be asked about, or how to
// ask a client. Arguments are kept only as they may be shown; of their values
// there are digests.
//
// Begin with Store.Open, Store.Answer and Store.Take: that is the life of a
// question. What outlives it is in rule.go.
package approvals

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// What may be wrong with a question.
var (
	ErrUnknown  = errors.New("there is no such question, or it is over")
	ErrAnswered = errors.New("it was answered before")
	ErrExpired  = errors.New("it was not answered in time")
	ErrChanged  = errors.New("the call is not the one that was approved")
	ErrTooMany  = errors.New("too many questions are waiting")
	ErrOnce     = errors.New("this call may only be allowed once")
)

const (
	// lockPatience is how long a change waits for those of others, each of
	// which takes milliseconds.
	lockPatience = 5 * time.Second
	// lookEvery is how often one who waits looks at the file.
	lookEvery = 50 * time.Millisecond
	// keepClosed is how long a question is still there to be shown when it is
	// over, so that whoever comes late learns who was faster.
	keepClosed = 10 * time.Minute
	// mostOpen and mostOfOne bound the open questions of all, and of one caller.
	mostOpen  = 200
	mostOfOne = 20
	// mostText and mostTextOfOne bound what there is to read in them.
	mostText      = 8 << 20
	mostTextOfOne = 1 << 20
	// mostClosed bounds those that are over and still there to be shown.
	mostClosed = 100
)

const (
	lockName   = "lock"
	rulesName  = "rules.json"
	seenName   = "seen"
	idLen      = 12
	fileEnding = ".json"
)

// A Store is the approvals in one data directory. It is safe for concurrent
// use, and so are several Stores of the same directory.
type Store struct {
	dir string
	me  string // names this process in its questions

	mu    sync.Mutex
	alive func() // lets go of the proof that this process lives; nil before there is one
}

// New returns the approvals in a data directory. Nothing is made before it is
// needed.
func New(data string) *Store {
	return &Store{dir: filepath.Join(data, "approvals"), me: newID()}
}

// Close withdraws what this process still asks. The store must not be used to
// ask any more.
func (s *Store) Close() error {
	s.mu.Lock()
	alive := s.alive
	s.alive = nil
	s.mu.Unlock()
	if alive == nil {
		return nil
	}
	return s.locked(func() error {
		alive()
		_, err := s.questions() // without its owner, a question goes
		return err
	})
}

// newID makes a random name that can be typed: 60 bits.
func newID() string { return strings.ToLower(rand.Text()[:idLen]) }

// isID reports whether text has the form of an id, and so is safe in a path.
func isID(text string) bool {
	return len(text) == idLen && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// locked does work while nobody else changes anything.
func (s *Store) locked(work func() error) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("making the directory of approvals: %w", err)
	}
	if err := checkDir(s.dir); err != nil {
		return err
	}
	unlock, err := private.Lock(context.Background(), s.path(lockName), lockPatience)
	if err != nil {
		return err
	}
	defer unlock()
	return work()
}

// exists reports whether there has ever been anything to approve.
func (s *Store) exists() bool {
	_, err := os.Stat(s.dir)
	return err == nil
}
