package commands

import (
	"bufio"
	"net"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestDialReachesOwnSandbox checks that a port is that of a command of the same caller: not of
// this machine, and not of another session, agent, user, workspace or profile.
func TestDialReachesOwnSandbox(t *testing.T) {
	launcher := &kernel.Launcher{}
	if f := launcher.Probe(t.Context()); !f.Works || !f.Proxy {
		needtest.Lacking(t, "kernel sandbox", f.Text)
	}
	needtest.Program(t, "python3")
	c := newCommands(t, func(o *Options) {
		o.Tiers = sandbox.NewTiers(launcher)
		o.Mode = func(tool.Caller) Policy { return Policy{} }
	})
	machine, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer machine.Close()
	ann := tool.Caller{Agent: "a", User: "ann", Session: "s", Workspace: "w", Profile: "p"}
	ctx := tool.With(caller(t), &tool.Running{Caller: ann})
	if _, err := c.Dial(ctx, 3456); tool.AsError(err).Kind != tool.NotFound || !strings.Contains(err.Error(), "background=true") {
		t.Errorf("before any command: %v", err)
	}
	server := "import socket\nl = socket.create_server(('127.0.0.1', 3456))\nwhile True: l.accept()[0].sendall(b'hello\\n')"
	p := start(ctx, t, c, sandbox.Command{Argv: []string{"python3", "-c", server}})
	if err := p.Keep(ctx, false); err != nil {
		t.Fatal(err)
	}
	// Dial waits until the command listens.
	conn, err := c.Dial(ctx, 3456)
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(conn).ReadString('\n'); line != "hello\n" {
		t.Errorf("it says %q, %v", line, err)
	}
	conn.Close()
	for i, other := range []tool.Caller{
		{Agent: "a", User: "ann", Session: "other", Workspace: "w", Profile: "p"},
		{Agent: "b", User: "ann", Session: "s", Workspace: "w", Profile: "p"},
		{Agent: "a", User: "bob", Session: "s", Workspace: "w", Profile: "p"},
		{Agent: "a", User: "ann", Session: "s", Workspace: "x", Profile: "p"},
		{Agent: "a", User: "ann", Session: "s", Workspace: "w", Profile: "q"},
		{},
	} {
		if _, err := c.Dial(tool.With(ctx, &tool.Running{Caller: other}), 3456); err == nil {
			t.Errorf("caller %d reaches the server of another", i)
		}
	}
	run(ctx, t, c, sh("true")) // the session has a sandbox; its server is the only one there
	finishEarly(t, p)
	port := uint16(machine.Addr().(*net.TCPAddr).Port)
	if _, err := c.Dial(ctx, port); tool.AsError(err).Kind != tool.NotFound {
		t.Errorf("a port of this machine: %v", err)
	}
	if _, err := c.Dial(ctx, 3456); tool.AsError(err).Kind != tool.NotFound {
		t.Errorf("after the end of the server: %v", err)
	}
}

// finishEarly ends a command in the background.
func finishEarly(t *testing.T, p *process) {
	t.Helper()
	if err := p.Remove(caller(t)); err != nil {
		t.Fatal(err)
	}
	<-p.over
}

func TestDialOnTheHost(t *testing.T) {
	machine, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer machine.Close()
	c := newCommands(t)
	ctx := caller(t)
	run(ctx, t, c, sh("true"))
	_, err = c.Dial(ctx, uint16(machine.Addr().(*net.TCPAddr).Port))
	if tool.AsError(err).Kind != tool.Refused || !strings.Contains(tool.AsError(err).Error(), "use curl in exec") {
		t.Errorf("without a sandbox: %v", err)
	}
}
