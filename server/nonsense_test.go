package server

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

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
		"letters":                {strings.Repeat("x", 100_000), mcp.PARSE_ERROR, "null"},
		"an open string":         {`"` + strings.Repeat("x", 100_000), mcp.PARSE_ERROR, "null"},
		"bytes that are no text": {strings.Repeat("\xff\xfe\x00\x01", 25_000), mcp.PARSE_ERROR, "null"},
		"quotes":                 {strings.Repeat(`"`, 100_001), mcp.INVALID_REQUEST, "null"},
		"numbers":                {strings.Repeat("9", 100_000), mcp.INVALID_REQUEST, "null"},
		"half a message":         {`{"jsonrpc":"2.0","id":7,"method":"pi`, mcp.PARSE_ERROR, "7"},
		"no UTF-8 in a method": {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"pi\xffng\"}", mcp.PARSE_ERROR,
			"7"},
		"a NUL":                     {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\x00", mcp.PARSE_ERROR, "7"},
		"two messages on a line":    {ping("7") + ping("8"), mcp.PARSE_ERROR, "7"},
		"a line above the limit":    {`{"a":"` + strings.Repeat("x", 1<<20) + `"}`, mcp.INVALID_REQUEST, "null"},
		"a string":                  {`"hello"`, mcp.INVALID_REQUEST, "null"},
		"null":                      {`null`, mcp.INVALID_REQUEST, "null"},
		"an empty object":           {`{}`, mcp.INVALID_REQUEST, "null"},
		"another version":           {`{"jsonrpc":"1.0","id":7,"method":"ping"}`, mcp.INVALID_REQUEST, "7"},
		"no version":                {`{"id":7,"method":"ping"}`, mcp.INVALID_REQUEST, "7"},
		"a method that is a number": {`{"jsonrpc":"2.0","id":7,"method":1}`, mcp.INVALID_REQUEST, "7"},
		"no method":                 {`{"jsonrpc":"2.0","id":7}`, mcp.INVALID_REQUEST, "7"},
		"an unknown method": {`{"jsonrpc":"2.0","id":7,"method":"tools/destroy"}`, mcp.METHOD_NOT_FOUND,
			"7"},
		"question and answer at once": {`{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}`, mcp.INVALID_REQUEST,
			"7"},
		"params that are a list":   {call(`[1]`), mcp.INVALID_REQUEST, "7"},
		"params that are a number": {call(`3`), mcp.INVALID_REQUEST, "7"},
		"a name that is a number":  {call(`{"name":5}`), mcp.INVALID_PARAMS, "7"},
		"no name":                  {call(`{}`), mcp.INVALID_PARAMS, "7"},
		"an unknown tool":          {call(`{"name":"ecko","arguments":{}}`), mcp.INVALID_PARAMS, "7"},
		"a member twice": {`{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/list"}`,
			mcp.PARSE_ERROR, "7"},
		"a member twice, escaped": {`{"jsonrpc":"2.0","id":7,"method":"ping","m\u0065thod":"tools/list"}`,
			mcp.PARSE_ERROR, "7"},
		"an argument twice":        {call(`{"name":"echo","arguments":{"n":1,"n":2}}`), mcp.PARSE_ERROR, "7"},
		"a member in another case": {`{"jsonrpc":"2.0","id":7,"Method":"ping"}`, mcp.INVALID_REQUEST, "7"},
		"a member that folds to ours": {`{"jsonrpc":"2.0","id":7,"method":"tools/call","param` + "\u017f" +
			`":{"name":"echo"}}`, mcp.INVALID_REQUEST, "7"},
		"a param in two cases": {call(`{"name":"echo","Name":"launch"}`), mcp.INVALID_REQUEST, "7"},
		"a meta member in another case": {call(`{"name":"echo","_meta":{"ProgressToken":1}}`), mcp.INVALID_REQUEST,
			"7"},
		"a very deep list": {`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":` + nested(50_000) + `}}`,
			mcp.INVALID_REQUEST, "null"},
		"a list that stays open":  {strings.Repeat("[", 100_000), mcp.PARSE_ERROR, "null"},
		"objects that stay open":  {strings.Repeat(`{"a":`, 20_000), mcp.INVALID_REQUEST, "null"},
		"an id that is null":      {ping("null"), mcp.INVALID_REQUEST, "null"},
		"an id that is true":      {ping("true"), mcp.INVALID_REQUEST, "null"},
		"an id that is an object": {ping("{}"), mcp.INVALID_REQUEST, "null"},
		"an id that is a list":    {ping("[1]"), mcp.INVALID_REQUEST, "null"},
	} {
		t.Run(name, func(t *testing.T) {
			w.tb = t
			w.send(test.line)
			got := read(t, w.next())
			if got.Error == nil || string(got.ID) != test.id {
				t.Fatalf("got id %s and %+v, want an error for %s", got.ID, got.Error, test.id)
			}
			if got.Error.Code != test.code && !(strings.HasPrefix(test.line, "[") &&
				got.Error.Code == mcp.INVALID_REQUEST) {
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

// TestMessagesWithoutResponse sends what looks like a request and is none.
func TestMessagesWithoutResponse(t *testing.T) {
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
		if !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":`+id+`,"result":`) ||
			read(t, line).text() != strconv.Itoa(i) {
			t.Errorf("for id %.60s it wrote %.200s", id, line)
		}
	}
}

func TestAnIDIsUsedOnceAtATime(t *testing.T) {
	noLeaks(t)
	b := newTestServer(t)
	w := dial(t, b)
	w.send(callLine("1", "slow", `{"text":"first"}`), callLine("1", "echo", `{"text":"second"}`))
	if r := read(t, w.next()); string(r.ID) != "1" || r.Error == nil ||
		!strings.Contains(r.Error.Message, "still running") {
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
