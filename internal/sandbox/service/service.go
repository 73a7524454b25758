// Package service runs programs that serve on stdin and stdout until they are closed, such as MCP
// servers. Each gets a sandbox of its own, which ends with it and with everything that it has
// started, a new environment, and a directory to keep its files in.
//
// The package does not know what programs say, nor callers. Begin with [Runner.Start].
package service

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

const (
	memory       = 2 << 30 // bytes, for the program and its descendants
	maxProcesses = 256
	maxFile      = 2 << 30
	maxTemp      = 512 << 20
	patience     = 2 * time.Second // from the end of stdin to SIGTERM, and from there to SIGKILL

	// proxyURL is the address at which an agent with a proxy listens for its commands.
	proxyURL = "http://127.0.0.1:3128"

	// Auto is the strongest sandbox that works here, and never the host.
	Auto = "auto"
	host = "host"
)

// A Runner starts programs. Its methods may be called concurrently.
type Runner struct {
	Launchers []sandbox.Launcher // the strongest first
	// Proxy starts a proxy through which a program reaches public hosts, and hosts. Nil stands for
	// no network.
	Proxy func(ctx context.Context, hosts []string) (socket string, stop func(), err error)
}

// A Program is a program to start.
type Program struct {
	Argv        []string // the first is a name, or an absolute path
	Env         []string // NAME=value, in addition to a short list
	Tier        string   // auto, or the name of a launcher
	Dir         string   // its home and working directory, which it may change
	Read, Write []string // further directories and files that it sees
	Hosts       []string // host:port with private addresses that it may reach
}

// Start starts a program. output gets what it writes to stdout, in order and from one goroutine; the
// bytes are valid until it returns. gone is called once after that. Both must not block. ctx bounds
// the start only.
func (r *Runner) Start(ctx context.Context, p Program, output func([]byte), gone func(error)) (_ *Process, err error) {
	launcher, err := r.launcher(ctx, p.Tier)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return nil, err
	}
	isolated := launcher.Name() != host
	layout, err := layoutOf(launcher, p)
	if err != nil {
		return nil, err
	}
	spec := sandbox.Spec{
		ID: "service" + strings.ToLower(rand.Text()), Owner: "bridge", Binds: layout.Binds, Home: layout.Home,
		Open:   !isolated,
		Limits: sandbox.Limits{Memory: memory, Processes: maxProcesses, FileSize: maxFile, Temp: maxTemp},
	}
	stop := func() {}
	if isolated && r.Proxy != nil && launcher.Probe(ctx).Proxy {
		if spec.Proxy, stop, err = r.Proxy(ctx, p.Hosts); err != nil {
			return nil, err
		}
		spec.Forward = forwards(p.Hosts)
	}
	s := &Process{stop: sync.OnceFunc(stop), output: output, gone: gone, ended: make(chan struct{})}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	link, err := launcher.Launch(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("a sandbox for %s: %w", p.Argv[0], err)
	}
	if s.box, err = box.Open(ctx, link); err != nil {
		return nil, errors.Join(err, link.Close())
	}
	dir := insideOf(layout, p.Dir)
	argv, err := find(p.Argv, isolated && launcher.Name() == "docker", isolated, layout)
	if err == nil {
		s.child, err = s.box.Start(ctx, wire.StartBody{
			Argv: argv, Dir: dir, Env: environ(p, dir, isolated, spec.Proxy != ""), Input: true, Grace: patience,
			Limits: wire.Limits{Memory: memory, Processes: maxProcesses, FileSize: maxFile},
		}, s)
	}
	if err != nil {
		if errors.Is(err, box.ErrNoProgram) {
			err = hidden(p.Argv[0], argv[0])
		}
		return nil, errors.Join(err, s.box.Close())
	}
	return s, nil
}

// forwards returns addresses within the sandbox that lead to hosts, for programs that do not speak to a proxy. The name of a
// host gets a loopback address of its own. Patterns have no address.
func forwards(hosts []string) (all []sandbox.Forward) {
	named := make(map[string]netip.Addr)
	for _, to := range hosts {
		host, port, err := net.SplitHostPort(to)
		number, wrong := strconv.ParseUint(port, 10, 16)
		if err != nil || wrong != nil || number == 0 {
			continue
		}
		f := sandbox.Forward{To: to}
		at, err := netip.ParseAddr(host)
		switch {
		case err == nil:
		case strings.EqualFold(host, "localhost"):
			at = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		case strings.ContainsFunc(host, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '.' && c != '-' }):
			continue
		default:
			f.Name = host
			if at = named[host]; !at.IsValid() {
				at = netip.AddrFrom4([4]byte{127, 1, 0, byte(1 + len(named)%200)})
				named[host] = at
			}
		}
		f.Listen = netip.AddrPortFrom(at.Unmap(), uint16(number))
		all = append(all, f)
	}
	return all
}

// launcher returns the launcher of a tier.
func (r *Runner) launcher(ctx context.Context, tier string) (sandbox.Launcher, error) {
	for _, l := range r.Launchers {
		if tier == l.Name() || (tier == "" || tier == Auto) && l.Name() != host && l.Probe(ctx).Works {
			return l, nil
		}
	}
	if tier == "" || tier == Auto {
		return nil,
			errors.New("no sandbox works on this machine; mcp-tools doctor shows why. To run the server without " +
				"one, set its sandbox to host")
	}
	return nil, fmt.Errorf("there is no sandbox %q here; mcp-tools doctor shows which work", tier)
}

func layoutOf(l sandbox.Launcher, p Program) (sandbox.Layout, error) {
	d := sandbox.Directories{}
	var err error
	if d.Dir, err = filepath.EvalSymlinks(p.Dir); err != nil {
		return sandbox.Layout{}, err
	}
	for i, path := range slices.Concat(p.Read, p.Write) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return sandbox.Layout{}, err
		}
		d.Roots = append(d.Roots, sandbox.Root{
			Name: fmt.Sprintf("%d-%s", i+1, filepath.Base(real)), Path: real, Write: i >= len(p.Read),
		})
	}
	return l.Layout(d), nil
}

// insideOf returns where the program sees a directory.
func insideOf(l sandbox.Layout, dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for _, b := range l.Binds {
		if b.Host == dir {
			return b.Inside
		}
	}
	return dir
}

// find looks up the program: the first in PATH that a sandbox shows, since programs of version managers lie in homes.
// In a container it is one of the image.
func find(argv []string, image, isolated bool, layout sandbox.Layout) ([]string, error) {
	if image {
		return argv, nil
	}
	var found []string
	dirs := filepath.SplitList(os.Getenv("PATH"))
	if strings.ContainsAny(argv[0], `/\`) {
		dirs = []string{""}
	}
	for _, dir := range dirs {
		path, err := exec.LookPath(filepath.Join(dir, argv[0]))
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err == nil {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("the program %q is not installed", argv[0])
	}
	path := found[0]
	if isolated {
		if i := slices.IndexFunc(found, func(path string) bool { return shows(layout, path) }); i >= 0 {
			path = found[i]
		}
	}
	return append([]string{path}, argv[1:]...), nil
}

// shows reports whether a sandbox shows a program, and the file that it is a link to.
func shows(l sandbox.Layout, path string) bool {
	dirs := slices.Clone(l.Shown)
	for _, b := range l.Binds {
		dirs = append(dirs, b.Host)
	}
	real, err := filepath.EvalSymlinks(path)
	shown := func(path string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return within(dir, path) })
	}
	return err == nil && shown(path) && shown(real)
}

func within(dir, path string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// hidden returns the error of a program that the sandbox does not show.
func hidden(name, path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("the program %q is not in the image of the sandbox", name)
	}
	dir := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		dir = filepath.Dir(real)
	}
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) { // of a package, or of a version that was installed
		if base := filepath.Base(at); base == "node_modules" || base == "bin" || base == "shims" || base == "lib" {
			dir = filepath.Dir(at)
		}
	}
	return fmt.Errorf("the program %q is %s, which the sandbox does not show: add --read %s, or give the path of another",
		name, path, dir)
}

// environ returns the environment of the program. It has nothing of the server's but what programs
// need to run at all.
func environ(p Program, home string, isolated, proxy bool) []string {
	path := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	env := []string{"LANG=C.UTF-8", "HOME=" + home, "TERM=dumb", "SHELL=/bin/sh"}
	if isolated {
		env = append(env, "TMPDIR=/tmp", "USER=sandbox")
	} else {
		path = os.Getenv("PATH")
		env = append(env, "TMPDIR="+os.TempDir(), "USER="+os.Getenv("USER"))
	}
	if runtime.GOOS == "windows" {
		for _, name := range []string{"SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "TEMP", "TMP", "WINDIR"} {
			env = append(env, name+"="+os.Getenv(name))
		}
	}
	env = append(env, "PATH="+path)
	if proxy {
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
			env = append(env, name+"="+proxyURL, strings.ToLower(name)+"="+proxyURL)
		}
		env = append(env, "NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1",
			"NODE_USE_ENV_PROXY=1")
	}
	return append(env, p.Env...)
}

// A Process is a program that was started. It is the sink of its own box.
type Process struct {
	box    *box.Box
	child  *box.Child
	stop   func() // ends the proxy
	output func([]byte)
	gone   func(error)
	ended  chan struct{} // closed when the program has ended, with all that it has started
	words  sandbox.Tail
	exit   *wire.ExitBody // written by the goroutine of the box
}

// Write writes to stdin. It blocks while the program does not read, until ctx ends: then a part may
// have been written.
func (p *Process) Write(ctx context.Context, data []byte) error { return p.child.Input(ctx, data) }

// Words returns the end of what the program wrote to stderr.
func (p *Process) Words() string { return p.words.String() }

// Close ends the program, with all that it has started: stdin ends first, then comes SIGTERM, then SIGKILL, so that a
// program has time to store its work and to remove its locks.
func (p *Process) Close() error {
	if p.child.EndInput() == nil && !p.ends(patience) && p.child.Kill() == nil {
		p.ends(2 * patience)
	}
	err := p.box.Close()
	p.stop()
	return err
}

// ends waits for the end of the program, and reports whether it came in time.
func (p *Process) ends(within time.Duration) bool {
	timeout := time.NewTimer(within)
	defer timeout.Stop()
	select {
	case <-p.ended:
	case <-p.box.Done():
	case <-timeout.C:
		return false
	}
	return true
}

// Output passes on what the program has written.
func (p *Process) Output(stream sandbox.Stream, data []byte) {
	if stream == sandbox.Stderr {
		_, _ = p.words.Write(data) // a Tail does not fail
		return
	}
	p.output(data)
}

// Skipped is not called: all output is wanted.
func (p *Process) Skipped(sandbox.Stream, int64) {}

// Exited keeps how the program has ended.
func (p *Process) Exited(e wire.ExitBody) {
	p.exit = &e
}

// Gone tells the owner that the program has ended.
func (p *Process) Gone(err error) {
	switch {
	case p.exit == nil:
	case p.exit.LimitExceeded != "":
		err = fmt.Errorf("its program exceeded the limit of %s", p.exit.LimitExceeded)
	case p.exit.Signal != "":
		err = fmt.Errorf("its program was ended by %s", p.exit.Signal)
	default:
		err = fmt.Errorf("its program ended with exit code %d", p.exit.Code)
	}
	p.gone(err)
	close(p.ended)
}
