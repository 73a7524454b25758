package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// key returns the key of the session of the subagent with an id.
func (t task) key(id string) string {
	c := t.Grant.Caller
	c.Session = id
	return c.Key()
}

// day is the period of a tree's budget.
const day = 24 * time.Hour

// enqueue adds a subagent if the limits allow it.
func (e *Engine) enqueue(tx *store.Tx, t task) (id string, err error) {
	t.Asker = t.Parent
	if t.Parent.Depth > 0 {
		outer, err := e.queue.Get(tx, t.Parent.Session)
		if err != nil {
			return "", fmt.Errorf("the subagent that starts another: %w", err)
		}
		var above task
		if err := json.Unmarshal([]byte(outer.Payload), &above); err != nil {
			return "", err
		}
		t.Asker = above.Asker
	}
	if err := e.admit(tx, t); err != nil {
		return "", err
	}
	payload, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	c := t.Grant.Caller
	id, _, err = e.queue.Enqueue(tx, jobs.New{
		Owner: t.Parent.Key(), Agent: c.Agent, Payload: string(payload), Attempts: attempts,
	})
	if err != nil {
		return "", err
	}
	_, err = tx.Exec(`INSERT INTO subagent (id, session, parent, root, owner, agent, label)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		id, t.key(id), t.Parent.Key(), t.Asker.Key(), t.Asker.Principal(), target(t), t.Label)
	if err != nil || e.Began == nil {
		return id, err
	}
	c.Session = id
	return id, e.Began(tx, c, t.Label, t.Model)
}

// target returns the agent whose load a task counts for, "" for a subagent of the same agent.
func target(t task) string {
	if t.As {
		return t.Grant.Caller.Agent
	}
	return ""
}

// admit counts a subagent that is about to be added, or refuses it.
func (e *Engine) admit(tx *store.Tx, t task) error {
	l, root := e.Limits, t.Asker.Key()
	// The rows of a tree, an owner and an agent are locked, so that the limits hold when
	// several processes count at once.
	for _, key := range []string{"agent " + target(t), "owner " + t.Asker.Principal(), root} {
		if _, err := tx.Exec(`INSERT INTO subagent_tree (root, since) VALUES ($1, {{now}})
			ON CONFLICT (root) DO UPDATE SET root = excluded.root`, key); err != nil {
			return err
		}
	}
	var children, running, load int
	if err := errors.Join(
		tx.Row("SELECT count(*) FROM subagent WHERE parent = $1 AND ended = 0", []any{t.Parent.Key()}, &children),
		tx.Row("SELECT count(*) FROM subagent WHERE owner = $1 AND ended = 0", []any{t.Asker.Principal()}, &running),
		tx.Row("SELECT count(*) FROM subagent WHERE agent = $1 AND agent <> '' AND ended = 0", []any{target(t)}, &load),
	); err != nil {
		return err
	}
	switch limit := e.Agents[target(t)].Load; {
	case t.As && load >= limit:
		return tool.Errorf(tool.Busy, "Agent at capacity (%d/%d). Try a different agent or handle it yourself.", load,
			limit)
	case running >= l.Running:
		return tool.Errorf(tool.Busy, "max concurrent subagents reached (%d/%d)", running, l.Running).
			Try("wait until some have ended, or do it yourself")
	case children >= l.Children:
		return tool.Errorf(tool.Busy, "max children per agent reached (%d/%d)", children, l.Children).
			Try("wait until some have ended, or do it yourself")
	}
	if _, err := tx.Exec(`UPDATE subagent_tree SET since = {{now}}, children = 0, tokens = 0, cost = 0, millis = 0
		WHERE root = $1 AND since <= {{now}} - $2`, root, day.Milliseconds()); err != nil {
		return err
	}
	if err := e.withinTree(tx, root, 1); err != nil {
		return err
	}
	_, err := tx.Exec("UPDATE subagent_tree SET children = children + 1 WHERE root = $1", root)
	return err
}

// withinTree returns an error if a tree, with more children, has used up its budget of a day.
func (e *Engine) withinTree(tx *store.Tx, root string, more int) error {
	var used Tree
	var cost, millis int64
	if err := tx.Row("SELECT children, tokens, cost, millis FROM subagent_tree WHERE root = $1", []any{root},
		&used.Children, &used.Tokens, &cost, &millis); err != nil {
		return err
	}
	limit, spent := e.Limits.Tree, time.Duration(millis)*time.Millisecond
	over := ""
	switch {
	case limit.Children > 0 && used.Children+more > limit.Children:
		over = fmt.Sprintf("%d subagents of at most %d", used.Children, limit.Children)
	case limit.Tokens > 0 && used.Tokens >= limit.Tokens:
		over = fmt.Sprintf("%d tokens of at most %d", used.Tokens, limit.Tokens)
	case limit.Cost > 0 && llm.Money(cost) >= limit.Cost:
		over = fmt.Sprintf("%s of at most %s", llm.Money(cost), limit.Cost)
	case limit.Time > 0 && spent >= limit.Time:
		over = fmt.Sprintf("%s of at most %s", spent.Round(time.Second), limit.Time)
	default:
		return nil
	}
	return tool.Errorf(tool.Refused, "the subagents of this session have used up their limit for a day: %s", over).
		Try("do it yourself")
}

// prune removes the rows of subagents without jobs.
func prune(tx *store.Tx) error {
	for _, text := range []string{
		`DELETE FROM subagent_message
			WHERE subagent IN (SELECT id FROM subagent WHERE ended > 0 AND ended <= {{now}} - $1)`,
		`DELETE FROM subagent WHERE ended > 0 AND ended <= {{now}} - $1`,
	} {
		if _, err := tx.Exec(text, keep.Milliseconds()); err != nil {
			return err
		}
	}
	_, err := tx.Exec("DELETE FROM subagent_tree WHERE since <= {{now}} - $1", 2*day.Milliseconds())
	return err
}

// byParent is the beginning of the reason of a job that its parent has cancelled.
const byParent = "the agent that started it cancelled it"

// ended is called in the transaction that ends the job of a subagent. It informs the
// session that has started it, and ends the subagents that it has started.
func (e *Engine) ended(tx *store.Tx, j jobs.Job) error {
	mail, err := takeMail(tx, j.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	unread := len(mail) > 0
	if _, err := tx.Exec("UPDATE subagent SET ended = {{now}} WHERE id = $1", j.ID); err != nil {
		return err
	}
	if err := prune(tx); err != nil {
		return err
	}
	k, err := e.read(tx, j)
	if err != nil {
		return nil // its parent is unknown
	}
	if e.Over != nil {
		c := k.Grant.Caller
		c.Session = j.ID
		if err := e.Over(tx, inbox.ToCaller(c), inbox.ToCaller(k.Parent)); err != nil {
			return err
		}
	}
	children, err := store.List(tx, "SELECT id FROM subagent WHERE parent = $1 AND ended = 0", []any{k.key(j.ID)},
		store.One[string])
	if err != nil {
		return err
	}
	for _, id := range children {
		if _, err := e.queue.Cancel(tx, id, "the subagent that started it has ended"); err != nil {
			return err
		}
	}
	if k.Ref != "" && e.Ended != nil {
		end := End{Ref: k.Ref, Session: j.ID, Agent: k.Grant.Caller.Agent, Done: j.State == jobs.Done, Text: j.Result}
		if !end.Done {
			end.Text = j.Reason
		}
		if noticed, err := e.Ended(tx, end); err != nil || noticed {
			return err
		}
	}
	if strings.HasPrefix(j.Reason, byParent) {
		return nil // it knows
	}
	words, data := notice(k)
	if unread {
		words += "\n[your last message came too late]"
	}
	_, err = inbox.Add(tx, inbox.ToCaller(k.Parent), inbox.Event{
		ID: "subagent " + j.ID, Kind: inbox.Subagent, Subject: j.ID, From: k.key(j.ID), Text: words, Data: data,
	})
	return err
}

// progress is the state of a subagent beside its job.
type progress struct {
	Turns, Tokens int
	Cost          llm.Money
	Changes       string // in its working tree, in words
}

// A kept is a subagent as it is stored.
type kept struct {
	jobs.Job
	progress
	task
}

// progressOf reads the progress of a subagent.
func (e *Engine) progressOf(tx *store.Tx, id string) (p progress, err error) {
	var cost int64
	err = tx.Row("SELECT turns, tokens, cost, changes FROM subagent WHERE id = $1", []any{id}, &p.Turns, &p.Tokens, &cost,
		&p.Changes)
	p.Cost = llm.Money(cost)
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return p, err
}

// list returns the subagents that a caller has started, the oldest first.
func (e *Engine) list(ctx context.Context, c tool.Caller) (all []kept, err error) {
	err = e.Store.View(ctx, func(tx *store.Tx) error {
		all = nil
		list, err := e.queue.List(tx, c.Key(), jobs.Queued, jobs.Running, jobs.Done, jobs.Failed, jobs.Cancelled)
		if err != nil {
			return err
		}
		for _, j := range list {
			one, err := e.read(tx, j)
			if err != nil {
				return err
			}
			all = append(all, one)
		}
		return nil
	})
	return all, err
}

func (e *Engine) read(tx *store.Tx, j jobs.Job) (k kept, err error) {
	k.Job = j
	if err := json.Unmarshal([]byte(j.Payload), &k.task); err != nil {
		return k, fmt.Errorf("a subagent cannot be read: %w", err)
	}
	k.progress, err = e.progressOf(tx, j.ID)
	return k, err
}

// find returns a subagent that a caller may see: one of its own or, for an agent that is
// no subagent itself, one that another session of the same agent and user has started.
func (e *Engine) find(tx *store.Tx, c tool.Caller, id string) (k kept, err error) {
	j, err := e.queue.Get(tx, id)
	if err == nil {
		if k, err = e.read(tx, j); err != nil {
			return k, err
		}
		if k.Parent.Key() == c.Key() || c.Depth == 0 && k.Asker.Principal() == c.Principal() {
			return k, nil
		}
	}
	if err == nil || errors.Is(err, store.ErrNotFound) {
		err = tool.Errorf(tool.NotFound, "Task '%s' not found or not running.", text.Clip(id, 50)).
			Try("list shows the ids; subagents that ended more than an hour ago are deleted")
	}
	return kept{}, err
}
