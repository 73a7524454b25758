package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/scrub"
)

// act is a tool of one function, for tests.
type act[A any] struct {
	spec tool.Spec
	do   func(context.Context, A) (tool.Result, error)
}

func (a act[A]) Spec() tool.Spec { return a.spec }

func (a act[A]) Do(ctx context.Context, args A) (tool.Result, error) { return a.do(ctx, args) }

func newTool[A any](name string, risk tool.Risk, do func(context.Context, A) (tool.Result, error)) tool.Tool {
	return tool.New(act[A]{tool.Spec{
		Name: name, Group: "test", Title: name, Doc: "The test tool " + name + ".", Risk: risk,
	}, do})
}

type none struct{}

type textArgs struct {
	Text string `json:"text,omitempty" jsonschema:"some text"`
	N    int    `json:"n,omitempty" jsonschema:"a number"`
}

// bench is a server with tools of every temper, and everything a test needs to
// look behind it.
type testServer struct {
	*Server
	audit   *memoryAuditLog
	results *memoryResults
	// started gets a value when a slow call begins, release lets one go on.
	started chan string
	release chan struct{}
	stopped chan string // names of slow calls, when their contexts end
	over    chan string // sessions that have ended
}

func testTools(b *testServer) []tool.Tool {
	return []tool.Tool{
		newTool("echo", tool.Reads, func(_ context.Context, a textArgs) (tool.Result, error) {
			return tool.Textf("%s%d", a.Text, a.N), nil
		}),
		newTool("slow", tool.Reads, func(ctx context.Context, a textArgs) (tool.Result, error) {
			if a.N > 0 {
				tool.Idle(ctx)
			}
			b.started <- a.Text
			select {
			case <-b.release:
				return tool.Text("done " + a.Text), nil
			case <-ctx.Done():
				b.stopped <- a.Text
				return tool.Result{}, ctx.Err()
			}
		}),
		newTool("chatty", tool.Reads, func(ctx context.Context, a textArgs) (tool.Result, error) {
			for i := range max(a.N, 3) {
				tool.Progress(ctx, float64(i+1), float64(max(a.N, 3)), a.Text)
			}
			return tool.Text("said it all"), nil
		}),
		newTool("broken", tool.Reads, func(context.Context, none) (tool.Result, error) {
			return tool.Result{}, fmt.Errorf("opening /srv/private/x: %w", errors.New("denied"))
		}),
		newTool("panics", tool.Reads, func(context.Context, none) (tool.Result, error) { panic("oh no") }),
		tool.New(act[none]{tool.Spec{
			Name: "leaks", Group: "test", Title: "leaks", Doc: "The test tool leaks.", Risk: tool.Reads,
			Output: struct {
				Deep []string `json:"deep"`
			}{},
		}, func(context.Context, none) (tool.Result, error) {
			return tool.Text("the key is " + plantedKey()).With(map[string]any{"deep": []any{plantedKey()}}), nil
		}}),
		newTool("long", tool.Reads, func(_ context.Context, a textArgs) (tool.Result, error) {
			return tool.Text(strings.Repeat("0123456789\n", max(a.N, 1))), nil
		}),
		newTool("change", tool.Writes, func(_ context.Context, a textArgs) (tool.Result, error) {
			return tool.Text("changed " + a.Text), nil
		}),
		newTool("launch", tool.Runs, func(_ context.Context, a textArgs) (tool.Result, error) {
			return tool.Text("launched " + a.Text), nil
		}),
		newTool(ReadResult, tool.Reads, func(context.Context, none) (tool.Result, error) {
			return tool.Text("page"),
				nil
		}),
	}
}

// plantedKey is a credential in form only, put together here so that none
// stands in the source.
func plantedKey() string { return "ghp" + "_" + strings.Repeat("A1b2", 9) }

// newTestServer makes a server under the given rules.
func newTestServer(tb testing.TB, change ...func(*Config)) *testServer {
	tb.Helper()
	b := &testServer{
		audit: &memoryAuditLog{}, results: &memoryResults{},
		started: make(chan string, 1000), release: make(chan struct{}), stopped: make(chan string, 1000),
		over: make(chan string, 1000),
	}
	set, err := tool.NewSet(testTools(b)...)
	if err != nil {
		tb.Fatal(err)
	}
	scrubber, err := scrub.New(scrub.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	c := Config{
		Name: "mcp-tools", Title: "MCP Tools", Version: "test", Tools: set, Scrub: scrubber,
		AuditLog: b.audit, Results: b.results, Log: slog.New(slog.DiscardHandler),
		Settings: testSettings(tb, set, policy.Rules{}),
		Ended: func(c tool.Caller) {
			select {
			case b.over <- c.Session:
			default: // enough for every test
			}
		},
	}
	for _, f := range change {
		f(&c)
	}
	b.Server, err = New(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(b.Server.Close)
	return b
}

func testSettings(tb testing.TB, set *tool.Set, rules policy.Rules) Settings {
	tb.Helper()
	compiled, problems := policy.Compile(rules, set.Catalogue())
	if compiled == nil {
		tb.Fatalf("the rules are wrong: %v", problems)
	}
	return Settings{
		Policy: compiled, ApprovalTimeout: time.Minute,
		Limits: Limits{
			PerMinute: 1_000_000, Burst: 100_000, Running: 10, Queued: 100, TotalRunning: 64, Idle: 300,
			Timeout: 30 * time.Second,
			Args:    tool.DefaultLimits(), Result: 1000, ResultHard: 10_000, RepeatWarn: 3,
		},
	}
}

func testAccess() Access {
	return Access{Transport: "test", Structured: true, Caller: tool.Caller{Agent: "a", User: "u", Session: "s", Profile: "full"}}
}

// memoryAuditLog is an AuditLog that tests can read, and break.
type memoryAuditLog struct {
	mu      sync.Mutex
	entries []audit.Record
	broken  error
}

func (j *memoryAuditLog) Append(_ context.Context, r audit.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken == nil {
		j.entries = append(j.entries, r)
	}
	return j.broken
}

func (j *memoryAuditLog) all() []audit.Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]audit.Record(nil), j.entries...)
}

func (j *memoryAuditLog) breakWith(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.broken = err
}

// memoryResults stores the last result.
type memoryResults struct {
	mu          sync.Mutex
	owner, text string
}

func (k *memoryResults) Put(_ context.Context, owner string, r io.Reader) (string, error) {
	text, err := io.ReadAll(r)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.owner, k.text = owner, string(text)
	return "r_handle", err
}

// wire is a client at the other end of a Stdio: it writes lines as they are
// and reads whatever comes.
type wire struct {
	tb    testing.TB
	in    *io.PipeWriter
	lines chan string
	ended chan error
}

// dial starts a Stdio on pipes. At its end calls in flight have all the time
// they need, if the test does not say otherwise.
func dial(tb testing.TB, b *testServer, change ...func(*Stdio)) *wire {
	tb.Helper()
	t := Stdio{Server: b.Server, Access: testAccess(), MaxMessage: 1 << 20, Grace: hang}
	for _, f := range change {
		f(&t)
	}
	return connect(tb, t.Serve)
}

// connect starts whatever serves two pipes.
func connect(tb testing.TB, serve func(context.Context, io.ReadCloser, io.Writer) error) *wire {
	tb.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	w := &wire{tb: tb, in: inW, lines: make(chan string, 10_000), ended: make(chan error, 1)}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		w.ended <- serve(ctx, inR, outW)
		outW.Close()
	}()
	go func() {
		defer close(w.lines)
		scanner := bufio.NewScanner(outR)
		scanner.Buffer(nil, 64<<20)
		for scanner.Scan() {
			w.lines <- scanner.Text()
		}
	}()
	tb.Cleanup(func() {
		stop()
		inW.Close()
		outR.Close()
	})
	return w
}

func (w *wire) send(lines ...string) {
	w.tb.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(w.in, line+"\n"); err != nil {
			w.tb.Fatalf("writing: %v", err)
		}
	}
}

// next returns the next message from the server.
func (w *wire) next() string {
	w.tb.Helper()
	select {
	case line, ok := <-w.lines:
		if !ok {
			w.tb.Fatal("the server closed its output")
		}
		return line
	case <-time.After(hang):
		w.tb.Fatal("nothing came from the server")
	}
	return ""
}

// reply is a message from the server, as far as tests look into it.
type reply struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result *struct {
		Content []struct{ Type, Text string }
		IsError bool
		Tools   []struct{ Name string }
	}
	Error *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

func read(tb testing.TB, line string) reply {
	tb.Helper()
	var r reply
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		tb.Fatalf("the server wrote %q: %v", line, err)
	}
	return r
}

func (r reply) text() string {
	if r.Result == nil || len(r.Result.Content) == 0 {
		return ""
	}
	return r.Result.Content[0].Text
}

// handshake is what a client of an old era begins with.
func handshake(version, capabilities string) []string {
	return []string{
		`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"` + version +
			`","capabilities":` + capabilities + `,"clientInfo":{"name":"test","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	}
}

// callLine is a tools/call.
func callLine(id, name, args string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `","arguments":` +
		args + `}}`
}
