package mail

import (
	"context"
	"errors"
	"fmt"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail/smtp"

	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

const (
	sendTime = 10 * time.Minute
	// busyTime is the wait after a temporary error: servers with greylisting ask for five
	// minutes.
	busyTime = 5 * time.Minute
)

// Send implements [chat.Channel].
func (c *Channel) Send(ctx context.Context, m chat.Message) (chat.Sent, error) {
	l, err := c.compose(m)
	if err != nil {
		return chat.Sent{}, err
	}
	client, done, err := c.openSMTP(ctx)
	if err != nil {
		return chat.Sent{}, err
	}
	defer done()
	if _, limit := client.Extension("SIZE"); limit != "" {
		if n, err := strconv.Atoi(limit); err == nil && n > 0 && l.raw.Len() > n {
			return chat.Sent{}, &chat.Error{Kind: chat.Refused, Text: fmt.Sprintf(
				"the mail has %d bytes, and the server accepts %d", l.raw.Len(), n)}
		}
	}
	if err := client.Mail("<" + c.from.Address + ">"); err != nil {
		return chat.Sent{}, c.failed(ctx, err)
	}
	if err := client.Rcpt("<" + l.to.Address + ">"); err != nil {
		return chat.Sent{}, c.failed(ctx, err)
	}
	body, err := client.Data()
	if err != nil {
		return chat.Sent{}, c.failed(ctx, err)
	}
	if _, err := l.raw.WriteTo(body); err != nil {
		return chat.Sent{}, c.failed(ctx, err) // without its end the server drops it
	}
	if err := body.Close(); err != nil {
		return chat.Sent{}, c.failedAtEnd(ctx, err)
	}
	_ = client.Quit() // the mail is accepted
	return chat.Sent{Ref: chat.Ref{Chat: l.to.Address, Thread: l.thread, ID: l.id}, Notes: l.notes}, nil
}

// openSMTP connects and signs in. The caller calls done to close the connection.
func (c *Channel) openSMTP(ctx context.Context) (client *smtp.Client, done func(), err error) {
	conn, local, err := c.connect(ctx, c.smtp)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	closeAll := func() { stop(); _ = conn.Close() }
	defer func() {
		if err != nil {
			closeAll()
		}
	}()
	if err := conn.SetDeadline(time.Now().Add(sendTime)); err != nil {
		return nil, nil, c.failed(ctx, err)
	}
	if client, err = smtp.NewClient(conn, c.smtp.host); err != nil {
		return nil, nil, c.failed(ctx, err)
	}
	if err := client.Hello("localhost"); err != nil {
		return nil, nil, c.failed(ctx, err)
	}
	offers, _ := client.Extension("STARTTLS")
	switch {
	case c.smtp.tls, local:
	case offers:
		if err := client.StartTLS(c.tls(c.smtp)); err != nil {
			return nil, nil, c.failed(ctx, err)
		}
	default:
		return nil, nil, unencrypted(c.smtp)
	}
	if c.user != "" {
		if err := c.signIn(ctx, client); err != nil {
			return nil, nil, err
		}
	}
	return client, closeAll, nil
}

func (c *Channel) signIn(ctx context.Context, client *smtp.Client) error {
	password, err := c.password(ctx)
	if err != nil {
		return err
	}
	_, methods := client.Extension("AUTH")
	offered := strings.Fields(strings.ToUpper(methods))
	var auth smtp.Auth // the connection is encrypted, or local
	switch {
	case slices.Contains(offered, "PLAIN"):
		auth = smtp.PlainAuth("", c.user, password, c.smtp.host, true)
	case slices.Contains(offered, "LOGIN"):
		auth = smtp.LoginAuth(c.user, password, c.smtp.host, true)
	default:
		return &chat.Error{Kind: chat.Denied, Text: c.smtp.host + " offers neither AUTH PLAIN nor LOGIN"}
	}
	if err := client.Auth(auth); err != nil {
		e := c.failed(ctx, err)
		if e.Kind == chat.Refused {
			e.Kind = chat.Denied
		}
		return e
	}
	return nil
}

// failed returns the error of a step before the end of the mail.
func (c *Channel) failed(ctx context.Context, err error) *chat.Error {
	var known *chat.Error
	var reply *textproto.Error
	switch {
	case errors.As(err, &known):
		return known
	case ctx.Err() != nil:
		return &chat.Error{Kind: chat.Down, Text: "sending the mail was interrupted", Cause: context.Cause(ctx)}
	case !errors.As(err, &reply):
		return &chat.Error{Kind: chat.Down, Text: "the connection to " + c.smtp.host + " ended", Cause: err}
	}
	e := &chat.Error{Kind: chat.Refused, Text: c.said(ctx, c.smtp, reply.Error())}
	switch {
	case reply.Code == 421 || reply.Code == 454:
		e.Kind = chat.Down
	case reply.Code/100 == 4:
		e.Kind, e.After = chat.Busy, busyTime
	case reply.Code >= 530 && reply.Code <= 538:
		e.Kind = chat.Denied
	}
	return e
}

// failedAtEnd returns the error of a mail that was sent whole.
func (c *Channel) failedAtEnd(ctx context.Context, err error) *chat.Error {
	e := c.failed(ctx, err)
	if reply := (*textproto.Error)(nil); !errors.As(err, &reply) {
		e.Kind, e.Text = chat.Unknown, "the connection to "+c.smtp.host+" ended before it accepted the mail"
	}
	return e
}
