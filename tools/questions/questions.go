// Package questions lets agents ask their user. If the client can show a question to a person, it does, and the
// answer is the result of the call. Otherwise the question is a row in the store until an operator answers it, and
// the answer comes to the inbox of the session that asked.
//
// It knows the text of a question, the consequences of the answer, and reminders. It knows neither how questions
// wait for answers (package ask), nor how clients show them (tool.Asking), nor the tasks of teams in some
// questions. Begin with [Questions.Ask].
package questions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/ask"
	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Tools returns the tools for questions.
func Tools(q *Questions) []tool.Tool { return []tool.Tool{tool.New(askUser{q})} }

// Questions are the questions of all agents in a store. The methods may be called concurrently.
type Questions struct {
	// Page returns the address of the page of a question, or "" while there is none. It may be nil.
	Page func(id string) string
	// Asked is called with each question that was stored, and its agent. It must not wait. It may be nil.
	Asked func(id, agent, text string)

	store     *store.Store
	reminders *jobs.Queue
}

// New returns the questions in a store. It opens nothing. The loop sends reminders in processes that call Run.
func New(s *store.Store, loop *jobs.Loop, log *slog.Logger) *Questions {
	q := &Questions{store: s}
	q.reminders = &jobs.Queue{
		Store: s, Loop: loop, Kind: "question reminder", Do: q.remind, Always: true, Keep: keepCount, Log: log,
	}
	return q
}

// A Question is a question of an agent.
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

// Limits of questions.
const (
	maxText    = 4000 // characters
	maxOptions = 20
	maxOption  = 200 // characters
	maxOpen    = 20  // of one agent and user
	maxAnswer  = 20_000

	keepCount = 30 * 24 * time.Hour // of reminders, after the last one
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

// The name of the question in a call, and the states that show that it was put, or that the user was sent to the page
// of the question that follows.
const (
	answerName = "answer"
	wasPut     = "put"
	onPage     = "page "
)

// Ask puts a question to the person at the client of the running call, and returns the answer. It returns a
// *tool.Asking while the person is asked. If there is none, or no answer in time, the question is stored: then answer
// is "", and id names it. A client that can only open pages sends the person to the page of the stored question.
func (q *Questions) Ask(ctx context.Context, a Question) (answer, id string, err error) {
	if err := a.check(); err != nil {
		return "", "", err
	}
	running := tool.RunningFrom(ctx)
	given := running.Answers
	if id, sent := strings.CutPrefix(given.State, onPage); sent {
		return "", id, nil
	}
	if raw, ok := given.ByName[answerName]; ok {
		answer, err := readAnswer(raw)
		return answer, "", err
	}
	if given.State != wasPut && running.Can != nil && running.Can(tool.Person) {
		return "", "", &tool.Asking{State: wasPut, Questions: map[string]tool.Question{
			answerName: {To: tool.Person, Params: form(running.Caller, a)},
		}}
	}
	if id, err = q.put(ctx, running.Caller, a); err != nil || given.State != "" || q.Page == nil ||
		running.Can == nil || !running.Can(tool.Page) {
		return "", id, err
	}
	page := q.Page(id)
	if page == "" {
		return "", id, nil
	}
	return "", "", &tool.Asking{State: onPage + id, Questions: map[string]tool.Question{
		answerName: {To: tool.Page, Params: map[string]any{
			"mode": "url", "elicitationId": id, "url": page, "message": form(running.Caller, a)["message"],
		}},
	}}
}

// isOnPage reports whether the user was sent to the page of a question, and has agreed to open it.
func isOnPage(given tool.Answers) bool {
	var answer struct {
		Action string `json:"action"`
	}
	return strings.HasPrefix(given.State, onPage) && json.Unmarshal(given.ByName[answerName], &answer) == nil &&
		answer.Action == "accept"
}

// form returns the question for a client. It names the agent that asks.
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
	row := ask.Question{
		ID: "q-" + store.NewID(), Kind: ask.OfAgent, Agent: c.Agent, User: c.User, Session: c.Key(), About: a.Task,
		Body: a.Text, Choices: a.Options,
	}
	if c.Channel == "cli" { // a session of one call
		row.Session = ""
	}
	err = q.store.Update(ctx, func(t *store.Tx) error {
		if err := ask.Put(t, row, 0, ask.Limits{Each: maxOpen}); err != nil || a.Remind == "" {
			return err
		}
		_, _, err := q.reminders.Enqueue(t, jobs.New{
			ID: row.ID, Agent: a.Remind, Payload: fmt.Sprint(a.Every.Milliseconds(), " ", a.Max),
			Due: time.Now().Add(a.Every), Attempts: jobs.AnyTimes,
		})
		return err
	})
	switch {
	case errors.Is(err, ask.ErrTooMany):
		return "", tool.Errorf(tool.Busy, "%d questions wait for an answer already", maxOpen).
			Try("wait for the answers, or continue without")
	case err != nil:
		return "", tool.Errorf(tool.Unavailable, "the question could not be stored").
			Try("ask the user in the conversation").Because(err)
	}
	if q.Asked != nil {
		q.Asked(row.ID, row.Agent, row.Body)
	}
	return row.ID, nil
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
}

// List returns the open questions, the oldest first.
func (q *Questions) List(ctx context.Context) (list []Open, err error) {
	rows, err := ask.List(ctx, q.store, ask.OfAgent)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	sent := map[string]string{}
	err = q.store.View(ctx, func(t *store.Tx) error {
		reminders, err := q.reminders.List(t, "", jobs.Queued, jobs.Running, jobs.Done)
		for _, j := range reminders {
			sent[j.ID] = j.Saved
		}
		return err
	})
	for _, r := range rows {
		n, _ := strconv.Atoi(sent[r.ID]) // without reminders there is no number
		list = append(list, Open{
			r.ID, r.Agent, r.User, r.Session, r.About, r.Body, r.Choices, store.Millis(r.Asked), n,
		})
	}
	return list, err
}

// ErrNotOpen is the error about a question that does not exist or was answered.
var ErrNotOpen = errors.New("there is no open question with this id")

// errAnswer is the error about an answer that is empty, too long or no text.
var errAnswer = fmt.Errorf("an answer is text of at most %d bytes", maxAnswer)

// Answer answers a question. The session that asked gets the answer, or the next one of its agent and user.
func (q *Questions) Answer(ctx context.Context, id, answer, by string) error {
	return q.store.Update(ctx, func(t *store.Tx) error { return Answer(t, id, answer, by) })
}

// Answer is [Questions.Answer] in a transaction of the caller. After an error nothing is written.
func Answer(t *store.Tx, id, answer, by string) error {
	if strings.TrimSpace(answer) == "" || len(answer) > maxAnswer || !utf8.ValidString(answer) {
		return errAnswer
	}
	q, err := ask.Hold(t, id)
	if errors.Is(err, ask.ErrUnknown) || err == nil && (q.Kind != ask.OfAgent || q.State != ask.Open) {
		err = fmt.Errorf("%.100q: %w", id, ErrNotOpen)
	}
	if err != nil {
		return err
	}
	to := inbox.To{Owner: tool.Owner{Agent: q.Agent, User: q.User}, Session: q.Session}
	if _, err := inbox.Add(t, to, inbox.Event{ID: id, Kind: inbox.Approval, Subject: id, Text: fmt.Sprintf(
		"The user answers %q: %s", text.Clip(q.Body, 100), answer)}); err != nil {
		return err
	}
	return ask.Answer(t, q, answer, by, false)
}

// Run sends reminders until ctx ends. Every server does so; of several one sends each reminder.
func (q *Questions) Run(ctx context.Context) { q.reminders.Run(ctx) }

// remind sends one reminder of an open question, unless the last one was sent. The reminder is written together with
// the time of the next one: a process that dies sends none twice, and none early.
func (q *Questions) remind(ctx context.Context, h *jobs.Held) (string, error) {
	var every time.Duration
	var most, sent int
	if _, err := fmt.Sscan(h.Payload, &every, &most); err != nil {
		return "", err
	}
	sent, _ = strconv.Atoi(h.Saved) // "" before the first
	var row ask.Question
	err := q.store.View(ctx, func(t *store.Tx) (err error) {
		row, err = ask.Get(t, h.ID)
		return err
	})
	switch {
	case errors.Is(err, ask.ErrUnknown), err == nil && row.State != ask.Open, most > 0 && sent >= most:
		return "", nil
	case err != nil:
		return "", &jobs.Again{After: retryAfter, Err: fmt.Errorf("a question cannot be read to remind of it: %w", err)}
	}
	n := fmt.Sprint(sent + 1)
	count := n
	if most > 0 {
		count = fmt.Sprintf("%d/%d", sent+1, most)
	}
	return "", &jobs.Again{
		After: every * time.Millisecond, Err: errors.New("the question is open"), Save: n,
		Also: func(t *store.Tx) error {
			to := inbox.To{Owner: tool.Owner{Agent: h.Agent, User: inbox.AnyUser}}
			_, err := inbox.Add(t, to, inbox.Event{ID: h.ID + " " + count, Kind: inbox.Task, Subject: row.About, Text: fmt.Sprintf(
				"Reminder (%s): %s asks the user: %s. Ask your user, and comment on the task with the answer", count, row.Agent,
				row.Body)})
			return err
		},
	}
}

// retryAfter is the wait before another read of a question after a failure.
const retryAfter = time.Minute
