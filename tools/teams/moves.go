package teams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/questions"
)

// This file has the moves of members with tasks. Each move is one statement with the condition
// in it: if two members try at once, one changes the row, and the other gets an error with its
// present state.

// take is the part of the statements of Claim that gives a task to a member. Where the id is known, the other
// columns are written as expressions, so that no engine looks for the task in an index of theirs.
const take = `UPDATE team_task SET status = 'in_progress', owner = $1, session = $2, lock_until = {{now}} + $3,
	dispatches = dispatches + CASE WHEN status = 'pending' AND assignee = '' THEN 1 ELSE 0 END, start_at = 0,
	updated = {{now}} WHERE EXISTS (SELECT 1 FROM team_member m WHERE m.team = $4 AND m.agent = $1 AND m.active) AND `

// A claim of a task that the member holds already renews it: that is how a client continues after a restart.
const claimOne = take + `id = $6 AND team || '' = $4 AND board || '' = $5
	AND (status = 'pending' AND assignee IN ('', $1) OR status = 'in_progress' AND owner = $1) RETURNING ` + taskColumns

const claimNext = `WITH next AS MATERIALIZED (SELECT id FROM team_task WHERE team = $4 AND board = $5
	AND status = 'pending' AND assignee IN ('', $1) ORDER BY priority DESC, number LIMIT 1 {{skip}}) ` +
	take + `id = (SELECT id FROM next) RETURNING ` + taskColumns

// Claim gives a task to the caller; with id "" the first that it may have.
func (b *board) Claim(ctx context.Context, id string) (k Task, err error) {
	statement, args := claimNext, []any{b.agent, b.session, b.team.Settings.lock().Milliseconds(), b.team.ID, b.name}
	if id != "" {
		statement, args = claimOne, append(args, id)
	}
	err = b.update(ctx, func(c *change) error {
		k, err = scanOne(c.Tx, statement, args...)
		if err != nil {
			return err
		}
		if _, err := inbox.Settle(c.Tx, c.inboxOf(b.agent), assignedID(k)); err != nil {
			return err
		}
		return c.event(k.ID, "claimed", "")
	})
	if !errors.Is(err, store.ErrNotFound) {
		return k, err
	}
	if id == "" {
		return k, tool.Errorf(tool.NotFound, "no task waits for you on the board").
			Try("wait for the next one; list shows the work of others")
	}
	return k, b.explain(ctx, id, "task not available for claiming (already claimed or not pending)")
}

// explain returns the error about a task that is not as a move needs it.
func (b *board) explain(ctx context.Context, id, what string) error {
	var k Task
	err := b.o.Store.View(ctx, func(t *store.Tx) (err error) {
		k, err = b.find(t, id)
		return err
	})
	if err != nil {
		return unavailable(err)
	}
	state := fmt.Sprintf("%s: it is %s", what, k.Status)
	if who := k.holder(); who != "" {
		state += ", of " + who
	}
	return tool.Errorf(tool.Conflict, "%s", state).Try("get it to see its history, or list the tasks")
}

// A move is one change of the state of one task.
type move struct {
	set   string // of the statement; the parameters $1 to $4 belong to change.move, the others are args
	where string
	args  []any
	event string
	text  string
	fails string // the error when the task is in another state
}

// move changes a task. after runs in the same transaction, with the task as it is then.
func (b *board) move(ctx context.Context, id string, m move, after func(*change, Task) error) (k Task, err error) {
	if err := checkText(m.text); err != nil {
		return k, err
	}
	err = b.update(ctx, func(c *change) error {
		if k, err = c.move(id, m); err != nil || after == nil {
			return err
		}
		return after(c, k)
	})
	if errors.Is(err, store.ErrNotFound) {
		return k, b.explain(ctx, id, m.fails)
	}
	return k, err
}

func (c *change) move(id string, m move) (Task, error) {
	args := append([]any{id, c.team.ID, c.name, c.agent}, m.args...)
	k, err := scanOne(c.Tx, "UPDATE team_task SET updated = {{now}}, "+m.set+` WHERE id = $1 AND team || '' = $2
		AND board || '' = $3 AND $4 = $4 AND `+m.where+" RETURNING "+taskColumns, args...)
	if err != nil {
		return k, err
	}
	return k, c.event(id, m.event, m.text)
}

const (
	// freed is the part of statements that ends the lock of a task.
	freed      = "session = '', lock_until = 0, start_at = 0"
	notHeld    = "task not in progress or not found"
	heldByMe   = "status = 'in_progress' AND owner = $4"
	notInState = "task is not in the state that this needs"
)

// Complete ends a task of the caller's with a result. A pending one is claimed first.
func (b *board) Complete(ctx context.Context, id, result string) (Task, error) {
	if err := checkResult("complete", result); err != nil {
		return Task{}, err
	}
	return b.move(ctx, id, move{
		set:   "status = 'completed', owner = $4, result = $5, percent = 100, " + freed,
		where: "(" + heldByMe + " OR status = 'pending' AND assignee IN ('', $4))", args: []any{result},
		event: "completed", fails: notHeld,
	}, (*change).completed)
}

// completed makes the consequences of a completed task.
func (c *change) completed(k Task) error {
	if err := c.end(k); err != nil {
		return err
	}
	return c.tellLead("completed", k.ID, fmt.Sprintf("%s completed %s: %s. Result: %s", k.Owner, k.Identifier(),
		k.Subject, text.Clip(k.Result, maxShort)))
}

func checkResult(action, result string) error {
	switch {
	case strings.TrimSpace(result) == "":
		return tool.Errorf(tool.Invalid, "text is required for %s", action).Try("describe the result and its place")
	case len(result) > maxResult:
		return tool.Errorf(tool.TooLarge, "the text has more than %d bytes", maxResult).
			Try("write it to a file of the team, and name that")
	}
	return checkText(result)
}

// maxShort is the most bytes of a text that a notice repeats.
const maxShort = 500

// end makes the consequences of an ended task.
func (c *change) end(k Task) error {
	if c.o.Withdraw != nil {
		if err := c.o.Withdraw(c.Tx, k.ID); err != nil {
			return err
		}
	}
	return c.release(k.ID)
}

// escalates reports whether the caller leaves an action to the lead.
func (b *board) escalates(action string) bool {
	return b.role != Lead && slices.Contains(b.team.Settings.EscalationActions, action)
}

// escalate refuses an action that the caller leaves to the lead, and notifies the lead unless
// the mode is RejectMode.
func (b *board) escalate(ctx context.Context, id, action, words string) error {
	refused := tool.Errorf(tool.Refused, "in this team %s is for the lead", action).
		Try("send a message to %s with team_message", b.lead)
	if b.team.Settings.EscalationMode == RejectMode || id == "" {
		return refused
	}
	if err := b.update(ctx, func(c *change) error {
		k, err := c.task(id)
		if err != nil {
			return err
		}
		return c.tell(b.lead, id, fmt.Sprintf("%s wants to %s %s (%s): %s", b.agent, action, k.Identifier(),
			k.Subject, text.Clip(words, maxShort)))
	}); err != nil {
		return err
	}
	return refused.Try("%s was notified; go on with other work", b.lead)
}

// Review hands a task of the caller's to the lead.
func (b *board) Review(ctx context.Context, id, result string) (Task, error) {
	if err := checkResult("review", result); err != nil {
		return Task{}, err
	}
	return b.move(ctx, id, move{
		set: "status = 'in_review', result = $5, " + freed, where: heldByMe, args: []any{result}, event: "review",
		fails: notHeld,
	}, (*change).inReview)
}

// inReview makes the consequences of a result that waits for a decision.
func (c *change) inReview(k Task) error {
	return c.tellDeciders(k, fmt.Sprintf("%s asks for a review of %s: %s. Result: %s; approve or reject it", k.Owner,
		k.Identifier(), k.Subject, text.Clip(k.Result, maxShort)))
}

// tellDeciders notifies the lead and the reviewers.
func (c *change) tellDeciders(k Task, what string) error {
	members, err := c.members(c.Tx)
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.Role == Reviewer {
			if err := c.tell(m.Agent, k.ID, what); err != nil {
				return err
			}
		}
	}
	return c.tellLead("review", k.ID, what)
}

// Approve decides about a task in review: one that had to be approved before it begins can begin, another one is
// completed.
func (b *board) Approve(ctx context.Context, id, reason string) (k Task, err error) {
	if err := b.mustDecide(); err != nil {
		return k, err
	}
	k, err = b.move(ctx, id, move{
		set: "status = CASE WHEN unstarted THEN 'blocked' ELSE 'completed' END, unstarted = FALSE, percent = " +
			"CASE WHEN unstarted THEN 0 ELSE 100 END",
		where: "status = 'in_review' AND owner <> $4", event: "approved", text: reason, fails: notInState,
	}, func(c *change, now Task) error {
		if now.Status == Completed {
			if err := c.end(now); err != nil {
				return err
			}
			return c.tell(now.Owner, id, fmt.Sprintf("%s approved your %s: %s. %s", b.agent,
				now.Identifier(), now.Subject, reason))
		}
		return c.begin(id)
	})
	if err == nil && k.Status == Blocked { // it may have begun
		w, err := b.Get(ctx, id)
		return w.Task, err
	}
	return k, err
}

// Reject ends a task in review.
func (b *board) Reject(ctx context.Context, id, reason string) (Task, error) {
	if err := b.mustDecide(); err != nil {
		return Task{}, err
	}
	return b.stop(ctx, id, "status = 'in_review' AND owner <> $4", "rejected", reason)
}

// Cancel ends a task that has not ended.
func (b *board) Cancel(ctx context.Context, id, reason string) (Task, error) {
	if err := b.mustLead(); err != nil {
		return Task{}, err
	}
	return b.stop(ctx, id, "status NOT IN ('completed', 'cancelled', 'failed')", "cancelled", reason)
}

func (b *board) stop(ctx context.Context, id, where, event, reason string) (Task, error) {
	return b.move(ctx, id, move{
		set: "status = 'cancelled', " + freed, where: where, event: event, text: reason, fails: notInState,
	}, func(c *change, k Task) error {
		if err := c.end(k); err != nil {
			return err
		}
		return c.tell(k.holder(), id, fmt.Sprintf("%s %s your %s: %s. %s", b.agent, event, k.Identifier(),
			k.Subject, reason))
	})
}

// Progress notes how far the caller's task is, and holds it longer.
func (b *board) Progress(ctx context.Context, id string, percent int, step string) (Task, error) {
	if percent < 0 || percent > 100 {
		return Task{}, tool.Errorf(tool.Invalid, "percent is %d, it must be from 0 to 100", percent)
	}
	return b.move(ctx, id, move{
		set: "percent = $5, step = $6, session = $7, lock_until = {{now}} + $8", where: heldByMe,
		args:  []any{percent, text.Clip(step, maxShort), b.session, b.team.Settings.lock().Milliseconds()},
		event: "progress", text: text.Clip(fmt.Sprintf("%d%% %s", percent, step), maxShort), fails: notHeld,
	}, func(c *change, k Task) error {
		return c.tellLead("progress", id, fmt.Sprintf("%s is at %d%% of %s: %s", b.agent, percent, k.Identifier(),
			k.Step))
	})
}

// Comment adds a comment. Its holder is notified, or the lead if the caller holds it.
func (b *board) Comment(ctx context.Context, id, comment string) error {
	switch {
	case strings.TrimSpace(comment) == "":
		return tool.Errorf(tool.Invalid, "text is required for comment")
	case len(comment) > maxComment:
		return tool.Errorf(tool.TooLarge, "the comment has more than %d bytes", maxComment).Try("shorten it")
	}
	if err := checkText(comment); err != nil {
		return err
	}
	return b.update(ctx, func(c *change) error {
		k, err := c.task(id)
		if err != nil {
			return err
		}
		if _, err := c.Exec(`INSERT INTO team_comment (id, task, agent, content, at)
			VALUES ($1, $2, $3, $4, {{now}})`, store.NewID(), id, b.agent, comment); err != nil {
			return err
		}
		to := k.holder()
		if to == b.agent {
			to = b.lead
		}
		return c.tell(to, id, fmt.Sprintf("%s comments on %s: %s", b.agent, k.Identifier(),
			text.Clip(comment, maxShort)))
	})
}

// Attach links a file of the team to a task.
func (b *board) Attach(ctx context.Context, id, file string) error {
	name, err := b.existingFile(ctx, file)
	if err != nil {
		return err
	}
	return b.update(ctx, func(c *change) error {
		if _, err := c.task(id); err != nil {
			return err
		}
		if _, err := c.Exec(`INSERT INTO team_attachment (task, file, agent, at) VALUES ($1, $2, $3, {{now}})
			ON CONFLICT (task, file) DO NOTHING`, id, name, b.agent); err != nil {
			return err
		}
		return c.event(id, "attached", name)
	})
}

// An Edit changes a task; nil leaves a part as it is.
type Edit struct {
	Subject, Description, Assignee *string
	Priority                       *int64
	BlockedBy                      []string
}

// Update changes the text, the assignee and the blockers of a task.
func (b *board) Update(ctx context.Context, id string, e Edit) (k Task, err error) {
	if err := b.mustLead(); err != nil {
		return k, err
	}
	err = b.update(ctx, func(c *change) error {
		// This locks the team, for the graph of blockers, and then the task.
		if _, err := c.Exec("UPDATE team SET tasks = tasks WHERE id = $1", b.team.ID); err != nil {
			return err
		}
		if _, err := c.Exec("UPDATE team_task SET updated = {{now}} WHERE id = $1", id); err != nil {
			return err
		}
		if k, err = c.task(id); err != nil {
			return err
		}
		if k.Status.ended() {
			return tool.Errorf(tool.Conflict, "%s: it is %s", notInState, k.Status).Try("create a new task")
		}
		if k, err = c.edit(k, e); err != nil || e.BlockedBy == nil {
			return err
		}
		return c.wait(k, e.BlockedBy)
	})
	if err != nil {
		return k, err
	}
	w, err := b.Get(ctx, id)
	return w.Task, err
}

func (c *change) edit(k Task, e Edit) (Task, error) {
	before := k.Assignee
	next := NewTask{Subject: k.Subject, Description: k.Description}
	for _, part := range []struct{ from, to *string }{
		{e.Subject, &next.Subject}, {e.Description, &next.Description}, {e.Assignee, &k.Assignee},
	} {
		if part.from != nil {
			*part.to = *part.from
		}
	}
	if e.Priority != nil {
		k.Priority = *e.Priority
	}
	if err := next.check(); err != nil {
		return k, err
	}
	if err := c.checkAssignee(k.Assignee); err != nil {
		return k, err
	}
	if k.Assignee != before && k.Status == InProgress {
		return k, tool.Errorf(tool.Conflict, "%s holds this task", k.Owner).
			Try("cancel it and create another, or wait until it is given back")
	}
	if _, err := c.Exec(`UPDATE team_task SET subject = $1, description = $2, digest = $3, priority = $4, assignee = $5
		WHERE id = $6`, next.Subject, next.Description, next.digest(), k.Priority, k.Assignee, k.ID); err != nil {
		return k, err
	}
	k.Subject, k.Description = next.Subject, next.Description
	if err := c.event(k.ID, "updated", ""); err != nil || k.Assignee == before || k.Status != Pending {
		return k, err
	}
	k.Dispatches = 0
	return c.dispatch(k)
}

// wait replaces the blockers of a task, and its state if that depends on them.
func (c *change) wait(k Task, blockers []string) error {
	waits, err := c.setBlockers(k.ID, blockers)
	switch {
	case err != nil || k.Status == InReview:
		return err
	case !waits:
		return c.begin(k.ID)
	case k.Status == InProgress:
		return tool.Errorf(tool.Conflict, "%s holds this task, so it cannot wait for others", k.Owner).
			Try("cancel it and create another, or wait until it has ended")
	}
	_, err = c.Exec("UPDATE team_task SET status = 'blocked', start_at = 0 WHERE id = $1", k.ID)
	return err
}

// Retry makes a stale or failed task pending.
func (b *board) Retry(ctx context.Context, id, reason string) (Task, error) {
	if err := b.mustLead(); err != nil {
		return Task{}, err
	}
	return b.move(ctx, id, move{
		set:   "status = 'pending', owner = '', percent = 0, step = '', dispatches = 0, " + freed,
		where: "status IN ('stale', 'failed')", event: "retried", text: reason, fails: notInState,
	}, func(c *change, k Task) error {
		_, err := c.dispatch(k)
		return err
	})
}

// AskUser asks a person about the caller's task, and reminds them.
func (b *board) AskUser(ctx context.Context, id, question string) (answer string, err error) {
	if b.o.Ask == nil {
		return "", tool.Errorf(tool.Unavailable, "no person can be asked here").Try("comment on the task instead")
	}
	if strings.TrimSpace(question) == "" {
		return "", tool.Errorf(tool.Invalid, "text is required for ask_user").Try("send the question")
	}
	w, err := b.Get(ctx, id)
	if err != nil {
		return "", err
	}
	if w.Status != InProgress || w.Owner != b.agent {
		return "", b.explain(ctx, id, notHeld)
	}
	s := b.team.Settings
	answer, err = b.o.Ask(ctx, questions.Question{
		Task: id, Text: fmt.Sprintf("%s (%s): %s", w.Subject, w.Identifier(), question), Remind: b.lead,
		Every: s.followup(), Max: s.FollowupMax,
	})
	if err != nil { // also while the person is asked
		return "", err
	}
	if answer != "" {
		question += " Answer: " + answer
	}
	return answer, b.update(ctx, func(c *change) error {
		if err := c.tellLead("question", id, fmt.Sprintf("%s asks the user about %s: %s", b.agent, w.Identifier(),
			text.Clip(question, maxShort))); err != nil {
			return err
		}
		return c.event(id, "asked", text.Clip(question, maxComment))
	})
}

// ClearAskUser withdraws the questions about a task.
func (b *board) ClearAskUser(ctx context.Context, id string) error {
	return b.update(ctx, func(c *change) error {
		k, err := c.task(id)
		if err != nil {
			return err
		}
		if k.Owner != b.agent {
			if err := b.mustLead(); err != nil {
				return err
			}
		}
		if b.o.Withdraw != nil {
			if err := b.o.Withdraw(c.Tx, id); err != nil {
				return err
			}
		}
		return c.event(id, "questions withdrawn", "")
	})
}
