package commands

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A fake is a launcher whose agents play what the first word of a command says.
type fake struct {
	name    string
	slow    chan struct{} // nil, or what a launch waits for
	mu      sync.Mutex
	finding sandbox.ProbeResult
	fails   error
	probes  int
	spec    []sandbox.Spec
	links   []*fakeLink
}

func newFake(name string) *fake {
	return &fake{name: name, finding: sandbox.ProbeResult{Works: true, Proxy: true,
		Guarantees: []sandbox.Guarantee{sandbox.Files, sandbox.Network}}}
}

func (f *fake) Name() string { return f.name }

func (f *fake) Probe(context.Context) sandbox.ProbeResult {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.probes++
	return f.finding
}

func (f *fake) finds(found sandbox.ProbeResult) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.finding = found
}

func (f *fake) Layout(g sandbox.Directories) sandbox.Layout {
	l := sandbox.Layout{Home: "/home", Image: f.name == "docker", Binds: []sandbox.Bind{{Host: g.Dir, Inside: "/workspace", Write: true}}}
	for _, r := range g.Roots {
		l.Binds = append(l.Binds, sandbox.Bind{Host: r.Path, Inside: "/roots/" + r.Name, Write: r.Write})
	}
	return l
}

func (f *fake) Launch(ctx context.Context, w sandbox.Spec) (sandbox.Link, error) {
	if f.slow != nil {
		select {
		case <-f.slow:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails != nil {
		return nil, f.fails
	}
	l := &fakeLink{done: make(chan struct{}), starts: make(chan wire.StartBody, 100)}
	var theirIn *io.PipeReader
	var theirOut *io.PipeWriter
	theirIn, l.to = io.Pipe()
	l.from, theirOut = io.Pipe()
	go l.play(theirIn, theirOut)
	f.spec, f.links = append(f.spec, w), append(f.links, l)
	return l, nil
}

func (f *fake) launched() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.links)
}

type fakeLink struct {
	to     *io.PipeWriter
	from   *io.PipeReader
	done   chan struct{}
	starts chan wire.StartBody
}

func (l *fakeLink) Read(p []byte) (int, error)      { return l.from.Read(p) }
func (l *fakeLink) Write(p []byte) (int, error)     { return l.to.Write(p) }
func (l *fakeLink) Guarantees() []sandbox.Guarantee { return nil }
func (l *fakeLink) Close() error {
	err := errors.Join(l.to.Close(), l.from.Close())
	<-l.done
	return err
}

// closed says whether somebody has ended it.
func (l *fakeLink) closed() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// play is an agent.
func (l *fakeLink) play(in *io.PipeReader, out *io.PipeWriter) {
	defer close(l.done)
	defer out.Close()
	defer in.Close()
	w, r := wire.NewWriter(out), wire.NewReader(in, wire.MaxBody)
	hangs := map[uint32]bool{}
	if w.SendJSON(wire.Hello, 0, wire.HelloBody{Version: wire.Version}) != nil {
		return
	}
	for {
		frame, err := r.Next()
		if err != nil {
			return
		}
		id := frame.ID
		switch frame.Kind {
		case wire.Kill:
			if hangs[id] {
				_ = w.SendJSON(wire.Exited, id, wire.ExitBody{Signal: "SIGKILL", Code: 137, Killed: true})
				_ = w.Send(wire.Gone, id, nil)
			}
			continue
		case wire.Start:
		default:
			continue
		}
		var body wire.StartBody
		if frame.Decode(&body) != nil {
			return
		}
		l.starts <- body
		if body.Argv[0] == "lost" {
			return
		}
		_ = w.SendJSON(wire.Started, id, wire.StartedBody{PID: 7})
		switch body.Argv[0] {
		case "hang":
			hangs[id] = true
		case "ask":
			hangs[id] = true
			_ = w.Send(wire.Stdout, id, []byte("some line\nname? "))
		case "deaf": // hears no kill
		case "die":
			return
		case "junk":
			_, _ = out.Write([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
		case "oom", "shot":
			memory := map[string]int64{"oom": 500 << 20, "shot": 10 << 20}[body.Argv[0]]
			_ = w.SendJSON(wire.Exited, id, wire.ExitBody{Code: 137, Signal: "SIGKILL", Memory: memory})
			_ = w.Send(wire.Gone, id, nil)
		case "exceed":
			_ = w.SendJSON(wire.Exited, id, wire.ExitBody{LimitExceeded: "memory", Code: 137, Signal: "SIGKILL"})
			_ = w.Send(wire.Gone, id, nil)
		default:
			_ = w.Send(wire.Stdout, id, []byte("done\n"))
			_ = w.SendJSON(wire.Exited, id, wire.ExitBody{})
			_ = w.Send(wire.Gone, id, nil)
		}
	}
}

// withFakes returns commands behind fakes.
func withFakes(t *testing.T, p Policy, change func(*Options), fakes ...*fake) *Commands {
	t.Helper()
	ws := filepath.FromSlash("/w")
	return newCommands(t, func(o *Options) {
		o.Tiers = nil
		for _, f := range fakes {
			o.Tiers = append(o.Tiers, sandbox.NewTiers(f)...)
		}
		o.Mode = func(tool.Caller) Policy { return p }
		o.Directories = func(context.Context) (sandbox.Directories, error) { return sandbox.Directories{Dir: ws}, nil }
		o.Dir = func(_ context.Context, path string) (string, string, error) {
			return filepath.Join(ws, path), "1:2", nil
		}
		if change != nil {
			change(o)
		}
	})
}
