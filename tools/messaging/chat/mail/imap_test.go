package mail

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

// An imapServer is a mail server in memory.
type imapServer struct {
	t       *testing.T
	address string
	user    *imapmemserver.User
	web     *httptest.Server
}

func newIMAP(t *testing.T, secure bool, capabilities ...imap.Cap) *imapServer {
	t.Helper()
	s := &imapServer{t: t, user: imapmemserver.NewUser("bot", "hunter2-secret"), web: httptest.NewTLSServer(nil)}
	s.web.Close()
	s.create()
	store := imapmemserver.New()
	store.AddUser(s.user)
	certificates := &tls.Config{Certificates: s.web.TLS.Certificates}
	caps := imap.CapSet{imap.CapIMAP4rev1: {}}
	for _, c := range capabilities {
		caps[c] = struct{}{}
	}
	server := imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return store.NewSession(), nil, nil
		},
		Caps: caps, TLSConfig: certificates, InsecureAuth: true, Logger: log.New(io.Discard, "", 0),
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	if secure {
		l = tls.NewListener(l, certificates)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() { _ = server.Close(); serving.Wait() })
	return s
}

func (s *imapServer) create() {
	s.t.Helper()
	if err := s.user.Create("INBOX", nil); err != nil {
		s.t.Fatal(err)
	}
}

func (s *imapServer) add(mail string) {
	s.t.Helper()
	raw := bytes.NewReader([]byte(strings.ReplaceAll(mail, "\n", "\r\n")))
	if _, err := s.user.Append("INBOX", raw, &imap.AppendOptions{Time: time.Unix(1772600000, 0)}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *imapServer) channel(change func(o *chat.Account)) *Channel {
	s.t.Helper()
	smtp := newSMTP(s.t) // for its roots
	o := chat.Account{Roots: smtp.roots, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, s.address)
	}, Values: map[string]string{"from": "bot@example.com", "user": "bot", "smtp": "mail.example.com", "imap": "imap://mail.example.com", "verifier": "mx.example.com"}, Secrets: map[string]chat.Secret{"token": func(context.Context) (string, error) { return "hunter2-secret", nil }}}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		s.t.Fatal(err)
	}
	c.wait = func(ctx context.Context, _ time.Duration) error { return clock.Sleep(ctx, time.Millisecond) }
	c.poll, c.idle = 10*time.Millisecond, 10*time.Millisecond
	return c
}

// A delivery is one call of deliver.
type delivery struct {
	cursor string
	in     []chat.Incoming
}

// start pulls until the test, or the function that it returns, ends it.
func start(t *testing.T, c *Channel, cursor string) (deliveries <-chan delivery, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	all := make(chan delivery, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- c.Pull(ctx, cursor, func(at string, in []chat.Incoming) error {
			all <- delivery{at, in}
			return nil
		})
	}()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("Pull ended with %v", err)
			}
		})
	}
	t.Cleanup(stop)
	return all, stop
}

func next(t *testing.T, deliveries <-chan delivery) delivery {
	t.Helper()
	select {
	case d := <-deliveries:
		return d
	case <-time.After(time.Minute):
		t.Fatal("nothing was delivered")
		return delivery{}
	}
}

const answer = `Authentication-Results: mx.example.com; dkim=pass header.d=example.org; dmarc=pass header.from=example.org
From: Ann Lee <Ann@example.org>
To: bot@example.com
Subject: Re: =?utf-8?q?Gr=C3=BC=C3=9Fe?=
Message-ID: <2@example.org>
In-Reply-To: <mcp-tools.1@example.com>
References: <mcp-tools.0@example.com> <mcp-tools.1@example.com>
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: text/plain; charset=utf-8

Yes, do it.

On Friday the bot wrote:
> Shall I?

--b
Content-Type: application/pdf; name="plan.pdf"
Content-Disposition: attachment; filename="../pl` + "\u202e" + `an.pdf"
Content-Transfer-Encoding: base64

UERG
--b--
`

func TestPullDeliversEachMailOnce(t *testing.T) {
	for name, capability := range map[string]imap.Cap{"revision 1": imap.CapIMAP4rev1,
		"revision 2": imap.CapIMAP4rev2} {
		t.Run(name, func(t *testing.T) {
			s := newIMAP(t, false, capability)
			s.add("From: old@example.org\n\nThis was there before.\n")
			c := s.channel(nil)
			deliveries, stop := start(t, c, "")
			first := next(t, deliveries)
			if len(first.in) != 0 || !strings.HasSuffix(first.cursor, ":1") {
				t.Fatalf("at first: %+v", first)
			}
			s.add(answer)
			got := next(t, deliveries)
			if len(got.in) != 1 {
				t.Fatalf("%+v", got)
			}
			in := got.in[0]
			if in.From != (chat.Person{ID: "ann@example.org", Name: "Ann Lee"}) || in.Text != "Yes, do it." ||
				in.Title != "Re: Grüße" || in.ReplyTo != "mcp-tools.1@example.com" || in.At.Unix() != 1772600000 ||
				in.Message != (chat.Ref{Chat: "ann@example.org", Thread: "mcp-tools.0@example.com",
					ID: "2@example.org"}) {
				t.Errorf("%+v", in)
			}
			if len(in.Files) != 1 || in.Files[0].Name != ".._plan.pdf" || in.Files[0].Size != 3 {
				t.Errorf("the files are %+v", in.Files)
			}
			stop()
			s.add("From: next@example.org\n\nThis came while nothing ran.\n")
			deliveries, stop = start(t, c, got.cursor)
			later := next(t, deliveries)
			if len(later.in) != 1 || later.in[0].Text != "This came while nothing ran." || later.in[0].ID == in.ID {
				t.Errorf("later: %+v", later)
			}
			var content bytes.Buffer
			if err := c.Fetch(t.Context(), in.Files[0], 100, &content); err != nil || content.String() != "PDF" {
				t.Errorf("the file is %q, %v", content.String(), err)
			}
			stop()
			if len(deliveries) > 0 {
				t.Errorf("delivered again: %+v", <-deliveries)
			}
		})
	}
}

// With IDLE the server says that something has arrived.
func TestPullIdles(t *testing.T) {
	s := newIMAP(t, false)
	c := s.channel(nil)
	c.poll, c.idle = time.Hour, time.Hour
	deliveries, _ := start(t, c, "")
	next(t, deliveries)
	limit := time.After(time.Minute)
	for { // the server of the tests reports a mail that arrives before IDLE only with the next one
		s.add("From: a@example.org\n\nHello.\n")
		select {
		case d := <-deliveries:
			if len(d.in) != 1 || d.in[0].Text != "Hello." {
				t.Errorf("%+v", d)
			}
			return
		case <-time.After(10 * time.Millisecond):
		case <-limit:
			t.Fatal("nothing was delivered")
		}
	}
}

func TestPullOverTLS(t *testing.T) {
	s := newIMAP(t, true)
	s.add("From: old@example.org\n\nOld.\n")
	deliveries, _ := start(t, s.channel(func(o *chat.Account) { o.Values["imap"] = "imaps://mail.example.com" }), "")
	if d := next(t, deliveries); !strings.HasSuffix(d.cursor, ":1") {
		t.Errorf("%+v", d)
	}
}

// away makes the channel believe that the server is on another machine.
func (s *imapServer) away(o *chat.Account) {
	o.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, s.address)
		return remote{conn}, err
	}
}

func TestPullWithSTARTTLS(t *testing.T) {
	s := newIMAP(t, false)
	s.add("From: old@example.org\n\nOld.\n")
	deliveries, _ := start(t, s.channel(s.away), "")
	if d := next(t, deliveries); !strings.HasSuffix(d.cursor, ":1") {
		t.Errorf("%+v", d)
	}
}

func TestPullSendsNoPasswordWithoutEncryption(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "* OK ready\r\n")
		var sent strings.Builder
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			sent.WriteString(lines.Text() + "\n")
			tag, command, _ := strings.Cut(lines.Text(), " ")
			if command == "CAPABILITY" {
				_, _ = io.WriteString(conn, "* CAPABILITY IMAP4rev1\r\n"+tag+" OK\r\n")
			} else {
				_, _ = io.WriteString(conn, tag+" NO no encryption\r\n")
			}
		}
		got <- sent.String()
	}()
	t.Cleanup(func() { _ = l.Close() })
	s := &imapServer{t: t, address: l.Addr().String()}
	c := s.channel(s.away)
	err = c.Pull(t.Context(), "", func(string, []chat.Incoming) error { return nil })
	if chat.KindOf(err) != chat.Denied {
		t.Error(err)
	}
	if sent := <-got; strings.Contains(sent, "hunter2") || !strings.Contains(sent, "STARTTLS") {
		t.Errorf("the client sent %q", sent)
	}
}

// A server that is silent in the middle of a conversation does not stop Pull for ever.
func TestPullLeavesSilentServers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); serving.Wait() })
	serving.Go(func() {
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if n == 2 {
				cancel()
			}
			serving.Go(func() {
				defer conn.Close()
				_, _ = io.WriteString(conn, "* OK [CAPABILITY IMAP4rev1] ready\r\n")
				_, _ = io.Copy(io.Discard, conn)
			})
		}
	})
	c := (&imapServer{t: t, address: l.Addr().String()}).channel(nil)
	c.patience = 20 * time.Millisecond
	if err := c.Pull(ctx, "", func(string, []chat.Incoming) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestPullEndsIfThePasswordIsWrong(t *testing.T) {
	s := newIMAP(t, false)
	c := s.channel(func(o *chat.Account) {
		o.Secrets["token"] = func(context.Context) (string, error) { return "wrong", nil }
	})
	err := c.Pull(t.Context(), "", func(string, []chat.Incoming) error { return nil })
	if chat.KindOf(err) != chat.Denied || strings.Contains(err.Error(), "wrong ") {
		t.Error(err)
	}
}

// If storing fails Pull ends, and the next one delivers the same mail again.
func TestPullRepeatsWhatWasNotStored(t *testing.T) {
	s := newIMAP(t, false)
	c := s.channel(nil)
	box, err := s.user.Status("INBOX", &imap.StatusOptions{UIDValidity: true})
	if err != nil {
		t.Fatal(err)
	}
	s.add("From: a@example.org\n\nFirst.\n")
	s.add("From: a@example.org\n\nSecond.\n")
	full, enough := errors.New("the disk is full"), errors.New("enough")
	cursor := formatCursor(box.UIDValidity, 0)
	var texts []string
	for _, want := range []error{full, enough} {
		if err := c.Pull(t.Context(), cursor, func(at string, in []chat.Incoming) error {
			texts = append(texts, in[0].Text)
			switch len(texts) {
			case 2:
				return full
			case 3:
				return enough
			}
			cursor = at
			return nil
		}); !errors.Is(err, want) {
			t.Error(err)
		}
	}
	if strings.Join(texts, " ") != "First. Second. Second." {
		t.Errorf("%q", texts)
	}
}

// When the server numbers its mails anew, those of the last days are read again.
func TestPullAfterNewNumbers(t *testing.T) {
	s := newIMAP(t, false)
	s.add("From: a@example.org\n\nHello.\n")
	c := s.channel(func(o *chat.Account) {
		o.Now = func() time.Time {
			return time.Unix(1772600000,
				0).Add(24 * time.Hour)
		}
	})
	deliveries, _ := start(t, c, "4000000000:17")
	if d := next(t, deliveries); len(d.in) != 1 || d.in[0].Text != "Hello." || !strings.HasSuffix(d.cursor, ":1") {
		t.Errorf("%+v", d)
	}
}

func TestCheckSignsInToBoth(t *testing.T) {
	s := newIMAP(t, false)
	smtp := newSMTP(t)
	c := s.channel(func(o *chat.Account) {
		o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.HasSuffix(address, ":587") {
				return (&net.Dialer{}).DialContext(ctx, network, smtp.address)
			}
			return (&net.Dialer{}).DialContext(ctx, network, s.address)
		}
	})
	if name, err := c.Check(t.Context()); name != "bot@example.com" || err != nil {
		t.Error(name, err)
	}
}

func TestFetchRefuses(t *testing.T) {
	s := newIMAP(t, false)
	s.add(answer)
	c := s.channel(nil)
	box, err := s.user.Status("INBOX", &imap.StatusOptions{UIDValidity: true})
	if err != nil {
		t.Fatal(err)
	}
	place := formatCursor(box.UIDValidity, 1)
	for _, test := range []struct {
		id    string
		limit int64
	}{{"", 10}, {"x:y:z", 10}, {place + ":7", 10}, {place + ":1", 2}, {formatCursor(box.UIDValidity, 9) + ":1", 10},
		{"99:1:1", 10}} {
		err := c.Fetch(t.Context(), chat.Attachment{ID: test.id}, test.limit, io.Discard)
		if chat.KindOf(err) != chat.Refused {
			t.Errorf("%q: %v", test.id, err)
		}
	}
}
