package messaging_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

// TestOutbox runs all tests on one database of each engine, because making one takes long.
func TestOutbox(t *testing.T) {
	tests := map[string]func(*testing.T, *store.Store){
		"a post is sent in parts":                            testAPostIsSentInParts,
		"the order of a chat is kept":                        testTheOrderOfAChatIsKept,
		"retry after":                                        testRetryAfter,
		"what may have arrived is sent once more and marked": testWhatMayHaveArrivedIsSentOnceMoreAndMarked,
		"a failure reaches the sender":                       testAFailureReachesTheSender,
		"it is given up after a day":                         testItIsGivenUpAfterADay,
		"else is sent instead":                               testElseIsSentInstead,
		"once":                                               testOnce,
		"files are part of the post":                         testFilesArePartOfThePost,
		"messages are changed":                               testMessagesAreChanged,
		"unknown channels":                                   testUnknownChannels,
	}
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				if err := s.Update(t.Context(), func(tx *store.Tx) error {
					for _, table := range []string{"outbox", "job"} {
						if _, err := tx.Exec("DELETE FROM " + table); err != nil {
							return err
						}
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				test(t, s)
			})
		}
	})
}

func testAPostIsSentInParts(t *testing.T, s *store.Store) {
	fake := newService()
	o := newOutbox(t, s, fake)
	var long []string
	for i := range 20 {
		long = append(long, fmt.Sprintf("line %d of a long text", i))
	}
	p := text("1", strings.Join(long, "\n\n"))
	p.Message.Buttons = []chat.Button{{Label: "ok", Data: "1"}}
	p.Sender = inbox.To{Owner: tool.Owner{Agent: "a", User: "u"}}
	r := settle(t, o, put(t, o, p))
	if r.State != messaging.Sent || len(r.Refs) < 3 || r.Refs[0].ID != "1" {
		t.Errorf("%+v", r)
	}
	for i, m := range fake.got {
		if last := i == len(fake.got)-1; len(again)+len(m.Text) > fake.can.MaxText || (m.Buttons != nil) != last ||
			m.Key == "" || i > 0 && m.Key <= fake.got[i-1].Key {
			t.Errorf("part %d: %+v", i, m)
		}
	}
	if got := strings.Join(fake.texts("1"), "\n\n"); got != strings.Join(long, "\n\n") {
		t.Errorf("%q", got)
	}
	for owner, own := range map[tool.Owner]bool{{Agent: "a", User: "u"}: true, {Agent: "a"}: false, {}: false} {
		if is, err := o.SentBy(t.Context(), owner, "telegram", r.Refs[1]); is != own || err != nil {
			t.Errorf("%+v: %v, %v", owner, is, err)
		}
	}
}

func testTheOrderOfAChatIsKept(t *testing.T, s *store.Store) {
	fake := newService()
	o := newOutbox(t, s, fake)
	fake.fails("first", &chat.Error{Kind: chat.Down, Text: "no network"},
		&chat.Error{Kind: chat.Busy, After: time.Hour, Text: "too fast"})
	first, second := put(t, o, text("1", "first")), put(t, o, text("1", "second"))
	if r := settle(t, o, put(t, o, text("2", "other chat"))); r.State != messaging.Sent {
		t.Errorf("%+v", r)
	}
	if got := fake.texts("1"); len(got) != 0 {
		t.Errorf("%q", got)
	}
	if r := settle(t, o, first); r.State != messaging.Sent || r.Attempts != 3 {
		t.Errorf("%+v", r)
	}
	if r := settle(t, o, second); r.Attempts != 1 || !slices.Equal(fake.texts("1"), []string{"first", "second"}) {
		t.Errorf("%+v, %q", r, fake.texts("1"))
	}
}

// testRetryAfter looks at the time of the next attempt, which is when the service asks for it.
func testRetryAfter(t *testing.T, s *store.Store) {
	fake := newService()
	o := newOutbox(t, s, fake)
	fake.fails("hello", &chat.Error{Kind: chat.Busy, After: time.Hour, Text: "too fast"})
	id := put(t, o, text("1", "hello"))
	var r messaging.Report
	for end := time.Now().Add(time.Minute); r.Problem == "" && time.Now().Before(end); {
		var err error
		if r, err = o.Settled(t.Context(), id, 20*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	if wait := time.Until(r.Due); r.Problem != "too fast" || wait < 58*time.Minute || wait > time.Hour {
		t.Errorf("%+v, in %s", r, wait)
	}
	behind, err := o.Report(t.Context(), put(t, o, text("1", "second")))
	if err != nil || !strings.Contains(behind.Problem, "follows an earlier message of this chat") ||
		!strings.HasSuffix(behind.Problem, "too fast") {
		t.Errorf("the message behind it: %+v, %v", behind, err)
	}
}

func testWhatMayHaveArrivedIsSentOnceMoreAndMarked(t *testing.T, s *store.Store) {
	lost := &chat.Error{Kind: chat.Unknown, Text: "the connection ended"}
	fake := newService()
	o := newOutbox(t, s, fake)
	fake.fails("once", lost)
	fake.fails("twice", lost, lost)
	if r := settle(t, o, put(t, o, text("1", "once"))); r.State != messaging.Sent ||
		!slices.Equal(fake.texts("1"), []string{"once", again + "once"}) {
		t.Errorf("%+v, %q", r, fake.texts("1"))
	}
	if r := settle(t, o, put(t, o, text("2", "twice"))); r.State != messaging.Failed ||
		!strings.Contains(r.Problem, "may have arrived") ||
		!slices.Equal(fake.texts("2"), []string{"twice", again + "twice"}) {
		t.Errorf("%+v, %q", r, fake.texts("2"))
	}
	fake.can.Dedupes = time.Hour
	fake.fails("keyed", lost, lost)
	r := settle(t, o, put(t, o, text("3", "keyed")))
	if r.State != messaging.Sent || !slices.Equal(fake.texts("3"), []string{"keyed", "keyed", "keyed"}) ||
		fake.got[len(fake.got)-1].Key != fake.got[len(fake.got)-3].Key {
		t.Errorf("%+v, %q", r, fake.texts("3"))
	}
	fake.can.Dedupes = time.Millisecond // the service has forgotten the first one
	fake.fails("late", lost)
	if settle(t, o, put(t, o, text("4", "late"))); !slices.Equal(fake.texts("4"), []string{"late", again + "late"}) {
		t.Errorf("%q", fake.texts("4"))
	}
}

func testAFailureReachesTheSender(t *testing.T, s *store.Store) {
	fake := newService()
	o := newOutbox(t, s, fake)
	fake.fails("gone", &chat.Error{Kind: chat.Refused, Text: "chat not found"})
	caller := tool.Caller{Agent: "a", User: "u", Channel: "stdio", Session: "s"}
	p := text("1", "gone")
	p.Sender = inbox.ToCaller(caller)
	r := settle(t, o, put(t, o, p))
	events, err := inbox.New(inbox.Options{Store: s}).Take(t.Context(), caller, "call", nil)
	if err != nil || len(events) != 1 || events[0].Kind != inbox.Delivery || events[0].Subject != r.ID ||
		!strings.Contains(events[0].Text, "chat not found") || r.State != messaging.Failed {
		t.Errorf("%+v, %+v, %v", r, events, err)
	}
}

func testItIsGivenUpAfterADay(t *testing.T, s *store.Store) {
	fake := newService()
	o := newOutbox(t, s, fake)
	for range 3 {
		fake.errors["down"] = append(fake.errors["down"], &chat.Error{Kind: chat.Down, Text: "no network"})
	}
	id := put(t, o, text("1", "down"))
	if err := s.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec("UPDATE outbox SET created = created - 90000000")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if r := settle(t, o, id); r.State != messaging.Failed || r.Problem != "it was given up: no network" {
		t.Errorf("%+v", r)
	}
	late := text("2", "late")
	late.Until = time.Now().Add(-time.Second)
	if r := settle(t, o, put(t, o, late)); r.State != messaging.Failed || len(fake.texts("2")) != 0 {
		t.Errorf("%+v", r)
	}
}

func testElseIsSentInstead(t *testing.T, s *store.Store) {
	fake := newService()
	o := newOutbox(t, s, fake)
	refused := &chat.Error{Kind: chat.Denied, Text: "not a member"}
	fake.fails("one", refused)
	fake.fails("two", refused)
	p, gone, three := text("1", "one"), text("2", "two"), text("4", "three")
	gone.Channel, three.Channel = "removed", "mail"
	p.Else = []messaging.Post{gone, text("3", "two"), three}
	settle(t, o, put(t, o, p))
	for end := time.Now().Add(time.Minute); len(fake.texts("4")) == 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	if got := fake.texts("4"); len(fake.got) != 1 || !slices.Equal(got, []string{"three"}) {
		t.Errorf("%+v", fake.got)
	}
}

func testOnce(t *testing.T, s *store.Store) {
	fake := newService()
	o := newOutbox(t, s, fake)
	p := text("1", "hello")
	p.Once = "the same"
	first := put(t, o, p)
	if second := put(t, o, p); second != first {
		t.Errorf("%s and %s", first, second)
	}
	settle(t, o, first)
	if second := put(t, o, p); second != first || len(fake.texts("1")) != 1 {
		t.Errorf("%s, %q", second, fake.texts("1"))
	}
}

func testFilesArePartOfThePost(t *testing.T, s *store.Store) {
	fake := newService()
	o := newOutbox(t, s, fake)
	content := bytes.Repeat([]byte("0123456789abcdef"), 200_000)
	file := chat.File{Name: "a.bin", MIME: "application/octet-stream", Size: int64(len(content))}
	file.Open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	p := text("1", "short")
	p.Files = []chat.File{file}
	fake.fails("short", &chat.Error{Kind: chat.Down, Text: "no network"})
	settle(t, o, put(t, o, p))
	if m := fake.got[0]; m.Text != "short" || m.File.Name != "a.bin" || m.File.Size != file.Size ||
		fake.files[0] != string(content) {
		t.Errorf("%+v, %d bytes", m, len(fake.files[0]))
	}
	p.Message.Text = strings.Repeat("too long for a caption ", 5)
	settle(t, o, put(t, o, p))
	if len(fake.got) != 3 || fake.got[1].Text != "" || fake.got[1].File == nil || fake.got[2].File != nil {
		t.Errorf("%+v", fake.got[1:])
	}
	var left int
	if err := s.Row(t.Context(), "SELECT count(*) FROM outbox_file", nil, &left); err != nil || left != 0 {
		t.Errorf("%d pieces are left, %v", left, err)
	}
	p.Files[0].Size++
	err := s.Update(t.Context(), func(tx *store.Tx) error { _, _, err := o.Put(tx, p); return err })
	if e := tool.AsError(err); e.Kind != tool.Conflict {
		t.Errorf("%v", err)
	}
	p.Files[0].Size = fake.can.MaxFile + 1
	err = s.Update(t.Context(), func(tx *store.Tx) error { _, _, err := o.Put(tx, p); return err })
	if e := tool.AsError(err); e.Kind != tool.TooLarge {
		t.Errorf("%v", err)
	}
}

func testMessagesAreChanged(t *testing.T, s *store.Store) {
	fake := newService()
	o := newOutbox(t, s, fake)
	fake.fails("hello", &chat.Error{Kind: chat.Down, Text: "no network"})
	id := put(t, o, text("1", "hello"))
	edit := messaging.Post{Channel: "telegram", Action: messaging.Edit, Of: id, Message: chat.Message{Text: "bye"}}
	change := put(t, o, edit)
	if r := settle(t, o, change); r.State != messaging.Sent || !slices.Equal(fake.done, []string{"edit 1/1 bye"}) {
		t.Errorf("%+v, %q", r, fake.done)
	}
	fake.fails("refused", &chat.Error{Kind: chat.Refused, Text: "no"})
	edit.Of = put(t, o, text("1", "refused"))
	if r := settle(t, o, put(t, o, edit)); r.State != messaging.Failed {
		t.Errorf("%+v", r)
	}
}

func testUnknownChannels(t *testing.T, s *store.Store) {
	o := newOutbox(t, s, newService())
	p := text("1", "hello")
	p.Channel = "other"
	err := s.Update(t.Context(), func(tx *store.Tx) error { _, _, err := o.Put(tx, p); return err })
	if e := (*tool.Error)(nil); !errors.As(err, &e) || e.Kind != tool.NotFound {
		t.Errorf("%v", err)
	}
}
