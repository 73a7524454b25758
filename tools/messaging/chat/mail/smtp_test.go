package mail

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net"
	"net/http/httptest"
	"net/mail"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

// A smtpServer answers as RFC 5321 says, except where a test says otherwise.
type smtpServer struct {
	t       *testing.T
	address string
	tls     *tls.Config
	roots   *x509.CertPool
	offers  []string          // of EHLO, without STARTTLS
	secure  bool              // from the beginning
	replies map[string]string // by verb: instead of success; "" ends the connection

	mu    sync.Mutex
	lines []string // what the client sent, without the mail
	mails []string
}

func newSMTP(t *testing.T) *smtpServer {
	t.Helper()
	web := httptest.NewTLSServer(nil) // for its certificate, which is for *.example.com
	web.Close()
	s := &smtpServer{t: t, tls: &tls.Config{Certificates: web.TLS.Certificates}, roots: x509.NewCertPool(),
		offers: []string{"STARTTLS", "AUTH PLAIN LOGIN", "SIZE 30000000", "8BITMIME"}, replies: map[string]string{}}
	s.roots.AddCert(web.Certificate())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	var all sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { s.serve(conn) })
		}
	})
	return s
}

func (s *smtpServer) serve(conn net.Conn) {
	defer conn.Close()
	s.mu.Lock()
	secure, allOffers, replies := s.secure, s.offers, maps.Clone(s.replies)
	s.mu.Unlock()
	if secure {
		conn = tls.Server(conn, s.tls)
	}
	text := textproto.NewConn(conn)
	reply := func(verb, success string) bool {
		if other, has := replies[verb]; has {
			success = other
		}
		return success != "" && text.PrintfLine("%s", success) == nil && !strings.HasPrefix(success, "421")
	}
	if !reply("", "220 mail.example.com ESMTP") {
		return
	}
	encrypted := secure
	for {
		line, err := text.ReadLine()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.lines = append(s.lines, line)
		s.mu.Unlock()
		verb, rest, _ := strings.Cut(line, " ")
		ok := true
		switch verb {
		case "EHLO":
			offers := []string{"mail.example.com"}
			for _, o := range allOffers {
				if o != "STARTTLS" || !encrypted {
					offers = append(offers, o)
				}
			}
			if replies[verb] != "" {
				offers = nil
			}
			for _, o := range offers {
				_ = text.PrintfLine("250-%s", o)
			}
			ok = reply(verb, "250 HELP")
		case "STARTTLS":
			ok = reply(verb, "220 go ahead")
			upgraded := tls.Server(conn, s.tls)
			conn, text, encrypted = upgraded, textproto.NewConn(upgraded), true
		case "AUTH":
			if rest == "LOGIN" {
				for _, question := range []string{"Username:", "Token:"} {
					_ = text.PrintfLine("334 %s", base64.StdEncoding.EncodeToString([]byte(question)))
					answer, _ := text.ReadLine()
					s.mu.Lock()
					s.lines = append(s.lines, answer)
					s.mu.Unlock()
				}
			}
			ok = reply(verb, "235 welcome")
		case "DATA":
			if ok = reply(verb, "354 go ahead"); !ok || replies[verb] != "" {
				break
			}
			data, err := readDots(text.R)
			if err != nil {
				return
			}
			s.mu.Lock()
			s.mails = append(s.mails, data)
			s.mu.Unlock()
			ok = reply(".", "250 queued")
		case "QUIT":
			_ = reply(verb, "221 bye")
			return
		default:
			ok = reply(verb, "250 ok")
		}
		if !ok {
			return
		}
	}
}

// readDots reads a mail as it is, and fails if it has a line break that is not CR LF.
func readDots(r *bufio.Reader) (string, error) {
	var b strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return "", err
		}
		if !strings.HasSuffix(line, "\r\n") || len(line) > 1000 {
			return "", errors.New("a line is too long or has no CR")
		}
		if line == ".\r\n" {
			return b.String(), nil
		}
		b.WriteString(strings.TrimPrefix(line, "."))
	}
}

func (s *smtpServer) sent() (lines, mails []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines), slices.Clone(s.mails)
}

// A remote is a connection that looks as if it led to another machine.
type remote struct{ net.Conn }

func (remote) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(198, 51, 100, 7), Port: 587} }

// channel returns a channel to the server, as if it were on another machine.
func (s *smtpServer) channel(change func(o *chat.Account)) *Channel {
	s.t.Helper()
	s.mu.Lock() // what the test has set is visible to the server
	isSecure := s.secure
	s.mu.Unlock()
	o := chat.Account{Roots: s.roots, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		if want := "mail.example.com:587"; address != want && !isSecure {
			s.t.Errorf("the channel dials %s, want %s", address, want)
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, network, s.address)
		return remote{conn}, err
	}, Now: func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }, Values: map[string]string{"from": "Assistant <bot@example.com>", "user": "bot", "smtp": "smtp://mail.example.com"}, Secrets: map[string]chat.Secret{"token": func(context.Context) (string, error) { return "hunter2-secret", nil }}}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func TestSendWithSTARTTLS(t *testing.T) {
	s := newSMTP(t)
	sent, err := s.channel(nil).Send(t.Context(), chat.Message{Chat: "Ann Lee <ann@example.org>", Key: "7",
		Subject: "Grüße", Text: "# Done\n\nAll **tests** pass.\n.\n", ReplyTo: "b@example.org",
		Thread: "a@example.org"})
	if err != nil {
		t.Fatal(err)
	}
	lines, mails := s.sent()
	want := []string{"EHLO localhost", "STARTTLS", "EHLO localhost",
		"AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00bot\x00hunter2-secret")),
		"MAIL FROM:<bot@example.com> BODY=8BITMIME", "RCPT TO:<ann@example.org>", "DATA", "QUIT"}
	if !slices.Equal(lines, want) {
		t.Errorf("the client sent %q", lines)
	}
	id := sent.ID
	if !strings.HasPrefix(id, "mcp-tools.") || !strings.HasSuffix(id, "@example.com") ||
		sent.Chat != "ann@example.org" || sent.Thread != "a@example.org" || len(sent.Notes) > 0 {
		t.Errorf("sent: %+v", sent)
	}
	head, _, _ := strings.Cut(mails[0], "Content-Type:")
	if wantHead := strings.ReplaceAll(`Auto-Submitted: auto-replied
Date: Wed, 04 Mar 2026 05:06:07 +0000
In-Reply-To: <b@example.org>
MIME-Version: 1.0
Message-ID: <`+id+`>
References: <a@example.org> <b@example.org>
Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=
From: "Assistant" <bot@example.com>
To: "Ann Lee" <ann@example.org>
`, "\n", "\r\n"); head != wantHead {
		t.Errorf("the header is\n%s", head)
	}
	parts := partsOf(t, mails[0])
	if parts[0] != "text/plain; charset=utf-8|# Done\r\n\r\nAll **tests** pass.\r\n.\r\n" ||
		!strings.Contains(parts[1], "text/html") || !strings.Contains(parts[1], "<strong>tests</strong>") ||
		len(parts) != 2 {
		t.Errorf("the parts are %q", parts)
	}
}

// partsOf returns the type and the content of each part of a mail.
func partsOf(t *testing.T, raw string) (parts []string) {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	var read func(header textproto.MIMEHeader, body io.Reader)
	read = func(header textproto.MIMEHeader, body io.Reader) {
		kind, params, err := mime.ParseMediaType(header.Get("Content-Type"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(kind, "multipart/") {
			r := multipart.NewReader(body, params["boundary"])
			for {
				part, err := r.NextPart() // decodes quoted-printable
				if err == io.EOF {
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				read(part.Header, part)
			}
		}
		data, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		if header.Get("Content-Transfer-Encoding") == "base64" {
			if data, err = io.ReadAll(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(data))); err != nil {
				t.Fatal(err)
			}
		}
		parts = append(parts, header.Get("Content-Type")+"|"+string(data))
	}
	read(textproto.MIMEHeader(m.Header), m.Body)
	return parts
}

func TestSendWithTLSAndLOGIN(t *testing.T) {
	s := newSMTP(t)
	s.secure, s.offers = true, []string{"AUTH LOGIN XOAUTH2"}
	c := s.channel(func(o *chat.Account) { o.Values["smtp"] = "smtps://mail.example.com" })
	if _, err := c.Send(t.Context(), chat.Message{Chat: "ann@example.org", Key: "7", Text: "*",
		Plain: true}); err != nil {
		t.Fatal(err)
	}
	lines, mails := s.sent()
	want := []string{"EHLO localhost", "AUTH LOGIN", base64.StdEncoding.EncodeToString([]byte("bot")),
		base64.StdEncoding.EncodeToString([]byte("hunter2-secret")), "MAIL FROM:<bot@example.com>",
		"RCPT TO:<ann@example.org>", "DATA", "QUIT"}
	if !slices.Equal(lines, want) {
		t.Errorf("the client sent %q", lines)
	}
	if !strings.HasSuffix(mails[0], "Content-Transfer-Encoding: quoted-printable\r\n"+
		"Content-Type: text/plain; charset=utf-8\r\n\r\n*\r\n") {
		t.Errorf("the mail is %q", mails[0])
	}
}

// Neither the password nor the mail is sent over a connection that others can read.
func TestNothingIsSentWithoutEncryption(t *testing.T) {
	s := newSMTP(t)
	s.offers = []string{"AUTH PLAIN LOGIN"}
	_, err := s.channel(nil).Send(t.Context(), chat.Message{Chat: "ann@example.org", Key: "7", Text: "x"})
	if lines, _ := s.sent(); chat.KindOf(err) != chat.Denied || !slices.Equal(lines, []string{"EHLO localhost"}) {
		t.Errorf("%v; the client sent %q", err, lines)
	}
	local := s.channel(func(o *chat.Account) {
		o.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, s.address)
		}
	})
	if _, err := local.Send(t.Context(), chat.Message{Chat: "ann@example.org", Key: "7", Text: "x"}); err != nil {
		t.Errorf("to this machine: %v", err)
	}
}

func TestCertificatesAreChecked(t *testing.T) {
	s := newSMTP(t)
	c := s.channel(func(o *chat.Account) { o.Roots = x509.NewCertPool() })
	_, err := c.Send(t.Context(), chat.Message{Chat: "ann@example.org", Key: "7", Text: "x"})
	if lines, _ := s.sent(); chat.KindOf(err) != chat.Down || slices.ContainsFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, "AUTH")
	}) {
		t.Errorf("%v; the client sent %q", err, lines)
	}
}

func TestErrorsOfSending(t *testing.T) {
	for _, test := range []struct {
		verb, reply string
		kind        chat.Kind
		after       time.Duration
	}{
		{"", "554 no service", chat.Refused, 0},
		{"", "421 too many connections", chat.Down, 0},
		{"", "", chat.Down, 0},
		{"EHLO", "421 closing", chat.Down, 0},
		{"STARTTLS", "454 TLS not available", chat.Down, 0},
		{"AUTH", "535 5.7.8 bad hunter2-secret", chat.Denied, 0},
		{"AUTH", "454 temporary", chat.Down, 0},
		{"AUTH", "504 unknown mechanism", chat.Denied, 0},
		{"MAIL", "530 sign in first", chat.Denied, 0},
		{"MAIL", "452 too many messages", chat.Busy, busyTime},
		{"RCPT", "450 greylisted", chat.Busy, busyTime},
		{"RCPT", "550 no such user", chat.Refused, 0},
		{"RCPT", "", chat.Down, 0},
		{"DATA", "451 try later", chat.Busy, busyTime},
		{".", "552 too large", chat.Refused, 0},
		{".", "451 try later", chat.Busy, busyTime},
		{".", "421 closing", chat.Down, 0},
		{".", "", chat.Unknown, 0},
	} {
		s := newSMTP(t)
		s.replies[test.verb] = test.reply
		_, err := s.channel(nil).Send(t.Context(), chat.Message{Chat: "ann@example.org", Key: "7", Text: "x"})
		var e *chat.Error
		if !errors.As(err, &e) || e.Kind != test.kind || e.After != test.after ||
			strings.Contains(e.Error(), "hunter2") {
			t.Errorf("%s %q: %+v", test.verb, test.reply, err)
		}
		if _, isReply := strings.CutPrefix(test.reply, "550 "); isReply && !strings.Contains(e.Text, "no such user") {
			t.Errorf("the reason is not in %q", e.Text)
		}
	}
}

func TestDialErrors(t *testing.T) {
	s := newSMTP(t)
	for _, test := range []struct {
		err  error
		kind chat.Kind
	}{
		{tool.Errorf(tool.Refused, "not public").Try("x"), chat.Refused},
		{errors.New("no route"), chat.Down},
	} {
		c := s.channel(func(o *chat.Account) {
			o.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, test.err }
		})
		if _, err := c.Check(t.Context()); chat.KindOf(err) != test.kind {
			t.Errorf("%v: %v", test.err, err)
		}
	}
}

func TestSendEndsWithItsContext(t *testing.T) {
	s := newSMTP(t)
	reached := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	c := s.channel(func(o *chat.Account) {
		o.Dial = func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe() // says nothing
			go func() { <-reached; cancel(); _, _ = io.Copy(io.Discard, server) }()
			close(reached)
			return remote{client}, nil
		}
	})
	if _, err := c.Send(ctx, chat.Message{Chat: "ann@example.org", Key: "7", Text: "x"}); chat.KindOf(err) != chat.Down {
		t.Error(err)
	}
}

func TestNothingAddsFieldsToTheHeader(t *testing.T) {
	s := newSMTP(t)
	c := s.channel(nil)
	evil := "x\r\nBcc: eve@example.net\r\n\r\nbody"
	if _, err := c.Send(t.Context(), chat.Message{Chat: "ann@example.org\r\nBcc: eve@example.net",
		Text: "x"}); chat.KindOf(err) !=
		chat.Refused {
		t.Errorf("an address with a line break: %v", err)
	}
	for _, address := range []string{"", "ann", "a@b@c", "Ann <ann@example.org>, eve@example.net",
		"\"a b\"@example.org",
		"ann@example.org>\r\nRCPT TO:<eve@example.net", strings.Repeat("a", 65) + "@example.org"} {
		if _, err := c.Send(t.Context(), chat.Message{Chat: address, Text: "x"}); chat.KindOf(err) != chat.Refused {
			t.Errorf("%q: %v", address, err)
		}
	}
	_, err := c.Send(t.Context(), chat.Message{Chat: "ann@example.org", Key: evil, Subject: evil, ReplyTo: evil,
		Thread: evil,
		Text:   "x", Plain: true, File: &chat.File{Name: "../" + evil + "\".exe", MIME: evil,
			Open: func() (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader("content")), nil
			}}})
	if err != nil {
		t.Fatal(err)
	}
	_, mails := s.sent()
	m, err := mail.ReadMessage(strings.NewReader(mails[0]))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range m.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"Auto-Submitted", "Content-Type", "Date", "From", "Message-Id", "Mime-Version",
		"Subject", "To"}) || m.Header.Get("Subject") != "x Bcc: eve@example.net body" {
		t.Errorf("the header is %q", m.Header)
	}
	parts := partsOf(t, mails[0])
	if len(parts) != 2 || !strings.HasSuffix(parts[1], "|content") ||
		!strings.HasPrefix(parts[1], "application/octet-stream; name=") || strings.Contains(mails[0], "\r\nBcc") {
		t.Errorf("the parts are %q", parts)
	}
}

func TestSendFile(t *testing.T) {
	s := newSMTP(t)
	content := strings.Repeat("0123456789", 1000)
	file := &chat.File{Name: "Übersicht.pdf", MIME: "application/pdf", Size: 10_000,
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }}
	sent, err := s.channel(nil).Send(t.Context(), chat.Message{Chat: "ann@example.org", Key: "7", Text: "See **this**.",
		File: file, Buttons: []chat.Button{{Label: "Yes", Data: "1"}}})
	if err != nil || !slices.Equal(sent.Notes, []string{"Mails have no buttons."}) {
		t.Fatal(sent, err)
	}
	_, mails := s.sent()
	parts := partsOf(t, mails[0])
	if len(parts) != 3 || parts[2] != "application/pdf; name*=utf-8''%C3%9Cbersicht.pdf|"+content ||
		!strings.Contains(mails[0], "Subject: See this.\r\n") {
		t.Errorf("the parts are %.300q", parts)
	}
	file.Open = func() (io.ReadCloser, error) { return io.NopCloser(io.LimitReader(zeros{}, maxFile+1)), nil }
	if _, err := s.channel(nil).Send(t.Context(), chat.Message{Chat: "ann@example.org", File: file}); chat.KindOf(err) !=
		chat.Refused {
		t.Errorf("a file that is too large: %v", err)
	}
	file.Open = func() (io.ReadCloser, error) { return nil, errors.New("gone") }
	if _, err := s.channel(nil).Send(t.Context(), chat.Message{Chat: "ann@example.org", File: file}); chat.KindOf(err) !=
		chat.Refused {
		t.Errorf("a file that is gone: %v", err)
	}
	s.offers = []string{"STARTTLS", "AUTH PLAIN", "SIZE 5000"}
	file.Open = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }
	if _, err := s.channel(nil).Send(t.Context(), chat.Message{Chat: "ann@example.org", File: file}); chat.KindOf(err) !=
		chat.Refused {
		t.Errorf("a mail that is too large for the server: %v", err)
	}
	if _, mails := s.sent(); len(mails) != 1 {
		t.Errorf("%d mails were sent", len(mails))
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestRepeatedMailsHaveOneID(t *testing.T) {
	c := newSMTP(t).channel(nil)
	first, second := c.id("1"), c.id("1")
	if first != second || first == c.id("2") || !isID(c.id("\r\n")) {
		t.Error(first, second, c.id("2"))
	}
}

func TestPolls(t *testing.T) {
	_, err := newSMTP(t).channel(nil).Send(t.Context(), chat.Message{Chat: "ann@example.org", Poll: &chat.Poll{}})
	if chat.KindOf(err) != chat.Cannot {
		t.Error(err)
	}
}

func TestUserIsTheAddress(t *testing.T) {
	for _, test := range []struct {
		password func(context.Context) (string, error)
		want     string
	}{
		{func(context.Context) (string, error) { return "p", nil },
			"AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00bot@example.com\x00p"))},
		{nil, ""},
	} {
		s := newSMTP(t)
		c := s.channel(func(o *chat.Account) { o.Values["user"], o.Secrets["token"] = "", test.password })
		if _, err := c.Check(t.Context()); err != nil {
			t.Error(err)
		}
		lines, _ := s.sent()
		got := ""
		for _, line := range lines {
			if strings.HasPrefix(line, "AUTH") {
				got = line
			}
		}
		if got != test.want {
			t.Errorf("the client sent %q", lines)
		}
	}
}

func TestServers(t *testing.T) {
	for in, want := range map[string]server{
		"smtps://mail.example.org":     {"mail.example.org", "mail.example.org:465", true},
		"smtp://mail.example.org":      {"mail.example.org", "mail.example.org:587", false},
		"smtp://mail.example.org:2525": {"mail.example.org", "mail.example.org:2525", false},
		"mail.example.org:465":         {"mail.example.org", "mail.example.org:465", true},
		"mail.example.org":             {"mail.example.org", "mail.example.org:587", false},
		"smtp://[::1]:25":              {"::1", "[::1]:25", false},
	} {
		if got, err := parseServer(in, "smtp", "587", "465"); got != want || err != nil {
			t.Errorf("%s: %+v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "https://mail.example.org", "imap://mail.example.org",
		"smtp://u:p@mail.example.org",
		"smtp://mail.example.org/x"} {
		if got, err := parseServer(in, "smtp", "587", "465"); err == nil {
			t.Errorf("%s: %+v", in, got)
		}
	}
}

func TestHTML(t *testing.T) {
	got := page("# T\n\nA **b** [c](https://example.org/?a=1&b=\"2) <script>alert(1)</script>\n\n- x\n- y\n\n```go\na < b\n```\n\n> q")
	for _, want := range []string{"<h1>T</h1>", "<strong>b</strong>", "&lt;script&gt;", "<ul><li>",
		"<pre><code>a &lt; b</code></pre>",
		"<blockquote><p>q</p></blockquote>"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "<script") || strings.Contains(got, `b="2`) {
		t.Errorf("HTML of the text is in\n%s", got)
	}
	if got := page("[x](javascript:alert(1))"); strings.Contains(got, "href") {
		t.Error(got)
	}
}
