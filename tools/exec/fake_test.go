package exec

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// paper is a Log.
type paper struct {
	mu       sync.Mutex
	text     []byte
	from, to int64 // what was dropped
}

func (l *paper) write(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, text...)
}

func (l *paper) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.text))
}

func (l *paper) Gap() (from, to int64) { return l.from, l.to }

func (l *paper) ReadAt(p []byte, at int64) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case at >= int64(len(l.text)):
		return 0, io.EOF
	case at >= l.from && at < l.to:
		return 0, io.ErrNoProgress
	}
	end := int64(len(l.text))
	if at < l.from && l.to > 0 {
		end = l.from
	}
	n := copy(p, l.text[at:end])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// actor is a Process that does what its script says.
type actor struct {
	mu       sync.Mutex
	status   sandbox.Status
	out, err paper
	asked    sandbox.Command
	typed    string
	closed   bool
	kept     string // how
	removed  bool
	killed   bool
	keepErr  error
	// act is called by each Wait, which returns when it says so. nil ends at
	// once.
	act func(ctx context.Context, a *actor, u sandbox.WaitCondition) (done bool)
}

func (a *actor) Status() sandbox.Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.status
}

func (a *actor) set(change func(*sandbox.Status)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.status)
}

func (a *actor) Wait(ctx context.Context, u sandbox.WaitCondition) sandbox.Status {
	for a.act != nil && ctx.Err() == nil && a.Status().State == sandbox.Running {
		if a.act(ctx, a, u) {
			break
		}
	}
	st := a.Status()
	if u.Pattern != "" {
		text := string(a.out.text[min(u.From, a.out.Size()):])
		for line := range strings.Lines(text) {
			if regexp.MustCompile(u.Pattern).MatchString(line) {
				st.Matched = strings.TrimSpace(line)
				break
			}
		}
	}
	return st
}

func (a *actor) Log(s sandbox.Stream) sandbox.Log {
	if s == sandbox.Stdout {
		return &a.out
	}
	return &a.err
}

func (a *actor) Write(_ context.Context, data []byte, end bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.typed, a.closed = a.typed+string(data), a.closed || end
	return nil
}

func (a *actor) Kill(context.Context) error {
	a.set(func(s *sandbox.Status) { s.State, s.Signal, s.Left = sandbox.Killed, "SIGKILL", 0 })
	a.killed = true
	return nil
}

func (a *actor) Keep(_ context.Context, beyond bool) error {
	if a.keepErr == nil {
		a.kept = fmt.Sprintf("kept, beyond the session: %v", beyond)
	}
	return a.keepErr
}

func (a *actor) Remove(ctx context.Context) error {
	a.removed = true
	return ctx.Err()
}

// stage is Commands with the actors that are on it.
type stage struct {
	site    sandbox.Site
	siteErr error
	err     error
	next    *actor
	all     []*actor
}

func (s *stage) Site(_ context.Context, _ string, elevated bool) (sandbox.Site, error) {
	site := s.site
	if elevated {
		site.Tier, site.Isolated, site.Elevated = "host", false, true
	}
	return site, s.siteErr
}

func (s *stage) Start(_ context.Context, c sandbox.Command) (sandbox.Process, error) {
	if s.err != nil {
		return nil, s.err
	}
	a := s.next
	a.asked = c
	a.status.Text, a.status.TTY, a.status.Dir, a.status.Tier = c.Text, c.TTY, s.site.Dir, s.site.Tier
	if c.Watch != nil && a.out.Size() > 0 {
		c.Watch(sandbox.Stdout, a.out.text)
	}
	s.all = append(s.all, a)
	return a, nil
}

func (s *stage) Process(_ context.Context, id string) (sandbox.Process, error) {
	i := slices.IndexFunc(s.all, func(a *actor) bool { return a.status.ID == id && !a.removed })
	if i < 0 {
		return nil, tool.Errorf(tool.NotFound, "there is no command %q of yours",
			id).Try("process list shows what there is")
	}
	return s.all[i], nil
}

func (s *stage) Processes(context.Context) ([]sandbox.Process, error) {
	var all []sandbox.Process
	for _, a := range s.all {
		if !a.removed {
			all = append(all, a)
		}
	}
	return all, nil
}

// isolated returns a site in a kernel sandbox.
func isolated() sandbox.Site {
	have := map[string]string{
		"/bin/bash": "/bin/bash", "ls": "/usr/bin/ls", "git": "/usr/bin/git", "python3": "/usr/bin/python3",
		"/w/build.sh": "/w/build.sh",
	}
	return sandbox.Site{
		Tier: "kernel", Isolated: true, Dir: "/w", Inode: "8:1234", Roots: []string{"/w"}, Home: "/home/agent",
		DefaultTimeout: 300 * time.Second, MaxTimeout: 600 * time.Second,
		Find: func(name string) (string, string) {
			if have[name] == "" {
				return "", ""
			}
			return have[name], "8:" + fmt.Sprint(len(have[name]))
		},
	}
}

// shelf is a Keeper.
type shelf struct {
	text string
	err  error
}

func (s *shelf) Keep(_ context.Context, r io.Reader) (string, error) {
	if s.err != nil {
		return "", s.err
	}
	text, err := io.ReadAll(r)
	s.text = string(text)
	return "r_1", err
}

// within returns the context of a call.
func within(t testing.TB, report tool.Reporter) context.Context {
	return tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "a", User: "u", Session: "s"},
		Report: report})
}

// factsOf returns what an approval of the call would depend on, and the plan.
func factsOf(t testing.TB, call tool.Call) (tool.Facts, tool.Plan, error) {
	t.Helper()
	plan, err := call.Prepare(within(t, nil))
	if err != nil || plan.Facts == nil {
		return nil, plan, err
	}
	facts, err := plan.Facts(within(t, nil))
	return facts, plan, err
}

// rate returns the risk of the call, and why.
func rate(t testing.TB, call tool.Call) (tool.Risk, string) {
	t.Helper()
	plan, _ := call.Prepare(within(t, nil))
	return plan.Risk, plan.Why
}

// bind makes a call of a tool.
func bind(t testing.TB, all []tool.Tool, name, args string) tool.Call {
	t.Helper()
	for _, one := range all {
		if one.Spec.Name == name {
			call, err := one.Bind([]byte(args), tool.DefaultLimits())
			if err != nil {
				t.Fatalf("%s %s: %v", name, args, err)
			}
			return call
		}
	}
	t.Fatalf("there is no tool %s", name)
	return tool.Call{}
}
