package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A session is one conversation with a program: its messages and its requests.
type session struct {
	conn    *conn
	work    Work
	site    sandbox.Site
	ctx     context.Context // ends with the work
	stop    context.CancelFunc
	serving sync.WaitGroup

	mu        sync.Mutex
	id        string
	said      strings.Builder // the text since the last tool call
	before    string          // the text before it, if none follows
	used      Usage
	requests  int // that are being served
	terminals map[string]*terminal
	made      int // terminals
}

func (s *session) setID(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = id
}

// end ends the work for the program.
func (s *session) end() {
	s.stop()
	s.serving.Wait()
}

// answer returns the last text of the program.
func (s *session) answer() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := strings.TrimSpace(s.said.String()); last != "" {
		return last
	}
	return s.before
}

// receive takes a message of the program. Lines that are not messages are ignored: some
// programs print more than they should.
func (s *session) receive(ctx context.Context, line []byte) {
	var m message
	if json.Unmarshal(line, &m) != nil {
		return
	}
	switch {
	case m.Method == "" && m.ID != nil:
		s.conn.respond(m)
	case m.Method == "session/update":
		s.update(m.Params)
	case m.Method != "" && m.ID != nil:
		s.take(ctx, m)
	}
}

// take serves a request.
func (s *session) take(ctx context.Context, m message) {
	s.mu.Lock()
	s.requests++
	tooMany := s.requests > maxServed
	s.mu.Unlock()
	s.serving.Go(func() {
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.requests--
		}()
		answer := message{ID: m.ID}
		var result any
		err := error(&rpcError{Code: codeInternal, Message: "too many requests at the same time"})
		if !tooMany {
			result, err = s.serve(m)
		}
		if err == nil {
			answer.Result, err = json.Marshal(result)
		}
		if err != nil && !errors.As(err, &answer.Error) {
			answer.Error = &rpcError{Code: codeInternal, Message: tool.AsError(err).Error()}
		}
		ctx, cancel := context.WithTimeout(ctx, endLimit)
		defer cancel()
		_ = s.conn.write(ctx, answer) // if it fails the program ends
	})
}

// serve returns the result of a request.
func (s *session) serve(m message) (any, error) {
	switch m.Method {
	case "session/request_permission":
		return serveWith(s, m, s.permission)
	case "fs/read_text_file":
		return serveWith(s, m, s.readFile)
	case "fs/write_text_file":
		return serveWith(s, m, s.writeFile)
	case "terminal/create":
		return serveWith(s, m, s.createTerminal)
	case "terminal/output":
		return serveWith(s, m, s.terminalOutput)
	case "terminal/wait_for_exit":
		return serveWith(s, m, s.waitTerminal)
	case "terminal/kill":
		return serveWith(s, m, s.killTerminal)
	case "terminal/release":
		return serveWith(s, m, s.releaseTerminal)
	}
	return nil, &rpcError{Code: codeNoMethod, Message: fmt.Sprintf("there is no method %.100q", m.Method)}
}

func serveWith[P any](s *session, m message, f func(P) (any, error)) (any, error) {
	var whose struct {
		ID string `json:"sessionId"`
	}
	var params P
	if err := errors.Join(json.Unmarshal(m.Params, &whose), json.Unmarshal(m.Params, &params)); err != nil {
		return nil, &rpcError{Code: codeInvalid, Message: "the parameters are not as ACP has them"}
	}
	s.mu.Lock()
	id := s.id
	s.mu.Unlock()
	if whose.ID != id || id == "" {
		return nil, &rpcError{Code: codeInvalid, Message: "there is no such session"}
	}
	return f(params)
}

// call makes a call as the subagent. A call that fails is an error for the program.
func (s *session) call(ctx context.Context, name string, args any) (tool.Result, error) {
	encoded, err := json.Marshal(args)
	if err != nil {
		return tool.Result{}, err
	}
	res, err := s.work.Call(ctx, name, encoded)
	if err != nil {
		s.conn.lost(err)
		return res, err
	}
	if res.Failed {
		code := codeInternal
		if res.Kind == tool.NotFound {
			code = codeNotFound
		}
		return res, &rpcError{Code: code, Message: res.Text()}
	}
	return res, nil
}

// update takes a report of the program.
func (s *session) update(params json.RawMessage) {
	var p struct {
		Session string `json:"sessionId"`
		Update  struct {
			Kind    string          `json:"sessionUpdate"`
			Title   string          `json:"title"`
			Content json.RawMessage `json:"content"`
			Cost    struct {
				Amount   float64 `json:"amount"`
				Currency string  `json:"currency"`
			} `json:"cost"`
		} `json:"update"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Session != s.id {
		return
	}
	switch p.Update.Kind {
	case "agent_message_chunk":
		var block struct {
			Type, Text, URI string
		}
		if json.Unmarshal(p.Update.Content, &block) != nil {
			return
		}
		if block.Type == "resource_link" {
			block.Text = block.URI
		}
		if s.said.Len()+len(block.Text) <= maxOutput {
			s.said.WriteString(block.Text)
		}
	case "usage_update":
		if cost := p.Update.Cost; cost.Currency == "USD" && cost.Amount > s.used.Dollars {
			s.used.Dollars = cost.Amount
			s.report()
		}
	case "tool_call":
		if said := strings.TrimSpace(s.said.String()); said != "" {
			s.before = said
		}
		s.said.Reset()
		if s.work.Report != nil && p.Update.Title != "" {
			s.work.Report(text.Clip(p.Update.Title, maxName))
		}
	}
}

type permissionParams struct {
	Call struct {
		Title    string          `json:"title"`
		Kind     string          `json:"kind"`
		RawInput json.RawMessage `json:"rawInput"`
		Places   []struct {
			Path string `json:"path"`
		} `json:"locations"`
	} `json:"toolCall"`
	Options []struct {
		ID   string `json:"optionId"`
		Kind string `json:"kind"`
	} `json:"options"`
}

// PermissionTool is the tool whose calls stand for actions of a program itself.
const PermissionTool = "acp_permission"

// A Permission has the arguments of PermissionTool: the action that the program wants to do.
type Permission struct {
	Kind  string   `json:"kind" jsonschema:"kind of the action" enum:"read,edit,delete,move,search,execute,think,fetch,switch_mode,other"`
	Title string   `json:"title" jsonschema:"action of the agent program"`
	Paths []string `json:"paths,omitempty" jsonschema:"files that it is about"`
	Input string   `json:"input,omitempty" jsonschema:"details as JSON"`
}

// permission asks whether the program may do something itself. It is allowed once at
// most: the server does not remember it for the program.
func (s *session) permission(p permissionParams) (any, error) {
	ask := Permission{Kind: p.Call.Kind, Title: text.Clip(p.Call.Title, maxName), Input: string(p.Call.RawInput)}
	switch ask.Kind {
	case "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode":
	default:
		ask.Kind = "other"
	}
	if ask.Title == "" {
		ask.Title = "an action without a title"
	}
	for _, place := range p.Call.Places {
		ask.Paths = append(ask.Paths, s.relative(place.Path))
	}
	chosen := "reject_once"
	_, err := s.call(s.ctx, PermissionTool, ask)
	var refused *rpcError
	switch {
	case s.ctx.Err() != nil:
		chosen = "" // the turn is cancelled
	case err == nil:
		chosen = "allow_once"
	case !errors.As(err, &refused):
		return nil, err
	}
	for _, o := range p.Options {
		if o.Kind == chosen {
			return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": o.ID}}, nil
		}
	}
	return map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}, nil
}

// relative returns a path of the program as the file tools know it.
func (s *session) relative(name string) string {
	if rest, ok := strings.CutPrefix(path.Clean(name), strings.TrimSuffix(s.site.Dir, "/")+"/"); ok {
		return path.Join(s.work.Dir, rest)
	}
	return name
}

type readParams struct {
	Path  string `json:"path"`
	Line  int    `json:"line"`
	Limit int    `json:"limit"`
}

// maxRead is how many bytes of a file a program can read at once: as many as a result has.
const maxRead = 90_000

func (s *session) readFile(p readParams) (any, error) {
	res, err := s.call(s.ctx, "read_file", map[string]any{
		"path": s.relative(p.Path), "offset": p.Line, "limit": p.Limit, "max_bytes": maxRead, "raw": true,
	})
	if err != nil {
		return nil, err
	}
	if len(res.Parts) != 1 || res.Parts[0].Data != nil {
		return nil, &rpcError{Code: codeInvalid, Message: "the file is not text"}
	}
	return map[string]any{"content": res.Text()}, nil
}

type writeParams struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func (s *session) writeFile(p writeParams) (any, error) {
	_, err := s.call(s.ctx, "write_file", map[string]any{"path": s.relative(p.Path), "content": p.Content})
	return nil, err
}

// maxTerminals is the maximum number of terminals that a program has at once.
const maxTerminals = 16

// maxTerminalSeconds is how long a command in a terminal may take.
const maxTerminalSeconds = 1800

// A terminal is a command that the program has run by the server. Its output is there
// when it has ended.
type terminal struct {
	cancel context.CancelFunc
	done   chan struct{}
	limit  int // bytes of output
	output string
	code   *int
	signal string
}

type terminalParams struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Env     []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"env"`
	Cwd   string `json:"cwd"`
	Limit *int   `json:"outputByteLimit"`
}

func (s *session) createTerminal(p terminalParams) (any, error) {
	args := map[string]any{"timeout_seconds": maxTerminalSeconds}
	if len(p.Args) == 0 {
		args["command"] = p.Command
	} else {
		args["argv"] = append([]string{p.Command}, p.Args...)
	}
	if dir := strings.TrimSuffix(p.Cwd, "/"); dir != "" && dir != s.site.Dir {
		args["cwd"] = s.relative(dir)
	} else if s.work.Dir != "" {
		args["cwd"] = s.work.Dir
	}
	env := map[string]string{}
	for _, v := range p.Env {
		env[v.Name] = v.Value
	}
	if len(env) > 0 {
		args["env"] = env
	}
	ctx, cancel := context.WithCancel(s.ctx)
	t := &terminal{cancel: cancel, done: make(chan struct{}), limit: maxOutput}
	if p.Limit != nil && *p.Limit >= 0 {
		t.limit = min(*p.Limit, maxOutput)
	}
	s.mu.Lock()
	if len(s.terminals) >= maxTerminals {
		s.mu.Unlock()
		cancel()
		return nil, &rpcError{Code: codeInternal, Message: fmt.Sprintf("there are %d terminals; release one",
			maxTerminals)}
	}
	s.made++
	id := fmt.Sprintf("term-%d", s.made)
	s.terminals[id] = t
	s.mu.Unlock()
	s.serving.Go(func() {
		defer cancel()
		res, err := s.call(ctx, "exec", args)
		t.finish(res, err, ctx.Err() != nil)
	})
	return map[string]any{"terminalId": id}, nil
}

// finish keeps how the command ended. Why it was refused is its output.
func (t *terminal) finish(res tool.Result, err error, killed bool) {
	defer close(t.done)
	var data struct {
		Code   int    `json:"exit_code"`
		Signal string `json:"signal"`
		Output string `json:"output"`
	}
	encoded, failed := json.Marshal(res.Data)
	known := failed == nil && res.Data != nil && json.Unmarshal(encoded, &data) == nil
	switch {
	case killed:
		t.signal, t.output = "SIGKILL", data.Output
	case known && data.Signal != "":
		t.signal, t.output = data.Signal, data.Output
	case known:
		t.code, t.output = &data.Code, data.Output
	default:
		one := 1
		t.code, t.output = &one, tool.AsError(err).Error()
		if refused := (*rpcError)(nil); errors.As(err, &refused) {
			t.output = refused.Message
		}
	}
}

// exit returns how the command ended.
func (t *terminal) exit() map[string]any {
	status := map[string]any{"exitCode": nil, "signal": nil}
	if t.code != nil {
		status["exitCode"] = *t.code
	}
	if t.signal != "" {
		status["signal"] = t.signal
	}
	return status
}

// ended reports whether the command has ended.
func (t *terminal) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

type terminalRef struct {
	ID string `json:"terminalId"`
}

func (s *session) terminal(id string) (*terminal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.terminals[id]
	if t == nil {
		return nil, &rpcError{Code: codeNotFound, Message: fmt.Sprintf("there is no terminal %.100q", id)}
	}
	return t, nil
}

func (s *session) terminalOutput(p terminalRef) (any, error) {
	t, err := s.terminal(p.ID)
	if err != nil || !t.ended() {
		return map[string]any{"output": "", "truncated": false}, err
	}
	shown := t.output
	if len(shown) > t.limit {
		shown = shown[len(shown)-t.limit:]
		for shown != "" && !utf8.RuneStart(shown[0]) {
			shown = shown[1:]
		}
	}
	return map[string]any{"output": shown, "truncated": len(shown) < len(t.output), "exitStatus": t.exit()}, nil
}

func (s *session) waitTerminal(p terminalRef) (any, error) {
	t, err := s.terminal(p.ID)
	if err != nil {
		return nil, err
	}
	select {
	case <-t.done:
		return t.exit(), nil
	case <-s.ctx.Done():
		return nil, context.Cause(s.ctx)
	}
}

func (s *session) killTerminal(p terminalRef) (any, error) {
	t, err := s.terminal(p.ID)
	if err == nil {
		t.cancel()
	}
	return map[string]any{}, err
}

func (s *session) releaseTerminal(p terminalRef) (any, error) {
	t, err := s.terminal(p.ID)
	if err != nil {
		return nil, err
	}
	t.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.terminals, p.ID)
	return map[string]any{}, nil
}
