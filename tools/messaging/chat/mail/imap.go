package mail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/mcp-tools/mcp-tools/internal/document"
	documentmail "github.com/mcp-tools/mcp-tools/internal/document/mail"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire"
)

const (
	mailboxName = "INBOX"

	maxMail   = 8 << 20  // bytes that are read of a mail that arrives
	maxWhole  = 40 << 20 // bytes of a mail whose file is fetched
	idleTime  = 20 * time.Minute
	pollTime  = time.Minute
	lookBack  = 3 * 24 * time.Hour
	fetchTime = 5 * time.Minute
	// commandTime is for one response: the library waits for responses without an end.
	commandTime = 2 * time.Minute
)

// Pull implements [chat.Puller]. It begins with the mails that arrive after its first call.
func (c *Channel) Pull(
	ctx context.Context, cursor string, deliver func(cursor string, in []chat.Incoming) error,
) error {
	if c.a.Values["imap"] == "" {
		return &chat.Error{Kind: chat.Cannot, Text: "the mail account has no IMAP server"}
	}
	return wire.Repeat(ctx, c.wait, func(ctx context.Context) error {
		return c.pull(ctx, cursor, func(at string, in []chat.Incoming) error {
			err := deliver(at, in)
			if err == nil {
				cursor = at
			}
			return err
		})
	})
}

// A mailbox is a connection to the server. Unless it waits for mails, it ends if there is
// no response in time.
type mailbox struct {
	*imapclient.Client
	watch *time.Timer
	limit time.Duration
	stop  func() bool
}

// begin is called before each command.
func (m *mailbox) begin() *imapclient.Client {
	m.watch.Reset(m.limit)
	return m.Client
}

func (m *mailbox) close() {
	m.watch.Stop()
	m.stop()
	_ = m.Client.Close() // nothing is lost with it
}

// pull receives mails over one connection.
func (c *Channel) pull(
	ctx context.Context, cursor string, deliver func(cursor string, in []chat.Incoming) error,
) error {
	changed := make(chan struct{}, 1)
	client, err := c.openIMAP(ctx, changed)
	if err != nil {
		return err
	}
	defer client.close()
	box, err := client.begin().Select(mailboxName, &imap.SelectOptions{ReadOnly: true}).Wait()
	if err != nil {
		return c.failedIMAP(ctx, err)
	}
	validity, last, ok := parseCursor(cursor)
	criteria := &imap.SearchCriteria{}
	switch {
	case !ok:
		last = box.UIDNext - min(box.UIDNext, 1)
		if err := deliver(formatCursor(box.UIDValidity, last), nil); err != nil {
			return err
		}
	case validity != box.UIDValidity: // the numbers are new: delivered mails are recognized by their IDs
		last = 0
		criteria.Since = c.a.Time().Add(-lookBack)
	}
	for recent := true; ; {
		criteria.UID = []imap.UIDSet{{imap.UIDRange{Start: last + 1}}}
		found, err := client.begin().UIDSearch(criteria, nil).Wait()
		if err != nil {
			return c.failedIMAP(ctx, err)
		}
		uids := found.AllUIDs()
		slices.Sort(uids)
		for _, uid := range uids {
			if uid <= last { // UID 7:* is the last mail, even if that is 6
				continue
			}
			in, err := c.receive(ctx, client, box.UIDValidity, uid)
			if err != nil {
				return c.failedIMAP(ctx, err)
			}
			if err := deliver(formatCursor(box.UIDValidity, uid), in); err != nil {
				return err
			}
			last, recent = uid, true
		}
		if err := c.waitForMail(ctx, client, changed, recent); err != nil {
			return c.failedIMAP(ctx, err)
		}
		recent = false
	}
}

// waitForMail returns when a mail may have arrived. After a recent mail it waits less: some
// servers do not report a mail that arrives between a search and IDLE.
func (c *Channel) waitForMail(ctx context.Context, client *mailbox, changed <-chan struct{}, recent bool) error {
	after := c.poll
	if client.begin().Caps().Has(imap.CapIdle) {
		if !recent {
			after = c.idle
		}
		idle, err := client.Idle()
		if err != nil {
			return err
		}
		defer func() {
			client.begin()
			_ = idle.Close() // the next command fails if the connection has
			_ = idle.Wait()
		}()
	}
	client.watch.Stop()
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-client.Closed():
		return io.ErrUnexpectedEOF
	case <-changed:
	case <-timer.C:
	}
	return nil
}

// receive reads one mail. A mail that is gone is none.
func (c *Channel) receive(
	ctx context.Context, client *mailbox, validity uint32, uid imap.UID,
) ([]chat.Incoming, error) {
	raw, info, err := read(client, uid, maxMail)
	if err != nil || info == nil {
		return nil, err
	}
	in, ok := c.incoming(ctx, raw, info.RFC822Size <= int64(len(raw)), info.InternalDate, formatCursor(validity, uid))
	if err := ctx.Err(); err != nil || !ok {
		return nil, err
	}
	return []chat.Incoming{in}, nil
}

// read returns at most limit bytes of a mail, and its facts; nil if it is gone.
func read(client *mailbox, uid imap.UID, limit int64) ([]byte, *imapclient.FetchMessageBuffer, error) {
	client.watch.Reset(fetchTime)
	command := client.Fetch(imap.UIDSetNum(uid), &imap.FetchOptions{UID: true, RFC822Size: true, InternalDate: true,
		BodySection: []*imap.FetchItemBodySection{{Peek: true, Partial: &imap.SectionPartial{Size: limit}}}})
	defer command.Close()
	message := command.Next()
	if message == nil {
		return nil, nil, command.Close()
	}
	info := &imapclient.FetchMessageBuffer{}
	var raw []byte
	for item := message.Next(); item != nil; item = message.Next() {
		switch item := item.(type) {
		case imapclient.FetchItemDataBodySection:
			if item.Literal == nil {
				continue
			}
			if item.Literal.Size() > limit {
				return nil, nil, errors.New("the server sends more of a mail than it was asked for")
			}
			var err error
			if raw, err = io.ReadAll(item.Literal); err != nil {
				return nil, nil, err
			}
		case imapclient.FetchItemDataRFC822Size:
			info.RFC822Size = item.Size
		case imapclient.FetchItemDataInternalDate:
			info.InternalDate = item.Time
		}
	}
	return raw, info, command.Close()
}

// Fetch implements [chat.Fetcher].
func (c *Channel) Fetch(ctx context.Context, f chat.Attachment, limit int64, into io.Writer) error {
	place, number := f.ID, ""
	if i := strings.LastIndexByte(f.ID, ':'); i >= 0 {
		place, number = f.ID[:i], f.ID[i+1:]
	}
	validity, uid, ok := parseCursor(place)
	if !ok || c.a.Values["imap"] == "" {
		return &chat.Error{Kind: chat.Refused, Text: "there is no such file"}
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	client, err := c.openIMAP(ctx, nil)
	if err != nil {
		return err
	}
	defer client.close()
	box, err := client.begin().Select(mailboxName, &imap.SelectOptions{ReadOnly: true}).Wait()
	if err != nil {
		return c.failedIMAP(ctx, err)
	}
	raw, info, err := read(client, uid, maxWhole)
	switch {
	case err != nil:
		return c.failedIMAP(ctx, err)
	case info == nil || box.UIDValidity != validity:
		return &chat.Error{Kind: chat.Refused, Text: "the mail is no longer in the mailbox"}
	case info.RFC822Size > int64(len(raw)):
		return &chat.Error{Kind: chat.Refused, Text: fmt.Sprintf("the mail has over %d MB", maxWhole>>20)}
	}
	source := document.Source{Data: bytes.NewReader(raw), Size: int64(len(raw)), Limits: document.DefaultLimits()}
	file, err := documentmail.Open(ctx, source, number)
	if err != nil {
		return &chat.Error{Kind: chat.Refused, Text: "the file cannot be read", Cause: err}
	}
	if file.Size > limit {
		return &chat.Error{Kind: chat.Refused, Text: fmt.Sprintf("the file has %d bytes, over the limit of %d",
			file.Size, limit)}
	}
	_, err = io.Copy(into, file.Reader())
	return err
}

// openIMAP connects and signs in. It sends to changed when something arrives.
func (c *Channel) openIMAP(ctx context.Context, changed chan<- struct{}) (*mailbox, error) {
	conn, local, err := c.connect(ctx, c.imap)
	if err != nil {
		return nil, err
	}
	options := &imapclient.Options{
		TLSConfig: c.tls(c.imap),
		UnilateralDataHandler: &imapclient.UnilateralDataHandler{
			Mailbox: func(*imapclient.UnilateralDataMailbox) {
				select {
				case changed <- struct{}{}:
				default:
				}
			},
		},
	}
	m := &mailbox{limit: c.patience, watch: time.AfterFunc(c.patience, func() { _ = conn.Close() })}
	m.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
	if c.imap.tls || local {
		m.Client = imapclient.New(conn, options)
	} else if m.Client, err = imapclient.NewStartTLS(conn, options); err != nil {
		m.watch.Stop()
		m.stop()
		_ = conn.Close()
		if refusal := (*imap.Error)(nil); errors.As(err, &refusal) {
			return nil, unencrypted(c.imap)
		}
		return nil, c.failedIMAP(ctx, err)
	}
	if err := c.login(ctx, m.Client); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (c *Channel) login(ctx context.Context, client *imapclient.Client) error {
	if err := client.WaitGreeting(); err != nil {
		return c.failedIMAP(ctx, err)
	}
	if c.a.Secrets["token"] == nil {
		return &chat.Error{Kind: chat.Denied, Text: "the mail account has no user and password"}
	}
	password, err := c.password(ctx)
	if err != nil {
		return err
	}
	err = client.Login(c.user, password).Wait()
	if refusal := (*imap.Error)(nil); errors.As(err, &refusal) && refusal.Type == imap.StatusResponseTypeNo &&
		refusal.Code != imap.ResponseCodeUnavailable && refusal.Code != imap.ResponseCodeInUse {
		return &chat.Error{Kind: chat.Denied, Text: c.said(ctx, c.imap, refusal.Text)}
	}
	if err != nil {
		return c.failedIMAP(ctx, err)
	}
	return nil
}

func (c *Channel) failedIMAP(ctx context.Context, err error) error {
	var known *chat.Error
	var refusal *imap.Error
	switch {
	case errors.As(err, &known):
		return known
	case ctx.Err() != nil:
		return &chat.Error{Kind: chat.Down, Text: "reading mails was interrupted", Cause: context.Cause(ctx)}
	case errors.As(err, &refusal):
		return &chat.Error{Kind: chat.Down, Text: c.said(ctx, c.imap, refusal.Text)}
	}
	return &chat.Error{Kind: chat.Down, Text: "the connection to " + c.imap.host + " ended", Cause: err}
}

// A cursor is the UIDVALIDITY of the mailbox and the UID of the last mail: 17:4711.
func formatCursor(validity uint32, uid imap.UID) string { return fmt.Sprintf("%d:%d", validity, uid) }

func parseCursor(s string) (validity uint32, uid imap.UID, ok bool) {
	first, second, found := strings.Cut(s, ":")
	v, err1 := strconv.ParseUint(first, 10, 32)
	u, err2 := strconv.ParseUint(second, 10, 32)
	return uint32(v), imap.UID(u), found && err1 == nil && err2 == nil
}
