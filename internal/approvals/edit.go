package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/ask"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// This file has changes of the arguments of a call that waits for an approval. A person proposes one in any process,
// see [Store.Edit]. The process that asked checks it with [Call.Check] and puts the changed call into the question.
// The question stays open: an approval then counts for the changed call only.

// A Check returns a call as it is with other arguments. seen is the digest of the call that is changed, and change
// has the arguments that are different, by name; null removes one. An error is shown to the person.
type Check func(ctx context.Context, seen string, change json.RawMessage) (Call, error)

// An Edit says that a person has changed the arguments of a call.
type Edit struct {
	By      string    `json:"by,omitzero"`
	Channel string    `json:"channel"`
	At      time.Time `json:"at"`
	Before  string    `json:"before"` // the arguments of the agent, in the form that may be shown
}

// A proposal is a change that was not checked yet, or that was refused. Until the check it has the arguments as the
// person typed them.
type proposal struct {
	ID      string          `json:"id"`
	Change  json.RawMessage `json:"change,omitzero"`
	By      string          `json:"by,omitzero"`
	Channel string          `json:"channel,omitzero"`
	Refused string          `json:"refused,omitzero"` // why the call cannot be made like that
}

// Errors of changes.
var (
	ErrEdited = errors.New("a person has changed the arguments of this call; look at it again before you allow it")
	errFixed  = tool.Errorf(tool.Refused, "the arguments of this call cannot be changed").Try("allow it or deny it")
)

// maxChange is the maximum size of a change in bytes.
const maxChange = 256 << 10

// Edit changes the arguments of a call that waits for an approval, and returns the question about the changed call.
// The process that asked has to check it: until ctx ends, Edit waits for that.
func (s *Store) Edit(ctx context.Context, id string, change json.RawMessage, by Approver) (q Question, err error) {
	var values map[string]json.RawMessage
	if json.Unmarshal(change, &values) != nil || len(values) == 0 {
		return q, tool.Errorf(tool.Invalid, "the change is no JSON object with arguments").
			Try(`write it like {"command": "ls -l"}`)
	}
	if len(change) > maxChange {
		return q, tool.Errorf(tool.TooLarge, "the change has more than %d bytes", maxChange)
	}
	p := proposal{ID: ask.NewID(), Change: change, By: by.Name, Channel: by.Channel}
	err = s.update(ctx, func(t *store.Tx) error {
		row, q, err := read(t, id, ask.Hold)
		switch {
		case err != nil:
			return err
		case !by.sees(&q):
			return ErrUnknown
		case q.State != Open:
			return answeredBy(q.closedErr(), &q)
		case !q.Editable:
			return errFixed
		}
		q.proposal = &p
		return rewrite(t, row, q)
	})
	if err != nil {
		return q, err
	}
	defer s.DB.Urgent()()
	for {
		changed := s.DB.Wait(ask.Topic)
		q, err = s.Get(ctx, id, by)
		switch {
		case err != nil:
			return q, err
		case q.proposal == nil && q.State == Open:
			return q, nil
		case q.proposal == nil || q.State != Open:
			return q, answeredBy(cmp.Or(q.closedErr(), ErrUnknown), &q)
		case q.proposal.ID != p.ID:
			return q, tool.Errorf(tool.Conflict, "another person is changing this call").Try("look at it again")
		case q.proposal.Refused != "":
			return q, tool.Errorf(tool.Invalid, "%s", q.proposal.Refused)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return q, tool.Errorf(tool.Unavailable, "the server that asked has not checked the change yet").
				Try("look at the call again in a moment")
		}
	}
}

// rewrite writes the call of an open question.
func rewrite(t *store.Tx, row ask.Question, q Question) error {
	body, err := json.Marshal(storedCall{q.Call, q.Parts, q.Edited, q.proposal})
	if err != nil {
		return fmt.Errorf("encoding a question: %w", err)
	}
	return ask.Rewrite(t, row, string(body))
}

// checkEdits checks the changes of a question of this process while it is open.
func (s *Store) checkEdits(id string, check Check) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checks[id] = check
	if !s.checking && s.ctx.Err() == nil {
		s.checking = true
		s.done.Go(s.checkLoop)
	}
}

// checkLoop runs until there are no questions left whose changes have to be checked.
func (s *Store) checkLoop() {
	for {
		changed := s.DB.Wait(ask.Topic)
		late := time.NewTimer(s.checkAll() + time.Millisecond)
		s.mu.Lock()
		if len(s.checks) == 0 {
			s.checking = false
			s.mu.Unlock()
			late.Stop()
			return
		}
		s.mu.Unlock()
		select {
		case <-changed:
		case <-late.C:
		case <-s.ctx.Done():
			late.Stop()
			return
		}
		late.Stop()
	}
}

// checkAll checks the changes of all questions, and returns when the first question expires.
func (s *Store) checkAll() (left time.Duration) {
	s.mu.Lock()
	ids := make(map[string]Check, len(s.checks))
	for id, check := range s.checks {
		ids[id] = check
	}
	s.mu.Unlock()
	left = time.Hour
	for id, check := range ids {
		q, err := s.Get(s.ctx, id, Approver{})
		switch {
		case errors.Is(err, ErrUnknown) || err == nil && q.State != Open:
			s.mu.Lock()
			delete(s.checks, id)
			s.mu.Unlock()
			continue
		case err != nil:
			left = min(left, checkAgain)
			continue
		}
		left = min(left, max(time.Until(q.Expires), 0))
		if q.proposal != nil && q.proposal.Refused == "" {
			if err := s.check(q, check); err != nil && s.ctx.Err() == nil {
				left = min(left, checkAgain)
			}
		}
	}
	return left
}

// checkAgain is the time until changes are looked for again after an error of the store.
const checkAgain = 5 * time.Second

// check puts the changed call into a question, or the reason why it cannot be made.
func (s *Store) check(q Question, check Check) error {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	call, refused := check(ctx, q.Digest, q.proposal.Change)
	parts := map[string]string{}
	if refused == nil {
		parts, refused = argDigests(call.Args)
	}
	return s.update(s.ctx, func(t *store.Tx) error {
		row, now, err := read(t, q.ID, ask.Hold)
		if errors.Is(err, ErrUnknown) {
			return nil
		}
		if err != nil || now.State != Open || now.proposal == nil || now.proposal.ID != q.proposal.ID {
			return err // it was answered, or another change has come
		}
		if refused != nil {
			known := tool.AsError(refused)
			text := known.What
			if known.Next != "" {
				text += "; " + known.Next
			}
			now.proposal = &proposal{ID: now.proposal.ID, Refused: text}
			return rewrite(t, row, now)
		}
		edit := &Edit{By: now.proposal.By, Channel: now.proposal.Channel, At: time.Now().UTC(), Before: now.Shown}
		if now.Edited != nil {
			edit.Before = now.Edited.Before
		}
		call.Editable = true
		now.Call, now.Parts, now.Edited, now.proposal = call, parts, edit, nil
		return rewrite(t, row, now)
	})
}

// seenBy reports whether an approver has seen the call as it is now.
func (q *Question) seenBy(a Answer, by Approver) bool {
	if a.Seen != "" {
		return a.Seen == q.Digest
	}
	return q.Edited == nil || by.Name != "" && q.Edited.By == by.Name
}
