// Package program runs programs of the server, each in a sandbox of its own that ends with it and
// with everything that it has started: MCP servers, ffmpeg on a video from the web, a browser. A
// program gets a new environment, sees the system's programs and the files that it is given, and
// reaches no network but through a proxy. Where no sandbox works, only the limits apply.
//
// The package knows neither the meaning of programs nor callers: package commands runs the
// programs of callers. Begin with [Runner.Run] for a program that ends by itself, and with
// [Runner.Start] for others.
package program

import (
	"cmp"
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

// ErrMissing means that a program is not installed.
var ErrMissing = errors.New("the program is not installed")

// A Runner runs programs, each in a sandbox of its own. [Runner.Run] returns when a program
// has ended; [Runner.Start] returns a [Process] that goes on. The Runner takes the sandbox
// from Tiers, by the mode in the [Spec].
//
// The agent in a sandbox is this executable started again, so the main function of the
// executable, and TestMain in tests, must handle the arguments of the agent. The methods of a
// Runner may be called concurrently.
type Runner struct {
	Tiers sandbox.Tiers
	// Proxy starts a proxy to public hosts and to hosts, for a program. Nil stands for no network.
	Proxy func(ctx context.Context, hosts []string) (socket string, stop func(), err error)
	Slots chan struct{} // holds an element for each Run; nil: there is no bound
}

// A Spec specifies a program.
type Spec struct {
	Argv        []string // the first is a name, or an absolute path
	Env         []string // NAME=value, in addition to a short list, or in place of its values
	Tier        string   // a mode of [sandbox.Tiers.Choose]
	Dir         string   // its home and working directory; it may change this directory; "" for an empty home
	Read, Write []string // further directories and files that it sees, under their paths except in a container
	Within      string   // its working directory, one of Read and Write; "" for Dir
	Network     bool     // it reaches the hosts of the proxy
	Hosts       []string // host:port with private addresses that it may reach
	Nested      bool     // it has a sandbox of its own: see [sandbox.Spec]
	User        int      // the user and group that it runs as on the host, if the server is root; 0: the server's
	Limits      sandbox.Limits
	// Workspace are directories of a caller that the program sees as the caller's commands do, but cannot change; then
	// its working directory is the first of them, and Dir only its home. Nil: none. Require are guarantees of the sandbox.
	Workspace *sandbox.Directories
	Require   []sandbox.Guarantee
	Timeout   time.Duration // 0: none
	Input     bool          // stdin is open for [Process.Write]; otherwise it is empty

	// Output gets the stdout of the program, in order and from one goroutine; the bytes are valid
	// until it returns. Gone is called once after that, with the error of [Process.Err]. Both must
	// not block. Nil discards.
	Output func([]byte)
	Gone   func(error)
}

// Start starts a program. ctx bounds the start only.
func (r *Runner) Start(ctx context.Context, s Spec) (_ *Process, err error) {
	tier, _, err := r.Tiers.Choose(ctx, s.Tier, s.Require...)
	if err != nil {
		return nil, err
	}
	if s.Dir != "" {
		if err := os.MkdirAll(s.Dir, 0o700); err != nil {
			return nil, err
		}
		if s.Dir, err = filepath.EvalSymlinks(s.Dir); err != nil {
			return nil, err
		}
	}
	layout, err := layoutOf(tier, s)
	if err != nil {
		return nil, err
	}
	argv, err := find(s.Argv, tier.Isolates(), layout)
	if err != nil {
		return nil, err
	}
	spec := sandbox.Spec{
		ID: "program" + strings.ToLower(rand.Text()), Owner: "server", Binds: layout.Binds, Home: layout.Home,
		Open: !tier.Isolates(), Nested: s.Nested && tier.Isolates(), Limits: s.Limits, Require: s.Require,
	}
	if s.Workspace != nil {
		spec.Hidden = s.Workspace.Hidden
	}
	p := &Process{
		spec: s, layout: layout, isolated: tier.Isolates(), name: filepath.Base(s.Argv[0]), stop: func() {},
		ended: make(chan struct{}), done: make(chan struct{}),
	}
	if s.Network && tier.Isolates() && r.Proxy != nil && tier.Probe(ctx).Proxy {
		var stop func()
		if spec.Proxy, stop, err = r.Proxy(ctx, s.Hosts); err != nil {
			return nil, err
		}
		p.stop = sync.OnceFunc(stop)
		spec.Forward = forwards(s.Hosts)
	}
	if p.box, err = box.Launch(ctx, tier, spec); err != nil {
		p.stop()
		return nil, fmt.Errorf("a sandbox for %s: %w", p.name, err)
	}
	proxy := ""
	if spec.Proxy != "" {
		proxy = p.box.ProxyURL()
	}
	dir, env := environ(s, layout, tier.Isolates(), proxy)
	p.child, err = p.box.Start(ctx, wire.StartBody{
		Argv: argv, Dir: dir, Env: env, Input: s.Input, Timeout: s.Timeout, Grace: patience, User: s.User,
		Limits: wire.Limits{Memory: s.Limits.Memory, Processes: s.Limits.Processes, FileSize: s.Limits.FileSize},
	}, p)
	switch {
	case err == nil:
		return p, nil
	case errors.Is(err, box.ErrNoProgram):
		err = hidden(s.Argv[0], argv[0])
	default:
		err = fmt.Errorf("starting %s: %w", p.name, err)
	}
	return nil, errors.Join(err, p.Kill())
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

// layoutOf returns where a program sees its files.
func layoutOf(t *sandbox.Tier, s Spec) (sandbox.Layout, error) {
	d := sandbox.Directories{Dir: s.Dir}
	if s.Workspace != nil {
		d.Dir = s.Workspace.Dir
		if s.Dir != "" {
			d.Roots = []sandbox.Root{{Name: ".home", Path: s.Dir, Write: true}}
		}
	}
	for i, path := range slices.Concat(s.Read, s.Write) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return sandbox.Layout{}, err
		}
		d.Roots = append(d.Roots, sandbox.Root{
			Name: fmt.Sprintf("%d-%s", i+1, filepath.Base(real)), Path: real, Write: i >= len(s.Read),
		})
	}
	l := t.Layout(d)
	l.Binds = slices.DeleteFunc(l.Binds, func(b sandbox.Bind) bool { return b.Host == "" })
	for i := range l.Binds {
		l.Binds[i].Write = l.Binds[i].Write && (s.Workspace == nil || l.Binds[i].Host != s.Workspace.Dir)
	}
	return l, nil
}

// Installed returns the path of the first of some programs that is installed, or an error that
// is an ErrMissing.
func Installed(names ...string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", fmt.Errorf("%w: %s", ErrMissing, strings.Join(names, ", "))
}

// find looks up the program: the first in PATH that a sandbox shows, since programs of version managers lie in homes.
// In a container it is one of the image.
func find(argv []string, isolated bool, layout sandbox.Layout) ([]string, error) {
	if layout.Image {
		return argv, nil
	}
	var found []string
	dirs := filepath.SplitList(os.Getenv("PATH"))
	if strings.ContainsAny(argv[0], `/\`) {
		dirs = []string{""}
	}
	for _, dir := range dirs {
		if path, err := Installed(filepath.Join(dir, argv[0])); err == nil {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrMissing, argv[0])
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
	real, err := filepath.EvalSymlinks(path)
	return err == nil && l.Shows(path) && l.Shows(real)
}

// shown returns the directories of PATH that a sandbox shows, as the PATH of a program in it.
func shown(l sandbox.Layout) string {
	dirs := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool { return !shows(l, dir) })
	return strings.Join(dirs, string(os.PathListSeparator))
}

// hidden returns the error of a program that the sandbox does not show.
func hidden(name, path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%w in the image of the sandbox: %s", ErrMissing, name)
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

// environ returns the working directory and the environment of a program. Of the server's environment it keeps
// only the variables that every program needs.
func environ(s Spec, l sandbox.Layout, isolated bool, proxy string) (string, []string) {
	path, temp, user := sandbox.DefaultPath, "/tmp", "sandbox"
	if !isolated {
		path, temp, user = os.Getenv("PATH"), os.TempDir(), os.Getenv("USER")
	}
	if isolated && !l.Image && runtime.GOOS != "linux" { // programs lie in more directories there
		path = shown(l)
	}
	if l.HomeIsTemp {
		temp = l.Home // it cannot change /tmp
	}
	dir, home := string(filepath.Separator), cmp.Or(l.Home, temp)
	if s.Dir != "" {
		dir, _ = l.Inside(s.Dir)
		home = dir
	}
	if s.Within != "" {
		dir, _ = l.Inside(s.Within)
	}
	if s.Workspace != nil {
		dir, _ = l.Inside(s.Workspace.Dir)
	}
	env := []string{"LANG=C.UTF-8", "HOME=" + home, "TERM=dumb", "SHELL=/bin/sh", "TMPDIR=" + temp, "USER=" + user, "PATH=" + path}
	if runtime.GOOS == "windows" {
		for _, name := range []string{"SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "TEMP", "TMP", "WINDIR"} {
			env = append(env, name+"="+os.Getenv(name))
		}
	}
	if proxy != "" {
		env = append(append(env, sandbox.ProxyVariables(proxy)...), "NODE_USE_ENV_PROXY=1")
	}
	env = slices.DeleteFunc(env, func(v string) bool { // programs take the first of two
		name, _, _ := strings.Cut(v, "=")
		return slices.ContainsFunc(s.Env, func(own string) bool { return strings.HasPrefix(own, name+"=") })
	})
	return dir, append(env, s.Env...)
}
