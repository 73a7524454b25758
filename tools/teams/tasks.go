package teams

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Status is the state of a task.
type Status string

// The states.
const (
	Pending    Status = "pending"
	Blocked    Status = "blocked"     // waits for other tasks
	InProgress Status = "in_progress" // a member holds it
	InReview   Status = "in_review"
	Stale      Status = "stale" // its assignee did not begin it
	Completed  Status = "completed"
	Cancelled  Status = "cancelled"
	Failed     Status = "failed"
)

// ended reports whether a state is terminal. Only failed tasks can be tried again.
func (s Status) ended() bool { return s == Completed || s == Cancelled || s == Failed }

// A Task is a row of its table.
type Task struct {
	ID, Team, Board      string
	Number               int64
	Subject, Description string
	Status               Status
	Priority             int64
	Assignee             string // the intended assignee; "" is any member
	Owner                string // the present or last holder; "" before
	Result               string
	User, CreatedBy      string
	Unstarted            bool // an approval lets it begin rather than end
	Session              string
	LockUntil            int64
	Dispatches           int64 // how often it was given to a member
	Percent              int64
	Step                 string
	Created, Updated     int64
}

const taskColumns = `id, team, board, number, subject, description, status, priority, assignee, owner, result, usr,
	created_by, unstarted, session, lock_until, dispatches, percent, step, created, updated`

func scanTask(scan store.Scan) (k Task, err error) {
	err = scan(&k.ID, &k.Team, &k.Board, &k.Number, &k.Subject, &k.Description, &k.Status, &k.Priority, &k.Assignee,
		&k.Owner, &k.Result, &k.User, &k.CreatedBy, &k.Unstarted, &k.Session, &k.LockUntil, &k.Dispatches, &k.Percent,
		&k.Step, &k.Created, &k.Updated)
	return k, err
}

// Identifier returns the name of a task for people.
func (k Task) Identifier() string {
	return fmt.Sprintf("T-%03d-%s", k.Number, k.ID[max(0, len(k.ID)-4):])
}

// holder returns the present or intended holder of the task.
func (k Task) holder() string {
	if k.Owner != "" {
		return k.Owner
	}
	return k.Assignee
}

// Limits of tasks.
const (
	maxSubject     = 500    // characters
	maxDescription = 20_000 // bytes
	maxComment     = 10_000 // bytes
	maxResult      = 100_000
	shownResult    = 8000 // characters
	maxBlockers    = 100
	pageSize       = 30
	maxSearched    = 5000 // tasks, the latest
	maxDispatches  = 3
	staleAfter     = 2 * time.Hour
)

// A NewTask is the order of a lead.
type NewTask struct {
	Subject, Description, Assignee string
	Priority                       int64
	BlockedBy                      []string
	Approval                       bool // a lead approves it before it begins
}

func (n NewTask) check() error {
	switch {
	case strings.TrimSpace(n.Subject) == "":
		return tool.Errorf(tool.Invalid, "subject is required").Try("describe the task in one line")
	case utf8.RuneCountInString(n.Subject) > maxSubject:
		return tool.Errorf(tool.TooLarge, "the subject has more than %d characters", maxSubject).
			Try("put the details into description")
	case len(n.Description) > maxDescription:
		return tool.Errorf(tool.TooLarge, "the description has more than %d bytes", maxDescription).
			Try("put the details into a file of the team, such as %sbrief.md", teamDir)
	}
	return checkText(n.Subject, n.Description)
}

func checkText(texts ...string) error {
	for _, text := range texts {
		if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
			return tool.Errorf(tool.Invalid, "the text is not UTF-8, or has a zero byte").Try("send plain text")
		}
	}
	return nil
}

// digest is equal for tasks that say the same.
func (n NewTask) digest() string {
	words := strings.Join(strings.Fields(strings.ToLower(n.Subject)), " ") + "\x00" +
		strings.Join(strings.Fields(n.Description), " ")
	sum := sha256.Sum256([]byte(words))
	return hex.EncodeToString(sum[:16])
}

// Create adds a task to the board. Only the lead may.
func (b *board) Create(ctx context.Context, n NewTask) (made Task, err error) {
	if err := b.mustLead(); err != nil {
		return made, err
	}
	if err := n.check(); err != nil {
		return made, err
	}
	err = b.update(ctx, func(c *change) error {
		id := store.NewID()
		var number int64
		// This locks the team: numbers, duplicates and blockers are decided one after the other.
		if err := c.Row("UPDATE team SET tasks = tasks + 1 WHERE id = $1 AND status = 'active' RETURNING tasks",
			[]any{b.team.ID}, &number); err != nil {
			return err
		}
		if err := c.refuseTwin(n); err != nil {
			return err
		}
		if err := c.checkAssignee(n.Assignee); err != nil {
			return err
		}
		waits, err := c.setBlockers(id, n.BlockedBy)
		if err != nil {
			return err
		}
		status := Pending
		switch {
		case n.Approval:
			status = InReview
		case waits:
			status = Blocked
		}
		if _, err := c.Exec(`INSERT INTO team_task (`+taskColumns+`, start_at, digest) VALUES ($1, $2, $3, $4, $5, $6,
			$7, $8, $9, '', '', $10, $11, $12, '', 0, 0, 0, '', {{now}}, {{now}}, 0, $13)`, id, b.team.ID, b.name,
			number, n.Subject, n.Description, status, n.Priority, n.Assignee, b.user, b.agent, n.Approval,
			n.digest()); err != nil {
			return err
		}
		if err := c.event(id, "created", ""); err != nil {
			return err
		}
		if made, err = c.task(id); err != nil || status != Pending {
			return err
		}
		made, err = c.dispatch(made)
		return err
	})
	return made, err
}

// refuseTwin refuses a task that is open already: a call that was sent again makes no second task.
func (c *change) refuseTwin(n NewTask) error {
	twin, err := scanOne(c.Tx, `SELECT `+taskColumns+` FROM team_task WHERE team = $1 AND board = $2 AND digest = $3
		AND status NOT IN ('completed', 'cancelled', 'failed') ORDER BY number LIMIT 1`, c.team.ID, c.name, n.digest())
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return tool.Errorf(tool.Conflict, "the board has this task already: %s (id=%s, status=%s)", twin.Identifier(),
		twin.ID, twin.Status).Try("use that one, or describe the difference")
}

func scanOne(t *store.Tx, text string, args ...any) (Task, error) {
	list, err := store.List(t, text, args, scanTask)
	if err == nil && len(list) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return Task{}, err
	}
	return list[0], nil
}

func (c *change) checkAssignee(agent string) error {
	if agent == "" {
		return nil
	}
	members, err := c.members(c.Tx)
	if err != nil {
		return err
	}
	var names []string
	for _, m := range members {
		if m.Agent == agent {
			return nil
		}
		names = append(names, m.Agent)
	}
	return tool.Errorf(tool.Invalid, "%q is not a member of this team", agent).
		Try("assign it to one of %s, or to no one, so that any member claims it", strings.Join(names, ", "))
}

// task reads a task of the board.
func (c *change) task(id string) (Task, error) { return c.find(c.Tx, id) }

func (b *board) find(t *store.Tx, id string) (Task, error) {
	k, err := scanOne(t, "SELECT "+taskColumns+" FROM team_task WHERE id = $1", id)
	if errors.Is(err, store.ErrNotFound) {
		return k, tool.Errorf(tool.NotFound, "there is no task %q", id).Try("list the tasks to see their ids")
	}
	if err == nil && (k.Team != b.team.ID || k.Board != b.name) {
		return Task{}, tool.Errorf(tool.Refused, "task does not belong to your team").
			Try("list the tasks to see their ids")
	}
	return k, err
}

// identify returns the id of the task that a model means: an id or an identifier. Without one it is the task
// that the caller holds, if it holds one.
func (b *board) identify(ctx context.Context, given string) (string, error) {
	given = strings.TrimSpace(given)
	if isID(given) {
		return strings.ToLower(given), nil
	}
	var found []string
	err := b.o.Store.View(ctx, func(t *store.Tx) (err error) {
		if given == "" {
			found, err = store.List(t, `SELECT id FROM team_task WHERE session = $1 AND status = 'in_progress'
				AND owner = $2 AND team = $3 LIMIT 2`, []any{b.session, b.agent, b.team.ID}, store.One[string])
			return err
		}
		var number int64
		var tail string
		if n, _ := fmt.Sscanf(given, "T-%d-%s", &number, &tail); n < 2 {
			return nil
		}
		found, err = store.List(t, "SELECT id FROM team_task WHERE team = $1 AND number = $2 AND id LIKE $3",
			[]any{b.team.ID, number, "%" + tail}, store.One[string])
		return err
	})
	switch {
	case err != nil:
		return "", unavailable(err)
	case len(found) == 1:
		return found[0], nil
	case given == "":
		return "", tool.Errorf(tool.Invalid, "task_id is required").Try("list the tasks to see their ids")
	}
	return "", tool.Errorf(tool.Invalid, "invalid task_id %q — use the UUID from task list, not the task number", given)
}

func isID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i, c := range []byte(strings.ToLower(text)) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (c == '-') || !dash && !strings.ContainsRune("0123456789abcdef", rune(c)) {
			return false
		}
	}
	return true
}

// A Line is a task in a list.
type Line struct {
	Task
	Blockers []Task
}

// List returns a page of tasks.
func (b *board) List(ctx context.Context, status, order string, page int) (list []Line, more bool, err error) {
	const open = " AND status NOT IN ('completed', 'cancelled', 'failed')"
	args := []any{b.team.ID, b.name, pageSize + 1, (max(page, 1) - 1) * pageSize}
	where := open
	switch status {
	case "", "active":
	case "all":
		where = ""
	default:
		known := []string{"active", "all", string(Pending), string(Blocked), string(InProgress), string(InReview),
			string(Stale), string(Completed), string(Cancelled), string(Failed)}
		if !slices.Contains(known, status) {
			return nil, false, tool.Errorf(tool.Invalid, "there is no status %q", status).
				Try("use one of %s", strings.Join(known, ", "))
		}
		where, args = " AND status = $5", append(args, status)
	}
	by := " ORDER BY priority DESC, number"
	switch order {
	case "", "priority":
	case "newest":
		by = " ORDER BY number DESC"
	default:
		return nil, false, tool.Errorf(tool.Invalid, "there is no order %q", order).Try("use priority or newest")
	}
	err = b.o.Store.View(ctx, func(t *store.Tx) error {
		tasks, err := store.List(t, "SELECT "+taskColumns+" FROM team_task WHERE team = $1 AND board = $2"+where+by+
			" LIMIT $3 OFFSET $4", args, scanTask)
		if err != nil {
			return err
		}
		if more = len(tasks) > pageSize; more {
			tasks = tasks[:pageSize]
		}
		list, err = withBlockers(t, tasks)
		return err
	})
	if err != nil {
		return nil, false, unavailable(err)
	}
	return list, more, nil
}

// withBlockers adds the tasks that others wait for.
func withBlockers(t *store.Tx, tasks []Task) ([]Line, error) {
	lines := make([]Line, len(tasks))
	for i, k := range tasks {
		lines[i].Task = k
		if k.Status.ended() {
			continue
		}
		var err error
		if lines[i].Blockers, err = blockersOf(t, k.ID); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// Search returns the tasks with words of a text in their subject or description, the best first.
func (b *board) Search(ctx context.Context, query string) (list []Line, err error) {
	if strings.TrimSpace(query) == "" {
		return nil, tool.Errorf(tool.Invalid, "query is required for search").Try("send words of the subject")
	}
	err = b.o.Store.View(ctx, func(t *store.Tx) error {
		docs, err := store.List(t, `SELECT id, subject, description FROM team_task WHERE team = $1 AND board = $2
			ORDER BY number DESC LIMIT $3`, []any{b.team.ID, b.name, maxSearched},
			func(scan store.Scan) (d index.Document, err error) {
				err = scan(&d.ID, &d.Title, &d.Body)
				return d, err
			})
		if err != nil {
			return err
		}
		var tasks []Task
		for _, hit := range index.NewCollection(docs).Search(query, pageSize).Hits {
			k, err := scanOne(t, "SELECT "+taskColumns+" FROM team_task WHERE id = $1", hit.ID)
			if err != nil {
				return err
			}
			tasks = append(tasks, k)
		}
		list, err = withBlockers(t, tasks)
		return err
	})
	if err != nil {
		return nil, unavailable(err)
	}
	return list, nil
}

// An Entry is a comment on a task, or an event in its life.
type Entry struct {
	Agent  string `json:"agent,omitempty"`
	Action string `json:"action,omitempty"` // of an event
	Text   string `json:"text,omitempty"`
	At     string `json:"at"`
}

func scanEntry(scan store.Scan) (e Entry, err error) {
	var at int64
	err = scan(&e.Agent, &e.Action, &e.Text, &at)
	e.At = stamp(at)
	return e, err
}

func stamp(ms int64) string { return store.FromMillis(ms).UTC().Format(time.RFC3339) }

// A Whole is all that is known of a task.
type Whole struct {
	Line
	Comments, Events []Entry
	Attachments      []string
}

const maxEntries = 50 // comments, and events, the latest

// Get returns a task with its parts.
func (b *board) Get(ctx context.Context, id string) (w Whole, err error) {
	err = b.o.Store.View(ctx, func(t *store.Tx) error {
		k, err := b.find(t, id)
		if err != nil {
			return err
		}
		lines, err := withBlockers(t, []Task{k})
		if err != nil {
			return err
		}
		w = Whole{Line: lines[0]}
		var failed [3]error
		w.Comments, failed[0] = store.List(t, `SELECT agent, '', content, at FROM team_comment WHERE task = $1
			ORDER BY at DESC, id DESC LIMIT $2`, []any{id, maxEntries}, scanEntry)
		w.Events, failed[1] = store.List(t, `SELECT agent, action, detail, at FROM team_event WHERE task = $1
			ORDER BY at DESC, id DESC LIMIT $2`, []any{id, maxEntries}, scanEntry)
		w.Attachments, failed[2] = store.List(t, "SELECT file FROM team_attachment WHERE task = $1 ORDER BY at, file",
			[]any{id}, store.One[string])
		slices.Reverse(w.Comments)
		slices.Reverse(w.Events)
		return errors.Join(failed[:]...)
	})
	if err != nil {
		return w, unavailable(err)
	}
	w.Result = text.ClipCharacters(w.Result, shownResult)
	return w, nil
}
