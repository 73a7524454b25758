// Package mail sends mails over SMTP and receives answers over IMAP. Both connections are
// encrypted, unless the server is on this machine.
//
// The sender of a mail proves nothing. A mail has a verified sender, [chat.Person].ID, only
// if the operator's own server has noted in the field Authentication-Results that it has
// checked the domain; the other mails have only a name.
//
// go-mail writes mails and speaks SMTP (0.8 MB); sending goes step by step: only an error after the
// end of a mail leaves in doubt whether it was sent.
//
// Begin with [New].
package mail

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/netaddr"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

const (
	maxText   = 200_000
	maxFile   = 18 << 20 // servers accept 25 MB of base64
	maxError  = 500
	handshake = 30 * time.Second
)

// Service returns the service.
func Service() chat.Service {
	return chat.Service{
		Name: "mail", Title: "Mail", Also: []string{"email", "mailto"},
		Needs:  "an account; `:465` uses TLS, `:587` STARTTLS",
		Markup: "HTML and text",
		Settings: []chat.Setting{
			{Name: "token", Form: "secret", Doc: "password"},
			{Name: "smtp", Form: "hostport", Doc: "server that sends, such as smtp.example.org:465 or :587", Required: true},
			{Name: "imap", Form: "hostport", Doc: "server with the mailbox of answers, such as imap.example.org:993"},
			{Name: "user", Form: "label", Doc: "name for both servers; empty: the address of from"},
			{Name: "from", Form: "label", Doc: "address of the sender, such as Mcp <mcp@example.org>", Required: true},
			{Name: "verifier", Form: "label", Doc: "name with which your mail server begins its header Authentication-Results; " +
				"empty: no sender is verified, so mail is not received"},
		},
		Owns:    func(id string) bool { return strings.Contains(id, "@") && !strings.HasPrefix(id, "@") },
		AnyCase: true, Forgeable: true,
		Open: func(a chat.Account) (chat.Channel, error) { return New(a) },
	}
}

// A Channel is a mail account.
type Channel struct {
	a          chat.Account
	user       string // of both servers; "" without a password
	from       *mail.Address
	domain     string // of from
	smtp, imap server
	wait       func(ctx context.Context, d time.Duration) error // between attempts to connect; nil waits
	poll, idle time.Duration                                    // how often a server is asked, without IDLE and with it
	patience   time.Duration                                    // with a server that does not respond
}

// New returns a Channel. It connects to nothing yet. Servers are smtps://mail.example.org,
// smtp://mail.example.org:587 for STARTTLS, imaps://mail.example.org, or a host with or without a port. Verifier is
// the name of the operator's server at the beginning of its Authentication-Results fields; without it no sender is
// verified.
func New(a chat.Account) (*Channel, error) {
	from, err := parseAddress(a.Values["from"])
	if err != nil {
		return nil, fmt.Errorf("from: %w", err)
	}
	c := &Channel{a: a, from: from, poll: pollTime, idle: idleTime, patience: commandTime}
	_, c.domain, _ = strings.Cut(from.Address, "@")
	if c.smtp, err = parseServer(a.Values["smtp"], "smtp", "587", "465"); err != nil {
		return nil, err
	}
	if a.Values["imap"] != "" {
		if c.imap, err = parseServer(a.Values["imap"], "imap", "143", "993"); err != nil {
			return nil, err
		}
	}
	if a.Values["user"] != "" && a.Secrets["token"] == nil {
		return nil, errors.New("the setting user needs a password in token")
	}
	if a.Secrets["token"] != nil {
		c.user = cmp.Or(a.Values["user"], from.Address)
	}
	return c, nil
}

// parseAddress parses an address of mail, with or without a name.
func parseAddress(s string) (*mail.Address, error) {
	a, err := mail.ParseAddress(s)
	if err != nil || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, fmt.Errorf("%.100q is not an address of mail", s)
	}
	at := strings.LastIndexByte(a.Address, '@')
	if strings.ContainsAny(a.Address, " <>\"") || strings.Count(a.Address, "@") != 1 || at > 64 ||
		len(a.Address) > 254 {
		return nil, fmt.Errorf("%.100q is not an address of mail", s)
	}
	return a, nil
}

// A server is where to connect.
type server struct {
	host, address string
	tls           bool // from the beginning of the connection
}

// parseServer parses the address of a server with one of two ports: for STARTTLS and for TLS.
func parseServer(s, scheme, plain, secure string) (server, error) {
	kind, rest, found := strings.Cut(s, "://")
	if !found {
		kind, rest = "", s
	}
	host, port, err := net.SplitHostPort(rest)
	if err != nil {
		host, port = strings.Trim(rest, "[]"), ""
	}
	if host == "" || strings.Contains(host, ":") && !strings.HasPrefix(rest, "[") ||
		strings.Trim(port, "0123456789") != "" ||
		strings.ContainsAny(host, "/@ ") || found && kind != scheme && kind != scheme+"s" {
		return server{}, fmt.Errorf("%q is not a server such as %ss://mail.example.org", s, scheme)
	}
	tls := kind == scheme+"s" || kind == "" && port == secure
	if port == "" {
		port = plain
		if tls {
			port = secure
		}
	}
	return server{host, net.JoinHostPort(host, port), tls}, nil
}

// Abilities implements [chat.Channel].
func (c *Channel) Abilities() chat.Abilities {
	return chat.Abilities{MaxText: maxText, MaxCaption: maxText, MaxFile: maxFile, Threads: true}
}

// Render implements [chat.Channel]. The text of a mail is Markdown, beside HTML.
func (c *Channel) Render(markdown string) string { return markdown }

// Check implements [chat.Channel]. It signs in to both servers.
func (c *Channel) Check(ctx context.Context) (string, error) {
	client, done, err := c.openSMTP(ctx)
	if err != nil {
		return "", err
	}
	_ = client.Quit() // the account is valid
	done()
	if c.a.Values["imap"] != "" {
		client, err := c.openIMAP(ctx, nil)
		if err != nil {
			return "", err
		}
		client.close()
	}
	return c.from.Address, nil
}

// connect connects to a server. If the connection is not encrypted yet, it reports
// whether the server is on this machine.
func (c *Channel) connect(ctx context.Context, to server) (conn net.Conn, local bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, handshake)
	defer cancel()
	if conn, err = c.a.Dial(ctx, "tcp", to.address); err != nil {
		return nil, false, c.unreachable(to, err)
	}
	local = netaddr.IsLoopbackAddress(conn.RemoteAddr().String())
	if !to.tls {
		return conn, local, nil
	}
	secure := tls.Client(conn, c.tls(to))
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, false, c.unreachable(to, err)
	}
	return secure, local, nil
}

func (c *Channel) tls(to server) *tls.Config {
	return &tls.Config{ServerName: to.host, RootCAs: c.a.Roots, MinVersion: tls.VersionTLS12}
}

func (c *Channel) unreachable(to server, err error) *chat.Error {
	e := &chat.Error{Kind: chat.Down, Text: to.host + " cannot be reached", Cause: err}
	if known := new(tool.Error); errors.As(err, &known) && known.Kind == tool.Refused {
		e.Kind, e.Text = chat.Refused, to.host+" may not be reached"
	}
	return e
}

// unencrypted returns the error for a server without encryption. It gets no password and no
// mail.
func unencrypted(to server) *chat.Error {
	return &chat.Error{Kind: chat.Denied, Text: to.host +
		" offers no encryption, which only servers on this machine may do"}
}

func (c *Channel) password(ctx context.Context) (string, error) {
	password, err := c.a.Secrets["token"](ctx)
	if err == nil && (password == "" || strings.ContainsAny(password, "\x00\r\n")) {
		err = errors.New("it is empty or has line breaks")
	}
	if err != nil {
		return "", &chat.Error{Kind: chat.Denied, Text: "the password of the mail account cannot be used", Cause: err}
	}
	return password, nil
}

// said returns the answer of a server, without the password.
func (c *Channel) said(ctx context.Context, to server, message string) string {
	if c.a.Secrets["token"] != nil {
		if password, err := c.a.Secrets["token"](ctx); err == nil && password != "" {
			message = strings.ReplaceAll(message, password, "...")
		}
	}
	return text.Clip(to.host+": "+chat.CleanName(message, maxError), maxError)
}

// id returns the Message-ID of a mail. It is the same one for each attempt to send it.
func (c *Channel) id(key string) string {
	sum := sha256.Sum256([]byte(c.from.Address + "\x00" + key))
	return ownIDs + hex.EncodeToString(sum[:16]) + "@" + c.domain
}

const ownIDs = "mcp-tools."
