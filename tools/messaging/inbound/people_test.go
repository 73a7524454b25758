package inbound

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/questions"
)

func approvers(o *Options) {
	o.Approvers = []Approver{
		{Name: "ann", At: []Place{place("tg:4711"), place("mail:ann@example.org")}},
		{Name: "bob", At: []Place{place("broken:U1"), place("mail:bob@example.org")}},
	}
}

func call() approvals.Call {
	return approvals.Call{
		Call: "c1", Tool: "exec", Title: "Run a command", Risk: "runs", Principal: "a/u", Agent: "a", User: "u",
		Session: "s", Profile: "coding", Workspace: "/w", Digest: "d1", Shown: `{"command":"rm -r build\nUser: root"}`,
		Args: json.RawMessage(`{"command":"rm -r build\nUser: root"}`),
	}
}

// asks makes a question, and sends it.
func (w world) asks(t *testing.T, c approvals.Call, limit time.Duration) string {
	t.Helper()
	id, err := w.Approvals.Ask(t.Context(), c, time.Now().Add(limit))
	if err != nil {
		t.Fatal(err)
	}
	w.reconciles(t)
	return id
}

func (w world) reconciles(t *testing.T) {
	t.Helper()
	if _, err := w.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// press returns the press of a button of a message.
func press(id, person string, p put, label string) chat.Incoming {
	in := chat.Incoming{
		ID: id, From: chat.Person{ID: person}, Message: chat.Ref{Chat: p.Chat, ID: "m"}, Token: "t", Pressed: "none",
	}
	for _, b := range p.Buttons {
		if b.Label == label {
			in.Pressed = b.Data
		}
	}
	return in
}

func (w world) state(t *testing.T, id string) approvals.Question {
	t.Helper()
	q, err := w.Approvals.Get(t.Context(), id, approvals.Approver{})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func testAnApprovalIsAnsweredByAButton(t *testing.T, s *store.Store) {
	w := newWorld(t, s, approvers)
	id := w.asks(t, call(), time.Hour)
	w.reconciles(t) // it is sent once
	sent := w.puts(t)
	if len(sent) != 2 {
		t.Fatalf("it was sent to %+v", sent)
	}
	ann, bob := sent[0], sent[1]
	if ann.Channel != "tg" || ann.Chat != "4711" || !ann.Plain || len(ann.Buttons) != 3 || len(ann.Else) != 1 ||
		ann.Else[0].Message.Chat != "ann@example.org" || len(ann.Else[0].Message.Buttons) != 0 {
		t.Errorf("ann gets %+v", ann)
	}
	for _, part := range []string{"An approval is needed until ", "Run a command (exec)",
		"  | rm -r build\n  | User: root",
		"\nUser: u", "\nAgent: a", "\nWorkspace: /w"} {
		if !strings.Contains(ann.Text, part) {
			t.Errorf("the question lacks %q:\n%s", part, ann.Text)
		}
	}
	for _, b := range ann.Buttons {
		if len(b.Data) > 64 {
			t.Errorf("the data of a button has %d bytes", len(b.Data))
		}
	}
	if bob.Channel != "mail" || bob.Chat != "bob@example.org" || len(bob.Buttons) != 0 ||
		!strings.Contains(bob.Text, "1  Allow once\n2  Deny\n") {
		t.Errorf("bob, whose first channel is broken, gets %+v", bob)
	}
	allow := press("1", "4711", ann, "Allow once")
	forged := allow
	forged.ID, forged.Pressed = "2", strings.Replace(allow.Pressed, ".0.", ".2.", 1)
	outsider := press("3", "666", ann, "Allow once")
	outsider.Group = true
	anonymous := outsider // an administrator of a group that is one of the chats
	anonymous.ID, anonymous.From.ID, anonymous.Message.Chat = "4", "4711", "4711"
	w.get(t, "tg", forged, outsider, anonymous, press("5", "4711", ann, "no such"))
	if q := w.state(t, id); q.State != approvals.Open {
		t.Fatalf("it was decided by %+v", q.Decision)
	}
	if r := (*w.records)[0]; r.Outcome != "refused" || r.Person != "tg:666" || r.About != id {
		t.Errorf("the record of the outsider is %+v", r)
	}
	w.get(t, "tg", allow)
	q := w.state(t, id)
	if q.State != approvals.Allowed || q.Decision.By != "ann" || q.Decision.Channel != "tg" ||
		q.Decision.Scope != approvals.Once {
		t.Fatalf("it is %s by %+v", q.State, q.Decision)
	}
	w.get(t, "tg", allow, press("6", "4711", ann, "Deny"))
	edits := w.puts(t)[2:]
	if len(edits) != 2 {
		t.Fatalf("there are %+v", edits)
	}
	for i, e := range edits {
		if e.Action != "edit" || e.Of != sent[i].ID || len(e.Buttons) != 0 || e.Channel != sent[i].Channel ||
			!strings.Contains(e.Text, "\n\nAllowed by tg ann at ") {
			t.Errorf("an edit is %+v", e)
		}
	}
	if last := (*w.records)[len(*w.records)-1]; last.Person != "ann" || last.Outcome != "ok" &&
		last.Outcome != "refused" {
		t.Errorf("the last record is %+v", last)
	}
	if _, err := w.Approvals.Take(t.Context(), id, call()); err != nil {
		t.Error(err)
	}
}

func TestTwoPressesAtOnceInTwoProcesses(t *testing.T) {
	for name, dsn := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return t.TempDir() },
		"postgres": func(t *testing.T) string { return storetest.Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			place := dsn(t)
			one := newWorld(t, storetest.Open(t, place), approvers)
			other := newWorld(t, storetest.Open(t, place), approvers)
			for round := range 3 {
				id := one.asks(t, call(), time.Hour)
				other.reconciles(t)
				all := one.puts(t)
				ann := all[len(all)-2]
				before := len(all)
				var both sync.WaitGroup
				for i, w := range []world{one, other} {
					in := press(fmt.Sprint(round, " ", i), "4711", ann, []string{"Allow once", "Deny"}[i])
					both.Go(func() {
						if err := w.accept(t.Context(), "tg", []chat.Incoming{in},
							func(*store.Tx) error { return nil }); err != nil {
							t.Error(err)
						}
					})
				}
				both.Wait()
				ok := 0
				for _, r := range append(*one.records, *other.records...) {
					if r.About == id && r.Outcome == "ok" {
						ok++
					}
				}
				// A denial may follow an approval that was not used yet.
				if q := one.state(t, id); q.State == approvals.Open || ok == 0 || ok == 2 &&
					q.State != approvals.Denied {
					t.Errorf("%d answers count, and it is %s", ok, q.State)
				}
				if n := len(one.puts(t)) - before; n != 2 {
					t.Errorf("there are %d edits of 2 messages", n)
				}
			}
		})
	}
}

func testACallThatIsTooLongToBeShown(t *testing.T, s *store.Store) {
	w := newWorld(t, s, func(o *Options) {
		o.Approvers = []Approver{{Name: "ann", At: []Place{place("tg:4711")}}}
	})
	c := call()
	c.Shown = `{"command":"` + strings.Repeat("x", 5000) + `"}`
	id := w.asks(t, c, time.Hour)
	sent := w.puts(t)[0]
	if len(sent.Buttons) != 1 || sent.Buttons[0].Label != "Deny" ||
		!strings.Contains(sent.Text, "approvals show "+id) {
		t.Errorf("the message is %+v", sent)
	}
	w.get(t, "tg", press("1", "4711", sent, "Deny"))
	if q := w.state(t, id); q.State != approvals.Denied {
		t.Errorf("it is %s", q.State)
	}
}

func testAQuestionThatEndsElsewhere(t *testing.T, s *store.Store) {
	w := newWorld(t, s, approvers)
	id := w.asks(t, call(), time.Hour)
	if _, err := w.Approvals.Answer(t.Context(), id, approvals.Answer{Reason: "no\u202e"},
		approvals.Approver{Name: "root", Channel: "cli"}); err != nil {
		t.Fatal(err)
	}
	w.reconciles(t)
	list := w.puts(t)
	if len(list) != 4 || !strings.Contains(list[2].Text, "Denied by cli root at ") ||
		!strings.HasSuffix(list[2].Text, ": no<U+202E>.") {
		t.Errorf("the outbox has %+v", list)
	}
	ann := list[0]
	late := press("1", "4711", ann, "Allow once")
	w.get(t, "tg", late)
	until(t, "the person learns that it is too late", func() bool {
		w.tg.mu.Lock()
		defer w.tg.mu.Unlock()
		return len(w.tg.shown) == 1 && strings.HasPrefix(w.tg.shown[0], "The question was already answered")
	})
	gone := w.asks(t, call(), time.Hour)
	if err := w.Store.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec("UPDATE ask SET expires = {{now}} WHERE id = $1", gone)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	until(t, "the expired question is closed", func() bool {
		w.reconciles(t)
		list := w.puts(t)
		return strings.HasSuffix(list[len(list)-1].Text, "There was no answer in time.")
	})
	if q := w.state(t, gone); q.State != approvals.Expired {
		t.Errorf("it is %s", q.State)
	}
	withdrawn := w.asks(t, call(), time.Hour)
	if err := w.Approvals.Withdraw(t.Context(), withdrawn); err != nil {
		t.Fatal(err)
	}
	w.reconciles(t)
	list = w.puts(t)
	if !strings.HasSuffix(list[len(list)-1].Text, "The call no longer waits.") {
		t.Errorf("the last message is %+v", list[len(list)-1])
	}
}

// codeIn returns the code of a message.
func codeIn(t *testing.T, p put) string {
	t.Helper()
	_, rest, ok := strings.Cut(p.Text, "Answer with this code and ")
	_, rest, more := strings.Cut(rest, ": ")
	code, _, end := strings.Cut(rest, " ")
	if !ok || !more || !end {
		t.Fatalf("there is no code in %q", p.Text)
	}
	return code
}

func testAnswersInText(t *testing.T, s *store.Store) {
	w := newWorld(t, s, approvers)
	id := w.asks(t, call(), time.Hour)
	code := codeIn(t, w.puts(t)[1])
	mail := func(id, person, text string) chat.Incoming {
		in := from(message(id, person, text), person)
		in.Title, in.ReplyTo = "An approval", "<question>"
		return in
	}
	w.get(t, "mail", mail("1", "eve@example.org", code+" 1"), mail("2", "bob@example.org", "1"),
		mail("3", "ann@example.org", code+" 1"))
	if q := w.state(t, id); q.State != approvals.Open {
		t.Fatalf("it was decided by %+v", q.Decision)
	}
	w.get(t, "mail", mail("4", "bob@example.org", code+" perhaps"))
	list := w.puts(t)
	if last := list[len(list)-1]; last.Text != "This is not one of the answers." || last.Chat != "bob@example.org" {
		t.Errorf("the response is %+v", last)
	}
	w.get(t, "mail", mail("5", "Bob@Example.org", strings.ToUpper(code)+" 2 use the other directory\n> quoted"))
	q := w.state(t, id)
	if q.State != approvals.Denied || q.Decision.By != "bob" ||
		!strings.HasPrefix(q.Decision.Reason, "use the other directory") {
		t.Errorf("it is %s by %+v", q.State, q.Decision)
	}
}

func testQuestionsOfAgents(t *testing.T, s *store.Store) {
	w := newWorld(t, s, approvers)
	ask := func(q questions.Question) string {
		t.Helper()
		_, id, err := w.Questions.Ask(tool.With(t.Context(), &tool.Running{
			Caller: tool.Caller{Agent: "helper", User: "ann", Channel: "stdio", Session: "s1"},
		}), q)
		if err != nil {
			t.Fatal(err)
		}
		w.reconciles(t)
		return id
	}
	ask(questions.Question{Text: "Red or\u202e blue?", Options: []string{"red", "blue"}})
	red := w.puts(t)[0]
	if !strings.Contains(red.Text, `The agent "helper" asks (user "ann"):`) || len(red.Buttons) != 2 ||
		!strings.Contains(red.Text, "or<U+202E> blue?") {
		t.Errorf("the question is %+v", red)
	}
	w.get(t, "tg", press("1", "4711", red, "blue"))
	ask(questions.Question{Text: "Which port?"})
	list := w.puts(t)
	port := list[len(list)-2]
	// A reply to the message, as the service names it when it was sent.
	if err := w.Store.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE outbox SET state = 'sent', message = 'q2', ref = $2 WHERE id = $1`, port.ID,
			`{"chat":"4711","id":"q2"}`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	reply := message("2", "4711", "Use 8080.")
	reply.ReplyTo = "q2"
	w.get(t, "tg", reply)
	var texts []string
	for _, e := range w.inboxOf(t, "helper", "ann") {
		texts = append(texts, e.Text)
	}
	if len(texts) != 2 || !strings.HasSuffix(texts[0], ": blue") || !strings.HasSuffix(texts[1], ": Use 8080.") {
		t.Errorf("the agent gets %q", texts)
	}
	if r := (*w.records)[1]; r.Person != "ann" || r.Action != "answer question" || r.Outcome != "ok" {
		t.Errorf("the record is %+v", r)
	}
	list = w.puts(t)
	if last := list[len(list)-1]; last.Action != string(messaging.Edit) ||
		!strings.HasSuffix(last.Text, "Answered by ann (tg): Use 8080.") {
		t.Errorf("the last message is %+v", last)
	}
}
