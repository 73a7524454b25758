package docker

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

const (
	// fresh is how long the information about an engine is cached.
	fresh = time.Minute
	// rest is how long an engine that failed is tried last.
	rest = 15 * time.Second
)

// An engine is a connection to a Docker engine.
type engine struct {
	name  string // for messages: its address without user names
	local bool   // it sees the files of this machine
	api   *client.Client

	mu     sync.Mutex
	live   int // containers of this server
	failed time.Time
	known  facts
	asked  time.Time
	reaped bool
}

// facts is the information that an engine returns about itself.
type facts struct {
	version  string
	os, arch string
	rootless bool
	seccomp  bool
	memory   bool
	swap     bool
	pids     bool
	total    int64 // bytes of memory
}

func newEngine(host, certs string) (*engine, error) {
	way, err := parseHost(host, certs)
	if err != nil {
		return nil, err
	}
	opts := []client.Opt{client.WithAPIVersionNegotiation()}
	if way.pipe != "" {
		opts = append(opts, client.WithHost(way.pipe))
	} else {
		// The client never dials: it uses plain HTTP over connections that
		// dial makes, whatever their transport is.
		opts = append(opts, client.WithHost("tcp://docker"), client.WithHTTPClient(&http.Client{
			Transport: &http.Transport{
				DialContext: func(ctx context.Context, _, _ string) (net.Conn,
					error) {
					return dial(ctx, way.dial)
				},
				MaxIdleConns:    6,
				IdleConnTimeout: 30 * time.Second,
			},
			CheckRedirect: client.CheckRedirect,
		}))
	}
	api, err := client.NewClientWithOpts(opts...)
	if err != nil {
		return nil, err
	}
	return &engine{name: way.name, local: way.local, api: api}, nil
}

// dialled is the context key of a function that receives the connection.
type dialled struct{}

func dial(ctx context.Context, by func(context.Context) (net.Conn, error)) (net.Conn, error) {
	conn, err := by(ctx)
	if err != nil {
		return nil, err
	}
	if see, ok := ctx.Value(dialled{}).(func(net.Conn)); ok {
		see(conn)
	}
	return conn, nil
}

// facts returns the information about the engine. The first call also removes orphans.
func (e *engine) facts(ctx context.Context, reap func(context.Context, *engine) (int, error)) (facts, error) {
	e.mu.Lock()
	known, asked, reaped := e.known, e.asked, e.reaped
	e.mu.Unlock()
	if time.Since(asked) > fresh {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		info, err := e.api.Info(ctx)
		if err != nil {
			return facts{}, e.explain(err)
		}
		known = factsOf(info)
		e.mu.Lock()
		e.known, e.asked = known, time.Now()
		e.mu.Unlock()
	}
	if known.os != "linux" {
		return facts{}, unavailable("the docker engine at %s runs %s containers", e.name,
			known.os).Try("point sandbox.docker.hosts at one for linux")
	}
	if reap != nil && !reaped {
		if _, err := reap(ctx, e); err == nil {
			e.mu.Lock()
			e.reaped = true
			e.mu.Unlock()
		}
	}
	return known, nil
}

func factsOf(i system.Info) facts {
	f := facts{
		version: i.ServerVersion, os: i.OSType, arch: goArch(i.Architecture),
		memory: i.MemoryLimit, swap: i.SwapLimit, pids: i.PidsLimit, total: i.MemTotal,
	}
	for _, o := range i.SecurityOptions {
		fields := strings.Split(o, ",")
		f.rootless = f.rootless || slices.Contains(fields, "name=rootless")
		if slices.Contains(fields, "name=seccomp") {
			f.seccomp = !slices.Contains(fields, "profile=unconfined")
		}
	}
	return f
}

// goArch converts a machine name of uname to GOARCH.
func goArch(uname string) string {
	switch uname {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return uname
}

// holds returns the guarantees of a container of this engine.
func (f facts) holds(l sandbox.Limits) []sandbox.Guarantee {
	p := []sandbox.Guarantee{sandbox.Files, sandbox.Network, sandbox.Processes}
	if f.memory && f.swap && l.Memory > 0 {
		p = append(p, sandbox.Memory)
	}
	if f.seccomp {
		p = append(p, sandbox.Calls)
	}
	return p
}

// lacks describes the missing abilities of the engine; "" if nothing is missing.
func (f facts) lacks() string {
	var no []string
	for what, has := range map[string]bool{
		"memory limits": f.memory, "swap limits": f.swap, "process limits": f.pids,
		"seccomp": f.seccomp,
	} {
		if !has {
			no = append(no, what)
		}
	}
	if len(no) == 0 {
		return ""
	}
	slices.Sort(no)
	return "the engine lacks " + strings.Join(no, ", ")
}

func (f facts) advice() string {
	switch {
	case f.rootless && !(f.memory && f.pids):
		return "delegate the cgroup controllers to the user of the rootless engine"
	case !f.memory || !f.swap || !f.pids:
		return "turn the cgroup controllers on: boot with cgroup_enable=memory swapaccount=1, or use cgroup v2"
	case !f.seccomp:
		return "start the engine with its default seccomp profile"
	}
	return ""
}

func (e *engine) works() { e.setFailed(time.Time{}) }

func (e *engine) fails(now time.Time) {
	e.setFailed(now)
	e.mu.Lock()
	e.asked = time.Time{}
	e.mu.Unlock()
}

func (e *engine) setFailed(t time.Time) {
	e.mu.Lock()
	e.failed = t
	e.mu.Unlock()
}

func (e *engine) count(n int) {
	e.mu.Lock()
	e.live += n
	e.mu.Unlock()
}

func (e *engine) close() { _ = e.api.Close() }

// loadLimit is the time limit for the answer of an engine about its containers.
const loadLimit = 3 * time.Second

// free returns how much memory of an engine no container of any server may use, and how many containers there are.
func (e *engine) free(ctx context.Context) (memory int64, containers int, err error) {
	ctx, cancel := context.WithTimeout(ctx, loadLimit)
	defer cancel()
	f, err := e.facts(ctx, nil)
	if err != nil {
		return 0, 0, err
	}
	list, err := e.api.ContainerList(ctx, container.ListOptions{Filters: filters.NewArgs(filters.Arg("label", labelOwner))})
	if err != nil {
		return 0, 0, e.explain(err)
	}
	memory = f.total
	for _, c := range list {
		n, err := strconv.ParseInt(c.Labels[labelMemory], 10, 64)
		if err != nil || n <= 0 {
			n = unlabelled
		}
		memory -= n
	}
	return memory, len(list), nil
}

// unlabelled is the memory that a container counts with if its label does not say.
const unlabelled = 512 << 20

// inOrder returns the engines in the order of trying, without drained engines. Engines that do not answer, or have
// failed recently, come last.
func (l *Launcher) inOrder(ctx context.Context) ([]*engine, error) {
	var all []*engine
	for _, e := range l.engines {
		if l.opts.Drained != nil && (!e.local || len(l.engines) > 1) && l.opts.Drained(ctx, e.name) {
			continue
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		return nil, unavailable("all docker hosts of the sandboxes are drained").
			Try("ask the operator to run mcp-tools sandbox undrain HOST")
	}
	if len(all) == 1 {
		return all, nil
	}
	free := make(map[*engine]int64)
	var mu sync.Mutex
	var asked sync.WaitGroup
	for _, e := range all {
		asked.Go(func() {
			memory, _, err := e.free(ctx)
			if err != nil && ctx.Err() == nil {
				e.fails(time.Now())
			}
			mu.Lock()
			defer mu.Unlock()
			free[e] = memory
		})
	}
	asked.Wait()
	return sorted(all, free, time.Now()), ctx.Err()
}

// sorted returns engines in the order of trying: recently failed engines come last; otherwise the engine with the
// most free memory is first, and with equal memory the one with fewer containers of this server.
func sorted(engines []*engine, free map[*engine]int64, now time.Time) []*engine {
	type state struct {
		e       *engine
		resting bool
		live    int
	}
	var all []state
	for _, e := range engines {
		e.mu.Lock()
		all = append(all, state{e, now.Sub(e.failed) < rest, e.live})
		e.mu.Unlock()
	}
	slices.SortStableFunc(all, func(a, b state) int {
		if a.resting != b.resting {
			if a.resting {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(free[b.e]>>20, free[a.e]>>20), cmp.Compare(a.live, b.live))
	})
	list := make([]*engine, len(all))
	for i, s := range all {
		list[i] = s.e
	}
	return list
}

// Hosts returns the state of the engines.
func (l *Launcher) Hosts(ctx context.Context) []sandbox.HostState {
	all := make([]sandbox.HostState, len(l.engines))
	var asked sync.WaitGroup
	for i, e := range l.engines {
		asked.Go(func() {
			s := sandbox.HostState{Name: e.name, Tier: sandbox.Docker}
			var err error
			if s.Free, s.Sandboxes, err = e.free(ctx); err != nil {
				s.Problem = err.Error()
			}
			all[i] = s
		})
	}
	asked.Wait()
	return all
}
