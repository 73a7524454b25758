package teams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// This file gives tasks to their assignees, and takes them back from members without clients.

// dispatch notifies the assignee of a pending task. A task that was given away often enough without a result fails.
func (c *change) dispatch(k Task) (Task, error) {
	if k.Dispatches >= maxDispatches {
		return c.fail(k, fmt.Sprintf("it was given to a member %d times without a result", k.Dispatches))
	}
	if k.Assignee == "" {
		return k, nil
	}
	if _, err := c.Exec(`UPDATE team_task SET dispatches = $1, start_at = {{now}}, updated = {{now}} WHERE id = $2`,
		k.Dispatches+1, k.ID); err != nil {
		return k, err
	}
	k.Dispatches++
	if err := c.event(k.ID, "dispatched", k.Assignee); err != nil {
		return k, err
	}
	said, err := assignment(c.Tx, k, toClaim)
	if err != nil {
		return k, err
	}
	return k, c.notify(k.Assignee, inbox.Event{ID: assignedID(k), Kind: inbox.Task, Subject: k.ID, Text: said})
}

// assignedID returns the id of the notice that a task was given to its assignee for the last time.
func assignedID(k Task) string { return fmt.Sprintf("task %s assigned %d", k.ID, k.Dispatches) }

// assignment returns the text about a task for its assignee.
func assignment(t *store.Tx, k Task, next string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "[Assigned task #%d (id: %s)]: %s\n", k.Number, k.ID, k.Subject)
	if k.Description != "" {
		b.WriteString(text.Clip(k.Description, 4*maxShort) + "\n")
	}
	blockers, err := blockersOf(t, k.ID)
	for _, d := range blockers {
		if d.Result != "" {
			fmt.Fprintf(&b, "Result of #%d, %s: %s\n", d.Number, d.Subject, text.Clip(d.Result, 4*maxShort))
		}
	}
	fmt.Fprintf(&b, "%s. Files of the team are in %s", next, teamDir)
	return b.String(), err
}

const (
	toClaim = "Claim it with team_tasks, and complete it there with a result"
	isYours = "You hold it: your last text is its result"
)

// fail ends a task that no member could do.
func (c *change) fail(k Task, why string) (Task, error) {
	if _, err := c.Exec("UPDATE team_task SET status = 'failed', owner = '', result = $1, updated = {{now}}, "+freed+
		" WHERE id = $2", why, k.ID); err != nil {
		return k, err
	}
	k.Status, k.Result, k.Owner = Failed, why, ""
	if err := c.event(k.ID, "failed", why); err != nil {
		return k, err
	}
	if err := c.end(k); err != nil {
		return k, err
	}
	return k, c.tellLead("failed", k.ID, fmt.Sprintf("%s failed: %s. %s; retry or cancel it", k.Identifier(), k.Subject,
		why))
}

const (
	// sweepPause is the shortest time between two sweeps for tasks whose time has come: the process that holds one may
	// just extend it.
	sweepPause = 30 * time.Second
	sweepMax   = 100             // tasks at once
	startLease = 5 * time.Minute // another start is tried after this time
	// taskTopic is the topic of the feed for events of tasks.
	taskTopic = "team_task"
)

// Conditions for taking tasks back. A client ends with its session, or with its process.
const (
	expired = `status = 'in_progress' AND NOT EXISTS (SELECT 1 FROM session s
		WHERE s.session = team_task.session AND s.depth > 0 AND s.ended = 0)`
	abandoned = `status = 'in_progress' AND EXISTS (SELECT 1 FROM session s WHERE s.session = team_task.session
		AND (s.ended > 0 AND (s.channel = 'stdio' OR s.depth > 0) OR s.channel = 'stdio' AND s.host <> ''
			AND s.host NOT IN (SELECT id FROM session_host WHERE until > {{now}})))`
	assigned = "status = 'pending' AND assignee <> ''"
)

// Run takes tasks back from members without clients, until ctx ends. Every server does so; of several one
// succeeds for each task.
func (t *Teams) Run(ctx context.Context) {
	t.o.Store.Work(ctx, "tasks could not be given to members", func(ctx context.Context) (time.Duration, error) {
		if err := t.Sweep(ctx); err != nil {
			return 0, err
		}
		next, err := t.o.Store.Due(ctx, fmt.Sprintf(`SELECT min(at) - {{now}} FROM (
			SELECT min(lock_until) AS at FROM team_task WHERE `+expired+`
			UNION ALL SELECT min(updated) + %d FROM team_task WHERE `+assigned+`
			UNION ALL SELECT min(h.until) FROM session_host h JOIN session s ON s.host = h.id AND s.channel = 'stdio'
				JOIN team_task k ON k.session = s.session AND k.status = 'in_progress') AS due
			HAVING min(at) IS NOT NULL`, staleAfter.Milliseconds()))
		if next > 0 {
			next = max(next, sweepPause)
		}
		return next, err
	}, taskTopic, inbox.SessionTopic)
}

// Sweep does one round of Run.
func (t *Teams) Sweep(ctx context.Context) error {
	return errors.Join(
		t.each(ctx, expired+" AND lock_until < {{now}}", (*change).expire),
		t.each(ctx, abandoned, (*change).abandon),
		t.each(ctx, fmt.Sprintf(assigned+" AND updated < {{now}} - %d", staleAfter.Milliseconds()), (*change).grow),
	)
}

// EndSession takes back the tasks of a session that has ended.
func (t *Teams) EndSession(ctx context.Context, session string) error {
	if t.unused() || !t.o.Store.InUse() || session == "" {
		return nil
	}
	return t.each(ctx, "status = 'in_progress' AND session = $2", func(c *change, k Task) error {
		if k.Session != session {
			return nil
		}
		return c.abandon(k)
	}, session)
}

// each calls f for tasks that fulfil a condition, each in a transaction that has locked it. f checks the
// condition again.
func (t *Teams) each(ctx context.Context, where string, f func(*change, Task) error, args ...any) error {
	if t.unused() {
		return nil
	}
	var found []Task
	err := t.o.Store.View(ctx, func(x *store.Tx) (err error) {
		found, err = store.List(x, "SELECT "+taskColumns+" FROM team_task WHERE "+where+" ORDER BY id LIMIT $1",
			append([]any{sweepMax}, args...), scanTask)
		return err
	})
	for _, k := range found {
		if err != nil {
			return err
		}
		err = t.o.Store.Update(ctx, func(x *store.Tx) error {
			b, err := t.boardOf(x, k)
			if err != nil {
				return err
			}
			c := &change{Tx: x, board: b}
			if _, err := c.Exec("UPDATE team_task SET updated = updated WHERE id = $1", k.ID); err != nil {
				return err
			}
			now, err := c.task(k.ID)
			if err != nil || now.Updated != k.Updated || now.Status != k.Status {
				return err // it has changed since
			}
			return f(c, now)
		})
	}
	return err
}

// boardOf returns the board of a task for changes that no member makes.
func (t *Teams) boardOf(x *store.Tx, k Task) (*board, error) {
	b := &board{Teams: t, name: k.Board}
	var settings string
	err := x.Row(`SELECT t.id, t.name, t.settings, coalesce((SELECT l.agent FROM team_member l
		WHERE l.team = t.id AND l.active AND l.role = 'lead'), '') FROM team t WHERE t.id = $1`, []any{k.Team},
		&b.team.ID, &b.team.Name, &settings, &b.lead)
	if err == nil {
		err = store.FromJSON(settings, &b.team.Settings)
	}
	return b, err
}

// expire takes a task back after its lock has expired.
func (c *change) expire(k Task) error {
	now, err := c.Now()
	if err != nil || k.LockUntil >= now {
		return err
	}
	return c.giveBack(k, "there was no progress in time")
}

// abandon takes a task back after its client has ended.
func (c *change) abandon(k Task) error { return c.giveBack(k, "its client has ended") }

// giveBack makes a task pending that a member held, and dispatches it again.
func (c *change) giveBack(k Task, why string) error {
	held := k.Owner
	if _, err := c.Exec("UPDATE team_task SET status = 'pending', owner = '', updated = {{now}}, "+freed+
		" WHERE id = $1", k.ID); err != nil {
		return err
	}
	if err := c.event(k.ID, "given back", held+": "+why); err != nil {
		return err
	}
	k.Status, k.Owner = Pending, ""
	_, err := c.dispatch(k)
	return err
}

// grow makes a task stale that its assignee did not begin.
func (c *change) grow(k Task) error {
	if _, err := c.Exec("UPDATE team_task SET status = 'stale', start_at = 0, updated = {{now}} WHERE id = $1",
		k.ID); err != nil {
		return err
	}
	if err := c.event(k.ID, "stale", ""); err != nil {
		return err
	}
	return c.tellLead("stale", k.ID, fmt.Sprintf("%s did not begin %s: %s. Retry, reassign or cancel it", k.Assignee,
		k.Identifier(), k.Subject))
}

// startAgents starts the assignees of tasks without own clients. The lead's call does so, because the agents work for
// it. The time of a due start doubles as its lease.
func (b *board) startAgents(ctx context.Context) error {
	const due = "start_at > 0 AND start_at <= {{now}} AND status = 'pending' AND team || '' = "
	for range sweepMax {
		var n int
		err := b.o.Store.Row(ctx, "SELECT count(*) FROM team_task WHERE "+due+"$1", []any{b.team.ID}, &n)
		if err != nil || n == 0 {
			return err
		}
		var k Task
		var said string
		err = b.o.Store.Update(ctx, func(x *store.Tx) (err error) {
			k, err = scanOne(x, `WITH due AS MATERIALIZED (SELECT id FROM team_task WHERE `+due+`$2 LIMIT 1 {{skip}})
				UPDATE team_task SET start_at = {{now}} + $1 WHERE id = (SELECT id FROM due) RETURNING `+taskColumns,
				startLease.Milliseconds(), b.team.ID)
			if err == nil {
				said, err = assignment(x, k, isYours)
			}
			return err
		})
		if err != nil {
			return ignoreMissing(err)
		}
		if err := b.o.Start(ctx, Start{k.Assignee, said, runRef(k), b.claimFor(k)}); err != nil {
			b.o.Log.Warn("the assignee of a task could not be started", "agent", k.Assignee, "err", err)
			continue // tried again when the lease has expired
		}
		if err := b.o.Store.Update(ctx, func(x *store.Tx) error {
			_, err := x.Exec("UPDATE team_task SET start_at = 0 WHERE id = $1", k.ID)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// runRef names a run for a task. If the task was given away after an earlier run, the end of
// that run does not fail the task.
func runRef(k Task) string { return fmt.Sprintf("%s %d", k.ID, k.Dispatches) }

// claimFor returns the Claim of the start of an assignee.
func (b *board) claimFor(k Task) func(*store.Tx, string) error {
	return func(x *store.Tx, session string) error {
		n, err := x.Exec(`UPDATE team_task SET status = 'in_progress', owner = assignee, session = $2, start_at = 0,
			lock_until = {{now}} + $3, updated = {{now}} WHERE id = $1 AND status = 'pending' AND assignee = $4`,
			k.ID, session, b.team.Settings.lock().Milliseconds(), k.Assignee)
		if err == nil && n == 0 {
			return tool.Errorf(tool.Refused, "%s was claimed or changed before", k.Identifier()).
				Try("get it to see its history")
		}
		if err != nil {
			return err
		}
		c := &change{Tx: x, board: &board{agent: k.Assignee}}
		return c.event(k.ID, "claimed", "started for it")
	}
}

// RunEnded ends the task of an agent's run, in the transaction that ends the agent: with the
// result of the agent, or as failed with a reason. It leaves alone a task that the agent has
// ended itself, has handed to review or no longer holds, and reports whether the lead of the
// team was notified.
func (t *Teams) RunEnded(x *store.Tx, ref, session string, done bool, said string) (noticed bool, err error) {
	id, _, _ := strings.Cut(ref, " ")
	k, err := scanOne(x, "SELECT "+taskColumns+" FROM team_task WHERE id = $1 {{lock}}", id)
	if err != nil {
		return false, ignoreMissing(err)
	}
	if k.Status != InProgress || k.Session != session || runRef(k) != ref {
		return k.Status == Completed || k.Status == InReview, nil
	}
	b, err := t.boardOf(x, k)
	if err != nil {
		return false, err
	}
	c := &change{Tx: x, board: b}
	if !done {
		_, err = c.fail(k, text.Clip(said, maxResult))
		return true, err
	}
	k.Status, k.Result = Completed, text.Clip(said, maxResult)
	if slices.Contains(b.team.Settings.EscalationActions, "complete") {
		if _, err := c.Exec("UPDATE team_task SET status = 'in_review', result = $1, updated = {{now}}, "+freed+
			" WHERE id = $2", k.Result, k.ID); err != nil {
			return false, err
		}
		return true, errors.Join(c.event(k.ID, "review", ""), c.inReview(k))
	}
	if _, err := c.Exec("UPDATE team_task SET status = 'completed', result = $1, percent = 100, updated = {{now}}, "+
		freed+" WHERE id = $2", k.Result, k.ID); err != nil {
		return false, err
	}
	return true, errors.Join(c.event(k.ID, "completed", ""), c.completed(k))
}

func ignoreMissing(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
