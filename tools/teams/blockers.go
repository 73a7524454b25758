package teams

import (
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// blockersOf returns the tasks that a task waits for, including ended ones.
func blockersOf(t *store.Tx, id string) ([]Task, error) {
	return store.List(t, "SELECT "+taskColumns+` FROM team_task
		WHERE id IN (SELECT blocker FROM team_block WHERE task = $1) ORDER BY number`, []any{id}, scanTask)
}

// setBlockers replaces the blockers of a task, and reports whether it has to wait. The team is
// locked, so that the whole graph stays as it is. Blockers are locked too: a blocker that ends
// now sees the task when it looks for waiting tasks.
func (c *change) setBlockers(id string, blockers []string) (waits bool, err error) {
	blockers = slices.Compact(slices.Sorted(slices.Values(blockers)))
	if len(blockers) > maxBlockers {
		return false, tool.Errorf(tool.Invalid, "a task waits for at most %d others", maxBlockers)
	}
	if _, err := c.Exec("DELETE FROM team_block WHERE task = $1", id); err != nil {
		return false, err
	}
	for _, blocker := range blockers {
		if !isID(blocker) {
			return false, tool.Errorf(tool.Invalid,
				"invalid task_id %q — use the UUID from task list, not the task number", blocker)
		}
		if blocker == id {
			return false, tool.Errorf(tool.Invalid, "a task cannot wait for itself")
		}
		if _, err := c.Exec("UPDATE team_task SET updated = updated WHERE id = $1", blocker); err != nil {
			return false, err
		}
		k, err := c.task(blocker)
		if err != nil {
			return false, err
		}
		if k.Status.ended() {
			return false, tool.Errorf(tool.Invalid, "blocked_by: %s is %s already", k.Identifier(), k.Status).
				Try("leave it out")
		}
		if err := c.refuseCycle(k, id); err != nil {
			return false, err
		}
		if _, err := c.Exec("INSERT INTO team_block (task, blocker) VALUES ($1, $2)", id, blocker); err != nil {
			return false, err
		}
	}
	return len(blockers) > 0, nil
}

// refuseCycle refuses a blocker that waits for the task, directly or through others.
func (c *change) refuseCycle(blocker Task, id string) error {
	var n int
	if err := c.Row(`WITH RECURSIVE before (task) AS (
			SELECT blocker FROM team_block WHERE task = $1
			UNION SELECT b.blocker FROM team_block b JOIN before ON b.task = before.task)
		SELECT count(*) FROM before WHERE task = $2`, []any{blocker.ID, id}, &n); err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	return tool.Errorf(tool.Invalid, "blocked_by: %s waits for this task itself, so neither could begin",
		blocker.Identifier()).Try("remove one of the two")
}

// release lets the tasks begin that waited for one that has ended. Each is locked before its blockers are counted:
// when two blockers end at once, the second transaction sees both ends.
func (c *change) release(ended string) error {
	waiting, err := store.List(c.Tx, "SELECT task FROM team_block WHERE blocker = $1 ORDER BY task", []any{ended},
		store.One[string])
	if err != nil {
		return err
	}
	for _, id := range waiting {
		if _, err := c.Exec("UPDATE team_task SET updated = updated WHERE id = $1", id); err != nil {
			return err
		}
		if err := c.begin(id); err != nil {
			return err
		}
	}
	return nil
}

// begin makes a blocked task pending and dispatches it, unless another task still blocks it.
func (c *change) begin(id string) error {
	n, err := c.Exec(`UPDATE team_task SET status = 'pending', updated = {{now}} WHERE id = $1 AND status = 'blocked'
		AND NOT EXISTS (SELECT 1 FROM team_block b JOIN team_task d ON d.id = b.blocker WHERE b.task = $1
			AND d.status NOT IN ('completed', 'cancelled', 'failed'))`, id)
	if err != nil || n == 0 {
		return err
	}
	if err := c.event(id, "unblocked", ""); err != nil {
		return err
	}
	k, err := c.task(id)
	if err == nil {
		_, err = c.dispatch(k)
	}
	return err
}
