package inbound

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/services"
	"github.com/mcp-tools/mcp-tools/tools/questions"
)

// hang is when a test gives up on what must happen.
const hang = time.Minute

// A service is a channel that tests control.
type service struct {
	can chat.Abilities

	mu    sync.Mutex
	queue []chat.Incoming // to be pulled; the position is the number of those that were
	more  chan struct{}   // closed and replaced when queue grows
	pulls int             // that run now
	most  int             // of pulls at once
	shown []string        // by Acknowledge
}

func newService() *service {
	return &service{
		can:  chat.Abilities{MaxText: 2000, MaxFile: 1 << 20, Buttons: true, Threads: true},
		more: make(chan struct{}),
	}
}

func (s *service) Abilities() chat.Abilities             { return s.can }
func (s *service) Render(markdown string) string         { return markdown }
func (s *service) Check(context.Context) (string, error) { return "@fake", nil }
func (s *service) Send(context.Context, chat.Message) (chat.Sent, error) {
	return chat.Sent{}, errors.New("no outbox runs here")
}
func (s *service) Edit(context.Context, chat.Ref, chat.Message) error { return nil }

func (s *service) Acknowledge(_ context.Context, _ chat.Incoming, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown = append(s.shown, text)
	return nil
}

func (s *service) Fetch(_ context.Context, f chat.Attachment, limit int64, into io.Writer) error {
	_, err := io.CopyN(into, strings.NewReader("content of "+f.ID), min(limit, int64(len("content of "+f.ID))))
	return err
}

func (s *service) arrive(list ...chat.Incoming) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, list...)
	close(s.more)
	s.more = make(chan struct{})
}

// Pull delivers the queue from a position on.
func (s *service) Pull(ctx context.Context, position string, deliver func(string, []chat.Incoming) error) error {
	s.mu.Lock()
	s.pulls++
	s.most = max(s.most, s.pulls)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pulls--
	}()
	var n int
	_, _ = fmt.Sscan(position, &n) // 0 at the beginning
	for {
		s.mu.Lock()
		list, more := s.queue[n:], s.more
		s.mu.Unlock()
		if len(list) > 0 {
			n += len(list)
			if err := deliver(fmt.Sprint(n), list); err != nil {
				return err
			}
			continue
		}
		select {
		case <-more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Receive reads a request whose body is an Incoming, signed by a header.
func (s *service) Receive(r *http.Request, body []byte, _ time.Time) ([]chat.Incoming, chat.Response, error) {
	if r.Header.Get("Signature") != "right" {
		return nil, chat.Response{}, &chat.Error{Kind: chat.Forged, Text: "the signature is wrong"}
	}
	var in chat.Incoming
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, chat.Response{}, err
	}
	return []chat.Incoming{in}, chat.Response{Body: []byte(`{"ok":true}`)}, nil
}

// A world is what a test has.
type world struct {
	*Inbound
	tg, mail *service
	records  *[]Record
}

// newWorld returns an Inbound with the channels tg and mail.
func newWorld(t *testing.T, s *store.Store, change func(*Options)) world {
	t.Helper()
	w := world{tg: newService(), mail: newService(), records: new([]Record)}
	w.mail.can.Buttons = false
	accounts := messaging.NewAccounts([]messaging.Account{
		{Name: "tg", Service: services.Find("telegram"), Open: func() (chat.Channel, error) { return w.tg, nil }},
		{Name: "mail", Service: services.Find("mail"), Open: func() (chat.Channel, error) { return w.mail, nil }},
		{Name: "broken", Service: services.Find("slack"), Open: func() (chat.Channel, error) { return nil, errors.New("no token") }},
	})
	waiting := approvals.New(approvals.Options{DB: s})
	o := Options{
		Store: s, Accounts: accounts, Outbox: messaging.NewOutbox(messaging.OutboxOptions{Store: s,
			Accounts: accounts}),
		Approvals: waiting, Questions: questions.New(s, nil, nil),
		Record: func(_ context.Context, r Record) { *w.records = append(*w.records, r) },
	}
	if change != nil {
		change(&o)
	}
	w.Inbound = New(o)
	t.Cleanup(func() {
		if err := errors.Join(w.Close(), waiting.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

func onBothStores() map[string]func(t *testing.T, s *store.Store) {
	return map[string]func(t *testing.T, s *store.Store){
		"messages reach who their chat is bound to": testMessagesReachWhoTheirChatIsBoundTo,
		"a session that has ended":                  testASessionThatHasEnded,
		"many messages of one sender":               testManyMessagesOfOneSender,
		"unknown senders get a code":                testUnknownSendersGetACode,
		"hooks":                                     testHooks,
		"an approval is answered by a button":       testAnApprovalIsAnsweredByAButton,
		"a call that is too long to be shown":       testACallThatIsTooLongToBeShown,
		"a question that ends elsewhere":            testAQuestionThatEndsElsewhere,
		"answers in text":                           testAnswersInText,
		"questions of agents":                       testQuestionsOfAgents,
		"an agent answers":                          testAnAgentAnswers,
		"many messages wait for an answer":          testManyMessagesWaitForAnAnswer,
		"notices":                                   testNotices,
	}
}

// TestOnBothStores empties one database of each engine for each test: making a database takes
// longer than the tests.
func TestOnBothStores(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for name, test := range onBothStores() {
			if err := s.Update(t.Context(), func(tx *store.Tx) error {
				for _, table := range []string{
					"chat_receiver", "chat_event", "chat_binding", "chat_pairing", "chat_message", "chat_file",
					"chat_question", "chat_notice", "outbox", "job", "inbox", "session", "ask", "rate",
				} {
					if _, err := tx.Exec("DELETE FROM " + table); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			t.Run(name, func(t *testing.T) { test(t, s) })
		}
	})
}

func accountsOf(tg *service) *messaging.Accounts {
	return messaging.NewAccounts([]messaging.Account{
		{Name: "tg", Service: services.Find("telegram"), Open: func() (chat.Channel, error) { return tg, nil }},
	})
}

// message returns a message of Ann to a chat.
func message(id, where, text string) chat.Incoming {
	return chat.Incoming{
		ID: id, At: time.Now(), From: chat.Person{ID: "4711", Name: "Ann"},
		Message: chat.Ref{Chat: where, ID: "m" + id},
		Text:    text,
	}
}

// from changes who has sent it.
func from(in chat.Incoming, person string) chat.Incoming {
	in.From.ID = person
	return in
}

func (w world) get(t *testing.T, channel string, list ...chat.Incoming) {
	t.Helper()
	if err := w.accept(t.Context(), channel, list, func(*store.Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// A put is a post in the outbox.
type put struct {
	Channel, ID, Action, Of string
	chat.Message            `json:"Message"`
	Else                    []messaging.Post
}

// puts returns what is in the outbox.
func (w world) puts(t *testing.T) (list []put) {
	t.Helper()
	if err := w.Store.View(t.Context(), func(tx *store.Tx) (err error) {
		list, err = store.List(tx, "SELECT channel, id, body FROM outbox ORDER BY id", nil,
			func(scan store.Scan) (p put, err error) {
				var body string
				if err := scan(&p.Channel, &p.ID, &body); err != nil {
					return p, err
				}
				return p, json.Unmarshal([]byte(body), &p)
			})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// inboxOf returns what is in an inbox.
func (w world) inboxOf(t *testing.T, agent, user string) []inbox.Event {
	t.Helper()
	events, err := inbox.New(inbox.Options{Store: w.Store}).Take(t.Context(),
		tool.Caller{Agent: agent, User: user, Channel: "stdio", Session: "s1"}, store.NewID(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func place(text string) Place {
	p, ok := ParsePlace(text)
	if !ok {
		panic(text)
	}
	return p
}

// until waits for a condition.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for late := time.Now().Add(hang); !done(); {
		if time.Now().After(late) {
			t.Fatalf("in vain: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
