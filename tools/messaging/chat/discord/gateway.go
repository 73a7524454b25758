package discord

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire/socket"
)

// The operations of the Gateway.
const (
	opDispatch, opHeartbeat, opIdentify, opResume, opReconnect, opInvalid, opHello, opAck = 0, 1, 2, 6, 7, 9, 10, 11
)

// intents are the kinds of events that the bot receives: messages in servers and in private, with their texts.
const intents = 1<<9 | 1<<12 | 1<<15

// A payload is a message of the Gateway.
type payload struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int64           `json:"s,omitempty"`
	Type string          `json:"t,omitempty"`
}

// A cursor is a session at the Gateway that can be resumed.
type cursor struct {
	Session string `json:"session"`
	URL     string `json:"url"`
	Seq     int64  `json:"seq"`
}

func (c cursor) String() string {
	encoded, err := json.Marshal(c)
	if err != nil {
		return ""
	}
	return string(encoded)
}

// Pull receives messages and interactions over the Gateway. The cursor is a session: it resends
// the events missed in the last minutes.
func (c *Channel) Pull(ctx context.Context, from string, deliver func(string, []chat.Incoming) error) error {
	s := &session{c: c, deliver: deliver}
	_ = json.Unmarshal([]byte(from), &s.at) // "" and an invalid cursor begin a new session
	return wire.Repeat(ctx, c.wait, s.connect)
}

// A session is a connection to the Gateway, and those after it.
type session struct {
	c       *Channel
	deliver func(string, []chat.Incoming) error
	at      cursor
}

// connect opens a connection and reads until it ends.
func (s *session) connect(ctx context.Context) error {
	target := s.at.URL
	if s.at.Session == "" {
		var gateway struct {
			URL string `json:"url"`
		}
		if err := s.c.call(ctx, http.MethodGet, "gateway/bot", true, nil, &gateway); err != nil {
			return err
		}
		target = gateway.URL
	}
	u, err := url.Parse(target)
	if err != nil || !s.c.api.Owns(target) {
		s.at = cursor{}
		return &chat.Error{Kind: chat.Down, Text: "Discord named an address of another host for the Gateway"}
	}
	u.Path, u.RawQuery = "/", "v=10&encoding=json"
	conn, err := socket.Open(ctx, "Discord", u.String(), s.c.a)
	if err != nil {
		return err
	}
	defer conn.Close()
	l := &link{session: s, conn: conn}
	l.seq.Store(s.at.Seq)
	err = l.run(ctx)
	switch socket.Code(err) {
	case 4004, 4010, 4011, 4012, 4013, 4014:
		return &chat.Error{Kind: chat.Denied, Cause: err,
			Text: "Discord refuses the bot: its token is not valid, or it " +
				"may not read messages (switch on the Message Content Intent in the settings of the application)"}
	case 4007, 4009:
		s.at = cursor{} // the session cannot be resumed
	}
	return err
}

// A link is one connection to the Gateway.
type link struct {
	*session
	conn  *socket.Conn
	seq   atomic.Int64
	acked atomic.Bool
}

// run reads until the connection ends. It returns nil if Discord asks to connect again.
func (l *link) run(ctx context.Context) error {
	var hello struct {
		Interval int64 `json:"heartbeat_interval"` // milliseconds
	}
	var p payload
	if err := l.conn.Read(ctx, &p); err != nil {
		return err
	}
	if json.Unmarshal(p.Data, &hello) != nil || p.Op != opHello || hello.Interval <= 0 {
		return &chat.Error{Kind: chat.Down, Text: "the Gateway of Discord did not begin with hello"}
	}
	if err := l.begin(ctx); err != nil {
		return err
	}
	l.acked.Store(true)
	beating, stop := context.WithCancel(ctx)
	var heart sync.WaitGroup
	heart.Go(func() { l.beat(beating, time.Duration(hello.Interval)*time.Millisecond) })
	defer heart.Wait()
	defer stop()
	for {
		var p payload
		if err := l.conn.Read(ctx, &p); err != nil {
			return err
		}
		if again, err := l.handle(ctx, p); err != nil || again {
			return err
		}
	}
}

// begin resumes the session, or begins a new one.
func (l *link) begin(ctx context.Context) error {
	token, err := l.c.a.Secrets["token"].Get(ctx, "token of Discord")
	if err != nil {
		return err
	}
	if l.at.Session != "" {
		return l.conn.Write(ctx, map[string]any{"op": opResume, "d": map[string]any{"token": token,
			"session_id": l.at.Session, "seq": l.at.Seq}})
	}
	return l.conn.Write(ctx, map[string]any{"op": opIdentify, "d": map[string]any{"token": token, "intents": intents,
		"properties": map[string]string{"os": "linux", "browser": "mcp-tools", "device": "mcp-tools"}}})
}

// beat sends heartbeats, and ends the connection if one is not answered.
func (l *link) beat(ctx context.Context, every time.Duration) {
	wait := rand.N(every)
	for l.c.pulse(ctx, wait) == nil {
		if !l.acked.Swap(false) || l.heartbeat(ctx) != nil {
			l.conn.Break()
			return
		}
		wait = every
	}
}

func (l *link) heartbeat(ctx context.Context) error {
	var seq any
	if n := l.seq.Load(); n > 0 {
		seq = n
	}
	return l.conn.Write(ctx, map[string]any{"op": opHeartbeat, "d": seq})
}

// handle handles a payload, and reports whether to connect again.
func (l *link) handle(ctx context.Context, p payload) (again bool, err error) {
	switch p.Op {
	case opHeartbeat:
		return false, l.heartbeat(ctx)
	case opAck:
		l.acked.Store(true)
	case opReconnect:
		return true, nil
	case opInvalid:
		if string(p.Data) != "true" {
			l.at = cursor{}
		}
		return true, &chat.Error{Kind: chat.Down, Text: "Discord has ended the session"} // and wants a pause
	case opDispatch:
		return false, l.dispatch(ctx, p)
	}
	return false, nil
}

// dispatch handles an event.
func (l *link) dispatch(ctx context.Context, p payload) error {
	var in []chat.Incoming
	var i interaction
	next := l.at
	next.Seq = p.Seq
	switch p.Type {
	case "READY":
		var ready struct {
			Session string `json:"session_id"`
			URL     string `json:"resume_gateway_url"`
		}
		if err := json.Unmarshal(p.Data, &ready); err != nil {
			return &chat.Error{Kind: chat.Down, Text: "the Gateway of Discord sent an unknown beginning", Cause: err}
		}
		next.Session, next.URL = ready.Session, ready.URL
	case "MESSAGE_CREATE":
		var n note
		if json.Unmarshal(p.Data, &n) == nil {
			in = n.incoming(l.c.a.Time())
		}
	case "INTERACTION_CREATE":
		if json.Unmarshal(p.Data, &i) == nil {
			in = i.incoming(l.c.a.Time())
		}
	}
	if len(in) > 0 {
		if err := l.deliver(next.String(), in); err != nil {
			return err
		}
	}
	l.at = next
	l.seq.Store(next.Seq)
	if i.Token == "" || !isID(i.ID) {
		return nil
	}
	// If this fails, Discord shows an error to the person, but the press is delivered.
	_, _ = l.c.api.Do(ctx, wire.Call{Path: "interactions/" + i.ID + "/" + url.PathEscape(i.Token) + "/callback",
		Bare: true,
		Safe: true, Header: http.Header{"User-Agent": {agent}}, Body: json.RawMessage(i.response())})
	return nil
}
