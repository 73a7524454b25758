package network

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/commands"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/sandboxtest"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestMain also runs the test binary as the stage and the agent of a sandbox.
func TestMain(m *testing.M) {
	sandboxtest.Play(nil)
	os.Exit(m.Run())
}

// newGate returns a gate whose questions are in a store of their own.
func newGate(t *testing.T, mode string, unasked func(context.Context) (string, string)) (*Gate, *[]string) {
	t.Helper()
	free, err := egress.ParseHosts(registries())
	if err != nil {
		t.Fatal(err)
	}
	s := approvals.New(approvals.Options{DB: storetest.Open(t, filepath.Join(t.TempDir(), "data"))})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	var refused []string
	return &Gate{
		registries: free, mode: mode, approvals: s, unasked: unasked, timeout: time.Minute,
		caller:  tool.Caller{Agent: "a", User: "u", Session: "s"},
		profile: func() string { return "coding" }, refused: func(err error) { refused = append(refused, err.Error()) },
		client: func() bool { return false }, scrub: func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") },
		running: func() []sandbox.Status {
			return []sandbox.Status{{Text: "curl -u me:hunter2\n https://a", Dir: "/ws/sub", Started: time.Now()}}
		},
		turn: make(chan struct{}, 1), known: map[egress.Target]knownHost{},
	}, &refused
}

func attended(context.Context) (string, string) { return "", "" }

func target(t *testing.T, text string) egress.Target {
	t.Helper()
	to, err := egress.ParseTarget(text)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// answer answers the next question, and returns what was asked.
func answer(t *testing.T, g *Gate, a approvals.Answer) approvals.Question {
	t.Helper()
	for {
		changed := g.approvals.Changed()
		open, err := g.approvals.List(t.Context(), approvals.Approver{})
		if err != nil {
			t.Fatal(err)
		}
		if len(open) > 0 {
			if _, err := g.approvals.Answer(t.Context(), open[0].ID, a, approvals.Approver{Channel: "cli"}); err != nil {
				t.Fatal(err)
			}
			return open[0]
		}
		select {
		case <-changed:
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// asked returns the decision about a host while a person gives an answer.
func asked(t *testing.T, g *Gate, host string, a approvals.Answer) (approvals.Question, error) {
	t.Helper()
	decided := make(chan error, 1)
	go func() { decided <- g.Allow(t.Context(), target(t, host)) }()
	q := answer(t, g, a)
	return q, <-decided
}

func TestHostsThatAreNotAskedAbout(t *testing.T) {
	for _, test := range []struct {
		mode, host, unasked string
		want                string // in the error; "" for none
	}{
		{Registries, "registry.npmjs.org:443", "", ""},
		{Registries, "registry.npmjs.org:22", "", "sandbox.network is registries"},
		{Registries, "a.example.com:443", "", `"a.example.com:443", only to package registries`},
		{Ask, "github.com:443", "no person is there", ""},
		{Ask, "evil.github.com:443", "no person is there", "no person is there (sandbox.network is ask)"},
		{Ask, "a.example.com:443", "with the autonomy full no person is asked", "the autonomy full"},
	} {
		g, refused := newGate(t, test.mode, func(context.Context) (string, string) { return test.unasked, "do without" })
		err := g.Allow(t.Context(), target(t, test.host))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) ||
			len(*refused) > 0 != (err != nil) {
			t.Errorf("%s, %s: %v, noted %q; want %q", test.mode, test.host, err, *refused, test.want)
		}
	}
}

func TestHostsThatAPersonIsAskedAbout(t *testing.T) {
	g, refused := newGate(t, Ask, attended)
	q, err := asked(t, g, "a.example.com:443", approvals.Answer{Allow: true})
	if err != nil || q.Tool != "network" || !strings.Contains(q.Shown, `"a.example.com"`) ||
		!strings.Contains(q.Shown, "443") || !strings.Contains(q.Why, "a.example.com:443") ||
		!strings.Contains(q.Why, `the command "curl -u me:*** https://a", which has run for 0s in /ws/sub, connects`) {
		t.Errorf("allowed once: %v, the question was %+v", err, q)
	}
	if err := g.Allow(t.Context(), target(t, "a.example.com:443")); err != nil {
		t.Errorf("the next connection of the same program: %v", err)
	}
	if _, err := asked(t, g, "a.example.com:8443", approvals.Answer{Reason: "not that port"}); err == nil ||
		!strings.Contains(err.Error(), "not that port") {
		t.Errorf("another port: %v", err)
	}
	if err := g.Allow(t.Context(), target(t, "a.example.com:8443")); err == nil || len(*refused) != 2 {
		t.Errorf("a denied host is tried again: %v, noted %q", err, *refused)
	}
	clear(g.known) // time passes
	for host, scope := range map[string]approvals.Scope{"b.example.com:443": approvals.Session,
		"c.example.com:443": approvals.Always} {
		if _, err := asked(t, g, host, approvals.Answer{Allow: true, Scope: scope}); err != nil {
			t.Errorf("%s: %v", scope, err)
		}
		clear(g.known)
		g.unasked = func(context.Context) (string, string) { return "no person is there", "do without" }
		if err := g.Allow(t.Context(), target(t, host)); err != nil {
			t.Errorf("the rule for %s: %v", scope, err)
		}
		own := g.caller.Session
		g.caller.Session = "another"
		clear(g.known)
		if err := g.Allow(t.Context(), target(t, host)); (err == nil) != (scope == approvals.Always) {
			t.Errorf("%s in another session: %v", scope, err)
		}
		g.caller.Session, g.unasked = own, attended
	}
}

// TestClientIsAskedAboutHosts has a person at the client, and none elsewhere.
func TestClientIsAskedAboutHosts(t *testing.T) {
	g, _ := newGate(t, Ask, func(context.Context) (string, string) { return "no person is there", "do without" })
	g.client = func() bool { return true }
	for _, test := range []struct {
		host, want string
		answer     *approvals.Answer // nil: the person closes the question
	}{
		{"a.example.com:443", "", &approvals.Answer{Allow: true}},
		{"b.example.com:443", "a person denied", &approvals.Answer{}},
		{"c.example.com:443", "no person decided in time", nil},
	} {
		g.askClient = func(ctx context.Context, q approvals.Call, id string) bool {
			if !strings.Contains(q.Shown, test.host[:13]) {
				t.Errorf("%s: asked about %s", test.host, q.Shown)
			}
			if test.answer == nil {
				return false
			}
			_, err := g.approvals.Answer(ctx, id, *test.answer, approvals.Approver{Channel: "elicitation"})
			return err == nil
		}
		err := g.Allow(t.Context(), target(t, test.host))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.host, err, test.want)
		}
	}
}

// TestEndedCommandWithdrawsItsQuestion checks that no question is left.
func TestEndedCommandWithdrawsItsQuestion(t *testing.T) {
	g, refused := newGate(t, Ask, attended)
	ctx, cancel := context.WithCancel(t.Context())
	decided := make(chan error, 1)
	go func() { decided <- g.Allow(ctx, target(t, "a.example.com:443")) }()
	for {
		if open, err := g.approvals.List(t.Context(), approvals.Approver{}); err != nil || len(open) > 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	if err := <-decided; !errors.Is(err, context.Canceled) || len(*refused) > 0 {
		t.Errorf("%v, noted %q", err, *refused)
	}
	if open, err := g.approvals.List(t.Context(), approvals.Approver{}); err != nil || len(open) > 0 {
		t.Errorf("%d questions are left, %v", len(open), err)
	}
}

// oneAddress resolves all names to this machine.
type oneAddress struct{}

func (oneAddress) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

// TestCurlInASandboxWaitsForAPerson runs curl in the kernel sandbox, with the proxy of a
// server.
func TestCurlInASandboxWaitsForAPerson(t *testing.T) {
	launcher := &kernel.Launcher{}
	needtest.Sandbox(t, launcher)
	needtest.Program(t, "curl")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "a page")
	}))
	defer web.Close()
	_, port, _ := strings.Cut(web.Listener.Addr().String(), ":")
	allowed, denied := "allowed.example.com:"+port, "denied.example.com:"+port
	g, _ := newGate(t, Ask, attended)
	ws, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run := newSandbox(t, launcher, ws, g, []string{allowed, denied})

	got := make(chan string, 1)
	go func() { got <- run("curl -sS -p http://" + allowed) }()
	if q := answer(t, g, approvals.Answer{Allow: true}); !strings.Contains(q.Shown, "allowed.example.com") {
		t.Errorf("asked was %s", q.Shown)
	}
	if text := <-got; text != "a page" {
		t.Errorf("an allowed host: %q", text)
	}
	if text := run("curl -sS http://" + allowed); text != "a page" {
		t.Errorf("again, without CONNECT: %q", text)
	}
	go func() { got <- run("curl -sSv -p http://" + denied + " 2>&1") }()
	answer(t, g, approvals.Answer{Reason: "no"})
	if text := <-got; strings.Contains(text, "a page") || !strings.Contains(text, "a person denied the connection") {
		t.Errorf("a denied host: %q", text)
	}
	if text := run("curl -sS http://10.0.0.1:" + port); !strings.Contains(text, "is not on the public internet") {
		t.Errorf("a private address, about which no person is asked: %q", text)
	}
}

// newSandbox returns a function that runs a shell command in a sandbox with a proxy that
// asks a gate, and returns its output.
func newSandbox(t *testing.T, launcher sandbox.Launcher, ws string, g *Gate, private []string) func(string) string {
	t.Helper()
	dialer, err := egress.NewDialer(egress.Rules{AllowPrivate: private}, oneAddress{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := commands.New(commands.Options{
		Tiers: sandbox.NewTiers(launcher), Spool: filepath.Join(t.TempDir(), "spool"),
		Mode: func(tool.Caller) commands.Policy {
			return commands.Policy{Mode: commands.Kernel, Network: true, Asks: true}
		},
		Directories: func(context.Context) (sandbox.Directories, error) { return sandbox.Directories{Dir: ws}, nil },
		Dir: func(_ context.Context, path string) (string, string, error) {
			if path != "" {
				return "", "", fs.ErrNotExist
			}
			return ws, "1:2", nil
		},
		Proxy: func(context.Context, tool.Caller, []string, bool) (string, func(), error) {
			socket, l, err := egress.Listen(filepath.Join(ws, ".proxy"))
			if err != nil {
				return "", nil, err
			}
			ctx, stop := context.WithCancel(context.Background())
			p := egress.NewProxy(egress.ProxyOptions{Dialer: dialer, Allow: g.Allow})
			go func() { _ = p.Serve(ctx, l) }() // an error shows in the commands
			return socket, stop, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return func(text string) string {
		ctx := tool.With(t.Context(), &tool.Running{Caller: g.caller})
		p, err := c.Start(ctx, sandbox.Command{Argv: []string{"/bin/sh", "-c", text}, Text: text})
		if err != nil {
			return err.Error()
		}
		p.Wait(ctx, sandbox.WaitCondition{})
		out := p.Log(sandbox.Stdout)
		all := make([]byte, out.Size())
		if _, err := out.ReadAt(all, 0); err != nil && !errors.Is(err, io.EOF) {
			return err.Error()
		}
		return string(all)
	}
}
