package ntfy

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire/wiretest"
)

func newChannel(t *testing.T) (*wiretest.Service, *Channel) {
	t.Helper()
	s := wiretest.New(t, "ntfy.sh")
	c, err := New(chat.Account{HTTP: s.HTTP, Secrets: map[string]chat.Secret{"token": func(context.Context) (string, error) { return "tk_secret", nil }}})
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

var id = chat.Message{Key: "7"}.UUID()

func TestSend(t *testing.T) {
	s, c := newChannel(t)
	s.Expect(wiretest.Exchange{Request: "POST https://ntfy.sh/", Reply: `{"id":"abc","event":"message"}`,
		Header: map[string]string{"Authorization": "Bearer tk_secret"},
		JSON: `{"topic":"builds","message":"**Done**\n","title":"Build 7","markdown":true,"priority":2,
			"sequence_id":"` + id + `"}`})
	sent, err := c.Send(t.Context(), chat.Message{Chat: "builds", Key: "7", Subject: "Build\r\n7", Text: "**Done**\n",
		Silent: true, Buttons: []chat.Button{{Label: "x"}}})
	if err != nil || sent.Ref != (chat.Ref{Chat: "builds", ID: "abc"}) || len(sent.Notes) != 1 {
		t.Error(sent, err)
	}
	s.Expect(wiretest.Exchange{Request: "POST https://ntfy.sh/", Reply: `{"id":"abd"}`,
		JSON: `{"topic":"builds","message":"*","sequence_id":"` + id + `"}`})
	if _, err := c.Send(t.Context(), chat.Message{Chat: "builds", Key: "7", Text: "*", Plain: true}); err != nil {
		t.Error(err)
	}
}

func TestSendFile(t *testing.T) {
	s, c := newChannel(t)
	file := &chat.File{Name: "dir/Über\nsicht.txt", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("content")), nil
	}}
	s.Expect(wiretest.Exchange{Request: "PUT https://ntfy.sh/builds?filename=%C3%9Cber+sicht.txt&message=See%0Athis&title=T",
		Header: map[string]string{"X-Sequence-Id": id}, Body: "content", Reply: `{"id":"abc"}`})
	if sent, err := c.Send(t.Context(), chat.Message{Chat: "builds", Key: "7", Subject: "T", Text: "**See**\nthis",
		File: file}); err != nil || sent.ID != "abc" {
		t.Error(sent, err)
	}
	file.Open = func() (io.ReadCloser, error) { return io.NopCloser(io.LimitReader(zeros{}, maxFile+1)), nil }
	if _, err := c.Send(t.Context(), chat.Message{Chat: "builds", File: file}); chat.KindOf(err) != chat.Refused {
		t.Error(err)
	}
	file.Open = func() (io.ReadCloser, error) { return nil, errors.New("gone") }
	if _, err := c.Send(t.Context(), chat.Message{Chat: "builds", File: file}); chat.KindOf(err) != chat.Refused {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		x     wiretest.Exchange
		kind  chat.Kind
		after time.Duration
	}{
		{wiretest.Exchange{Status: 429, Reply: `{"code":42901,"http":429,"error":"limit reached: too many requests"}`},
			chat.Busy, 10 * time.Second},
		{wiretest.Exchange{Status: 429,
			Reply: `{"code":42908,"http":429,"error":"limit reached: daily message quota"}`},
			chat.Busy, time.Hour},
		{wiretest.Exchange{Status: 429, Head: map[string]string{"Retry-After": "3"}}, chat.Busy, 3 * time.Second},
		{wiretest.Exchange{Status: 403, Reply: `{"code":40301,"http":403,"error":"forbidden"}`}, chat.Denied, 0},
		{wiretest.Exchange{Status: 401, Reply: `{"code":40101,"http":401,"error":"unauthorized tk_secret"}`},
			chat.Denied, 0},
		{wiretest.Exchange{Status: 413, Reply: `{"code":41301,"http":413,"error":"attachment too large"}`},
			chat.Refused, 0},
		{wiretest.Exchange{Status: 507, Reply: `{"code":50701,"http":507,"error":"storage"}`}, chat.Refused, 0},
		{wiretest.Exchange{Status: 500}, chat.Unknown, 0},
		{wiretest.Exchange{Status: 503}, chat.Down, 0},
		{wiretest.Exchange{Drop: true}, chat.Unknown, 0},
		{wiretest.Exchange{Reply: "<html>"}, chat.Unknown, 0},
	} {
		s, c := newChannel(t)
		test.x.Request = "POST https://ntfy.sh/"
		test.x.JSON = `{"topic":"builds","message":"x","markdown":true,"sequence_id":"` + id + `"}`
		s.Expect(test.x)
		_, err := c.Send(t.Context(), chat.Message{Chat: "builds", Key: "7", Text: "x"})
		var e *chat.Error
		if !errors.As(err, &e) || e.Kind != test.kind || e.After != test.after ||
			strings.Contains(e.Error(), "tk_secret") {
			t.Errorf("%d: %+v", test.x.Status, err)
		}
	}
}

func TestTopics(t *testing.T) {
	_, c := newChannel(t)
	for _, topic := range []string{"", "a/b", "../v1/account", "a b", "a?x=y", strings.Repeat("a", 65)} {
		if _, err := c.Send(t.Context(), chat.Message{Chat: topic, Text: "x"}); chat.KindOf(err) != chat.Refused {
			t.Errorf("%q: %v", topic, err)
		}
	}
	if _, err := c.Send(t.Context(), chat.Message{Chat: "a", Poll: &chat.Poll{}}); chat.KindOf(err) != chat.Cannot {
		t.Error(err)
	}
}

func TestCheck(t *testing.T) {
	s, c := newChannel(t)
	s.Expect(wiretest.Exchange{Request: "GET https://ntfy.sh/v1/account", Reply: `{"username":"ann","role":"user"}`},
		wiretest.Exchange{Request: "GET https://ntfy.sh/v1/account", Reply: `{"username":"*","role":"anonymous"}`},
		wiretest.Exchange{Request: "GET https://ntfy.sh/v1/account", Status: 401, Reply: `{"error":"unauthorized"}`})
	for _, want := range []string{"ann at ntfy.sh", "ntfy.sh"} {
		if name, err := c.Check(t.Context()); name != want || err != nil {
			t.Error(name, err)
		}
	}
	if _, err := c.Check(t.Context()); chat.KindOf(err) != chat.Denied {
		t.Error(err)
	}
}
