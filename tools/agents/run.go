package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Run is one attempt of an [Executor] at a task.
type Run struct {
	engine *Engine
	held   *jobs.Held
	task   task
	began  time.Time // use that was not yet added to the tree
}

// ID returns the id of the subagent.
func (r *Run) ID() string { return r.held.ID }

// Task returns the task.
func (r *Run) Task() string { return r.task.Text }

// Extra returns the Extra of the Spawn, for the Executor.
func (r *Run) Extra() json.RawMessage { return r.task.Extra }

// Saved returns the state of the last [Run.Save], "" at first.
func (r *Run) Saved() string { return r.held.Saved }

// Attempt returns 1, and more after the process that the subagent was in has died.
func (r *Run) Attempt() int { return r.held.Attempt }

// Grant returns the rights of the subagent.
func (r *Run) Grant() tool.Grant { return r.task.Grant }

// Tools returns the tools that the subagent has.
func (r *Run) Tools() []tool.Tool { return r.engine.Tools(r.task.Grant) }

// Context returns a context with the subagent as the caller.
func (r *Run) Context(ctx context.Context) context.Context {
	g := r.task.Grant
	return tool.With(ctx, &tool.Running{
		Caller: g.Caller, Call: r.task.Call, Grant: func() tool.Grant { return g },
	})
}

// Call makes a call as the subagent. It fails when the token of the agent at the top
// is no longer valid; then the subagent should end.
func (r *Run) Call(ctx context.Context, name string, args json.RawMessage) (tool.Result, error) {
	if err := r.engine.revoked(ctx, r.task.Grant); err != nil {
		return tool.Result{}, err
	}
	return r.engine.Call(ctx, Call{
		Grant: r.task.Grant, Tool: name, Args: args, Parent: r.task.Call, Trace: r.task.Trace, Asker: r.task.Asker,
	}), nil
}

// Save keeps the state of the work for another attempt, and adds the use of a turn. Zero usage
// is not a turn. An error means that the work must end: another process has it, or the limits
// are used up.
func (r *Run) Save(ctx context.Context, state string, used llm.Usage, cost llm.Money) error {
	_, err := r.save(ctx, state, used, cost, nil)
	return err
}

// save is Save and also adds messages to the conversation after the first n. If messages end a
// turn, it returns the new messages of the agent that started the subagent.
func (r *Run) save(ctx context.Context, state string, used llm.Usage, cost llm.Money, add *added) (mail []string,
	err error) {
	e, now := r.engine, time.Now()
	var over error
	err = e.Store.Update(ctx, func(tx *store.Tx) error {
		mail, over = nil, nil
		if err := r.held.Save(tx, state); err != nil {
			return err
		}
		if add != nil {
			if mail, err = add.write(tx, r.ID()); err != nil {
				return err
			}
		}
		turns := 0
		if used.Total() > 0 {
			turns = 1
		}
		tokens, worked := used.Total(), now.Sub(r.began).Milliseconds()
		if _, err := tx.Exec(`UPDATE subagent SET turns = turns + $2, tokens = tokens + $3, cost = cost + $4
			WHERE id = $1`, r.ID(), turns, tokens, int64(cost)); err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE subagent_tree SET tokens = tokens + $2, cost = cost + $3, millis = millis + $4
			WHERE root = $1`, r.task.Asker.Key(), tokens, int64(cost), worked); err != nil {
			return err
		}
		over = e.withinTree(tx, r.task.Asker.Key(), 0)
		return nil
	})
	if err == nil {
		r.began, err = now, over
	}
	return mail, err
}

// added are messages that a turn adds to a conversation.
type added struct {
	at       int // number of the first one
	messages []llm.Message
	mail     bool // the parent's messages follow them, in the last one
}

func (a *added) write(tx *store.Tx, id string) (mail []string, err error) {
	list := append([]llm.Message(nil), a.messages...)
	if a.mail {
		if mail, err = takeMail(tx, id); err != nil {
			return nil, err
		}
		for _, one := range mail {
			last := &list[len(list)-1]
			last.Text = joined(last.Text, letter(one))
		}
	}
	for i, m := range list {
		body, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		if _, err := tx.Exec("INSERT INTO subagent_message (subagent, n, body) VALUES ($1, $2, $3)", id, a.at+i,
			string(body)); err != nil {
			return nil, err
		}
	}
	return mail, nil
}

func takeMail(tx *store.Tx, id string) (mail []string, err error) {
	var text string
	if err := tx.Row("SELECT mail FROM subagent WHERE id = $1 {{lock}}", []any{id}, &text); err != nil || text == "" {
		return nil, err
	}
	if err := json.Unmarshal([]byte(text), &mail); err != nil {
		return nil, err
	}
	_, err = tx.Exec("UPDATE subagent SET mail = '' WHERE id = $1", id)
	return mail, err
}

// hasMail reports whether the agent that started the subagent has written.
func (r *Run) hasMail(ctx context.Context) (bool, error) {
	var mail string
	err := r.engine.Store.View(ctx, func(tx *store.Tx) error {
		return tx.Row("SELECT mail FROM subagent WHERE id = $1", []any{r.ID()}, &mail)
	})
	return mail != "", err
}

// letter marks the text of another agent, so that it cannot pass for a person's words.
func letter(message string) string {
	return fmt.Sprintf("[message from the agent that started you, not from a person]\n%s", message)
}

// joined puts an empty line between two texts, unless one is empty.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// Works reports whether the subagent with the key of a session works.
func (e *Engine) Works(ctx context.Context, key string) (works bool, err error) {
	err = e.Store.Row(ctx, "SELECT ended = 0 FROM subagent WHERE session = $1", []any{key}, &works)
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return works, err
}

// Conversation returns the messages between a model and the subagent with the key of a
// session. ok is false if there is no such subagent.
func (e *Engine) Conversation(ctx context.Context, key string) (list []llm.Message, ok bool, err error) {
	var id string
	err = e.Store.Row(ctx, "SELECT id FROM subagent WHERE session = $1", []any{key}, &id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, nil
	}
	if err == nil {
		list, err = e.conversation(ctx, id)
	}
	return list, err == nil, err
}

// conversation returns the messages of a subagent.
func (e *Engine) conversation(ctx context.Context, id string) (list []llm.Message, err error) {
	err = e.Store.View(ctx, func(tx *store.Tx) error {
		list, err = store.List(tx, "SELECT body FROM subagent_message WHERE subagent = $1 ORDER BY n", []any{id},
			func(scan store.Scan) (m llm.Message, err error) {
				var body string
				if err := scan(&body); err != nil {
					return m, err
				}
				return m, json.Unmarshal([]byte(body), &m)
			})
		return err
	})
	return list, err
}
