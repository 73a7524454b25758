package docker

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// testServer is a server that has a command running until it is killed, or
// that has made a container and not started it.
func testServer(args []string) int {
	what, dir, agent, mounts, id := args[0], args[1], args[2], args[3], args[4]
	l, err := New(Options{Image: testImage, Hosts: []string{"unix:///var/run/docker.sock"}, Agent: agent,
		Mounts: mounts, Prefix: "mcp-tools-test-"})
	if err == nil && what == "made" {
		err = makeOnly(l, id)
	} else if err == nil {
		err = runForever(l, dir, id)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready")
	select {}
}

func makeOnly(l *Launcher, id string) error {
	_, err := l.engines[0].api.ContainerCreate(context.Background(),
		l.config(plan{Spec: sandbox.Spec{ID: id}, image: image{id: testImage}}),
		&container.HostConfig{NetworkMode: "none"}, nil, nil, "mcp-tools-test-"+id)
	return err
}

type deaf struct{ sink }

func runForever(l *Launcher, dir, id string) error {
	link, err := l.Launch(context.Background(), sandbox.Spec{ID: id,
		Binds: l.Layout(sandbox.Directories{Dir: dir}).Binds})
	if err != nil {
		return err
	}
	b, err := box.Open(context.Background(), link)
	if err != nil {
		return err
	}
	_, err = b.Start(context.Background(), wire.StartBody{Dir: "/workspace", Env: []string{"PATH=/bin"},
		Argv: []string{"sh", "-c", "(setsid sleep 4242 &); trap '' TERM HUP; sleep 4242; sleep 4242"}},
		&deaf{sink{done: make(chan struct{})}})
	return err
}

// server starts one and waits until it is ready.
func server(t *testing.T, what, dir, id string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "test-server", what, dir, agentProgram(t), filepath.Join(t.TempDir(), "m"), id)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line != "ready\n" {
		t.Fatalf("the server says %q", line)
	}
	return cmd
}

// TestKilledServer has the kernel end a server; its container must follow.
func TestKilledServer(t *testing.T) {
	p := newPlace(t)
	id := p.spec().ID
	cmd := server(t, "run", p.dir, id)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	goneSoon(t, p.launcher.engines[0], "mcp-tools-test-"+id)
}

// TestReap has servers with containers, living and dead ones.
func TestReap(t *testing.T) {
	p := newPlace(t)
	e := p.launcher.engines[0]
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	there := func(id string) bool {
		_, err := e.api.ContainerInspect(ctx, "mcp-tools-test-"+id)
		return err == nil
	}
	made, running, dying := p.spec().ID, p.spec().ID, p.spec().ID
	living := server(t, "made", p.dir, made)
	server(t, "run", p.dir, running)
	dead := server(t, "made", p.dir, dying)
	if _, err := p.launcher.reap(ctx, p.launcher.engines[0]); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{made, running, dying} {
		if !there(id) {
			t.Errorf("the container of a living server was removed")
		}
	}
	for _, cmd := range []*exec.Cmd{dead, living} {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	if _, err := p.launcher.reap(ctx, p.launcher.engines[0]); err != nil {
		t.Fatal(err)
	}
	if there(made) || there(dying) {
		t.Error("the container of a dead server is still there")
	}
	if !there(running) {
		t.Error("the container of a living server was removed")
	}
}

func TestOrphans(t *testing.T) {
	me := thisProcess()
	if me.machine == "" {
		t.Skip("processes of others are not known here")
	}
	gone := me
	gone.start = "1"
	elsewhere := me
	elsewhere.machine = "elsewhere"
	if o, ok := parseOwner(me.String()); !ok || o != me {
		t.Errorf("%q is read as %v", me, o)
	}
	if o, ok := ownerOfFile(me.file()); !ok || o != me {
		t.Errorf("%q is read as %v", me.file(), o)
	}
	const now = 1_000_000
	for _, c := range []struct {
		owner, state string
		age          int64
		want         bool
	}{
		{me.String(), "created", 9999, false},
		{me.String(), "running", 9999, false},
		{me.String(), "exited", 9999, false},
		{gone.String(), "created", 0, true},
		{gone.String(), "running", 0, true},
		{gone.String(), "exited", 0, true},
		{elsewhere.String(), "created", 10, false},
		{elsewhere.String(), "created", 9999, true},
		{elsewhere.String(), "running", 9999, false},
		{elsewhere.String(), "exited", 0, true},
		{"", "running", 9999, false},
		{"a/b/c/d", "created", 10, false},
	} {
		got := orphan(container.Summary{State: c.state, Created: now - c.age,
			Labels: map[string]string{labelOwner: c.owner}}, time.Unix(now, 0))
		if got != c.want {
			t.Errorf("%v: %v", c, got)
		}
	}
}
