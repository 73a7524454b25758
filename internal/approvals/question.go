package approvals

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// A Call is what a person is asked about.
type Call struct {
	Call      string            `json:"call"` // as the audit log knows it
	Tool      string            `json:"tool"`
	Title     string            `json:"title"`
	Risk      string            `json:"risk"`
	Why       string            `json:"why,omitzero"` // the tool's reason for the risk
	Principal string            `json:"principal"`
	Agent     string            `json:"agent,omitzero"`
	User      string            `json:"user,omitzero"`
	Session   string            `json:"session"`
	Profile   string            `json:"profile"`
	Workspace string            `json:"workspace,omitzero"`
	Shown     string            `json:"arguments"`      // all of them, as a person may see them
	Facts     map[string]string `json:"facts,omitzero"` // what else the word rests on, as it may be seen
	Basis     string            `json:"basis,omitzero"` // digest of the facts
	Digest    string            `json:"digest"`         // of the tool and its exact arguments
	Once      bool              `json:"once,omitzero"`  // it can only be allowed once
	Args      json.RawMessage   `json:"-"`              // exactly; never written down
}

// A State says how far a question is.
type State string

// The states of a question. One that is open past its time counts as expired.
const (
	Open    State = "open"
	Allowed State = "allowed"
	Denied  State = "denied"
	Used    State = "used" // allowed, and the call was made
	Expired State = "expired"
)

// A Question is a call that waits for a person's word.
type Question struct {
	ID    string `json:"id"`
	State State  `json:"state"`
	Call
	Parts    map[string]string `json:"parts"` // digest of each argument
	Owner    string            `json:"owner"` // the process that asks
	Asked    time.Time         `json:"asked"`
	Expires  time.Time         `json:"expires"`
	Decision *Decision         `json:"decision,omitzero"`
}

// over says why the question cannot be answered any more; nil while it can.
func (q *Question) over(now time.Time) error {
	switch {
	case q.State == Allowed || q.State == Denied || q.State == Used:
		return ErrAnswered
	case q.State == Open && now.Before(q.Expires):
		return nil
	}
	return ErrExpired
}

// Current is the state at a moment.
func (q *Question) Current(now time.Time) State {
	if q.State == Open && !now.Before(q.Expires) {
		return Expired
	}
	return q.State
}

// An Approver is somebody who answers. The zero Approver sees every question;
// with an agent or a user it sees only those.
type Approver struct {
	Agent, User string
	Name        string // who it is, for the record
	Channel     string // by which way it answers
}

func (a Approver) sees(q *Question) bool {
	return (a.Agent == "" || a.Agent == q.Agent) && (a.User == "" || a.User == q.User)
}

// Ask lays a question out until it expires, and returns its id. It belongs to
// this process, and ends with it.
func (s *Store) Ask(c Call, expires time.Time) (id string, err error) {
	parts, err := partsOf(c.Args)
	if err != nil {
		return "", err
	}
	q := Question{
		ID: newID(), State: Open, Call: c, Parts: parts, Owner: s.me,
		Asked: time.Now().UTC(), Expires: expires.UTC(),
	}
	return q.ID, s.locked(func() error {
		all, err := s.questions()
		if err != nil {
			return err
		}
		if !q.roomAmong(all) {
			return ErrTooMany
		}
		if err := s.live(); err != nil {
			return err
		}
		return s.write(&q)
	})
}

// roomAmong reports whether one more question may wait beside the others. Who
// decides reads all of them, again and again, so their texts are bounded too.
func (q *Question) roomAmong(all []Question) bool {
	var open, own, text, ownText int
	for _, other := range all {
		if other.over(q.Asked) != nil {
			continue
		}
		open++
		text += len(other.Shown)
		if other.Principal == q.Principal {
			own++
			ownText += len(other.Shown)
		}
	}
	text, ownText = text+len(q.Shown), ownText+len(q.Shown)
	return open < mostOpen && own < mostOfOne && text <= mostText && ownText <= mostTextOfOne
}

// List returns the open questions that who sees, the oldest first.
func (s *Store) List(who Approver) ([]Question, error) {
	var open []Question
	if !s.exists() {
		return nil, nil
	}
	err := s.locked(func() error {
		all, err := s.questions()
		now := time.Now()
		for _, q := range all {
			if q.over(now) == nil && who.sees(&q) {
				open = append(open, q)
			}
		}
		return err
	})
	slices.SortFunc(open, func(a, b Question) int { return a.Asked.Compare(b.Asked) })
	return open, err
}

// Get returns one question that who sees, also one that is over.
func (s *Store) Get(id string, who Approver) (Question, error) {
	var q Question
	if !s.exists() {
		return q, ErrUnknown
	}
	err := s.locked(func() (err error) {
		q, err = s.find(id, who)
		return err
	})
	return q, err
}

// Await returns when the question is open no more, or ctx ends.
func (s *Store) Await(ctx context.Context, id string) error {
	if !isID(id) {
		return nil
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var last fs.FileInfo // of the version that was read
	var q Question
	for {
		info, err := os.Lstat(s.path(id + fileEnding))
		if err == nil && !sameVersion(last, info) { // reading it costs more than looking
			if q, err = s.read(id); err == nil {
				q.Shown, last = "", info
			}
		}
		if errors.Is(err, fs.ErrNotExist) || last != nil && q.over(time.Now()) != nil {
			return nil // whoever takes it finds out
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func sameVersion(last, now fs.FileInfo) bool {
	return last != nil && os.SameFile(last, now) && last.ModTime().Equal(now.ModTime())
}

// find returns a question of a living process. The caller holds the lock.
func (s *Store) find(id string, who Approver) (Question, error) {
	q, err := s.read(id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return q, ErrUnknown
	case err != nil:
		return q, err
	case !who.sees(&q) || !s.lives(q.Owner):
		return Question{}, ErrUnknown
	}
	return q, nil
}

func (s *Store) read(id string) (q Question, err error) {
	if !isID(id) {
		return q, ErrUnknown
	}
	if err := readJSON(s.path(id+fileEnding), &q); err != nil {
		return q, err
	}
	if q.ID != id || !isID(q.Owner) {
		return q, fmt.Errorf("the file of question %s is that of another", id)
	}
	return q, nil
}

func (s *Store) write(q *Question) error { return writeJSON(s.path(q.ID+fileEnding), q) }

// drop removes a question to which nobody wants an answer any more.
func (s *Store) drop(id string) error {
	if err := os.Remove(s.path(id + fileEnding)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("withdrawing a question: %w", err)
	}
	return nil
}

// questions reads all questions of living processes, and removes the others
// and those that have been over for long. The caller holds the lock.
func (s *Store) questions() ([]Question, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("reading the approvals: %w", err)
	}
	var all []Question
	lives := make(map[string]bool)
	now := time.Now()
	for _, entry := range entries {
		if owner, is := strings.CutPrefix(entry.Name(), ownerFile("")); is && isID(owner) {
			lives[owner] = s.lives(owner)
		}
	}
	for _, entry := range entries {
		if id, is := strings.CutSuffix(entry.Name(), fileEnding+newEnding); is && isID(id) {
			_ = os.Remove(s.path(entry.Name())) // of one that was killed: we hold the lock
		}
		id, is := strings.CutSuffix(entry.Name(), fileEnding)
		if !is || !isID(id) {
			continue
		}
		q, err := s.read(id)
		if err != nil || !lives[q.Owner] || q.over(now) != nil && now.Sub(cmp.Or(q.decided(), q.Expires)) > keepClosed {
			_ = os.Remove(s.path(entry.Name())) // what cannot be read can be approved by nobody
			continue
		}
		all = append(all, q)
	}
	return s.thinned(all, now), nil
}

// thinned removes those that have been over for longest when there are many. A
// yes that has not been taken yet stays.
func (s *Store) thinned(all []Question, now time.Time) []Question {
	slices.SortFunc(all, func(a, b Question) int { return b.Asked.Compare(a.Asked) })
	closed := 0
	return slices.DeleteFunc(all, func(q Question) bool {
		if q.over(now) == nil || q.State == Allowed {
			return false
		}
		if closed++; closed <= mostClosed {
			return false
		}
		_ = s.drop(q.ID) // the next one who looks tries again
		return true
	})
}

// decided is when the question was answered, or the zero time.
func (q *Question) decided() time.Time {
	if q.Decision == nil {
		return time.Time{}
	}
	return q.Decision.At
}

// partsOf is the digest of each argument, so that a rule can say which must be
// the same without anybody having to keep their values.
func partsOf(args json.RawMessage) (map[string]string, error) {
	values := make(map[string]json.RawMessage)
	if len(args) > 0 {
		if err := json.Unmarshal(args, &values); err != nil {
			return nil, fmt.Errorf("the arguments are no object: %w", err)
		}
	}
	parts := make(map[string]string, len(values))
	for name, value := range values {
		sum := sha256.Sum256(value)
		parts[name] = hex.EncodeToString(sum[:])
	}
	return parts, nil
}
