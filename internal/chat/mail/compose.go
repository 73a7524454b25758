package mail

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"path"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/chat"
	"github.com/mcp-tools/mcp-tools/internal/markdown"
)

const (
	maxSubject = 200
	maxName    = 120
)

// A letter is a mail to be sent.
type letter struct {
	to         *mail.Address
	id, thread string
	header     []string
	text, html string // html may be ""
	fileName   string
	fileType   string
	file       []byte // nil for none
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
	l := &letter{to: to, id: c.id(m.Key), text: m.Text}
	if !m.Plain {
		l.html = page(m.Text)
	}
	if len(m.Buttons) > 0 {
		l.notes = append(l.notes, "Mails have no buttons.")
	}
	if m.File != nil {
		if l.file, err = readFile(m.File, maxFile); err != nil {
			return nil, err
		}
		l.fileName = cmp.Or(chat.CleanName(path.Base(m.File.Name), maxName), "file")
		if l.fileType, _, err = mime.ParseMediaType(m.File.MIME); err != nil || !strings.Contains(l.fileType, "/") {
			l.fileType = "application/octet-stream"
		}
	}
	subject := chat.CleanName(m.Subject, maxSubject)
	if subject == "" {
		line, _, _ := strings.Cut(strings.TrimSpace(markdown.Plain(m.Text)), "\n")
		subject = cmp.Or(chat.CleanName(line, 78), l.fileName, "(no subject)")
	}
	automatic := "auto-generated"
	l.add("From", c.from.String())
	l.add("To", to.String())
	l.add("Subject", mime.QEncoding.Encode("utf-8", subject))
	l.add("Date", c.o.Now().Format(time.RFC1123Z))
	l.add("Message-ID", "<"+l.id+">")
	l.thread = l.id
	if isID(m.Thread) {
		l.thread = m.Thread
	}
	if isID(m.ReplyTo) {
		automatic = "auto-replied"
		l.add("In-Reply-To", "<"+m.ReplyTo+">")
		if l.thread == l.id {
			l.thread = m.ReplyTo
		}
	}
	if l.thread != l.id {
		references := "<" + l.thread + ">"
		if isID(m.ReplyTo) && m.ReplyTo != l.thread {
			references += " <" + m.ReplyTo + ">"
		}
		l.add("References", references)
	}
	l.add("Auto-Submitted", automatic) // so that programs that answer mails do not answer this one
	l.add("MIME-Version", "1.0")
	return l, nil
}

func (l *letter) add(name, value string) { l.header = append(l.header, name+": "+value) }

// isID reports whether s can be a Message-ID without its brackets.
func isID(s string) bool {
	return s != "" && len(s) <= 250 && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || r == '<' || r == '>'
	})
}

// size returns about how many bytes the mail has.
func (l *letter) size() int64 {
	return int64(len(l.text)+len(l.html))*5/4 + int64(len(l.file))*137/100 + 2000
}

// write writes the mail.
func (l *letter) write(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, line := range l.header {
		if _, err := out.WriteString(line + "\r\n"); err != nil {
			return err
		}
	}
	if err := l.writeBody(out); err != nil {
		return err
	}
	return out.Flush()
}

func (l *letter) writeBody(out *bufio.Writer) error {
	if l.file == nil {
		header, body := l.texts()
		if err := writeHeader(out, header); err != nil {
			return err
		}
		return body(out)
	}
	all := multipart.NewWriter(out)
	kind := "multipart/mixed; boundary=" + all.Boundary()
	if err := writeHeader(out, textproto.MIMEHeader{"Content-Type": {kind}}); err != nil {
		return err
	}
	header, body := l.texts()
	part, err := all.CreatePart(header)
	if err != nil {
		return err
	}
	if err := body(part); err != nil {
		return err
	}
	part, err = all.CreatePart(textproto.MIMEHeader{
		"Content-Type":              {mime.FormatMediaType(l.fileType, map[string]string{"name": l.fileName})},
		"Content-Disposition":       {mime.FormatMediaType("attachment", map[string]string{"filename": l.fileName})},
		"Content-Transfer-Encoding": {"base64"},
	})
	if err != nil {
		return err
	}
	if err := writeBase64(part, l.file); err != nil {
		return err
	}
	return all.Close()
}

func writeHeader(w io.Writer, header textproto.MIMEHeader) error {
	for _, name := range []string{"Content-Type", "Content-Transfer-Encoding"} {
		if value := header.Get(name); value != "" {
			if _, err := io.WriteString(w, name+": "+value+"\r\n"); err != nil {
				return err
			}
		}
	}
	_, err := io.WriteString(w, "\r\n")
	return err
}

// texts returns the part with the text: plain, or plain and HTML as alternatives.
func (l *letter) texts() (textproto.MIMEHeader, func(io.Writer) error) {
	if l.html == "" {
		return textHeader("plain"), func(w io.Writer) error { return writeText(w, l.text) }
	}
	boundary := multipart.NewWriter(io.Discard).Boundary()
	header := textproto.MIMEHeader{"Content-Type": {"multipart/alternative; boundary=" + boundary}}
	return header, func(w io.Writer) error {
		both := multipart.NewWriter(w)
		if err := both.SetBoundary(boundary); err != nil {
			return err
		}
		for _, one := range []struct{ kind, text string }{{"plain", l.text}, {"html", l.html}} {
			part, err := both.CreatePart(textHeader(one.kind))
			if err != nil {
				return err
			}
			if err := writeText(part, one.text); err != nil {
				return err
			}
		}
		return both.Close()
	}
}

func textHeader(kind string) textproto.MIMEHeader {
	return textproto.MIMEHeader{
		"Content-Type": {"text/" + kind + "; charset=utf-8"}, "Content-Transfer-Encoding": {"quoted-printable"},
	}
}

func writeText(w io.Writer, text string) error {
	q := quotedprintable.NewWriter(w)
	if _, err := io.WriteString(q, text); err != nil {
		return err
	}
	return q.Close()
}

func writeBase64(w io.Writer, data []byte) error {
	const line = 57
	encoded := make([]byte, base64.StdEncoding.EncodedLen(line), 80)
	for len(data) > 0 {
		n := min(line, len(data))
		base64.StdEncoding.Encode(encoded, data[:n])
		size := base64.StdEncoding.EncodedLen(n)
		if _, err := w.Write(append(encoded[:size:size], "\r\n"...)); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
