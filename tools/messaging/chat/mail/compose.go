package mail

import (
	"bytes"
	"cmp"
	"mime"
	"net/mail"
	"path"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"github.com/mcp-tools/mcp-tools/internal/markdown"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire"
)

const (
	maxSubject = 200
	maxName    = 120
)

// A letter is a mail to be sent.
type letter struct {
	to         *mail.Address
	id, thread string
	raw        bytes.Buffer // the whole mail
	notes      []string
}

// compose makes a letter of a message. Nothing of the message can add a field to the header.
func (c *Channel) compose(m chat.Message) (*letter, error) {
	to, err := parseAddress(m.Chat)
	if err != nil {
		return nil, &chat.Error{Kind: chat.Refused, Text: err.Error()}
	}
	if m.Poll != nil {
		return nil, &chat.Error{Kind: chat.Cannot, Text: "mails have no polls"}
	}
	l := &letter{to: to, id: c.id(m.Key)}
	if len(m.Buttons) > 0 {
		l.notes = append(l.notes, "Mails have no buttons.")
	}
	out := gomail.NewMsg(gomail.WithCharset("utf-8"), gomail.WithNoDefaultUserAgent())
	out.SetBodyString(gomail.TypeTextPlain, m.Text)
	if !m.Plain {
		out.AddAlternativeString(gomail.TypeTextHTML, page(m.Text))
	}
	name := ""
	if m.File != nil {
		data, err := wire.ReadFile(m.File, maxFile)
		if err != nil {
			return nil, err
		}
		name = cmp.Or(chat.CleanName(path.Base(m.File.Name), maxName), "file")
		kind, _, err := mime.ParseMediaType(m.File.MIME)
		if err != nil || !strings.Contains(kind, "/") {
			kind = "application/octet-stream"
		}
		out.AttachReadSeeker(name, bytes.NewReader(data), func(f *gomail.File) {
			// The library would write the name in encoded words; RFC 2047 forbids them in these
			// fields.
			f.Header.Set("Content-Type", mime.FormatMediaType(kind, map[string]string{"name": name}))
			f.Header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
		})
	}
	subject := chat.CleanName(m.Subject, maxSubject)
	if subject == "" {
		line, _, _ := strings.Cut(strings.TrimSpace(markdown.Plain(m.Text)), "\n")
		subject = cmp.Or(chat.CleanName(line, 78), name, "(no subject)")
	}
	out.FromMailAddress(c.from)
	out.ToMailAddress(to)
	out.Subject(subject)
	out.SetDateWithValue(c.a.Time())
	out.SetMessageIDWithValue(l.id)
	automatic := "auto-generated"
	l.thread = l.id
	if isID(m.Thread) {
		l.thread = m.Thread
	}
	if isID(m.ReplyTo) {
		automatic = "auto-replied"
		out.SetGenHeader(gomail.HeaderInReplyTo, "<"+m.ReplyTo+">")
		if l.thread == l.id {
			l.thread = m.ReplyTo
		}
	}
	if l.thread != l.id {
		references := "<" + l.thread + ">"
		if isID(m.ReplyTo) && m.ReplyTo != l.thread {
			references += " <" + m.ReplyTo + ">"
		}
		out.SetGenHeader(gomail.HeaderReferences, references)
	}
	out.SetGenHeader("Auto-Submitted", automatic) // so that programs that answer mails do not answer this one
	if _, err := out.WriteTo(&l.raw); err != nil {
		return nil, &chat.Error{Kind: chat.Refused, Text: "the mail cannot be written", Cause: err}
	}
	return l, nil
}

// isID reports whether s can be a Message-ID without its brackets.
func isID(s string) bool {
	return s != "" && len(s) <= 250 && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || r == '<' || r == '>'
	})
}
