package inbound

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/ask"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/questions"
)

// asked is an approval or a question that was sent to an approver.
type asked struct {
	ID       string
	Kind     string
	About    string // the id of the approval or question
	Approver string
	Code     string // the code for an answer in text
	Secret   string // signs its buttons
	State    string // open or closed
	askedBody
}

type askedBody struct {
	Head    string // the first line
	Text    string
	Choices []choice
	Free    bool // any text is an answer
	At      []Place
}

// A choice is one of the answers.
type choice struct{ Label, Value string }

const askedColumns = "id, kind, about, approver, code, secret, state, body"

func scanAsked(scan store.Scan) (q asked, err error) {
	var body string
	if err := scan(&q.ID, &q.Kind, &q.About, &q.Approver, &q.Code, &q.Secret, &q.State, &body); err != nil {
		return q, err
	}
	return q, json.Unmarshal([]byte(body), &q.askedBody)
}

// once names the post to the place with a number.
func (q asked) once(place int) string { return fmt.Sprintf("chat question %s %d", q.ID, place) }

// ask sends approvals and questions to approvers, and edits the messages when they end, until
// ctx ends. Every process with settings for it does; each question is sent once.
func (b *Inbound) ask(ctx context.Context) {
	b.Store.Work(ctx, "approvers could not be asked yet", b.reconcile, ask.Topic)
}

// reconcile makes the messages agree with the open questions, and returns the time of the next
// look.
func (b *Inbound) reconcile(ctx context.Context) (next time.Duration, err error) {
	open, err := ask.List(ctx, b.Store, "")
	if err != nil {
		return 0, err
	}
	sent := map[string]bool{} // whether the messages about a question are edited when it ends
	if _, err := store.Select(ctx, b.Store, `SELECT about, max(CASE WHEN state = 'open' THEN 1 ELSE 0 END)
		FROM chat_question GROUP BY about`, nil, func(scan store.Scan) (waits int, err error) {
		var about string
		err = scan(&about, &waits)
		sent[about] = waits > 0
		return waits, err
	}); err != nil {
		return 0, err
	}
	for _, q := range open {
		_, known := sent[q.ID]
		delete(sent, q.ID)
		if known {
			continue
		}
		if err := b.askPeople(ctx, q); err != nil {
			return 0, err
		}
	}
	for about, waits := range sent {
		if !waits {
			continue
		}
		if err := b.Store.Update(ctx, func(t *store.Tx) error { return b.closeAbout(t, about) }); err != nil {
			return 0, err
		}
	}
	return b.Store.Due(ctx, `SELECT expires - {{now}} FROM chat_question WHERE state = 'open' AND expires > 0
		ORDER BY expires LIMIT 1`)
}

// askPeople sends an approval or a question.
func (b *Inbound) askPeople(ctx context.Context, row ask.Question) error {
	if row.Kind == ask.OfAgent {
		return b.askQuestion(ctx, row)
	}
	q, err := approvals.Decode(row)
	if err != nil { // it cannot be approved
		return nil
	}
	return b.askApproval(ctx, q)
}

func (b *Inbound) askApproval(ctx context.Context, q approvals.Question) error {
	until := q.Expires.UTC().Format(time.TimeOnly) + " UTC"
	shown := q.Show()
	body := askedBody{
		Head:    shown.Head(),
		Text:    fmt.Sprintf("%s\nAn approval is needed until %s.\n\n%s", shown.Effect(), until, shown.DetailText()),
		Choices: []choice{{"Allow once", approvals.ChoiceAllow}, {"Deny", approvals.ChoiceDeny}},
	}
	if !q.Once {
		body.Choices = append(body.Choices, choice{"Allow in this session", approvals.ChoiceSession})
	}
	return b.sendQuestion(ctx, asked{Kind: ask.Approval, About: q.ID, askedBody: body}, q.Expires, Event{
		Kind: ApprovalOpen, Agent: q.Agent, Key: q.ID,
		Text: fmt.Sprintf("An approval is needed until %s, of agent %q: %s. mcp-tools approvals show %s", until, q.Agent,
			text.Clip(shown.Head(), 200), q.ID),
	})
}

func (b *Inbound) askQuestion(ctx context.Context, q ask.Question) error {
	body := askedBody{
		Head: fmt.Sprintf("The agent %q asks (user %q):", tool.Visible(q.Agent), tool.Visible(q.User)),
		Text: tool.Visible(q.Body), Free: true,
	}
	for _, o := range q.Choices {
		body.Choices = append(body.Choices, choice{tool.Visible(strings.Join(strings.Fields(o), " ")), o})
	}
	return b.sendQuestion(ctx, asked{Kind: ask.OfAgent, About: q.ID, askedBody: body}, time.Time{}, Event{
		Kind: QuestionOpen, Agent: q.Agent, Key: q.ID,
		Text: fmt.Sprintf("The agent %q asks: %s. mcp-tools questions answer %s TEXT", q.Agent, text.Clip(q.Body, 200),
			q.ID),
	})
}

// sendQuestion sends a question to each approver, and applies the rules of notices.
func (b *Inbound) sendQuestion(ctx context.Context, q asked, expires time.Time, e Event) error {
	return b.Store.Update(ctx, func(t *store.Tx) error {
		first, err := b.addQuestion(t, asked{Kind: q.Kind, About: q.About, State: "closed"}, time.Time{})
		if err != nil || !first {
			return err
		}
		if err := b.Tell(t, e); err != nil {
			return err
		}
		for _, who := range b.Approvers {
			one := q
			one.ID = ask.NewID()
			one.Approver, one.State, one.Code, one.Secret = who.Name, "open", newCode(), rand.Text()
			b.choosePlaces(&one, who)
			if _, err := b.addQuestion(t, one, expires); err != nil {
				return err
			}
			if len(one.At) == 0 {
				b.Log.Warn("an approver cannot be reached: no channel of theirs can be used", "approver", who.Name)
				continue
			}
			var posts []messaging.Post
			for i, p := range one.At {
				c, _ := b.channel(p.Channel)
				posts = append(posts, messaging.Post{
					Channel: p.Channel, Message: one.message(c.Abilities(), p), Once: one.once(i),
				})
			}
			if err := b.putChain(t, posts, time.Now(), expires); err != nil {
				return err
			}
		}
		return nil
	})
}

// choosePlaces sets where an approver is asked: in the chats of channels that can be used and
// show all of the question. If none does, a call can only be denied.
func (b *Inbound) choosePlaces(q *asked, who Approver) {
	var all []Place
	for _, p := range who.At {
		c, ok := b.channel(p.Channel)
		if !ok {
			continue
		}
		all = append(all, p)
		if !tooLong(c, q.message(c.Abilities(), p).Text) {
			q.At = append(q.At, p)
		}
	}
	if len(q.At) > 0 || len(all) == 0 {
		return
	}
	q.At, q.Head = all, text.Clip(q.Head, maxShort)
	if q.Kind == ask.OfAgent {
		q.Text = text.Clip(q.Text, maxShort)
		q.Choices = nil
		return
	}
	q.Text = "The call is too long to be shown here, so it can only be denied here. To read it: " +
		"mcp-tools approvals show " + q.About
	q.Choices = []choice{{"Deny", approvals.ChoiceDeny}}
}

const (
	maxShort   = 300 // bytes of a question that is too long for every chat
	maxSubject = 150 // bytes of the subject of a question
)

func (b *Inbound) addQuestion(t *store.Tx, q asked, expires time.Time) (added bool, err error) {
	if q.ID == "" {
		q.ID = ask.NewID()
	}
	body, err := json.Marshal(q.askedBody)
	if err != nil {
		return false, err
	}
	n, err := t.Exec(`INSERT INTO chat_question (id, kind, about, approver, code, secret, body, state, expires, at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, {{now}}) ON CONFLICT (about, approver) DO NOTHING`, q.ID, q.Kind,
		q.About, q.Approver, q.Code, q.Secret, string(body), q.State, store.Millis(expires))
	return n > 0, err
}

// maxButtons is how many buttons a question has at most; with more choices it has numbers.
const maxButtons = 5

// message writes a question for a channel, as plain text.
func (q asked) message(can chat.Abilities, at Place) chat.Message {
	m := chat.Message{Chat: at.Chat, Thread: at.Thread, Plain: true, Subject: text.Clip(q.Head, maxSubject)}
	m.Text = q.Head + "\n\n" + q.Text + "\n\n"
	if can.Buttons && len(q.Choices) > 0 && len(q.Choices) <= maxButtons {
		for i, c := range q.Choices {
			m.Buttons = append(m.Buttons, chat.Button{Label: text.Clip(c.Label, 40), Data: q.token(i)})
		}
		m.Text += "Press a button"
		if q.Free {
			m.Text += ", or reply to this message"
		}
		m.Text += "."
		return m
	}
	what := "the answer"
	for i, c := range q.Choices {
		m.Text += fmt.Sprintf("%d  %s\n", i+1, c.Label)
		what = "a number"
	}
	if q.Free && len(q.Choices) > 0 {
		what = "a number or another answer"
	}
	m.Text += fmt.Sprintf("Answer with this code and %s: %s ...", what, q.Code)
	return m
}

// markLen is the most that the outbox adds to a message that it sends again.
const markLen = 100

func tooLong(c chat.Channel, words string) bool {
	most := c.Abilities().MaxText
	return most > 0 && len(utf16.Encode([]rune(chat.Escape(c, words)))) > most-markLen
}

// token returns the data of the button of a choice: it names the question and the choice, and
// only a holder of the secret can make it.
func (q asked) token(choice int) string {
	named := q.ID + "." + strconv.Itoa(choice)
	sum := hmac.New(sha256.New, []byte(q.Secret))
	sum.Write([]byte(named))
	return named + "." + base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:16])
}

// open returns the question of a token, and the choice.
func (b *Inbound) open(t *store.Tx, token string) (q asked, choice int, ok bool, err error) {
	id, rest, _ := strings.Cut(token, ".")
	number, _, _ := strings.Cut(rest, ".")
	choice, bad := strconv.Atoi(number)
	if bad != nil || choice < 0 {
		return q, 0, false, nil
	}
	list, err := store.List(t, "SELECT "+askedColumns+" FROM chat_question WHERE id = $1 AND approver <> ''", []any{id},
		scanAsked)
	if err != nil || len(list) == 0 || choice >= len(list[0].Choices) {
		return q, 0, false, err
	}
	return list[0], choice, hmac.Equal([]byte(list[0].token(choice)), []byte(token)), nil
}

// approver returns the approver who wrote the message or pressed the button, by the service's
// id.
func (b *Inbound) approver(channel string, in chat.Incoming) (name string, ok bool) {
	if in.Group && in.From.ID == in.Message.Chat { // anonymously, in the name of the group
		return "", false
	}
	same := func(a, b string) bool { return a == b }
	if b.Accounts.Service(channel).AnyCase {
		same = strings.EqualFold
	}
	for _, who := range b.Approvers {
		for _, p := range who.At {
			if p.Channel == channel && same(p.Chat, in.From.ID) {
				return who.Name, true
			}
		}
	}
	return "", false
}

// pressed handles a pressed button.
func (b *Inbound) pressed(t *store.Tx, channel string, in chat.Incoming) (after, error) {
	q, choice, ok, err := b.open(t, in.Pressed)
	if err != nil {
		return after{}, err
	}
	if !ok {
		return after{in: in, shown: "This button is not valid any more."}, nil
	}
	who, listed := b.approver(channel, in)
	if !listed {
		return b.outsider(channel, in, q), nil
	}
	shown, record, err := b.decide(t, q, who, channel, q.Choices[choice].Value, "")
	return after{in, shown, record}, err
}

// outsider returns the response to a person without the right to answer.
func (b *Inbound) outsider(channel string, in chat.Incoming, q asked) after {
	return after{in, "You may not answer this.", &Record{
		Person: channel + ":" + text.Clip(in.From.ID, maxName), Channel: channel, Action: "answer " + q.Kind,
		About:   q.About,
		Outcome: "refused", Why: "not an approver",
	}}
}

// written handles a text that answers a question: by the code at its beginning, or as a reply
// to the question. is reports whether the text is an answer.
func (b *Inbound) written(t *store.Tx, channel string, in chat.Incoming) (a after, is bool, err error) {
	who, listed := b.approver(channel, in)
	if !listed {
		return after{}, false, nil
	}
	first, rest, _ := strings.Cut(strings.TrimSpace(in.Text), " ")
	if line, more, found := strings.Cut(first, "\n"); found {
		first, rest = line, more+" "+rest
	}
	var q asked
	if first = strings.ToLower(first); len(first) == codeLen {
		list, err := store.List(t, "SELECT "+askedColumns+" FROM chat_question WHERE code = $1 AND approver = $2",
			[]any{first, who}, scanAsked)
		if err != nil {
			return after{}, false, err
		}
		if len(list) > 0 {
			q = list[0]
		}
	}
	if q.ID == "" { // the headers of a mail prove nothing, its code does
		if in.ReplyTo == "" || b.Accounts.Service(channel).Forgeable {
			return after{}, false, nil
		}
		if q, err = b.repliedTo(t, channel, in, who); err != nil || q.ID == "" {
			return after{}, false, err
		}
		rest = in.Text
	}
	value, reason, ok := q.read(strings.TrimSpace(rest))
	shown, record := "This is not one of the answers.", (*Record)(nil)
	if ok {
		shown, record, err = b.decide(t, q, who, channel, value, reason)
	}
	if err != nil || record != nil && record.Outcome == "ok" { // the edited question is the response
		return after{in, "", record}, true, err
	}
	_, _, err = b.Outbox.Put(t, messaging.Post{Channel: channel, Message: chat.Message{
		Chat: in.Message.Chat, Thread: in.Message.Thread, ReplyTo: in.Message.ID, Plain: true, Text: shown,
		Subject: "Re: " + in.Title,
	}})
	return after{in, "", record}, true, err
}

// repliedTo returns the question that a message replies to.
func (b *Inbound) repliedTo(t *store.Tx, channel string, in chat.Incoming, who string) (asked, error) {
	list, err := store.List(t, "SELECT "+askedColumns+
		" FROM chat_question WHERE approver = $1 ORDER BY at DESC LIMIT 50",
		[]any{who}, scanAsked)
	if err != nil {
		return asked{}, err
	}
	for _, q := range list {
		for i, p := range q.At {
			if p.Channel != channel {
				continue
			}
			report, err := messaging.ReportOnce(t, q.once(i))
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return asked{}, err
			}
			for _, ref := range report.Refs {
				if ref.ID == in.ReplyTo && ref.Chat == in.Message.Chat {
					return q, nil
				}
			}
		}
	}
	return asked{}, nil
}

// read reads an answer in text: a number or a word, and for a denial a reason.
func (q asked) read(words string) (value, reason string, ok bool) {
	first, rest, _ := strings.Cut(words, " ")
	first = strings.ToLower(strings.Trim(first, ".,!"))
	if n, err := strconv.Atoi(first); err == nil && n >= 1 && n <= len(q.Choices) {
		return q.Choices[n-1].Value, strings.TrimSpace(rest), true
	}
	if q.Kind == ask.Approval {
		for _, c := range q.Choices {
			if first == c.Value || strings.EqualFold(words, c.Label) || first == "no" &&
				c.Value == approvals.ChoiceDeny ||
				first == "yes" && c.Value == approvals.ChoiceAllow {
				return c.Value, strings.TrimSpace(rest), true
			}
		}
	}
	return words, "", q.Free && words != ""
}

// decide answers an approval or a question for an approver. shown is the text about the
// outcome; an error asks for another attempt.
func (b *Inbound) decide(t *store.Tx, q asked, who, channel, value, reason string) (shown string, record *Record,
	err error) {
	record = &Record{Person: who, Channel: channel, Action: "answer " + q.Kind, About: q.About, Outcome: "ok"}
	if q.Kind == ask.Approval {
		answer := approvals.Answer{Reason: reason}
		if answer.Allow, answer.Scope, err = approvals.ParseChoice(value); err == nil {
			_, err = b.Approvals.AnswerIn(t, q.About, answer, approvals.Approver{Name: who, Channel: channel})
		}
	} else {
		err = questions.Answer(t, q.About, value, who+" ("+channel+")")
	}
	switch {
	case err == nil:
		shown = "Your answer counts."
	case errors.Is(err, approvals.ErrUnknown), errors.Is(err, approvals.ErrAnswered),
		errors.Is(err, approvals.ErrExpired), errors.Is(err, approvals.ErrEdited),
		errors.Is(err, questions.ErrNotOpen), errors.As(err, new(approvals.RuleError)):
		shown, record.Outcome, record.Why = text.Clip(capital(err.Error())+".", 190), "refused", err.Error()
	default:
		return "", nil, err
	}
	return shown, record, b.closeAbout(t, q.About)
}

func capital(words string) string { return strings.ToUpper(words[:1]) + words[1:] }

// closeAbout closes the messages about an approval or question, if it is no longer open: the
// messages are edited to show the outcome, in all chats.
func (b *Inbound) closeAbout(t *store.Tx, about string) error {
	list, err := store.List(t, "SELECT "+askedColumns+
		" FROM chat_question WHERE about = $1 AND state = 'open' {{lock}}",
		[]any{about}, scanAsked)
	if err != nil || len(list) == 0 {
		return err
	}
	outcome, err := b.outcome(t, list[0])
	if err != nil || outcome == "" {
		return err
	}
	for _, q := range list {
		if _, err := t.Exec("UPDATE chat_question SET state = 'closed', at = {{now}} WHERE id = $1", q.ID); err != nil {
			return err
		}
		for i, p := range q.At {
			c, ok := b.channel(p.Channel)
			if !ok {
				continue
			}
			sent, err := messaging.ReportOnce(t, q.once(i))
			if errors.Is(err, store.ErrNotFound) || err == nil && sent.State == messaging.Failed {
				continue
			}
			if err != nil {
				return err
			}
			m := chat.Message{
				Chat: p.Chat, Thread: p.Thread, Plain: true, Subject: text.Clip(q.Head, maxSubject),
				Text: q.Head + "\n\n" + q.Text + "\n\n" + outcome,
			}
			if tooLong(c, m.Text) {
				m.Text = q.Head + "\n\n" + outcome
			}
			alone := m
			alone.Text = q.Head + "\n\n" + text.Clip(q.Text, 200) + "\n\n" + outcome
			post := messaging.Post{Channel: p.Channel, Message: alone}
			if _, can := c.(chat.Editor); can {
				post = messaging.Post{
					Channel: p.Channel, Action: messaging.Edit, Of: sent.ID, Message: m, Else: []messaging.Post{post},
				}
			}
			if _, _, err := b.Outbox.Put(t, post); err != nil {
				return err
			}
		}
	}
	return nil
}

// outcome returns the outcome of an approval or question, "" if it is open.
func (b *Inbound) outcome(t *store.Tx, q asked) (string, error) {
	row, err := ask.Get(t, q.About)
	switch {
	case errors.Is(err, ask.ErrUnknown) && q.Kind == ask.OfAgent:
		return "The agent no longer asks.", nil
	case errors.Is(err, ask.ErrUnknown):
		return "The call no longer waits.", nil
	case err != nil || row.State == ask.Open:
		return "", err
	case row.State == ask.Expired:
		return "There was no answer in time.", nil
	case q.Kind == ask.OfAgent:
		return fmt.Sprintf("Answered by %s: %s", tool.Visible(row.By), text.Clip(tool.Visible(row.Answer), 500)), nil
	}
	one, err := approvals.Decode(row)
	if err != nil {
		return "", err
	}
	words := "Denied"
	if one.Decision.Allow {
		words = "Allowed"
		if one.Decision.Scope != approvals.Once {
			words += " (" + string(one.Decision.Scope) + ")"
		}
	}
	words += fmt.Sprintf(" by %s at %s UTC", tool.Visible(strings.Trim(one.Decision.Channel+" "+one.Decision.By, " ")),
		one.Decision.At.UTC().Format(time.TimeOnly))
	if one.Decision.Reason != "" {
		words += ": " + text.Clip(tool.Visible(one.Decision.Reason), 300)
	}
	return words + ".", nil
}
