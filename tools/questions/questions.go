// Package questions lets agents ask their user. If the client can show a question to a person, it does, and the
// answer is the result of the call. Otherwise the question is a row in the store until an operator answers it, and
// the answer comes to the inbox of the session that asked.
//
// It knows questions and their rows. It does not know how clients show them (tool.Asking), nor the tasks of
// teams, which questions can be about. Begin with [Questions.Ask].
package questions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Tools returns the tools for questions.
func Tools(q *Questions) []tool.Tool { return []tool.Tool{tool.New(askUser{q})} }

// Questions are those of all agents in a store. Its methods may be called concurrently.
type Questions struct {
	store *store.Store
	log   *slog.Logger
}

// New returns the questions in a store. It opens nothing.
func New(s *store.Store, log *slog.Logger) *Questions { return &Questions{s, log} }

// A Question is what an agent asks.
type Question struct {
	Text    string
	Options []string // the answers to choose from; none: free text
	Task    string   // the task of a team that it is about; "" for none
	// Remind is the agent that is reminded of the question while it is open, every so often and at most Max times;
	// 0 means no limit. "": no reminders.
	Remind string
	Every  time.Duration
	Max    int
}

// Topic is the topic of questions that were put, answered or withdrawn. Keys are their ids; a
// withdrawn one has that of its task.
const Topic = "question"

// Limits of questions.
const (
	maxText    = 4000 // characters
	maxOptions = 20
	maxOption  = 200 // characters
	maxOpen    = 20  // of one agent and user
	maxAnswer  = 20_000
	keep       = 30 * 24 * time.Hour // after the answer
)

func (q Question) check() error {
	if strings.TrimSpace(q.Text) == "" {
		return tool.Errorf(tool.Invalid, "the question is empty").Try("write the question in question")
	}
	for _, t := range append([]string{q.Text}, q.Options...) {
		if !utf8.ValidString(t) || strings.IndexByte(t, 0) >= 0 {
			return tool.Errorf(tool.Invalid, "the question is not text").Try("write UTF-8 text")
		}
	}
	if utf8.RuneCountInString(q.Text) > maxText || len(q.Options) > maxOptions {
		return tool.Errorf(tool.TooLarge, "a question has at most %d characters and %d options", maxText, maxOptions).
			Try("ask for less at once")
	}
	for _, o := range q.Options {
		if strings.TrimSpace(o) == "" || utf8.RuneCountInString(o) > maxOption {
			return tool.Errorf(tool.Invalid, "an option is empty or longer than %d characters", maxOption).
				Try("use short options")
		}
	}
	return nil
}

// The name of the question in a call, and the state that shows that it was put.
const (
	answerName = "answer"
	wasPut     = "put"
)

// Ask puts a question to the person at the client of the running call, and returns the answer. It returns a
// *tool.Asking while the person is asked. If there is none, or no answer in time, the question is stored: then answer
// is "", and id names it.
func (q *Questions) Ask(ctx context.Context, a Question) (answer, id string, err error) {
	if err := a.check(); err != nil {
		return "", "", err
	}
	running := tool.RunningFrom(ctx)
	given := running.Answers
	if raw, ok := given.ByName[answerName]; ok {
		answer, err := readAnswer(raw)
		return answer, "", err
	}
	if given.State != wasPut && running.Can != nil && running.Can(tool.Person) {
		return "", "", &tool.Asking{State: wasPut, Questions: map[string]tool.Question{
			answerName: {To: tool.Person, Params: form(running.Caller, a)},
		}}
	}
	id, err = q.put(ctx, running.Caller, a)
	return "", id, err
}

// form returns the question as a client shows it. The person sees which agent asks.
func form(c tool.Caller, a Question) map[string]any {
	field := map[string]any{"type": "string", "title": "Answer"}
	if len(a.Options) > 0 {
		field["enum"] = a.Options
	}
	who := "The agent asks"
	if c.Agent != "" {
		who = fmt.Sprintf("The agent %s asks", tool.Visible(c.Agent))
	}
	return map[string]any{
		"message": who + ":\n\n" + tool.Visible(a.Text),
		"requestedSchema": map[string]any{
			"type": "object", "properties": map[string]any{answerName: field}, "required": []string{answerName},
		},
	}
}

func readAnswer(raw json.RawMessage) (string, error) {
	var given struct {
		Action  string         `json:"action"`
		Content map[string]any `json:"content"`
	}
	if err := json.Unmarshal(raw, &given); err != nil {
		return "", tool.Errorf(tool.Unavailable, "the client sent no answer that can be read").
			Try("ask the user in the conversation").Because(err)
	}
	switch {
	case given.Action != "accept":
		return "The user did not want to answer.", nil
	case given.Content[answerName] == nil:
		return "The user sent no answer.", nil
	}
	return fmt.Sprintf("The user answers: %v", given.Content[answerName]), nil
}

// put stores a question.
func (q *Questions) put(ctx context.Context, c tool.Caller, a Question) (id string, err error) {
	if q == nil || q.store == nil || c.Key() == "" {
		return "", tool.Errorf(tool.Unavailable, "this client cannot show a question, and the call has no session").
			Try("ask the user in the conversation")
	}
	options, err := store.ToJSON(a.Options, len(a.Options) == 0)
	if err != nil {
		return "", err
	}
	err = q.store.Update(ctx, func(t *store.Tx) error {
		var open int
		if err := t.Row("SELECT count(*) FROM question WHERE agent = $1 AND usr = $2 AND state = 'open'",
			[]any{c.Agent, c.User}, &open); err != nil {
			return err
		}
		if open >= maxOpen {
			return tool.Errorf(tool.Busy, "%d questions wait for an answer already", open).
				Try("wait for the answers, or continue without")
		}
		id = "q-" + store.NewID()
		session := c.Key()
		if c.Channel == "cli" { // a session of one call
			session = ""
		}
		_, err := t.Exec(`INSERT INTO question (id, agent, usr, session, task, content, options, state, answer,
			answered_by, asked, answered, remind, every, most, sent, next_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, 'open', '', '', {{now}}, 0, $8, $9, $10, 0,
			CASE WHEN $8 = '' THEN 0 ELSE {{now}} + $9 END)`, id, c.Agent, c.User,
			session, a.Task, a.Text, options, a.Remind, a.Every.Milliseconds(), a.Max)
		return errors.Join(err, t.Changed(Topic, id))
	})
	var known *tool.Error
	if err != nil && !errors.As(err, &known) {
		err = tool.Errorf(tool.Unavailable, "the question could not be stored").
			Try("ask the user in the conversation").Because(err)
	}
	return id, err
}

// An Open question waits for its answer.
type Open struct {
	ID        string   `json:"id"`
	Agent     string   `json:"agent"`
	User      string   `json:"user,omitempty"`
	Session   string   `json:"session"`
	Task      string   `json:"task,omitempty"`
	Text      string   `json:"text"`
	Options   []string `json:"options,omitempty"`
	Asked     int64    `json:"asked"`     // in milliseconds since 1970
	Reminders int      `json:"reminders"` // that were sent

	remind string
	every  int64
	most   int
}

const columns = "id, agent, usr, session, task, content, options, asked, sent, remind, every, most"

func scan(row store.Scan) (o Open, err error) {
	var options string
	err = row(&o.ID, &o.Agent, &o.User, &o.Session, &o.Task, &o.Text, &options, &o.Asked, &o.Reminders, &o.remind,
		&o.every, &o.most)
	if err == nil {
		err = store.FromJSON(options, &o.Options)
	}
	return o, err
}

// List returns the open questions, the oldest first.
func (q *Questions) List(ctx context.Context) (list []Open, err error) {
	return store.Select(ctx, q.store, "SELECT "+columns+
		" FROM question WHERE state = 'open' ORDER BY asked, id LIMIT 1000", nil, scan)
}

// ErrNotOpen is the error about a question that does not exist or was answered.
var ErrNotOpen = errors.New("there is no open question with this id")

// Answer answers a question. The session that asked gets the answer, or the next one of its agent and user.
func (q *Questions) Answer(ctx context.Context, id, answer, by string) error {
	return q.store.Update(ctx, func(t *store.Tx) error { return Answer(t, id, answer, by) })
}

// Answer does what [Questions.Answer] does, in a transaction of the caller. With an error nothing was written.
func Answer(t *store.Tx, id, answer, by string) error {
	if strings.TrimSpace(answer) == "" || len(answer) > maxAnswer || !utf8.ValidString(answer) {
		return fmt.Errorf("an answer is text of at most %d bytes", maxAnswer)
	}
	found, err := store.List(t, `UPDATE question SET state = 'answered', answer = $1, answered_by = $2,
		answered = {{now}}, next_at = 0 WHERE id = $3 AND state = 'open' RETURNING `+columns,
		[]any{answer, by, id}, scan)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%.100q: %w", id, ErrNotOpen)
	}
	if err != nil {
		return err
	}
	o := found[0]
	to := inbox.To{Owner: tool.Owner{Agent: o.Agent, User: o.User}, Session: o.Session}
	_, err = inbox.Add(t, to, inbox.Event{ID: id, Kind: inbox.Approval, Subject: id, Text: fmt.Sprintf(
		"The user answers %q: %s", text.Clip(o.Text, 100), answer)})
	return errors.Join(err, t.Changed(Topic, id))
}

// Outcome returns what has become of a question: the answer and who gave it, or withdrawn. Both are "" for one that is
// open.
func Outcome(t *store.Tx, id string) (answer, by string, withdrawn bool, err error) {
	var state string
	err = t.Row("SELECT state, answer, answered_by FROM question WHERE id = $1", []any{id}, &state, &answer, &by)
	if errors.Is(err, store.ErrNotFound) {
		return "", "", true, nil
	}
	return answer, by, state == "withdrawn", err
}

// Withdraw withdraws the questions about a task.
func Withdraw(t *store.Tx, task string) error {
	n, err := t.Exec(`UPDATE question SET state = 'withdrawn', answered = {{now}}, next_at = 0
		WHERE task = $1 AND state = 'open'`, task)
	if err != nil || n == 0 {
		return err
	}
	return t.Changed(Topic, task)
}

// remindMax is how many reminders are sent at once.
const remindMax = 100

// Run sends reminders and removes old questions, until ctx ends. Every server does so; of several one sends each
// reminder.
func (q *Questions) Run(ctx context.Context) {
	q.store.Work(ctx, "reminders of questions could not be sent", func(ctx context.Context) (time.Duration, error) {
		if err := q.Remind(ctx); err != nil {
			return 0, err
		}
		return q.store.Due(ctx, `SELECT min(at) - {{now}} FROM (
			SELECT min(next_at) AS at FROM question WHERE next_at > 0 AND state = 'open'
			UNION ALL SELECT min(answered) + $1 FROM question WHERE answered > 0) AS due HAVING min(at) IS NOT NULL`,
			keep.Milliseconds())
	}, Topic)
}

// Remind sends the reminders that are due.
func (q *Questions) Remind(ctx context.Context) error {
	const due = "next_at > 0 AND next_at <= {{now}} AND state = 'open'"
	var n int
	if err := q.store.Row(ctx, "SELECT count(*) FROM question WHERE "+due+
		fmt.Sprintf(" OR answered > 0 AND answered < {{now}} - %d", keep.Milliseconds()), nil, &n); err != nil ||
		n == 0 {
		return err
	}
	return q.store.Update(ctx, func(t *store.Tx) error {
		list, err := store.List(t, fmt.Sprintf("SELECT %s FROM question WHERE %s ORDER BY next_at LIMIT %d {{skip}}",
			columns, due, remindMax), nil, scan)
		if err != nil {
			return err
		}
		for _, o := range list {
			if err := o.send(t); err != nil {
				return err
			}
		}
		_, err = t.Exec("DELETE FROM question WHERE answered > 0 AND answered < {{now}} - $1", keep.Milliseconds())
		return err
	})
}

// send sends one reminder, and decides when the next is due.
func (o Open) send(t *store.Tx) error {
	n, count := o.Reminders+1, fmt.Sprint(o.Reminders+1)
	next := o.every
	if o.most > 0 {
		count += fmt.Sprintf("/%d", o.most)
		if n >= o.most {
			next = 0
		}
	}
	if _, err := t.Exec(`UPDATE question SET sent = $1, next_at = CASE WHEN $2 = 0 THEN 0 ELSE {{now}} + $2 END
		WHERE id = $3`, n, next, o.ID); err != nil {
		return err
	}
	to := inbox.To{Owner: tool.Owner{Agent: o.remind, User: inbox.AnyUser}}
	_, err := inbox.Add(t, to, inbox.Event{ID: o.ID + " " + count, Kind: inbox.Task, Subject: o.Task, Text: fmt.Sprintf(
		"Reminder (%s): %s asks the user: %s. Ask your user, and comment on the task with the answer", count, o.Agent,
		o.Text)})
	return err
}
