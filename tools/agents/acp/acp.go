// Package acp has external agents do tasks: programs such as Claude Code, Codex or Gemini. They
// speak the Agent Client Protocol, version 1, on stdin and stdout.
//
// Such a program runs in the sandbox of the caller, with the credentials that the operator has
// given it. It has tools of its own; these reach only the inside of the sandbox. Its requests
// to its client go through the pipeline of the server as calls of the subagent: reading and
// writing files, running commands, and permission for its own actions. So the policy decides
// about them, a person is asked, and it is in the audit log.
//
// The package does not know jobs, the pipeline or the settings. The program's output is not
// trusted: it is bounded and checked. Begin with [Profile.Run]; conn.go is the connection,
// requests.go answers the program's requests.
package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Profile is a program that the operator has set up.
type Profile struct {
	Name    string
	Command []string          // the program and its arguments
	Env     map[string]string // variables that are not secrets
	Secrets map[string]string // variables with the name of a secret
	Hosts   []string          // host:port that it reaches without approval
}

// Work is a task for a program.
type Work struct {
	Task  string
	Dir   string   // in the workspace; "" is the workspace
	Tools []string // tools of the subagent; others are not offered to the program
	// Call makes a call as the subagent. An error ends the work.
	Call func(ctx context.Context, name string, args json.RawMessage) (tool.Result, error)
	// Report receives the progress of the program. It may be nil.
	Report func(line string)
	// Used receives the use that the program has reported so far. It may be nil.
	Used func(u Usage)
}

// Usage is the use of a program, as far as the program reports it. The zero Usage is unknown.
type Usage struct {
	Input, Output, CacheRead, CacheWrite int // tokens
	Dollars                              float64
}

// A Runner starts programs.
type Runner struct {
	// Start starts a command in the sandbox of the caller in ctx.
	Start func(ctx context.Context, c sandbox.Command) (sandbox.Process, error)
	// Site returns where a command of the caller in ctx would run.
	Site func(ctx context.Context, dir string, elevated bool) (sandbox.Site, error)
	// Secret reads a secret. It is masked in everything that leaves the server.
	Secret func(name string) (string, error)
}

const (
	version     = 1                      // of the protocol
	startLimit  = time.Minute            // until the session has begun
	stopLimit   = 500 * time.Millisecond // for the program to stop a turn by itself
	endLimit    = 10 * time.Second       // for its processes to end
	maxOutput   = 1 << 20                // bytes of the answer
	maxComplain = 600                    // bytes of stderr that an error shows
)

// Run has the program do a task, for the caller in ctx, and returns its answer. The
// answer so far counts also if there is an error. When Run returns the program and all
// that it has started have ended.
func (p Profile) Run(ctx context.Context, r Runner, w Work) (answer string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c, site, err := p.start(ctx, r, w, cancel)
	if err != nil {
		return "", err
	}
	defer func() {
		end, done := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
		defer done()
		c.close(end)
	}()
	s := &session{conn: c, work: w, site: site, terminals: make(map[string]*terminal)}
	s.ctx, s.stop = context.WithCancel(ctx)
	defer s.end()
	c.serve(s)
	err = s.open(ctx)
	if err == nil {
		err = s.prompt(ctx)
	}
	switch {
	case err == nil:
	case context.Cause(ctx) != nil:
		err = context.Cause(ctx) // the reason why it was stopped, or why the connection broke
	case c.process.Status().State != sandbox.Running:
		err = ended(c.process)
	}
	return s.answer(), err
}

// start starts the program.
func (p Profile) start(ctx context.Context, r Runner, w Work, lost context.CancelCauseFunc) (*conn, sandbox.Site,
	error) {
	site, err := r.Site(ctx, w.Dir, false)
	if err != nil {
		return nil, site, err
	}
	program, err := exec.LookPath(p.Command[0])
	if err == nil {
		program, err = filepath.Abs(program)
	}
	if err != nil {
		return nil, site, tool.Errorf(tool.Unavailable, "the program of the agent %q is not installed", p.Name).
			Try("ask the operator to install it, or to correct acp.%s.command", p.Name).Because(err)
	}
	private := &sandbox.Private{Program: program, Hosts: p.Hosts, Asks: true}
	for variable, name := range p.Secrets {
		value, err := r.Secret(name)
		if err != nil {
			return nil, site, tool.Errorf(tool.Unavailable, "a secret of the agent %q is missing", p.Name).
				Try("ask the operator to set the secret %q", name).Because(err)
		}
		private.Secrets = append(private.Secrets, variable+"="+value)
	}
	command := sandbox.Command{
		Argv: append([]string{program}, p.Command[1:]...), Text: "agent " + p.Name, Dir: w.Dir, At: site, Open: true,
		Private: private,
	}
	for variable, value := range p.Env {
		command.Env = append(command.Env, variable+"="+value)
	}
	c := newConn(lost)
	command.Watch = c.arrived
	c.process, err = r.Start(ctx, command)
	return c, site, err
}

// open begins a session with the program.
func (s *session) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, tool.Errorf(tool.Unavailable,
		"the agent program did not answer within %s", startLimit).Try("ask the operator to check that it speaks ACP"))
	defer cancel()
	var hello struct {
		Version int `json:"protocolVersion"`
		Agent   struct {
			Name string `json:"name"`
		} `json:"agentInfo"`
	}
	err := s.conn.call(ctx, "initialize", map[string]any{
		"protocolVersion": version, "clientInfo": map[string]any{"name": "mcp-tools", "version": "1"},
		"clientCapabilities": map[string]any{
			"fs":       map[string]any{"readTextFile": s.has("read_file"), "writeTextFile": s.has("write_file")},
			"terminal": s.has("exec"),
		},
	}, &hello)
	if err != nil {
		return err
	}
	if hello.Version != version {
		return tool.Errorf(tool.Unavailable, "the agent program speaks version %d of ACP, not %d", hello.Version,
			version).
			Try("ask the operator to install a version of it that speaks ACP %d", version)
	}
	var made struct {
		ID string `json:"sessionId"`
	}
	err = s.conn.call(ctx, "session/new", map[string]any{"cwd": s.site.Dir, "mcpServers": []any{}}, &made)
	var refused *rpcError
	switch {
	case errors.As(err, &refused) && refused.Code == codeAuthRequired:
		return tool.Errorf(tool.Unavailable, "the agent program is not logged in").
			Try("ask the operator to give it a key with acp.NAME.environment; it does not see logins on this machine")
	case err != nil:
		return err
	case made.ID == "" || len(made.ID) > maxName:
		return tool.Errorf(tool.Unavailable, "the agent program began no session")
	}
	s.setID(made.ID)
	return nil
}

func (s *session) has(name string) bool { return slices.Contains(s.work.Tools, name) }

// prompt sends the task and waits until the program has finished. If ctx ends it lets
// the program stop by itself first.
func (s *session) prompt(ctx context.Context) error {
	var done struct {
		Stop  string `json:"stopReason"`
		Usage struct {
			Input      int `json:"inputTokens"`
			Output     int `json:"outputTokens"`
			CacheRead  int `json:"cachedReadTokens"`
			CacheWrite int `json:"cachedWriteTokens"`
		} `json:"usage"`
	}
	params := map[string]any{
		"sessionId": s.id, "prompt": []any{map[string]any{"type": "text", "text": s.work.Task}},
	}
	reply := s.conn.begin("session/prompt", params)
	err := s.conn.await(ctx, reply, &done)
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
		defer cancel()
		if s.conn.notify(grace, "session/cancel", map[string]any{"sessionId": s.id}) == nil {
			_ = s.conn.await(grace, reply, &done) // it is killed otherwise
		}
		return cause
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	u, now := &s.used, done.Usage
	u.Input, u.Output = max(now.Input, 0), max(now.Output, 0)
	u.CacheRead, u.CacheWrite = max(now.CacheRead, 0), max(now.CacheWrite, 0)
	s.report()
	s.mu.Unlock()
	switch done.Stop {
	case "end_turn":
		return nil
	case "max_tokens":
		return tool.Errorf(tool.Unavailable, "the agent's answer was cut at its maximum length").Try("ask for less")
	case "max_turn_requests":
		return tool.Errorf(tool.Unavailable, "the agent was not done after its maximum of turns").Try("ask for less")
	case "refusal":
		return tool.Errorf(tool.Refused, "the agent refused the task").Try("ask for something else")
	case "cancelled":
		return tool.Errorf(tool.Cancelled, "the agent stopped before it was done").Try("try again")
	}
	return tool.Errorf(tool.Unavailable, "the agent ended for the unknown reason %q", text.Clip(done.Stop, 40)).
		Try("try again")
}

// report reports the use of the program. The caller holds the lock.
func (s *session) report() {
	if s.work.Used != nil && s.used != (Usage{}) {
		s.work.Used(s.used)
	}
}

// ErrKilled is the cause of the error of a program that the server has ended from outside,
// as it does when it shuts down.
var ErrKilled = errors.New("the program was ended from outside")

// ended returns the error of a program that has ended before its work was done.
func ended(p sandbox.Process) error {
	status := p.Status()
	if status.State == sandbox.Killed {
		return tool.Errorf(tool.Cancelled, "the agent program was ended: %s", status.Why).Because(ErrKilled)
	}
	what := fmt.Sprintf("the agent program ended with exit code %d", status.Code)
	if status.State != sandbox.Exited || status.Signal != "" {
		what = "the agent program was ended"
		if status.Why != "" {
			what += ": " + status.Why
		}
	}
	if said := complaint(p.Log(sandbox.Stderr)); said != "" {
		what += "; its last words: " + said
	}
	return tool.Errorf(tool.Unavailable, "%s", what).Try("try again, or ask the operator to check the acp settings")
}

// complaint returns the end of stderr on one line.
func complaint(log sandbox.Log) string {
	size := log.Size()
	tail := make([]byte, min(size, maxComplain))
	n, _ := log.ReadAt(tail, size-int64(len(tail))) // as much as there is
	return strings.ToValidUTF8(strings.Join(strings.Fields(string(tail[:n])), " "), "")
}
