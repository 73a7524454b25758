package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A jsonrpc.Error of the transports that mcp-go comes with is why there are ours. Its
// probe says how it shows, or nil. What shows only now and then is probed
// several times.
type probe struct {
	kind  string // of transport
	often int    // at most; 0 is once
	run   func(*testing.T, *target) error
}

// TestWhyThereAreTransportsOfOurs probes ours, which must have no fault, and
// the stock ones, which must still have theirs: one that is fixed upstream is
// one reason less.
func TestWhyThereAreTransportsOfOurs(t *testing.T) {
	for name, p := range map[string]probe{
		"stdio: progress comes after the answer":         {"stdio", 20, progressAfterAnswer},
		"stdio: waiting calls block the reading":         {"stdio", 0, readingBlocked},
		"stdio: the end of input cancels calls":          {"stdio", 0, endCancels},
		"stdio: a line has no limit":                     {"stdio", 0, endlessLine},
		"stdio: the filter of a subscription is ignored": {"stdio", 0, filterIgnored},
		"stdio: who cannot answer is asked":              {"stdio", 0, askedInVain},
		"stdio: errors tell internals":                   {"stdio", 0, internalsTold},
		"stdio: arguments are not checked":               {"stdio", 0, argumentsUnchecked},
		"stdio: an approval is good for another call":    {"stdio", 0, approvalReused},
		"http: one client cancels another's call":        {"http", 0, foreignCancel},
		"http: progress is lost":                         {"http", 100, progressLost},
		"http: progress reaches another call":            {"http", 100, progressAstray},
		"http: a body has no limit":                      {"http", 0, endlessBody},
		"http: any page may call":                        {"http", 0, anyOrigin},
		"http: a session works on another path":          {"http", 0, sessionOnOtherPath},
		"http: a session works for another caller":       {"http", 0, sessionOfOther},
		"http: a made-up session works":                  {"http", 0, sessionMadeUp},
		"http: an open stream holds up the shutdown":     {"http", 0, shutdownHangs},
		"http: every handshake costs memory for ever":    {"http", 0, memoryLost},
		"sse: every page may read":                       {"sse", 0, everyPageReads},
		"sse: a page may post plain text":                {"sse", 0, plainTextTaken},
		"sse: calls outlive their client":                {"sse", 0, callOutlivesClient},
		"sse: no person can be asked":                    {"sse", 0, cannotAsk},
	} {
		t.Run(name, func(t *testing.T) {
			t.Run("ours", func(t *testing.T) {
				if err := p.repeat(t, ours); err != nil {
					t.Error(err)
				}
			})
			t.Run("stock", func(t *testing.T) {
				err := p.repeat(t, stock)
				switch {
				case err == nil && p.often > 0:
					t.Log("a race of theirs did not happen this time")
				case err == nil:
					t.Error("the fault no longer shows")
				}
			})
		})
	}
}

func (p probe) repeat(t *testing.T, start func(*testing.T, string) *target) error {
	g := start(t, p.kind)
	for range max(p.often, 1) {
		if err := p.run(t, g); err != nil {
			return err
		}
	}
	return nil
}

// await returns the next value, or fails when none comes in time.
func await[T any](patience time.Duration, from <-chan T) (T, error) {
	select {
	case v, ok := <-from:
		if !ok {
			return v, errors.New("it was closed")
		}
		return v, nil
	case <-time.After(patience):
		var none T
		return none, errors.New("nothing came")
	}
}

// quiet fails when something does come. It can only wait so long.
func quiet[T any](silence time.Duration, from <-chan T) error {
	select {
	case v := <-from:
		return fmt.Errorf("got %v", v)
	case <-time.After(silence):
		return nil
	}
}

func progressAfterAnswer(t *testing.T, g *target) error {
	g.wire.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chatty","arguments":{},"_meta":{"progressToken":"p"}}}`)
	var got []string
	for range 4 {
		line, err := await(g.patience, g.wire.lines)
		if err != nil {
			return err
		}
		got = append(got, line)
	}
	if read(t, got[3]).Method != "" {
		return fmt.Errorf("the answer is not the last: %q", got)
	}
	return nil
}

func readingBlocked(t *testing.T, g *target) error {
	go func() {
		for i := range 120 {
			if _, err := g.wire.in.Write([]byte(callLine(strconv.Itoa(i), "slow", fmt.Sprintf(`{"text":"%d"}`, i)) +
				"\n")); err != nil {
				return
			}
		}
		_, _ = g.wire.in.Write([]byte(ping(`"alive"`) + "\n")) // an error shows in the missing response
	}()
	for {
		line, err := await(g.patience, g.wire.lines)
		if err != nil {
			return fmt.Errorf("the ping behind 120 calls: %w", err)
		}
		if string(read(t, line).ID) == `"alive"` {
			return nil
		}
	}
}

func endCancels(_ *testing.T, g *target) error {
	g.wire.send(callLine("1", "slow", `{"text":"x"}`))
	if _, err := await(g.patience, g.started); err != nil {
		return err
	}
	g.wire.in.Close()
	if err := quiet(g.silence, g.stopped); err != nil {
		return fmt.Errorf("the call was stopped: %w", err)
	}
	g.release <- struct{}{}
	_, err := await(g.patience, g.wire.lines)
	return err
}

func endlessLine(t *testing.T, g *target) error {
	g.wire.send(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 2<<20) + `"}}`)
	line, err := await(g.patience, g.wire.lines)
	if err == nil && read(t, line).Error == nil {
		return errors.New("a line of 2 MiB was taken")
	}
	return err
}

func filterIgnored(t *testing.T, g *target) error {
	g.wire.send(modernLine(`"sub"`, "subscriptions/listen", `"notifications":{"promptsListChanged":true}`))
	if _, err := await(g.patience, g.wire.lines); err != nil {
		return err
	}
	g.change()
	for {
		select {
		case line := <-g.wire.lines:
			if read(t, line).Method == mcp.MethodNotificationToolsListChanged {
				return fmt.Errorf("a client that subscribed to prompts got %s", line)
			}
		case <-time.After(g.silence):
			return nil
		}
	}
}

func askedInVain(t *testing.T, g *target) error {
	g.wire.send(handshake("2025-11-25", "{}")...)
	if _, err := await(g.patience, g.wire.lines); err != nil {
		return err
	}
	g.wire.send(callLine("1", "launch", "{}"))
	line, err := await(g.patience, g.wire.lines)
	if err == nil && read(t, line).Method == string(mcp.MethodElicitationCreate) {
		return errors.New("a client that did not declare elicitation was asked")
	}
	return err
}

func internalsTold(_ *testing.T, g *target) error {
	g.wire.send(callLine("1", "broken", "{}"))
	line, err := await(g.patience, g.wire.lines)
	if err == nil && strings.Contains(line, "/srv/private") {
		return fmt.Errorf("it got %s", line)
	}
	return err
}

func argumentsUnchecked(_ *testing.T, g *target) error {
	g.wire.send(callLine("1", "echo", `{"n":"many","bogus":[1]}`))
	line, err := await(g.patience, g.wire.lines)
	if err == nil && !strings.Contains(line, `"isError":true`) {
		return fmt.Errorf("it got %s", line)
	}
	return err
}

func approvalReused(t *testing.T, g *target) error {
	g.wire.send(modernLine("1", "tools/call", `"name":"launch","arguments":{"text":"what was shown"}`))
	line, err := await(g.patience, g.wire.lines)
	if err != nil {
		return err
	}
	var asked struct{ Result struct{ RequestState string } }
	if err := json.Unmarshal([]byte(line), &asked); err != nil || asked.Result.RequestState == "" {
		t.Fatalf("no question was asked: %s", line)
	}
	for _, state := range []string{asked.Result.RequestState, "made up"} {
		g.wire.send(modernLine("2", "tools/call", fmt.Sprintf(
			`"name":"launch","arguments":{"text":"something else"},"requestState":%q,"inputResponses":{"approval":{"action":"accept","content":{"decision":"allow"}}}`, state)))
		line, err := await(g.patience, g.wire.lines)
		if err != nil {
			return err
		}
		if strings.Contains(line, "launched") {
			return fmt.Errorf("with the state %q it ran", state)
		}
	}
	return nil
}

// TestWideMessagesAreRefusedUndecoded sends wide messages, which take a hundred times their size when they are
// decoded.
func TestWideMessagesAreRefusedUndecoded(t *testing.T) {
	wide := strings.Repeat("{},", tool.MaxValues) + "1"
	for what, raw := range map[string]string{
		"arguments": callLine("1", "echo", `{"text":[`+wide+`]}`),
		"params":    `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x":[` + wide + `]}}}`,
		"a batch":   `[` + wide + `]`,
	} {
		if _, refused := jsonrpc.Parse([]byte(raw)); refused == nil || !strings.Contains(refused.Message, "values") {
			t.Errorf("%s: got %v", what, refused)
		}
	}
}
