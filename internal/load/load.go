// Package load calls tools of a server as many agents would, and measures how the server does. Operators size their machines
// with it. Each agent of a [Plan] has a session of its own over HTTP, calls a tool, thinks, and calls the next.
//
// The package calls the one URL that it is given, follows no redirects, and ends after the time of the plan. It measures what
// a client sees: the time from the request to the last byte of the answer. Begin with [Run].
package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
)

// A Plan is the work of the agents.
type Plan struct {
	Agents  int           `yaml:"agents"`  // sessions at a time
	For     time.Duration `yaml:"for"`     // how long they call
	Ramp    time.Duration `yaml:"ramp"`    // how long it takes until all have begun
	Think   Span          `yaml:"think"`   // between two calls of an agent
	Timeout time.Duration `yaml:"timeout"` // of a call
	Calls   []Call        `yaml:"calls"`
}

// A Call is a tool that agents call.
type Call struct {
	Tool   string         `yaml:"tool"`
	Weight int            `yaml:"weight"` // how often, compared with the others
	Args   map[string]any `yaml:"args"`   // {agent} and {n} in texts stand for the numbers of the agent and of the call
}

// A Span is a range of times, written as 1s-5s.
type Span struct{ From, To time.Duration }

// UnmarshalYAML reads one time or two.
func (s *Span) UnmarshalYAML(n *yaml.Node) (err error) {
	from, to, two := strings.Cut(n.Value, "-")
	if s.From, err = time.ParseDuration(strings.TrimSpace(from)); err != nil {
		return err
	}
	s.To = s.From
	if two {
		s.To, err = time.ParseDuration(strings.TrimSpace(to))
	}
	if err == nil && (s.From < 0 || s.To < s.From) {
		err = fmt.Errorf("the time %q is not a range", n.Value)
	}
	return err
}

// The bounds of a plan.
const (
	maxAgents = 20_000
	maxFor    = 4 * time.Hour
	maxCalls  = 100
)

// DefaultPlan is for a first impression: it changes nothing on the server.
const DefaultPlan = `agents: 10            # sessions at a time
for: 10s
ramp: 1s              # until all have begun
think: 100ms-500ms    # between two calls of an agent
timeout: 60s
calls:
  - {tool: datetime, weight: 3}
  - {tool: memory_search, weight: 1, args: {query: "agent {agent} call {n}"}}
`

// Read reads a plan.
func Read(text []byte) (Plan, error) {
	p := Plan{Agents: 1, For: 10 * time.Second, Timeout: time.Minute}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&p); err != nil && !errors.Is(err, io.EOF) {
		return p, fmt.Errorf("the plan: %w", err)
	}
	return p, nil
}

// Check returns an error for plans that cannot be run.
func (p Plan) Check() error {
	switch {
	case p.Agents < 1 || p.Agents > maxAgents:
		return fmt.Errorf("agents is %d; use 1 to %d", p.Agents, maxAgents)
	case p.For <= 0 || p.For > maxFor:
		return fmt.Errorf("for is %s; use up to %s", p.For, maxFor)
	case p.Ramp < 0 || p.Ramp > p.For:
		return fmt.Errorf("ramp is %s; use up to %s", p.Ramp, p.For)
	case p.Timeout <= 0:
		return fmt.Errorf("timeout is %s; use more than 0", p.Timeout)
	case len(p.Calls) == 0 || len(p.Calls) > maxCalls:
		return fmt.Errorf("the plan has %d calls; use 1 to %d", len(p.Calls), maxCalls)
	}
	for i := range p.Calls {
		if p.Calls[i].Tool == "" || p.Calls[i].Weight < 0 {
			return fmt.Errorf("call %d needs a tool, and a weight that is not negative", i+1)
		}
	}
	return nil
}

// A Target is the server.
type Target struct {
	URL    string   // its endpoint, such as https://host/mcp
	Tokens []string // agents take them in turn; none: no token is sent
}

// Check returns an error for a URL that is no endpoint, or would send the token in plain text.
func (t Target) Check() error {
	u, err := url.Parse(t.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%q is no URL of a server; write it as https://host/mcp", t.URL)
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && len(t.Tokens) > 0 && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("the token would be sent to %s in plain text; use https", u.Host)
	}
	return nil
}

// A Report is the result.
type Report struct {
	Agents  int            `json:"agents"`
	Seconds float64        `json:"seconds"`
	Calls   int            `json:"calls"`
	Rate    float64        `json:"calls_per_second"`
	Rows    []Row          `json:"rows"` // sessions first, then tools as in the plan
	Errors  map[string]int `json:"errors,omitempty"`
}

// Answered returns the number of calls without an error.
func (r Report) Answered() (n int) {
	for _, row := range r.Rows {
		if row.Name != Sessions {
			n += row.Count - row.Failed
		}
	}
	return n
}

// A Row has the times of one kind of request, in milliseconds.
type Row struct {
	Name   string  `json:"name"`
	Count  int     `json:"count"`
	Failed int     `json:"failed"`
	P50    float64 `json:"p50_ms"`
	P90    float64 `json:"p90_ms"`
	P99    float64 `json:"p99_ms"`
	Max    float64 `json:"max_ms"`
}

// Sessions is the name of the row with the starts of sessions.
const Sessions = "(session)"

// Run carries out the plan, and returns the times. It returns early when ctx ends, with the results so far.
func Run(ctx context.Context, t Target, p Plan) (Report, error) {
	if err := errors.Join(t.Check(), p.Check()); err != nil {
		return Report{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.For)
	defer cancel()
	r := &run{Target: t, Plan: p, took: map[string][]float64{}, failed: map[string]int{}, errors: map[string]int{}, client: &http.Client{
		Transport:     &http.Transport{MaxIdleConns: p.Agents, MaxIdleConnsPerHost: p.Agents, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	defer r.client.CloseIdleConnections()
	began := time.Now()
	var agents sync.WaitGroup
	for i := range p.Agents {
		agents.Go(func() {
			if pause(ctx, p.Ramp*time.Duration(i)/time.Duration(p.Agents)) {
				r.agent(ctx, i+1)
			}
		})
	}
	agents.Wait()
	return r.report(time.Since(began)), nil
}

// pause waits, and reports whether the time is not over.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// A run is a plan in progress.
type run struct {
	Target
	Plan
	client *http.Client

	mu     sync.Mutex
	took   map[string][]float64 // milliseconds
	failed map[string]int
	errors map[string]int
}

// note records a request. A request that the end of the plan has interrupted does not count.
func (r *run) note(ctx context.Context, name string, took time.Duration, kind string) {
	if ctx.Err() != nil && kind != "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.took[name] = append(r.took[name], float64(took.Microseconds())/1000)
	if kind != "" {
		r.failed[name]++
		r.errors[name+": "+kind]++
	}
}

// agent is the life of one agent: a session, and calls until the end.
func (r *run) agent(ctx context.Context, number int) {
	token := ""
	if len(r.Tokens) > 0 {
		token = r.Tokens[(number-1)%len(r.Tokens)]
	}
	var s session
	defer func() {
		if s.id != "" {
			r.end(s)
		}
	}()
	for n := 1; ; n++ {
		for s.id == "" {
			var kind string
			began := time.Now()
			s, kind = r.open(ctx, token)
			r.note(ctx, Sessions, time.Since(began), kind)
			if s.id == "" && !pause(ctx, time.Second) {
				return
			}
		}
		call := r.choose()
		began := time.Now()
		kind := r.call(ctx, s, n, call.Tool, fill(call.Args, number, n))
		r.note(ctx, call.Tool, time.Since(began), kind)
		if kind == "HTTP 404" {
			s.id = "" // the server has ended it
		}
		if !pause(ctx, r.Think.From+time.Duration(rand.Int64N(int64(r.Think.To-r.Think.From)+1))) {
			return
		}
	}
}

// choose returns a call by the weights. A weight of 0 counts as 1.
func (r *run) choose() Call {
	sum := 0
	for _, c := range r.Calls {
		sum += max(c.Weight, 1)
	}
	at := rand.IntN(sum)
	for _, c := range r.Calls {
		if at -= max(c.Weight, 1); at < 0 {
			return c
		}
	}
	return r.Calls[0]
}

// fill returns arguments with the numbers of the agent and the call.
func fill(value any, agent, n int) any {
	switch v := value.(type) {
	case string:
		return strings.NewReplacer("{agent}", strconv.Itoa(agent), "{n}", strconv.Itoa(n)).Replace(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = fill(v[i], agent, n)
		}
		return list
	case map[string]any:
		all := make(map[string]any, len(v))
		for key := range v {
			all[key] = fill(v[key], agent, n)
		}
		return all
	}
	return value
}

// revision is the revision of MCP that agents speak. It has sessions.
const revision = "2025-06-18"

// maxAnswer is how much of an answer is read.
const maxAnswer = 32 << 20

// A session is one that the server has opened for a token.
type session struct{ token, id string }

// openTime is the maximum time to open a session.
const openTime = 30 * time.Second

// open opens a session. The end of ctx does not interrupt it: a session that the server has opened must be known, so
// that it is ended.
func (r *run) open(ctx context.Context, token string) (s session, kind string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTime)
	defer cancel()
	s.token = token
	header, _, kind := r.post(ctx, s, map[string]any{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": map[string]any{
		"protocolVersion": revision, "capabilities": struct{}{}, "clientInfo": map[string]string{"name": "mcp-tools load", "version": "1"},
	}})
	if kind != "" {
		return s, kind
	}
	if s.id = header.Get("Mcp-Session-Id"); s.id == "" {
		return s, "no session"
	}
	if _, _, kind = r.post(ctx, s, map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"}); kind != "" {
		s.id = ""
	}
	return s, kind
}

// end ends a session, after the time of the plan.
func (r *run) end(s session) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, r.URL, nil)
	if err != nil {
		return
	}
	s.head(req)
	if resp, err := r.client.Do(req); err == nil {
		resp.Body.Close()
	}
}

// call calls a tool, and returns the kind of its error.
func (r *run) call(ctx context.Context, s session, id int, tool string, args any) (kind string) {
	if args == nil || args.(map[string]any) == nil {
		args = map[string]any{}
	}
	_, answer, kind := r.post(ctx, s, map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call",
		"params": map[string]any{"name": tool, "arguments": args}})
	if kind != "" {
		return kind
	}
	var m struct {
		Error  *struct{ Code int }
		Result *struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	switch err := json.Unmarshal(answer, &m); {
	case err != nil || m.Error == nil && m.Result == nil:
		return "no answer"
	case m.Error != nil:
		return "error " + strconv.Itoa(m.Error.Code)
	case !m.Result.IsError:
		return ""
	case len(m.Result.Content) > 0:
		if word, _, ok := strings.Cut(m.Result.Content[0].Text, ":"); ok && len(word) < 20 && !strings.Contains(word, " ") {
			return word
		}
	}
	return "failed"
}

func (s session) head(req *http.Request) {
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", revision)
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	if s.id != "" {
		req.Header.Set("Mcp-Session-Id", s.id)
	}
}

// post sends a message, and returns the answer to it.
func (r *run) post(ctx context.Context, s session, message map[string]any) (http.Header, []byte, string) {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	body, err := json.Marshal(message)
	if err != nil {
		return nil, nil, "arguments"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(body))
	if err != nil {
		return nil, nil, "URL"
	}
	s.head(req)
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, nil, lost(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)) // so that the connection can be used again
		return nil, nil, "HTTP " + strconv.Itoa(resp.StatusCode)
	}
	from := io.LimitReader(resp.Body, maxAnswer)
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		text, err := io.ReadAll(from)
		if err != nil {
			return nil, nil, lost(err)
		}
		return resp.Header, text, ""
	}
	var answer []byte
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && bytes.Contains(data, []byte(`"id"`)) {
			answer = bytes.TrimSpace(data) // the last one: those before are progress and questions
		}
		if errors.Is(err, io.EOF) {
			return resp.Header, answer, ""
		}
		if err != nil {
			return nil, nil, lost(err)
		}
	}
}

// lost returns the kind of an error of the connection.
func lost(err error) string {
	if timeout := (net.Error)(nil); errors.As(err, &timeout) && timeout.Timeout() {
		return "timeout"
	}
	return "connection"
}

// report returns the numbers.
func (r *run) report(took time.Duration) Report {
	all := Report{Agents: r.Agents, Seconds: took.Seconds(), Errors: r.errors}
	names := []string{Sessions}
	for _, c := range r.Calls {
		if !slices.Contains(names, c.Tool) {
			names = append(names, c.Tool)
		}
	}
	for _, name := range names {
		times := r.took[name]
		slices.Sort(times)
		row := Row{Name: name, Count: len(times), Failed: r.failed[name]}
		if n := len(times); n > 0 {
			at := func(part float64) float64 { return times[min(n-1, int(part*float64(n)))] }
			row.P50, row.P90, row.P99, row.Max = at(0.5), at(0.9), at(0.99), times[n-1]
		}
		if name != Sessions {
			all.Calls += row.Count
		}
		all.Rows = append(all.Rows, row)
	}
	all.Rate = float64(all.Calls) / all.Seconds
	return all
}
