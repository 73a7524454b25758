package messaging_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/markup"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/services"
)

// A service is a channel that keeps what it gets. Its errors are by the text of the message, one
// for each attempt.
type service struct {
	can chat.Abilities

	mu     sync.Mutex
	got    []chat.Message
	files  []string // their contents
	done   []string // other actions
	errors map[string][]error
}

func newService() *service {
	return &service{
		can:    chat.Abilities{MaxText: 200, MaxCaption: 100, MaxFile: 8 << 20, Buttons: true, Polls: true},
		errors: map[string][]error{},
	}
}

func (s *service) Abilities() chat.Abilities                   { return s.can }
func (s *service) Render(markdown string) string               { return markup.Plain(markdown) }
func (s *service) Check(context.Context) (string, error)       { return "@fake", nil }
func (s *service) id() string                                  { return fmt.Sprint(len(s.got)) }
func (s *service) fails(text string, errs ...error)            { s.errors[text] = errs }
func (s *service) Delete(_ context.Context, at chat.Ref) error { return s.note("delete", at, "") }

func (s *service) Edit(_ context.Context, at chat.Ref, m chat.Message) error {
	return s.note("edit", at, m.Text)
}

func (s *service) React(_ context.Context, at chat.Ref, emoji string, remove bool) error {
	return s.note(fmt.Sprint("react ", remove), at, emoji)
}

func (s *service) CreateTopic(_ context.Context, at string, topic chat.NewTopic) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, "topic "+at+" "+topic.Name)
	return "77", nil
}

func (s *service) note(action string, at chat.Ref, what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, fmt.Sprint(action, " ", at.Chat, "/", at.ID, " ", what))
	return s.next(what)
}

// next returns the error of the next attempt.
func (s *service) next(text string) (err error) {
	if list := s.errors[text]; len(list) > 0 {
		err, s.errors[text] = list[0], list[1:]
	}
	return err
}

func (s *service) Send(_ context.Context, m chat.Message) (chat.Sent, error) {
	content := ""
	if m.File != nil {
		from, err := m.File.Open()
		if err != nil {
			return chat.Sent{}, err
		}
		defer from.Close()
		all, err := io.ReadAll(from)
		if err != nil {
			return chat.Sent{}, err
		}
		content = string(all)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.next(strings.TrimPrefix(m.Text, again))
	if kind := (*chat.Error)(nil); err != nil && asError(err, &kind) && kind.Kind != chat.Unknown {
		return chat.Sent{}, err
	}
	s.got = append(s.got, m) // also if the response is lost
	if m.File != nil {
		s.files = append(s.files, content)
	}
	return chat.Sent{Ref: chat.Ref{Chat: m.Chat, Thread: m.Thread, ID: s.id()}}, err
}

const again = "(sent again: the first attempt may have arrived)\n\n"

func asError(err error, into **chat.Error) bool {
	e, ok := err.(*chat.Error)
	*into = e
	return ok
}

// texts returns the texts that a chat has got.
func (s *service) texts(at string) (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.got {
		if m.Chat == at {
			all = append(all, m.Text)
		}
	}
	return all
}

// accounts are channels that are all the same service.
func accounts(c chat.Channel, names ...string) *messaging.Accounts {
	var list []messaging.Account
	for _, name := range names {
		kind, _, _ := strings.Cut(name, "-")
		list = append(list, messaging.Account{
			Name: name, Service: services.Find(kind), Open: func() (chat.Channel, error) { return c, nil },
		})
	}
	return messaging.NewAccounts(list)
}

// newOutbox returns an outbox that sends by a service over the channel telegram.
func newOutbox(t testing.TB, s *store.Store, c chat.Channel) *messaging.Outbox {
	o := messaging.NewOutbox(messaging.OutboxOptions{Store: s, Accounts: accounts(c, "telegram", "mail")})
	t.Cleanup(func() { _ = o.Close() })
	return o
}

func put(t testing.TB, o *messaging.Outbox, p messaging.Post) string {
	t.Helper()
	var id string
	err := o.Store.Update(t.Context(), func(tx *store.Tx) (err error) {
		id, _, err = o.Put(tx, p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func text(at, words string) messaging.Post {
	return messaging.Post{Channel: "telegram", Message: chat.Message{Chat: at, Text: words}}
}

// settle waits until a post has ended. Attempts that are due later are made at once.
func settle(t testing.TB, o *messaging.Outbox, id string) messaging.Report {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		r, err := o.Settled(t.Context(), id, 50*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if r.State.Final() {
			return r
		}
		pass(t, o.Store, "state = 'queued'")
	}
	t.Fatalf("the post %s does not end", id)
	return messaging.Report{}
}

// pass makes the jobs of rows due, as if the time until then had passed.
func pass(t testing.TB, s *store.Store, where string, args ...any) {
	t.Helper()
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		if _, err := tx.Exec("UPDATE job SET run_at = 0 WHERE kind LIKE 'outbox %' AND "+where, args...); err != nil {
			return err
		}
		return tx.Changed(jobs.Topic, "")
	})
	if err != nil {
		t.Fatal(err)
	}
}
