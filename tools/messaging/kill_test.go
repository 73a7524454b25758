package messaging_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

// A remote is a channel whose service is a server of the test.
type remote struct {
	*service
	url string
}

func (r remote) Send(ctx context.Context, m chat.Message) (chat.Sent, error) {
	ask := func(path string) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+path+"?key="+m.Key,
			strings.NewReader(m.Text))
		if err != nil {
			return "", err
		}
		response, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return string(body), err
	}
	if _, err := ask("/before/" + os.Getenv("OUTBOX_NAME")); err != nil { // it may end this process
		return chat.Sent{}, err
	}
	id, err := ask("/send/" + os.Getenv("OUTBOX_NAME"))
	if err != nil {
		return chat.Sent{}, &chat.Error{Kind: chat.Unknown, Text: "the connection ended", Cause: err}
	}
	return chat.Sent{Ref: chat.Ref{Chat: m.Chat, ID: id}}, nil
}

// killOutbox returns the outbox of one of the processes. Leases do not expire by themselves: the test
// makes the time pass when it has killed a process.
func killOutbox(s *store.Store, url string) *messaging.Outbox {
	return messaging.NewOutbox(messaging.OutboxOptions{
		Store: s, Accounts: accounts(remote{newService(), url}, "telegram"), Lease: time.Hour, Slots: 1,
	})
}

// TestSendingChild runs in the processes that TestKilledSenders kills.
func TestSendingChild(t *testing.T) {
	dsn := os.Getenv("OUTBOX_CHILD")
	if dsn == "" {
		t.Skip("for another test")
	}
	o := killOutbox(storetest.Open(t, dsn), os.Getenv("OUTBOX_URL"))
	o.Start()
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends it
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

// A murderer is the service, and kills the processes that use it.
type murderer struct {
	t   *testing.T
	s   *store.Store
	dsn string
	url string

	mu       sync.Mutex
	children map[string]*child
	arrived  map[string][]string // texts, by chat
	killed   map[string]bool     // what was killed already
	kills    int
}

type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

func (k *murderer) start(name string) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestSendingChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), "OUTBOX_CHILD="+k.dsn, "OUTBOX_URL="+k.url, "OUTBOX_NAME="+name)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		k.t.Error(err)
		return
	}
	k.children[name] = &child{cmd, stdin}
}

// kill ends a process while it sends a message, lets the time of its lease pass, and starts another
// process. The mutex is held.
func (k *murderer) kill(name, key string) {
	c := k.children[name]
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	k.kills++
	pass(k.t, k.s, "state = 'running' AND id = $1", key)
	k.start(name)
}

// ServeHTTP answers /before/NAME and /send/NAME. The text of a message says where its process dies.
func (k *murderer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	text, key := string(body), r.URL.Query().Get("key")
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	where, name := parts[0], parts[1]
	k.mu.Lock()
	defer k.mu.Unlock()
	plain := strings.TrimPrefix(text, again)
	if where == "send" {
		k.arrived[plain] = append(k.arrived[plain], text)
	}
	once := where + " " + text
	if dies := strings.Contains(plain, where+" always") || strings.Contains(plain, where) && text == plain; dies &&
		!k.killed[once] {
		k.killed[once] = true
		k.kill(name, key)
		return
	}
	fmt.Fprint(w, len(k.arrived))
}

// TestKilledSenders has three processes that send, and kills them before a request, after it, and at
// both attempts. Each message must arrive, at most twice, the second time with a mark, and in the order
// of its chat.
func TestKilledSenders(t *testing.T) {
	test := func(t *testing.T, dsn string) {
		s := storetest.Open(t, dsn)
		k := &murderer{
			t: t, s: s, dsn: dsn, children: map[string]*child{}, arrived: map[string][]string{},
			killed: map[string]bool{},
		}
		server := httptest.NewServer(k)
		defer server.Close()
		k.url = server.URL
		o := killOutbox(s, k.url)
		want := map[string]int{}
		var ids []string
		for at := range 6 {
			for n, how := range []string{"nowhere", "before", "send", "send always"} {
				words := fmt.Sprintf("%d.%d dies %s", at, n, how)
				if n == 0 || at < 3 { // the others are only sent
					want[words] = []int{1, 1, 2, 2}[n]
				} else {
					words, want[fmt.Sprintf("%d.%d", at, n)] = fmt.Sprintf("%d.%d", at, n), 1
				}
				ids = append(ids, put(t, o, text(fmt.Sprint("chat ", at), words)))
			}
		}
		k.mu.Lock()
		for _, name := range []string{"a", "b", "c"} {
			k.start(name)
		}
		k.mu.Unlock()
		for _, id := range ids {
			await(t, s, id)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		for _, c := range k.children {
			_ = c.stdin.Close()
			_ = c.cmd.Wait()
		}
		for words, times := range want {
			got := k.arrived[words]
			ok := len(got) == times && (strings.TrimPrefix(got[0], again) == words)
			if times == 2 {
				ok = ok && got[0] == words && got[1] == again+words
			}
			if !ok {
				t.Errorf("%q arrived as %q", words, got)
			}
		}
		if k.kills != 3+3+3*2 {
			t.Errorf("%d processes were killed", k.kills)
		}
	}
	t.Run("sqlite", func(t *testing.T) { test(t, t.TempDir()) })
	t.Run("postgres", func(t *testing.T) { test(t, storetest.Database(t)) })
}

// await waits until other processes have ended a post.
func await(t *testing.T, s *store.Store, id string) {
	t.Helper()
	defer s.Urgent()()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		changed := s.Wait(messaging.Topic)
		var state messaging.State
		if err := s.Row(t.Context(), "SELECT state FROM outbox WHERE id = $1", []any{id}, &state); err != nil {
			t.Fatal(err)
		}
		if slices.Contains([]messaging.State{messaging.Sent, messaging.Failed}, state) {
			return
		}
		select {
		case <-changed:
		case <-time.After(time.Second):
		}
	}
	t.Fatalf("the message %s does not end", id)
}
