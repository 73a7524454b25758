package messaging

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/services"
)

// Group is the group of the tools. They do not work without a channel.
const Group = "messaging"

// Options are the needs of the tools.
type Options struct {
	Outbox  *Outbox
	Targets Targets
	Files   workspace.Files
	Scrub   func(string) string
	// Fetch writes a file that has arrived for the caller in ctx, by its id, and returns its
	// name. It may be nil.
	Fetch func(ctx context.Context, id string, into io.Writer) (name string, err error)
}

// Tools returns the tools of the group.
func Tools(o Options) []tool.Tool {
	x := message{o}
	var contacts *Contacts
	if o.Targets.Contacts.Store != nil {
		contacts = &o.Targets.Contacts
	}
	return []tool.Tool{tool.Prepared(x), tool.Prepared(contactsTool{contacts})}
}

// message is the tool that writes to people.
type message struct{ Options }

type messageArgs struct {
	Action  string   `json:"action,omitempty" jsonschema:"send (default), reply, edit, delete, react, poll, or fetch (saves the file with an id)"`
	To      string   `json:"to,omitempty" jsonschema:"contact or CHANNEL:ID, default the current chat" alias:"target,chat_id,recipient,channel_id,chat,targets"`
	Text    string   `json:"text,omitempty" jsonschema:"Markdown, caption or poll question" alias:"message,message_text,content,caption,body,question,pollQuestion,initial_comment" maxlen:"102400"`
	File    string   `json:"file,omitempty" jsonschema:"path of a file to send" alias:"path,media,file_path,attachment"`
	Message string   `json:"message_id,omitempty" jsonschema:"message to answer, edit, delete or react to" alias:"message_ts,reply_to,replyTo"`
	Emoji   string   `json:"emoji,omitempty" jsonschema:"emoji to react with"`
	Options []string `json:"options,omitempty" jsonschema:"answers of a poll" alias:"pollOption,poll_options" maxitems:"20"`
	DryRun  bool     `json:"dry_run,omitempty" jsonschema:"only show the message"`

	Channel  string `json:"channel,omitempty" jsonschema:"channel of the id" alias:"account,accountId" hidden:"true"`
	Thread   string `json:"thread,omitempty" jsonschema:"topic or thread" alias:"thread_id,threadId,topic,message_thread_id,thread_ts" hidden:"true"`
	Name     string `json:"name,omitempty" jsonschema:"name of the file or topic" alias:"filename,title" hidden:"true"`
	Subject  string `json:"subject,omitempty" jsonschema:"subject of a mail" hidden:"true"`
	Voice    bool   `json:"voice,omitempty" jsonschema:"send the file as a voice message" alias:"asVoice,as_voice" hidden:"true"`
	Silent   bool   `json:"silent,omitempty" jsonschema:"without a notification" hidden:"true"`
	Plain    bool   `json:"plain,omitempty" jsonschema:"the text is not Markdown" hidden:"true"`
	Multiple bool   `json:"multiple,omitempty" jsonschema:"a poll with several answers" alias:"pollMulti" hidden:"true"`
	Remove   bool   `json:"remove,omitempty" jsonschema:"take the reaction back" hidden:"true"`
	Contact  string `json:"contact_id,omitempty" jsonschema:"contact, with to as one of its chats" hidden:"true"`
	Base64   string `json:"message_base64,omitempty" jsonschema:"an envelope in base64url" hidden:"true"`
	Session  string `json:"session_id,omitempty" jsonschema:"of the envelope" hidden:"true"`
	Type     string `json:"content_type,omitempty" jsonschema:"of the envelope, application/json" hidden:"true"`
	Big      bool   `json:"is_big,omitempty" jsonschema:"ignored" hidden:"true"`
	Color    int    `json:"icon_color,omitempty" jsonschema:"color of a topic, as RGB" min:"0" hidden:"true"`
	Icon     string `json:"icon_custom_emoji_id,omitempty" jsonschema:"icon of a topic" hidden:"true"`

	id string // of the envelope
}

func (message) Spec() tool.Spec {
	const onTelegram, onSlack = `{"channel":"telegram"}`, `{"channel":"slack"}`
	return tool.Spec{
		Name: "message", Group: Group, Title: "Message people", Risk: tool.Runs,
		Hints: tool.Hints{OpenWorld: true},
		Doc:   "Messages a person or chat. It is delivered even if the server restarts; failures come to your inbox.",
		Also: []string{
			"telegram_send_file", "telegram_send_photo", "telegram_send_voice", "slack_send_file", "message_react",
			"create_forum_topic", "contacts_send", "channel_send", "send_file", "send_message", "tool::channel_send",
		},
		Means: map[string]string{
			"telegram_send_file": onTelegram, "telegram_send_photo": onTelegram, "slack_send_file": onSlack,
			"telegram_send_voice": `{"channel":"telegram","voice":true}`, "message_react": `{"action":"react"}`,
			"create_forum_topic": `{"action":"topic","channel":"telegram"}`,
		},
		Bare:     "text",
		Keywords: services.Words() + " chat notify person send",
	}
}

// The actions beside the outbox's.
const (
	reply Action = "reply"
	poll  Action = "poll"
	topic Action = "topic"
)

// Prepare finds the chat, and rates the call: the first message to a chat needs an approval.
func (x message) Prepare(ctx context.Context, a messageArgs) (tool.Plan, error) {
	plan := tool.Plan{Risk: tool.Runs}
	if x.Outbox == nil || len(x.Outbox.Accounts.Names()) == 0 {
		return plan, tool.Errorf(tool.Unavailable, "there is no channel to send messages on").
			Try("an operator adds one to messaging.channels")
	}
	if Action(a.Action) == fetched {
		return x.saving(a)
	}
	a, err := a.mended()
	if err != nil {
		return plan, err
	}
	to, err := x.find(ctx, a)
	if err != nil {
		return plan, err
	}
	known, err := x.Targets.known(ctx, to)
	if err != nil {
		return plan, err
	}
	if err := x.checkOwn(ctx, a, to); err != nil {
		return plan, err
	}
	whom := to.String()
	if to.Contact != nil {
		whom += " (" + cmp.Or(to.Contact.Nickname, to.Contact.ID) + ")"
	}
	plan.Why = "it writes to " + whom + " in your name"
	switch {
	case a.DryRun:
		plan.Risk = tool.Reads
	case !known:
		plan.Ask = "the first message to " + whom
	case Action(a.Action) == Delete:
		plan.Risk, plan.Why = tool.Destroys, "it deletes a message in "+whom
	default:
		plan.Risk = tool.Writes
	}
	plan.Facts = func(ctx context.Context) (tool.Facts, error) { return x.facts(ctx, a, to) }
	plan.Run = func(ctx context.Context) (tool.Result, error) { return x.run(ctx, a, to) }
	return plan, nil
}

// checkOwn refuses to change messages that the caller has not sent. The account has sent others
// too, such as the questions to approvers: with another text, a person would approve a hidden
// call.
func (x message) checkOwn(ctx context.Context, a messageArgs, to Target) error {
	if action := Action(a.Action); action != Edit && action != Delete {
		return nil
	}
	owner, err := tool.OwnerFrom(ctx)
	if err != nil {
		return err
	}
	own, err := x.Outbox.SentBy(ctx, owner, to.Channel, chat.Ref{Chat: to.Chat, ID: a.Message})
	if err != nil || own {
		return err
	}
	return tool.Errorf(tool.NotFound, "you have sent no message %q to %s in the last week",
		text.Clip(a.Message, 100), to).Try("edit and delete only messages of your own, or send a new one")
}

// facts returns the facts that an approval covers beside the arguments.
func (x message) facts(ctx context.Context, a messageArgs, to Target) (tool.Facts, error) {
	facts := tool.Facts{"to": to.String()}
	if a.File == "" {
		return facts, nil
	}
	f, err := x.Files.Open(ctx, a.File)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	facts["file"] = fmt.Sprintf("%s, %s, %s", f.Name, text.Bytes(f.Size), f.Modified.UTC().Format(time.RFC3339Nano))
	return facts, nil
}

func (x message) find(ctx context.Context, a messageArgs) (Target, error) {
	channel := a.Channel
	if same := x.Targets.named(channel); x.Targets.Accounts.Kind(channel) == "" && len(same) > 0 {
		channel = same[0]
		if current := tool.CallerFrom(ctx).Channel; slices.Contains(same, current) {
			channel = current
		}
	}
	if a.Contact == "" {
		return x.Targets.find(ctx, a.To, channel, a.Thread, "")
	}
	c := tool.CallerFrom(ctx)
	if c.PeerKind == "group" {
		return Target{}, tool.Errorf(tool.Refused, "contacts cannot be written to from a group chat").
			Try("answer in the group, or do it in a direct chat")
	}
	to, err := x.Targets.find(ctx, a.Contact, channel, a.Thread, a.To)
	if err == nil && to.Current {
		return to, tool.Errorf(tool.Refused, "you are talking with %s in this chat", a.Contact).Try("answer here")
	}
	return to, err
}

// media begins a text that names a file, in other systems.
const media = "MEDIA:"

// mended returns a with the arguments that other systems write in other places.
func (a messageArgs) mended() (messageArgs, error) {
	if path, ok := strings.CutPrefix(strings.TrimSpace(a.Text), media); ok && a.File == "" {
		path, rest, _ := strings.Cut(path, "\n")
		a.File, a.Text = strings.TrimSpace(path), strings.TrimSpace(rest)
		if a.File == "" {
			return a, tool.Errorf(tool.Invalid, "the text is %s without a path", media).Try("set file to the path")
		}
	}
	a.File = strings.TrimPrefix(a.File, media)
	if a.Type != "" && a.Type != "application/json" {
		return a, tool.Errorf(tool.Invalid, "content_type is %q", text.Clip(a.Type, 50)).
			Try("leave it out, or send application/json")
	}
	if a.Base64 != "" {
		if err := a.unwrap(); err != nil {
			return a, err
		}
	}
	if a.Action == "" || a.Action == "broadcast" {
		a.Action = string(Send)
	}
	if Action(a.Action) == Send && len(a.Options) > 0 {
		a.Action = string(poll)
	}
	lacks := func(name, value string) error {
		if value != "" {
			return nil
		}
		return tool.Errorf(tool.Invalid, "%s is required for action %s", name, a.Action).Try("add it")
	}
	switch Action(a.Action) {
	case Send, reply:
		err := error(nil)
		if Action(a.Action) == reply {
			err = lacks("message_id", a.Message)
		}
		if strings.TrimSpace(a.Text) == "" && a.File == "" {
			err = cmp.Or(err, lacks("text or file", ""))
		}
		return a, err
	case Edit:
		return a, errors.Join(lacks("message_id", a.Message), lacks("text", strings.TrimSpace(a.Text)))
	case Delete, "unsend":
		a.Action = string(Delete)
		return a, lacks("message_id", a.Message)
	case React:
		return a, errors.Join(lacks("message_id", a.Message), lacks("emoji", a.Emoji))
	case poll:
		if len(a.Options) < 2 {
			return a, tool.Errorf(tool.Invalid, "a poll has at least two options").Try("set options")
		}
		return a, lacks("text", a.Text)
	case topic:
		a.Name = cmp.Or(a.Name, a.Text)
		if len(a.Name) > 128 {
			return a, tool.Errorf(tool.Invalid, "the name of a topic has at most 128 bytes").Try("shorten it")
		}
		return a, lacks("name", a.Name)
	}
	return a, tool.Errorf(tool.Invalid, "action is %q", text.Clip(a.Action, 50)).
		Try("use send, reply, edit, delete, react, poll or fetch")
}

// An envelope is a message as other systems pass it between agents.
type envelope struct {
	ID      string `json:"message_id"`
	Text    string `json:"text"`
	SentAt  string `json:"sent_at"`
	Session string `json:"session_id"`
	ReplyTo string `json:"reply_to"`
}

// unwrap takes the message out of its envelope.
func (a *messageArgs) unwrap() error {
	var e envelope
	content, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(a.Base64), "="))
	if err == nil {
		err = json.Unmarshal(content, &e)
	}
	if _, at := time.Parse(time.RFC3339, e.SentAt); err != nil || e.ID == "" || e.Text == "" || at != nil {
		return tool.Errorf(tool.Invalid, "message_base64 is not an envelope").
			Try("send base64url of JSON with message_id, text and sent_at in RFC 3339, or use text")
	}
	a.Text, a.Message, a.id = e.Text, cmp.Or(a.Message, e.ReplyTo), e.ID
	return nil
}

// sendWait is how long a call waits until its message was sent.
const sendWait = 20 * time.Second

func (x message) run(ctx context.Context, a messageArgs, to Target) (tool.Result, error) {
	owner, err := tool.OwnerFrom(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	if Action(a.Action) == topic {
		return x.openTopic(ctx, a, to, owner)
	}
	p := x.post(ctx, a, to)
	if err := x.able(p); err != nil {
		return tool.Result{}, err
	}
	var notes []string
	if a.File != "" {
		f, from, masked, err := x.open(ctx, a.File, a.Name)
		if err != nil {
			return tool.Result{}, err
		}
		defer from.Close()
		if masked {
			notes = append(notes, "Secrets in the file are masked.")
		}
		f.Voice = a.Voice
		p.Files = []chat.File{f}
	}
	if a.DryRun {
		items, err := x.Outbox.items(p)
		if err != nil {
			return tool.Result{}, err
		}
		said := fmt.Sprintf("Nothing was sent. This would go to %s in %s:", to, text.Plural(len(items), "message"))
		for _, it := range items {
			said += "\n" + text.Clip(it.summary(), maxSummary)
		}
		return tool.Text(said + strings.Join(append([]string{""}, notes...), "\n")), nil
	}
	var id string
	var added bool
	err = x.Outbox.Store.Update(ctx, func(t *store.Tx) error {
		if id, added, err = x.Outbox.Put(t, p); err != nil {
			return err
		}
		return remember(t, owner, to)
	})
	if err != nil {
		return tool.Result{}, err
	}
	if !added {
		notes = append(notes, "It was sent before, so it is not sent again.")
	}
	r, err := x.Outbox.Settled(ctx, id, sendWait)
	if err != nil {
		return tool.Result{}, fmt.Errorf("the message is accepted, but not how far it is: %w", err)
	}
	return r.result(Action(a.Action), to, notes)
}

// result describes a post to its sender.
func (r Report) result(action Action, to Target, notes []string) (tool.Result, error) {
	if r.State == Failed {
		e := tool.Errorf(tool.Unavailable, "the message to %s was not delivered: %s", to, r.Problem)
		if len(r.Refs) > 0 {
			e = tool.Errorf(tool.Unavailable, "only %s of the message to %s were delivered: %s",
				text.Plural(len(r.Refs), "part"), to, r.Problem)
		}
		return tool.Result{}, e.Try("tell the user, or write to another chat")
	}
	if r.State != Sent {
		why := ""
		if r.Problem != "" {
			why = " (" + r.Problem + ")"
		}
		return tool.Textf("The message %s to %s is accepted and not sent yet%s. "+
			"It is tried for a day; a failure comes to your inbox.", r.ID, to, why), nil
	}
	said := map[Action]string{Edit: "Edited", Delete: "Deleted", React: "Reacted"}[action]
	said = cmp.Or(said, "Sent to "+to.String())
	if to.Contact != nil && to.Contact.Nickname != "" {
		said += " (" + to.Contact.Nickname + ")"
	}
	var ids []string
	for _, at := range r.Refs {
		ids = append(ids, at.ID)
	}
	if len(ids) > 0 && action != Edit {
		said += ", message " + strings.Join(ids, ", ")
	}
	return tool.Text(strings.Join(append([]string{said + "."}, append(r.Notes, notes...)...), "\n")), nil
}

// post returns the message of a call, without its file.
func (x message) post(ctx context.Context, a messageArgs, to Target) Post {
	p := Post{
		Channel: to.Channel, Action: Action(a.Action), Emoji: a.Emoji, Remove: a.Remove,
		Message: chat.Message{
			Chat: to.Chat, Thread: to.Thread, Subject: x.Scrub(a.Subject), Text: a.Text, Plain: a.Plain,
			Silent: a.Silent,
		},
		Sender: inbox.ToCaller(tool.CallerFrom(ctx)),
	}
	if a.id != "" {
		p.Once = strings.Join([]string{"envelope", p.Sender.String(), to.String(), a.id}, "\n")
	}
	if to.Contact != nil {
		p.Contact = to.Contact.ID
	}
	switch p.Action {
	case Edit, Delete, React:
		p.At = chat.Ref{Chat: to.Chat, Thread: to.Thread, ID: a.Message}
		return p
	case poll:
		p.Message.Poll = &chat.Poll{Question: x.Scrub(a.Text), Multiple: a.Multiple}
		for _, option := range a.Options {
			p.Message.Poll.Options = append(p.Message.Poll.Options, x.Scrub(option))
		}
		p.Message.Text = ""
	}
	p.Action, p.Message.ReplyTo = Send, a.Message
	return p
}

// able refuses actions that the channel does not have.
func (x message) able(p Post) error {
	c, err := x.Outbox.Accounts.Channel(p.Channel)
	if err != nil {
		return err
	}
	ok, what := true, string(p.Action)
	switch p.Action {
	case Edit:
		_, ok = c.(chat.Editor)
	case Delete:
		_, ok = c.(chat.Deleter)
	case React:
		_, ok = c.(chat.Reactor)
	}
	if p.Message.Poll != nil {
		ok, what = c.Abilities().Polls, "poll"
	}
	if !ok {
		return tool.Errorf(tool.Invalid, "%s has no action %s", x.Outbox.Accounts.Kind(p.Channel), what).
			Try("send a message instead")
	}
	return nil
}

// openTopic opens a topic in a chat. It is not a message, so it does not go through the outbox.
func (x message) openTopic(ctx context.Context, a messageArgs, to Target, owner tool.Owner) (tool.Result, error) {
	c, err := x.Outbox.Accounts.Channel(to.Channel)
	if err != nil {
		return tool.Result{}, err
	}
	maker, ok := c.(chat.TopicMaker)
	if !ok {
		return tool.Result{}, tool.Errorf(tool.Invalid, "%s has no topics that can be opened",
			x.Outbox.Accounts.Kind(to.Channel)).Try("send a message to the chat")
	}
	name := x.Scrub(a.Name)
	if a.DryRun {
		return tool.Textf("Nothing was done. This would open the topic %q in %s.", name, to), nil
	}
	if err := x.Outbox.Store.Update(ctx, func(t *store.Tx) error { return remember(t, owner, to) }); err != nil {
		return tool.Result{}, err
	}
	thread, err := maker.CreateTopic(ctx, to.Chat, chat.NewTopic{Name: name, Color: a.Color, Icon: a.Icon})
	if e := (*chat.Error)(nil); errors.As(err, &e) {
		return tool.Result{}, tool.Errorf(tool.Unavailable, "the topic was not opened: %s", e).
			Try("check that the chat has topics and that the bot may open them")
	} else if err != nil {
		return tool.Result{}, err
	}
	to.Thread = thread
	return tool.Textf("The topic %q is open. Write to it as %s.", name, to), nil
}
