package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/policy"
)

// rest ends the input and returns everything that the server still says.
func (w *wire) rest() []string {
	w.tb.Helper()
	w.in.Close()
	var lines []string
	for line := range w.lines {
		lines = append(lines, line)
	}
	if err := expect(w.tb, w.ended, "the end of the conversation"); err != nil {
		w.tb.Errorf("it ended with %v", err)
	}
	return lines
}

func ping(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }

func nested(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

// TestNonsenseGetsOneAnswer sends what no client should, and after each piece
// a ping: the nonsense is answered once, with a code that says what is wrong,
// and the next message is understood.
func TestNonsenseGetsOneAnswer(t *testing.T) {
	noLeaks(t)
	w := dial(t, newTestServer(t))
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":` + params + `}`
	}
	for name, test := range map[string]struct {
		line string
		code int
		id   string
	}{
		"letters":                       {strings.Repeat("x", 100_000), mcp.PARSE_ERROR, "null"},
		"an open string":                {`"` + strings.Repeat("x", 100_000), mcp.PARSE_ERROR, "null"},
		"bytes that are no text":        {strings.Repeat("\xff\xfe\x00\x01", 25_000), mcp.PARSE_ERROR, "null"},
		"quotes":                        {strings.Repeat(`"`, 100_001), mcp.INVALID_REQUEST, "null"},
		"numbers":                       {strings.Repeat("9", 100_000), mcp.INVALID_REQUEST, "null"},
		"half a message":                {`{"jsonrpc":"2.0","id":7,"method":"pi`, mcp.PARSE_ERROR, "7"},
		"no UTF-8 in a method":          {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"pi\xffng\"}", mcp.PARSE_ERROR, "7"},
		"a NUL":                         {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\x00", mcp.PARSE_ERROR, "7"},
		"two messages on a line":        {ping("7") + ping("8"), mcp.PARSE_ERROR, "7"},
		"a line above the limit":        {`{"a":"` + strings.Repeat("x", 1<<20) + `"}`, mcp.INVALID_REQUEST, "null"},
		"a string":                      {`"hello"`, mcp.INVALID_REQUEST, "null"},
		"null":                          {`null`, mcp.INVALID_REQUEST, "null"},
		"an empty object":               {`{}`, mcp.INVALID_REQUEST, "null"},
		"another version":               {`{"jsonrpc":"1.0","id":7,"method":"ping"}`, mcp.INVALID_REQUEST, "7"},
		"no version":                    {`{"id":7,"method":"ping"}`, mcp.INVALID_REQUEST, "7"},
		"a method that is a number":     {`{"jsonrpc":"2.0","id":7,"method":1}`, mcp.INVALID_REQUEST, "7"},
		"no method":                     {`{"jsonrpc":"2.0","id":7}`, mcp.INVALID_REQUEST, "7"},
		"a method nobody knows":         {`{"jsonrpc":"2.0","id":7,"method":"tools/destroy"}`, mcp.METHOD_NOT_FOUND, "7"},
		"question and answer at once":   {`{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}`, mcp.INVALID_REQUEST, "7"},
		"params that are a list":        {call(`[1]`), mcp.INVALID_REQUEST, "7"},
		"params that are a number":      {call(`3`), mcp.INVALID_REQUEST, "7"},
		"a name that is a number":       {call(`{"name":5}`), mcp.INVALID_PARAMS, "7"},
		"no name":                       {call(`{}`), mcp.INVALID_PARAMS, "7"},
		"a tool nobody knows":           {call(`{"name":"ecko","arguments":{}}`), mcp.INVALID_PARAMS, "7"},
		"a member twice":                {`{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/list"}`, mcp.PARSE_ERROR, "7"},
		"a member twice, escaped":       {`{"jsonrpc":"2.0","id":7,"method":"ping","m\u0065thod":"tools/list"}`, mcp.PARSE_ERROR, "7"},
		"an argument twice":             {call(`{"name":"echo","arguments":{"n":1,"n":2}}`), mcp.PARSE_ERROR, "7"},
		"a member in another case":      {`{"jsonrpc":"2.0","id":7,"Method":"ping"}`, mcp.INVALID_REQUEST, "7"},
		"a member that folds to ours":   {`{"jsonrpc":"2.0","id":7,"method":"tools/call","param` + "\u017f" + `":{"name":"echo"}}`, mcp.INVALID_REQUEST, "7"},
		"a param in two cases":          {call(`{"name":"echo","Name":"launch"}`), mcp.INVALID_REQUEST, "7"},
		"a meta member in another case": {call(`{"name":"echo","_meta":{"ProgressToken":1}}`), mcp.INVALID_REQUEST, "7"},
		"a very deep list":              {`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":` + nested(50_000) + `}}`, mcp.INVALID_REQUEST, "null"},
		"a list that stays open":        {strings.Repeat("[", 100_000), mcp.PARSE_ERROR, "null"},
		"objects that stay open":        {strings.Repeat(`{"a":`, 20_000), mcp.INVALID_REQUEST, "null"},
		"an id that is null":            {ping("null"), mcp.INVALID_REQUEST, "null"},
		"an id that is true":            {ping("true"), mcp.INVALID_REQUEST, "null"},
		"an id that is an object":       {ping("{}"), mcp.INVALID_REQUEST, "null"},
		"an id that is a list":          {ping("[1]"), mcp.INVALID_REQUEST, "null"},
	} {
		t.Run(name, func(t *testing.T) {
			w.tb = t
			w.send(test.line)
			got := read(t, w.next())
			if got.Error == nil || string(got.ID) != test.id {
				t.Fatalf("got id %s and %+v, want an error for %s", got.ID, got.Error, test.id)
			}
			if got.Error.Code != test.code && !(strings.HasPrefix(test.line, "[") && got.Error.Code == mcp.INVALID_REQUEST) {
				t.Errorf("got code %d (%s), want %d", got.Error.Code, got.Error.Message, test.code)
			}
			if len(got.Error.Message) > 1000 {
				t.Errorf("the message has %d bytes", len(got.Error.Message))
			}
			w.send(ping(`"after"`))
			if r := read(t, w.next()); string(r.ID) != `"after"` || r.Error != nil {
				t.Errorf("the ping got %+v", r)
			}
		})
	}
	w.tb = t
	if more := w.rest(); len(more) > 0 {
		t.Errorf("said without need: %q", more)
	}
}

// TestSomeThingsAreNotAnswered sends what looks like a request and is none.
func TestSomeThingsAreNotAnswered(t *testing.T) {
	noLeaks(t)
	w := dial(t, newTestServer(t))
	w.send("", "   ", "\t \r",
		`{"jsonrpc":"2.0","method":"notifications/nobody-knows","params":{"x":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"never sent"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}`,
		`{"jsonrpc":"2.0","id":"never asked","result":{}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`,
	)
	if got := w.rest(); len(got) > 0 {
		t.Errorf("it answered %q", got)
	}
}

func TestHalfAMessageAtTheEnd(t *testing.T) {
	noLeaks(t)
	w := dial(t, newTestServer(t))
	if _, err := io.WriteString(w.in, ping("1")+"\n"+ping("2")[:20]); err != nil {
		t.Fatal(err)
	}
	got := w.rest()
	if len(got) != 2 {
		t.Fatalf("got %q", got)
	}
	for _, line := range got {
		if r := read(t, line); string(r.ID) == "1" == (r.Error != nil) {
			t.Errorf("got %s", line)
		}
	}
}

func TestIDsComeBackAsTheyWere(t *testing.T) {
	noLeaks(t)
	w := dial(t, newTestServer(t))
	for i, id := range []string{
		`0`, `-1`, `-0`, `1.5`, `1.0`, `1e3`, `9007199254740993`, `123456789012345678901234567890`, `1e400`,
		`""`, `"a"`, `"\u0061"`, `"\u0000\n\u2028"`, `"<&>"`, `"` + strings.Repeat("x", 10_000) + `"`,
	} {
		w.send(callLine(id, "echo", fmt.Sprintf(`{"n":%d}`, i)))
		line := w.next()
		if !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":`+id+`,"result":`) || read(t, line).text() != strconv.Itoa(i) {
			t.Errorf("for id %.60s it wrote %.200s", id, line)
		}
	}
}

func TestAnIDIsUsedOnceAtATime(t *testing.T) {
	noLeaks(t)
	b := newTestServer(t)
	w := dial(t, b)
	w.send(callLine("1", "slow", `{"text":"first"}`), callLine("1", "echo", `{"text":"second"}`))
	if r := read(t, w.next()); string(r.ID) != "1" || r.Error == nil || !strings.Contains(r.Error.Message, "still running") {
		t.Errorf("the second got %+v", r)
	}
	b.release <- struct{}{}
	if r := read(t, w.next()); r.text() != "done first" {
		t.Errorf("the first got %+v", r)
	}
	w.send(callLine("1", "echo", `{"text":"third"}`))
	if r := read(t, w.next()); r.text() != "third0" {
		t.Errorf("the third got %+v", r)
	}
}

func TestBatchesBelongToTheirRevisions(t *testing.T) {
	noLeaks(t)
	list := func(items ...string) string { return "[" + strings.Join(items, ",") + "]" }
	mixed := list(ping("1"), `{"jsonrpc":"2.0","method":"notifications/x"}`, `5`, callLine(`"c"`, "echo", `{"text":"in a batch"}`))
	for version, allowed := range map[string]bool{"2024-11-05": true, "2025-03-26": true, "2025-06-18": false, "2025-11-25": false} {
		t.Run(version, func(t *testing.T) {
			w := dial(t, newTestServer(t))
			w.send(handshake(version, "{}")...)
			w.next()
			w.send(mixed)
			line := w.next()
			if !allowed {
				if r := read(t, line); r.Error == nil || !strings.Contains(r.Error.Message, "no batches") {
					t.Errorf("got %s", line)
				}
				return
			}
			var replies []reply
			if err := json.Unmarshal([]byte(line), &replies); err != nil || len(replies) != 3 {
				t.Fatalf("got %s, %v", line, err)
			}
			if replies[1].Error == nil || replies[2].text() != "in a batch0" {
				t.Errorf("got %s", line)
			}
			for what, raw := range map[string]string{
				"an empty batch": "[]", "a batch that is too long": list(strings.Split(strings.Repeat(ping("1")+"\n", 101), "\n")[:101]...),
				"a batch of a million": "[" + strings.Repeat("1,", 500_000) + "1]",
			} {
				w.send(raw)
				if r := read(t, w.next()); r.Error == nil || r.Error.Code != mcp.INVALID_REQUEST {
					t.Errorf("%s got %+v", what, r)
				}
			}
			w.send(list(`{"jsonrpc":"2.0","method":"notifications/x"}`))
			if more := w.rest(); len(more) > 0 {
				t.Errorf("a batch of notifications was answered: %q", more)
			}
		})
	}
}

// roomy makes room for more calls than a client may usually have waiting.
func roomy(c *Config) { c.Settings.Limits.Queued = 500 }

// byID sorts answers by their id and complains about ids that come twice.
func byID(tb testing.TB, lines []string) map[string]reply {
	tb.Helper()
	found := make(map[string]reply, len(lines))
	for _, line := range lines {
		r := read(tb, line)
		if r.Method != "" {
			continue
		}
		if _, twice := found[string(r.ID)]; twice {
			tb.Errorf("%s was answered twice", r.ID)
		}
		found[string(r.ID)] = r
	}
	return found
}

func TestTwoHundredCallersOverStdio(t *testing.T) {
	noLeaks(t)
	w := dial(t, newTestServer(t, roomy), func(s *Stdio) { s.Grace = 20 * time.Second })
	for i := range 200 {
		w.send(callLine(strconv.Itoa(i), "echo", fmt.Sprintf(`{"n":%d}`, i)))
	}
	got := byID(t, w.rest())
	if len(got) != 200 {
		t.Errorf("%d answers to 200 calls", len(got))
	}
	for id, r := range got {
		if r.text() != id {
			t.Errorf("call %s got %+v", id, r)
		}
	}
}

func TestTooManyCallersAreToldSo(t *testing.T) {
	noLeaks(t)
	b := newTestServer(t)
	w := dial(t, b)
	const calls = 300 // 10 run, 100 wait
	for i := range calls {
		w.send(callLine(strconv.Itoa(i), "slow", fmt.Sprintf(`{"text":"%d"}`, i)))
	}
	busy := 0
	for range calls - 110 {
		if r := read(t, w.next()); r.Error != nil || r.Result.IsError {
			busy++
		}
	}
	w.send(ping(`"alive"`))
	if r := read(t, w.next()); string(r.ID) != `"alive"` || r.Error != nil {
		t.Errorf("the ping got %+v", r)
	}
	close(b.release)
	done := 0
	for _, r := range byID(t, w.rest()) {
		if strings.HasPrefix(r.text(), "done ") {
			done++
		}
	}
	if busy != calls-110 || done != 110 {
		t.Errorf("%d were told to wait, %d were done", busy, done)
	}
}

func TestCancelStorm(t *testing.T) {
	noLeaks(t)
	b := newTestServer(t, roomy)
	w := dial(t, b)
	const calls = 200
	for i := range calls {
		w.send(callLine(strconv.Itoa(i), "slow", fmt.Sprintf(`{"text":"%d"}`, i)))
		if i%2 == 1 { // at once, or when others have come in between
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i-2*rand.IntN(min(i/2+1, 20))))
		}
	}
	for i := 1; i < calls; i += 2 {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
	}
	w.send(ping(`"all cancelled"`))
	if r := read(t, w.next()); string(r.ID) != `"all cancelled"` {
		t.Errorf("got %+v", r)
	}
	close(b.release)
	got := byID(t, w.rest())
	for i := range calls {
		r, answered := got[strconv.Itoa(i)]
		if answered != (i%2 == 0) || answered && r.text() != fmt.Sprintf("done %d", i) {
			t.Errorf("call %d: answered %v, %+v", i, answered, r)
		}
	}
}

func TestWhatWasCancelledWhileItWaitedIsNotRun(t *testing.T) {
	b := newTestServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := b.Call(ctx, Request{Access: testAccess(), Tool: "change", Args: []byte(`{}`)})
	if entries := b.journal.all(); !a.Result.Failed || len(entries) != 1 || entries[0].Intent || entries[0].Outcome != "cancelled" {
		t.Errorf("got %q, the journal says %+v", a.Result.Text(), entries)
	}
}

// TestReloadStorm changes the rules as fast as it can while calls run. Every
// call is answered once, by the old rules or the new, and clients are told.
func TestReloadStorm(t *testing.T) {
	noLeaks(t)
	b := newTestServer(t, roomy)
	w := dial(t, b, func(s *Stdio) { s.Grace = 20 * time.Second })
	w.send(handshake("2025-11-25", "{}")...)
	w.next()
	with, without := testSettings(t, b.Config.Tools, policy.Rules{}), testSettings(t, b.Config.Tools, policy.Rules{Deny: policy.List{"echo"}})
	with.Limits.Queued, without.Limits.Queued = 500, 500
	ctx, stop := context.WithCancel(t.Context())
	var storm sync.WaitGroup
	storm.Go(func() {
		for ctx.Err() == nil {
			for _, next := range []Settings{without, with} {
				if err := b.Apply(next); err != nil {
					t.Error(err)
				}
			}
		}
	})
	const calls = 1000
	counts := map[string]int{}
	for i := range calls {
		w.send(callLine(strconv.Itoa(i), "echo", fmt.Sprintf(`{"n":%d}`, i)))
		for answered := false; !answered; { // ten at a time would do; one shows which is lost
			r := read(t, w.next())
			switch {
			case r.Method != "":
				counts[r.Method]++
				continue
			case r.text() == strconv.Itoa(i):
				counts["done"]++
			case r.Error != nil && strings.Contains(r.Error.Message, "no tool"):
				counts["refused"]++
			default:
				t.Errorf("call %d got %+v", i, r)
			}
			answered = string(r.ID) == strconv.Itoa(i)
		}
	}
	stop()
	storm.Wait()
	if counts["done"] == 0 || counts["refused"] == 0 || counts[mcp.MethodNotificationToolsListChanged] == 0 || counts["done"]+counts["refused"] != calls {
		t.Errorf("counted %v", counts)
	}
	for _, line := range w.rest() {
		if r := read(t, line); r.Method != mcp.MethodNotificationToolsListChanged {
			t.Errorf("too much: %s", line)
		}
	}
}

// TestAClientThatNeverReads fills the pipe. What the server holds for it stays
// bounded, other clients do not notice, and shutting down still works.
func TestAClientThatNeverReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestServer(t)
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- Stdio{Server: b.Server, Access: testAccess(), MaxMessage: 1 << 20, Grace: 5 * time.Second}.Serve(ctx, inR, outW)
		}()
		const most = 3000
		sent := make(chan int, 1)
		go func() {
			n := 0
			for ; n < most; n++ {
				if _, err := io.WriteString(inW, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, n)+"\n"); err != nil {
					break
				}
			}
			sent <- n
		}()
		synctest.Wait()
		select {
		case <-sent:
			t.Errorf("it took all %d requests of a client that reads no answers", most)
		default:
		}
		if a := call(t, b, "echo", `{"text":"others"}`, func(r *Request) { r.Caller.Session = "other" }); a.Result.Text() != "others0" {
			t.Errorf("another client got %+v", a)
		}
		begun := time.Now()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Serve returned %v", err)
		}
		if took := time.Since(begun); took > 5*time.Second+lastGrace {
			t.Errorf("shutting down took %s", took)
		}
		t.Logf("it took %d requests", <-sent)
		outR.Close()
	})
}

func TestAStdioClientThatDisappears(t *testing.T) {
	noLeaks(t)
	b := newTestServer(t)
	w := dial(t, b, func(s *Stdio) { s.Grace = 10 * time.Millisecond })
	w.send(callLine("1", "slow", `{"text":"x"}`))
	expect(t, b.started, "the start of the call")
	w.in.Close()
	if got := expect(t, b.stopped, "the end of the call"); got != "x" {
		t.Errorf("%q was stopped", got)
	}
	w.rest()
}

func TestCallsInFlightFinishAfterTheEnd(t *testing.T) {
	noLeaks(t)
	b := newTestServer(t)
	w := dial(t, b, func(s *Stdio) { s.Grace = 20 * time.Second })
	for i := range 20 {
		w.send(callLine(strconv.Itoa(i), "slow", fmt.Sprintf(`{"text":"%d"}`, i)))
	}
	expect(t, b.started, "the start of a call")
	w.in.Close()
	close(b.release)
	var want []string
	got := map[string]bool{}
	for i := range 20 {
		want = append(want, fmt.Sprintf("done %d", i))
	}
	for _, r := range byID(t, w.rest()) {
		got[r.text()] = true
	}
	for _, text := range want {
		if !got[text] {
			t.Errorf("no %q: %s", text, cmp.Diff(len(want), len(got)))
		}
	}
}
