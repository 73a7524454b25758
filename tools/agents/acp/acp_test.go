package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestMain lets tests run this program as an agent that speaks ACP.
func TestMain(m *testing.M) {
	if os.Getenv("ACP_FAKE") != "" {
		fakeAgent(os.Stdin, os.Stdout)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fakeAgent does what the lines of its task say: say TEXT, ask KIND, request METHOD PARAMS,
// tool, wait, die, stop REASON.
func fakeAgent(in io.Reader, out io.Writer) {
	lines := bufio.NewReader(in)
	send := func(m map[string]any) {
		m["jsonrpc"] = "2.0"
		text, _ := json.Marshal(m)
		fmt.Fprintf(out, "%s\n", text)
	}
	receive := func() (m message) {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			os.Exit(3)
		}
		_ = json.Unmarshal(line, &m)
		return m
	}
	update := func(kind string, more map[string]any) {
		more["sessionUpdate"] = kind
		send(map[string]any{"method": "session/update", "params": map[string]any{"sessionId": "s1", "update": more}})
	}
	say := func(text string) {
		update("agent_message_chunk", map[string]any{"content": map[string]any{"type": "text", "text": text}})
	}
	asked := 0
	ask := func(method string, params map[string]any) string {
		asked++
		params["sessionId"] = "s1"
		send(map[string]any{"id": fmt.Sprint("r", asked), "method": method, "params": params})
		m := receive()
		if m.Error != nil {
			return fmt.Sprintf("error %d %s", m.Error.Code, m.Error.Message)
		}
		return string(m.Result)
	}
	for {
		m := receive()
		answer := map[string]any{"id": m.ID}
		switch m.Method {
		case "initialize":
			fmt.Fprintln(out, "this line is no message")
			version := 1
			if os.Getenv("ACP_FAKE") == "new" {
				version = 2
			}
			answer["result"] = map[string]any{"protocolVersion": version, "agentCapabilities": map[string]any{}}
		case "session/new":
			answer["result"] = map[string]any{"sessionId": "s1"}
			if os.Getenv("ACP_FAKE") == "login" {
				delete(answer, "result")
				answer["error"] = map[string]any{"code": -32000, "message": "Authentication required"}
			}
		case "session/prompt":
			var p struct{ Prompt []struct{ Text string } }
			_ = json.Unmarshal(m.Params, &p)
			stop := "end_turn"
			for _, line := range strings.Split(p.Prompt[0].Text, "\n") {
				word, rest, _ := strings.Cut(line, " ")
				switch word {
				case "say":
					say(rest)
				case "env":
					say(os.Getenv(rest))
				case "cost":
					amount, currency, _ := strings.Cut(rest, " ")
					update("usage_update", map[string]any{"used": 53000, "size": 200000,
						"cost": map[string]any{"amount": json.Number(amount), "currency": currency}})
				case "tokens":
					used := map[string]any{}
					_ = json.Unmarshal([]byte(rest), &used)
					answer["usage"] = used
				case "tool":
					update("tool_call", map[string]any{"toolCallId": "c", "title": rest})
				case "ask":
					say(ask("session/request_permission", map[string]any{
						"toolCall": map[string]any{
							"toolCallId": "c", "title": "Change it", "kind": rest, "rawInput": map[string]any{"a": 1},
							"locations": []any{map[string]any{"path": "/ws/a.txt"}},
						},
						"options": []any{
							map[string]any{"optionId": "always", "kind": "allow_always", "name": "Always"},
							map[string]any{"optionId": "yes", "kind": "allow_once", "name": "Yes"},
							map[string]any{"optionId": "no", "kind": "reject_once", "name": "No"},
						},
					}))
				case "request":
					method, params, _ := strings.Cut(rest, " ")
					fields := map[string]any{}
					_ = json.Unmarshal([]byte(params), &fields)
					say(ask(method, fields) + "\n")
				case "other":
					say(ask("fs/read_text_file", map[string]any{"path": "a"}))
				case "wait":
					for receive().Method != "session/cancel" {
					}
					stop = "cancelled"
				case "hang":
					select {}
				case "flood":
					fmt.Fprint(out, strings.Repeat("x", maxLine+1))
				case "die":
					fmt.Fprintln(os.Stderr, "out of\nluck")
					os.Exit(7)
				case "stop":
					stop = rest
				}
			}
			answer["result"] = map[string]any{"stopReason": stop, "usage": answer["usage"]}
			delete(answer, "usage")
		default:
			continue
		}
		send(answer)
	}
}

// local is a sandbox.Process without a sandbox.
type local struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    output
	errs   output
	done   chan struct{}
	mu     sync.Mutex
	status sandbox.Status
}

// An output is a sandbox.Log.
type output struct {
	mu    sync.Mutex
	data  []byte
	watch func(sandbox.Stream, []byte)
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	o.data = append(o.data, p...)
	o.mu.Unlock()
	if o.watch != nil {
		o.watch(sandbox.Stdout, p)
	}
	return len(p), nil
}

func (o *output) Size() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return int64(len(o.data))
}

func (*output) Gap() (from, to int64) { return 0, 0 }

func (o *output) ReadAt(p []byte, at int64) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := copy(p, o.data[min(at, int64(len(o.data))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func start(_ context.Context, c sandbox.Command) (sandbox.Process, error) {
	p := &local{cmd: exec.Command(c.Argv[0], c.Argv[1:]...), done: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), c.Env...), c.Private.Secrets...)
	p.status.State = sandbox.Running
	p.out.watch = c.Watch
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.errs
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait()
		p.mu.Lock()
		if p.status.Code = p.cmd.ProcessState.ExitCode(); p.status.Why == "" {
			p.status.State = sandbox.Exited
		} else {
			p.status.State = sandbox.Killed
		}
		p.mu.Unlock()
		close(p.done)
	}()
	return p, nil
}

func (p *local) Status() sandbox.Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

func (p *local) Wait(ctx context.Context, _ sandbox.WaitCondition) sandbox.Status {
	select {
	case <-p.done:
	case <-ctx.Done():
	}
	return p.Status()
}

func (p *local) Log(s sandbox.Stream) sandbox.Log {
	if s == sandbox.Stderr {
		return &p.errs
	}
	return &p.out
}

func (p *local) Write(_ context.Context, data []byte, _ bool) error {
	_, err := p.in.Write(data)
	return err
}

func (p *local) Kill(context.Context) error {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
	return nil
}

func (p *local) Keep(context.Context, bool) error { return nil }
func (p *local) Remove(context.Context) error     { return nil }

// pipeline answers calls as the server would, and keeps them.
type pipeline struct {
	mu    sync.Mutex
	calls []string
	deny  map[string]bool
	used  []Usage
	block chan struct{} // exec waits until its call is cancelled, if it is not nil
}

func (p *pipeline) call(ctx context.Context, name string, args json.RawMessage) (tool.Result, error) {
	p.mu.Lock()
	p.calls = append(p.calls, name+" "+string(args))
	denied := p.deny[name]
	p.mu.Unlock()
	if denied {
		return tool.Failure(tool.Errorf(tool.Refused, "a person denied it")), nil
	}
	switch name {
	case "read_file":
		return tool.Text("one\ntwo\n"), nil
	case "exec":
		if p.block != nil {
			close(p.block)
			<-ctx.Done()
			return tool.Failure(context.Cause(ctx)), nil
		}
		return tool.Text("shown").With(map[string]any{"exit_code": 3, "output": "äöü"}), nil
	case "revoked":
		return tool.Result{}, tool.Errorf(tool.Refused, "the token was revoked")
	}
	return tool.Text("done"), nil
}

// run has the fake agent do a task.
func run(t *testing.T, ctx context.Context, p *pipeline, mode, task string) (string, error) {
	t.Helper()
	profile := Profile{
		Name: "fake", Command: []string{os.Args[0]}, Env: map[string]string{"ACP_FAKE": mode},
		Secrets: map[string]string{"FAKE_KEY": "k"},
	}
	r := Runner{
		Start: start,
		Site: func(context.Context, string, bool) (sandbox.Site, error) {
			return sandbox.Site{Tier: "host", Dir: "/ws"}, nil
		},
		Secret: func(name string) (string, error) { return "secret of " + name, nil },
	}
	return profile.Run(ctx, r, Work{Task: task, Call: p.call, Used: func(u Usage) { p.used = append(p.used, u) }})
}

func TestUsage(t *testing.T) {
	p := &pipeline{}
	if _, err := run(t, t.Context(), p, "1", "cost 0.25 USD\ncost 9 EUR\ncost 0.1 USD\ncost 0.5 USD\n"+
		`tokens {"totalTokens": 75, "inputTokens": 40, "outputTokens": 30, "cachedReadTokens": 5}`+"\nsay done"); err != nil {
		t.Fatal(err)
	}
	want := []Usage{{Dollars: 0.25}, {Dollars: 0.5}, {Input: 40, Output: 30, CacheRead: 5, Dollars: 0.5}}
	if diff := cmp.Diff(want, p.used); diff != "" {
		t.Error(diff)
	}
}

func TestRunReturnsTheLastText(t *testing.T) {
	got, err := run(t, t.Context(), &pipeline{}, "1", "say I will look.\ntool Look\nsay It is \nsay fine.")
	if err != nil || got != "It is fine." {
		t.Errorf("%q, %v", got, err)
	}
	got, err = run(t, t.Context(), &pipeline{}, "1", "env FAKE_KEY\ntool Look")
	if err != nil || got != "secret of k" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestPermissionsAreCalls(t *testing.T) {
	for name, test := range map[string]struct {
		kind, want, asked string
		deny              bool
	}{
		"allowed": {"edit", `{"outcome":{"optionId":"yes","outcome":"selected"}}`, "edit", false},
		"denied":  {"execute", `{"outcome":{"optionId":"no","outcome":"selected"}}`, "execute", true},
		"unknown": {"destroy", `{"outcome":{"optionId":"yes","outcome":"selected"}}`, "other", false},
	} {
		p := &pipeline{deny: map[string]bool{PermissionTool: test.deny}}
		got, err := run(t, t.Context(), p, "1", "ask "+test.kind)
		want := `acp_permission {"kind":"` + test.asked + `","title":"Change it","paths":["a.txt"],"input":"{\"a\":1}"}`
		if err != nil || got != test.want || len(p.calls) != 1 || p.calls[0] != want {
			t.Errorf("%s: %q, %q, %v", name, got, p.calls, err)
		}
	}
}

func TestRequestsAreCalls(t *testing.T) {
	p := &pipeline{deny: map[string]bool{"write_file": true}}
	got, err := run(t, t.Context(), p, "1", strings.Join([]string{
		`request fs/read_text_file {"path":"/ws/sub/a.txt","line":2,"limit":1}`,
		`request fs/write_text_file {"path":"/etc/passwd","content":"x"}`,
		`request terminal/create {"command":"make","args":["all"],"cwd":"/ws/sub","env":[{"name":"A","value":"b"}],"outputByteLimit":3}`,
		`request terminal/wait_for_exit {"terminalId":"term-1"}`,
		`request terminal/output {"terminalId":"term-1"}`,
		`request terminal/release {"terminalId":"term-1"}`,
		`request terminal/output {"terminalId":"term-1"}`,
		`request invented {}`,
	}, "\n"))
	want := `{"content":"one\ntwo\n"}
error -32603 refused: a person denied it
{"terminalId":"term-1"}
{"exitCode":3,"signal":null}
{"exitStatus":{"exitCode":3,"signal":null},"output":"ü","truncated":true}
{}
error -32002 there is no terminal "term-1"
error -32601 there is no method "invented"`
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	calls := []string{
		`read_file {"limit":1,"max_bytes":90000,"offset":2,"path":"sub/a.txt","raw":true}`,
		`write_file {"content":"x","path":"/etc/passwd"}`,
		`exec {"argv":["make","all"],"cwd":"sub","env":{"A":"b"},"timeout_seconds":1800}`,
	}
	if diff := cmp.Diff(calls, p.calls); diff != "" {
		t.Error(diff)
	}
}

func TestKilledTerminal(t *testing.T) {
	p := &pipeline{block: make(chan struct{})}
	got, err := run(t, t.Context(), p, "1", strings.Join([]string{
		`request terminal/create {"command":"sleep 1000"}`, `request terminal/output {"terminalId":"term-1"}`,
		`request terminal/kill {"terminalId":"term-1"}`, `request terminal/wait_for_exit {"terminalId":"term-1"}`,
	}, "\n"))
	want := `{"terminalId":"term-1"}
{"output":"","truncated":false}
{}
{"exitCode":null,"signal":"SIGKILL"}`
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestFailures(t *testing.T) {
	for name, test := range map[string]struct {
		mode, task string
		kind       tool.Kind
		want       string
	}{
		"version":  {"new", "", tool.Unavailable, "speaks version 2 of ACP, not 1"},
		"login":    {"login", "", tool.Unavailable, "not logged in"},
		"died":     {"1", "die", tool.Unavailable, "ended with exit code 7; its last words: out of luck"},
		"flood":    {"1", "flood", tool.Unavailable, "a message of more than"},
		"refusal":  {"1", "stop refusal", tool.Refused, "refused the task"},
		"tokens":   {"1", "stop max_tokens", tool.Unavailable, "cut at its maximum length"},
		"turns":    {"1", "stop max_turn_requests", tool.Unavailable, "maximum of turns"},
		"invented": {"1", "stop because", tool.Unavailable, `the unknown reason "because"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := run(t, t.Context(), &pipeline{}, test.mode, "say so far\n"+test.task)
			var known *tool.Error
			if !errors.As(err, &known) || known.Kind != test.kind || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
			if test.mode == "1" && got != "so far" {
				t.Errorf("the answer so far is %q", got)
			}
		})
	}
}

// TestCancelEndsTheProgram cancels a program that stops by itself, one that does not, and
// one whose command runs.
func TestCancelEndsTheProgram(t *testing.T) {
	for _, task := range []string{"wait", "hang"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("not needed any more")
		p := &pipeline{block: make(chan struct{})}
		go func() {
			<-p.block
			cancel(why)
		}()
		begun := time.Now()
		_, err := run(t, ctx, p, "1", "request terminal/create {\"command\":\"x\"}\n"+task)
		if !errors.Is(err, why) {
			t.Errorf("%s: %v after %s", task, err, time.Since(begun))
		}
	}
}

// TestProgramThatIsEndedFromOutside ends a program as the server does when it shuts down.
func TestProgramThatIsEndedFromOutside(t *testing.T) {
	var started *local
	p := &pipeline{block: make(chan struct{})}
	go func() {
		<-p.block
		started.mu.Lock()
		started.status.Why = "the server is shutting down"
		started.mu.Unlock()
		_ = started.Kill(t.Context())
	}()
	profile := Profile{Name: "fake", Command: []string{os.Args[0]}, Env: map[string]string{"ACP_FAKE": "1"}}
	_, err := profile.Run(t.Context(), Runner{
		Site: siteIn("/ws"),
		Start: func(ctx context.Context, c sandbox.Command) (sandbox.Process, error) {
			made, err := start(ctx, c)
			started, _ = made.(*local)
			return made, err
		},
	}, Work{Task: "request terminal/create {\"command\":\"x\"}\nhang", Call: p.call})
	if !errors.Is(err, ErrKilled) || !strings.Contains(err.Error(), "the server is shutting down") {
		t.Errorf("%v", err)
	}
}

func TestProgramThatIsMissing(t *testing.T) {
	profile := Profile{Name: "gone", Command: []string{"no-such-agent-program"}}
	_, err := profile.Run(t.Context(), Runner{
		Site: func(context.Context, string, bool) (sandbox.Site, error) { return sandbox.Site{}, nil },
	}, Work{Task: "x"})
	if err == nil || !strings.Contains(err.Error(), `the program of the agent "gone" is not installed`) {
		t.Error(err)
	}
}
