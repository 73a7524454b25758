package messaging_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

// A desk calls the tools as one caller.
type desk struct {
	t     *testing.T
	fake  *service
	tools []tool.Tool
	dir   string
	o     messaging.Options
	who   tool.Caller
}

func newDesk(t *testing.T, s *store.Store, allowed map[string][]string, names ...string) *desk {
	d := &desk{t: t, fake: newService(), dir: t.TempDir()}
	files, err := workspace.New(workspace.Options{Data: t.TempDir(), Routes: []workspace.Route{{
		Serves: messaging.ContactFiles{}.Serves,
		Source: messaging.ContactFiles{Contacts: messaging.Contacts{Store: s}}, State: true,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	if names == nil {
		names = []string{"telegram", "mail"}
	}
	all := accounts(d.fake, names...)
	mask := func(text string) string { return strings.ReplaceAll(text, "hunter2", "[REDACTED]") }
	outbox := messaging.NewOutbox(messaging.OutboxOptions{Store: s, Accounts: all, Scrub: mask})
	t.Cleanup(func() { _ = outbox.Close() })
	d.o = messaging.Options{
		Outbox: outbox, Files: files, Scrub: mask,
		Targets: messaging.Targets{Accounts: all, Contacts: messaging.Contacts{Store: s}, Allowed: allowed},
	}
	d.tools = messaging.Tools(d.o)
	d.who = tool.Caller{Agent: "a", User: t.Name(), Channel: "stdio", Session: "s", Profile: "coding", Workspace: d.dir}
	return d
}

func (d *desk) file(name, content string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(content), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// plan prepares a call of a tool by one of its names.
func (d *desk) plan(name, args string) (context.Context, tool.Plan, error) {
	d.t.Helper()
	set, err := tool.NewSet(d.tools...)
	if err != nil {
		d.t.Fatal(err)
	}
	t, ok := set.Lookup(name)
	if !ok {
		d.t.Fatalf("there is no tool %s", name)
	}
	ctx := tool.With(d.t.Context(), &tool.Running{Caller: d.who})
	call, err := t.Bind(json.RawMessage(args), tool.DefaultLimits())
	if err != nil {
		return ctx, tool.Plan{}, err
	}
	plan, err := call.Prepare(ctx)
	return ctx, plan, err
}

// call returns the text of a result, or the error.
func (d *desk) call(name, args string) string {
	d.t.Helper()
	ctx, plan, err := d.plan(name, args)
	if err == nil {
		var result tool.Result
		if result, err = plan.Run(ctx); err == nil {
			return result.Text()
		}
	}
	e := tool.AsError(err)
	return string(e.Kind) + ": " + e.Error()
}

func (d *desk) want(got, part string) {
	d.t.Helper()
	if !strings.Contains(got, part) {
		d.t.Errorf("%q lacks %q", got, part)
	}
}

// TestMessage runs all tests on one database of each engine, because making one takes long.
func TestMessage(t *testing.T) {
	tests := map[string]func(*testing.T, *store.Store){
		"actions": testActions, "messages of others": testOthersMessages,
		"the first message asks": testTheFirstMessageAsks, "allowed": testAllowed,
		"files": testFiles, "targets": testTargets, "contacts": testContacts, "contact files": testContactFiles,
		"contacts send": testContactsSend, "cooldown": testCooldown, "waiting": testWaiting,
	}
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) { test(t, s) })
		}
	})
}

func testActions(t *testing.T, s *store.Store) {
	d := newDesk(t, s, nil)
	d.want(d.call("message", `{"to":"telegram:1","text":"the key is hunter2"}`), "Sent to telegram:1, message 1.")
	d.want(d.call("message", `{"action":"reply","to":"telegram:1","message_id":"1","text":"yes"}`), "message 2")
	d.want(d.call("message", `{"action":"edit","to":"telegram:1","message_id":"2","text":"no, hunter2"}`), "Edited.")
	d.want(d.call("message", `{"action":"unsend","to":"telegram:1","message_id":"2"}`), "Deleted.")
	d.want(d.call("message_react", `{"chat_id":"telegram:1","message_id":"1","emoji":"👍"}`), "Reacted.")
	d.want(d.call("message", `{"to":"telegram:1:topic:9","text":"Tea?","options":["yes","no"]}`), "Sent to telegram:1:topic:9")
	d.want(d.call("create_forum_topic", `{"chat_id":"-100","name":"News","icon_color":7322096}`), "telegram:-100:topic:77")
	d.want(d.call("message", `{"to":"telegram:1","text":"x","dry_run":true}`), "Nothing was sent. This would go to telegram:1 in 1 message")
	if m := d.fake.got; len(m) != 3 || m[0].Text != "the key is [REDACTED]" || m[1].ReplyTo != "1" ||
		m[2].Poll.Question != "Tea?" || m[2].Thread != "9" || m[2].Text != "" {
		t.Errorf("%+v", m)
	}
	if want := []string{"edit 1/2 no, [REDACTED]", "delete 1/2 ", "react false 1/1 👍", "topic -100 News"}; !slices.Equal(
		d.fake.done, want) {
		t.Errorf("%q", d.fake.done)
	}
	for args, want := range map[string]string{
		`{"to":"telegram:1"}`:                             "invalid: text or file is required for action send",
		`{"action":"fly","to":"telegram:1"}`:              "use send, reply, edit, delete, react, poll or fetch",
		`{"action":"reply","to":"telegram:1","text":"x"}`: "message_id is required",
		`{"to":"telegram:1","text":"x","options":["1"]}`:  "at least two options",
		`{"text":"x"}`:                                         "belongs to no chat",
		`{"to":"nobody","text":"x"}`:                           "the channels are mail, telegram",
		`{"to":"telegram:1\u0000","text":"x"}`:                 "has no id",
		`{"to":"telegram:1","message_base64":"e30"}`:           "not an envelope",
		`{"to":"telegram:1","text":"MEDIA:nothing.png"}`:       "not_found",
		`{"to":"telegram:1","file":"/etc/hostname"}`:           "refused",
		`{"to":"telegram:1","file":"https://a.example/x.png"}`: "is a URL",
	} {
		d.want(d.call("message", args), want)
	}
	if len(d.fake.got) != 3 {
		t.Errorf("%+v", d.fake.got[3:])
	}
}

// testOthersMessages has changes of messages that the account has sent, and not the caller.
func testOthersMessages(t *testing.T, s *store.Store) {
	d := newDesk(t, s, nil)
	d.want(d.call("message", `{"to":"telegram:1","text":"mine"}`), "message 1.")
	settle(t, d.o.Outbox, put(t, d.o.Outbox, text("1", "An approval is needed")))
	for _, call := range []string{
		`{"action":"edit","to":"telegram:1","message_id":"2","text":"Tea?"}`,
		`{"action":"delete","to":"telegram:1","message_id":"2"}`,
		`{"action":"delete","to":"telegram:1","message_id":"99"}`,
		`{"action":"edit","to":"telegram:2","message_id":"1","text":"x"}`,
		`{"action":"edit","to":"telegram:1","message_id":"01","text":"x"}`,
	} {
		d.want(d.call("message", call), "not_found: you have sent no message")
	}
	d.who.User = "another"
	d.want(d.call("message", `{"action":"edit","to":"telegram:1","message_id":"1","text":"x"}`), "not_found")
	if len(d.fake.done) > 0 {
		t.Errorf("%q", d.fake.done)
	}
}

func testTheFirstMessageAsks(t *testing.T, s *store.Store) {
	d := newDesk(t, s, map[string][]string{"coding": {"telegram:*", "telegram:7", "mail:me@example.org"}})
	rated := func(args string, risk tool.Risk, ask string) {
		t.Helper()
		if _, plan, err := d.plan("message", args); err != nil || plan.Risk != risk || plan.Ask != ask {
			t.Errorf("%s: %s, %q, %v", args, plan.Risk, plan.Ask, err)
		}
	}
	rated(`{"to":"telegram:5","text":"x"}`, tool.Runs, "the first message to telegram:5")
	rated(`{"to":"telegram:5","text":"x","dry_run":true}`, tool.Reads, "")
	rated(`{"to":"telegram:7","text":"x"}`, tool.Writes, "")
	d.want(d.call("message", `{"to":"telegram:5","text":"x"}`), "Sent")
	rated(`{"to":"telegram:5","text":"another"}`, tool.Writes, "")
	rated(`{"to":"telegram:5","action":"delete","message_id":"1"}`, tool.Destroys, "")
	d.who.User = "another"
	rated(`{"to":"telegram:5","text":"x"}`, tool.Runs, "the first message to telegram:5")
	d.who.Channel, d.who.ChatID = "telegram", "8"
	rated(`{"text":"in the chat of the caller"}`, tool.Writes, "")
}

func testAllowed(t *testing.T, s *store.Store) {
	d := newDesk(t, s, map[string][]string{"coding": {"telegram:7"}, "full": {"*"}})
	d.want(d.call("message", `{"to":"telegram:8","text":"x"}`), "refused: this profile may not write to telegram:8")
	d.want(d.call("message", `{"text":"the only target"}`), "Sent to telegram:7")
	d.want(d.call("message", `{"to":"telegram:7:topic:3","text":"x"}`), "Sent to telegram:7:topic:3")
	d.who.Profile = "full"
	d.want(d.call("message", `{"to":"mail:a@example.org","text":"x"}`), "Sent to mail:a@example.org")
}

// wide returns a text of ASCII in UTF-16.
func wide(text string) (all string) {
	for _, c := range text {
		all += string(c) + "\x00"
	}
	return all
}

func testFiles(t *testing.T, s *store.Store) {
	d := newDesk(t, s, map[string][]string{"*": {"telegram:1"}})
	d.file("a.txt", "the key is hunter2")
	d.file("b.png", "\x89PNG\r\n\x1a\n\x00hunter2")
	d.file("v.ogg", "OggS\x00\x02")
	d.file("latin.txt", "caf\xe9 hunter2")
	d.file("wide.txt", "\xff\xfe"+wide("hunter2"))
	d.file("harmless.txt", "\xff\xfe"+wide("x"))
	d.want(d.call("telegram_send_file", `{"path":"a.txt","filename":"../we\"ird.txt","caption":"look"}`),
		"Secrets in the file are masked.")
	d.want(d.call("message", `{"text":"MEDIA:b.png\nwith a caption"}`), "Sent")
	d.want(d.call("telegram_send_voice", `{"path":"v.ogg","chat_id":"1"}`), "Sent")
	d.want(d.call("send_file", `{"path":"latin.txt"}`), "Secrets in the file are masked.")
	d.want(d.call("send_file", `{"path":"wide.txt"}`), "Secrets in the file are masked.")
	d.want(d.call("send_file", `{"path":"harmless.txt"}`), "Sent")
	if got := d.fake.got; len(got) != 6 || got[0].File.Name != "we_ird.txt" || got[0].Text != "look" ||
		got[1].File.MIME != "image/png" || got[1].Text != "with a caption" || !got[2].File.Voice ||
		d.fake.files[0] != "the key is [REDACTED]" || d.fake.files[1] != "\x89PNG\r\n\x1a\n\x00hunter2" ||
		d.fake.files[3] != "caf\xe9 [REDACTED]" || d.fake.files[4] != "[REDACTED]" ||
		d.fake.files[5] != "\xff\xfex\x00" {
		t.Errorf("%+v, %q", got, d.fake.files)
	}
	d.file("empty", "")
	d.want(d.call("send_file", `{"path":"empty"}`), "is empty")
	d.fake.can.MaxFile = 3
	d.want(d.call("send_file", `{"path":"b.png"}`), "too_large")
	d.fake.can.MaxFile = 0
	d.want(d.call("send_file", `{"path":"b.png"}`), "telegram takes no files; send the text without files")
	d.fake.can.MaxFile = 3
	ctx, plan, err := d.plan("send_file", `{"path":"a.txt"}`)
	if err != nil {
		t.Fatal(err)
	}
	before, err := plan.Facts(ctx)
	if err != nil {
		t.Fatal(err)
	}
	d.file("a.txt", "another text")
	if after, err := plan.Facts(ctx); err != nil || after.Basis() == before.Basis() || before["to"] != "telegram:1" {
		t.Errorf("%v, %v, %v", before, after, err)
	}
}

func testTargets(t *testing.T, s *store.Store) {
	d := newDesk(t, s, nil, "telegram-a", "telegram-b", "slack", "mail")
	for to, want := range map[string]string{
		"tg:5":                 "several channels of telegram: telegram-a, telegram-b",
		"telegram-b:5":         "go to telegram-b:5",
		"slack:T1:U2":          "go to slack:U2",
		"email:a@example.org":  "go to mail:a@example.org",
		"a@example.org":        "go to mail:a@example.org",
		"slack:C1:topic:17.42": "go to slack:C1:topic:17.42",
		"5":                    "there is no contact or channel",
		"slack:":               "has no id",
	} {
		d.want(d.call("message", `{"dry_run":true,"text":"x","to":"`+to+`"}`), want)
	}
	d.want(d.call("message", `{"dry_run":true,"text":"x","to":"5","channel":"telegram-a"}`), "go to telegram-a:5")
	d.want(d.call("slack_send_file", `{"channel_id":"C1","path":"x"}`), "not_found")
	d.want(d.call("message_react", `{"channel_id":"C0000001","message_ts":"1.2","emoji":"eyes","dry_run":true}`), "go to slack:C0000001")
	d.want(d.call("message", `{"dry_run":true,"content_type":"text/plain","text":"x","to":"mail:a@b.c"}`), "content_type is")
	one := newDesk(t, s, nil, "telegram", "slack", "discord", "line")
	for id, want := range map[string]string{
		"1001": "telegram:1001", "-1001234567890": "telegram:-1001234567890", "@ada": "telegram:@ada",
		"U0000001X": "slack:U0000001X", "123456789012345678": "discord:123456789012345678",
		"U0123456789abcdef0123456789abcdef": "line:U0123456789abcdef0123456789abcdef",
	} {
		one.want(one.call("message_react", `{"chat_id":"`+id+`","message_id":5,"emoji":"👍","dry_run":true}`), "go to "+want)
	}
	one.want(one.call("contacts", `{"action":"add","id":"slack:T001:U9","chats":["slack:T001:U9","slack:T001:C0000001"]}`),
		"saved")
	for hint, want := range map[string]string{
		"slack:T001:C0000001": "slack:C0000001", "C0000001": "slack:C0000001", "slack:T001:C0000002": "slack:U9",
	} {
		one.want(one.call("contacts_send", `{"dry_run":true,"contact_id":"slack:T001:U9","chat_id":"`+hint+
			`","message_text":"x"}`), "go to "+want)
	}
	d.who.Channel, d.who.ChatID, d.who.Topic = "telegram-b", "5", "9"
	d.want(d.call("message", `{"dry_run":true,"text":"x"}`), "go to telegram-b:5:topic:9")
	d.want(d.call("telegram_send_voice", `{"dry_run":true,"path":"x"}`), "not_found")
}

func testContacts(t *testing.T, s *store.Store) {
	d := newDesk(t, s, nil)
	d.want(d.call("contacts", `{}`), "There are no contacts")
	d.want(d.call("contacts", `{"action":"add","id":"tg:11","name":"Ada","about":"likes tea"}`), "saved")
	d.want(d.call("contacts", `{"action":"add","id":"tg:11"}`), "conflict")
	d.want(d.call("contacts", `{"action":"add","id":"bob","chats":["mail:bob@example.org"]}`), "saved")
	d.want(d.call("contacts", `{"action":"list"}`), "tg:11, Ada, likes tea")
	d.want(d.call("message", `{"to":"ada","text":"x"}`), "Sent to telegram:11 (Ada)")
	d.want(d.call("message", `{"to":"bob","text":"x"}`), "Sent to mail:bob@example.org")
	d.want(d.call("contacts", `{"action":"update","id":"bob","consent":"refused"}`), "saved")
	d.want(d.call("message", `{"to":"mail:bob@example.org","text":"x"}`), "wants no messages")
	d.want(d.call("contacts", `{"action":"deactivate","id":"Ada"}`), "inactive")
	d.want(d.call("message", `{"to":"Ada","text":"x"}`), "inactive")
	d.want(d.call("contacts", `{"action":"update","id":"eve"}`), "not_found")
	d.want(d.call("contacts", `{"action":"add","id":"eve","consent":"perhaps"}`), "invalid")
	d.who.User = "other"
	d.want(d.call("contacts", `{}`), "There are no contacts")
}

func testContactFiles(t *testing.T, s *store.Store) {
	d := newDesk(t, s, nil)
	ctx := tool.With(t.Context(), &tool.Running{Caller: d.who})
	files := messaging.ContactFiles{Contacts: messaging.Contacts{Store: s}}
	const page = "# People\n\n## Ada\n\n```yaml\ncontact_id: tg:@ada\nnickname: Ada\nkind: human\n" +
		"tg_private_chat_id: \"28\"\ntg_group_chat_ids: [\"-1001\"]\ntopic_preferences: [tea]\n```\n\n" +
		"```yaml\ncontact_id: slack:T1:U1\nslack_team_id: T1\nslack_user_id: U1\n```\n"
	if err := files.Write(ctx, "contacts/ACTIVE.md", []byte(page)); err != nil {
		t.Fatal(err)
	}
	content, _, err := files.Read(ctx, "contacts/ACTIVE.md")
	if err != nil || !strings.Contains(string(content), "## Ada\n\n```yaml\ncontact_id: tg:@ada\n") {
		t.Errorf("%s, %v", content, err)
	}
	if err := files.Write(ctx, "contacts/ACTIVE.md", content); err != nil {
		t.Fatal(err)
	}
	again, _, _ := files.Read(ctx, "contacts/ACTIVE.md")
	if string(again) != string(content) {
		t.Errorf("%s became %s", content, again)
	}
	for _, name := range []string{"contacts/ACTIVE.md", "file_state_dir/contacts/ACTIVE.md", "file_state_dir/./contacts/ACTIVE.md"} {
		f, err := d.o.Files.Open(ctx, name)
		if err != nil || f.Name != "contacts/ACTIVE.md" || f.Size != int64(len(content)) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	known, err := messaging.Contacts{Store: s}.List(ctx, tool.Owner{Agent: d.who.Agent, User: d.who.User})
	if err != nil || len(known) != 2 {
		t.Fatal(known, err)
	}
	got := [][]string{known[0].References(), known[1].References()}
	if diff := cmp.Diff([][]string{{"slack:T1:U1"}, {"tg:@ada", "tg:28", "tg:-1001"}}, got); diff != "" {
		t.Error(diff)
	}
	d.want(d.call("message", `{"to":"Ada","text":"x"}`), "Sent to telegram:28 (Ada)")
	one := page[:strings.LastIndex(page, "\n```yaml")]
	if err := files.Write(ctx, "contacts/INACTIVE.md", []byte(one)); err != nil {
		t.Fatal(err)
	}
	d.want(d.call("message", `{"to":"Ada","text":"x"}`), "inactive")
	list, err := files.List(ctx, ".")
	if err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	if err := files.Remove(ctx, "contacts/INACTIVE.md"); err != nil {
		t.Fatal(err)
	}
	d.want(d.call("contacts", `{}`), "slack:T1:U1")
	for _, wrong := range []string{
		"```yaml\nnickname: x\n```\n", "```yaml\ncontact_id: a\nunknown: 1\n```\n", "```yaml\ncontact_id: a\n",
		"```yaml\ncontact_id: a\n```\n```yaml\ncontact_id: a\n```\n",
	} {
		if err := files.Write(ctx, "contacts/ACTIVE.md", []byte(wrong)); tool.AsError(err) == nil ||
			tool.AsError(err).Kind != tool.Invalid {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

func testContactsSend(t *testing.T, s *store.Store) {
	d := newDesk(t, s, nil)
	d.want(d.call("contacts", `{"action":"add","id":"tg:@ada","chats":["tg:28","tg:-1001"]}`), "saved")
	ctx := tool.With(t.Context(), &tool.Running{Caller: d.who})
	page := "```yaml\ncontact_id: tg:@ada\ntg_private_chat_id: \"28\"\ntg_group_chat_ids: [\"-1001\"]\n```\n"
	if err := (messaging.ContactFiles{Contacts: messaging.Contacts{Store: s}}).Write(ctx, "contacts/ACTIVE.md",
		[]byte(page)); err != nil {
		t.Fatal(err)
	}
	envelope := base64.RawURLEncoding.EncodeToString([]byte(
		`{"message_id":"msg_1","text":"hello","sent_at":"2026-01-31T09:00:00Z","session_id":"s"}`))
	send := `{"contact_id":"tg:@ada","chat_id":"tg:-1001","content_type":"application/json","message_base64":"` +
		envelope + `"}`
	d.want(d.call("contacts_send", send), "Sent to telegram:-1001")
	d.want(d.call("contacts_send", send), "It was sent before")
	d.want(d.call("contacts_send", `{"contact_id":"tg:@ada","chat_id":"tg:99","message_text":"x"}`), "Sent to telegram:28")
	if len(d.fake.got) != 2 || d.fake.got[0].Text != "hello" {
		t.Errorf("%+v", d.fake.got)
	}
	d.who.Channel, d.who.ChatID = "telegram", "28"
	d.want(d.call("contacts_send", `{"contact_id":"tg:@ada","message_text":"x"}`), "you are talking with")
	d.who.ChatID, d.who.PeerKind = "-1001", "group"
	d.want(d.call("contacts_send", `{"contact_id":"tg:@ada","message_text":"x"}`), "from a group chat")
}

func testCooldown(t *testing.T, s *store.Store) {
	d := newDesk(t, s, nil)
	d.want(d.call("contacts", `{"action":"add","id":"tg:31"}`), "saved")
	d.fake.fails("x", &chat.Error{Kind: chat.Denied, Text: "no token"})
	d.want(d.call("message", `{"to":"tg:31","text":"x"}`), "was not delivered: no token")
	d.want(d.call("message", `{"to":"tg:31","text":"x"}`), "Sent")
	d.fake.fails("y", &chat.Error{Kind: chat.Refused, Text: "blocked by the user"})
	d.want(d.call("message", `{"to":"tg:31","text":"y"}`), "was not delivered: blocked by the user")
	d.want(d.call("message", `{"to":"telegram:31","text":"x"}`), "no messages until")
	d.want(d.call("contacts", `{}`), "one could not be delivered")
}

// testWaiting has a caller that does not wait until the message was sent.
func testWaiting(t *testing.T, s *store.Store) {
	d := newDesk(t, s, map[string][]string{"*": {"telegram:1"}})
	if err := d.o.Outbox.Close(); err != nil { // nothing sends
		t.Fatal(err)
	}
	ctx, plan, err := d.plan("message", `{"text":"x"}`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := plan.Run(ctx); err == nil || len(d.fake.got) != 0 {
		t.Errorf("%v, %+v", err, d.fake.got)
	}
}

// TestFetch saves a file that has arrived.
func TestFetch(t *testing.T) {
	d := newDesk(t, storetest.Open(t, t.TempDir()), nil)
	d.o.Fetch = func(ctx context.Context, id string, into io.Writer) (string, error) {
		if id != "f-1" || tool.CallerFrom(ctx).Agent != "a" {
			return "", tool.Errorf(tool.NotFound, "there is no file %q for you", id).Try("use another id")
		}
		_, err := io.WriteString(into, "numbers")
		return "report.txt", err
	}
	d.tools = messaging.Tools(d.o)
	_, plan, err := d.plan("message", `{"action":"fetch","file":"f-1"}`)
	if err != nil || plan.Risk != tool.Writes {
		t.Errorf("the risk is %s, %v", plan.Risk, err)
	}
	d.want(d.call("message", `{"action":"fetch","file":"f-1"}`), "Saved report.txt (7 B)")
	if got, err := os.ReadFile(filepath.Join(d.dir, "report.txt")); err != nil || string(got) != "numbers" {
		t.Errorf("the file has %q, %v", got, err)
	}
	d.want(d.call("message", `{"action":"fetch","file":"f-1"}`), "already")
	d.want(d.call("message", `{"action":"fetch","file":"f-1","name":"in/other.txt"}`), "Saved in/other.txt")
	d.want(d.call("message", `{"action":"fetch","file":"f-1","name":"../out.txt"}`), "outside")
	d.want(d.call("message", `{"action":"fetch","file":"f-2"}`), "no file")
	d.want(d.call("message", `{"action":"fetch"}`), "file is required")
}
