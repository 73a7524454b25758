// Package single runs programs on files that are not trusted, such as ffmpeg on a video
// from the web. Each program gets a sandbox of its own, which ends with it: it reaches no
// network, sees the system's programs and the files that it is given, and changes nothing.
// The strongest sandbox that works here is used. Where there is none, only the limits of
// memory, time and output apply.
//
// The package does not know what programs do, nor callers. Begin with [Runner.Run].
package single

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// Defaults of a [Program].
const (
	defaultTimeout = time.Minute
	defaultMemory  = 1 << 30
	maxProcesses   = 256 // and threads
	maxTemp        = 256 << 20
)

// ErrMissing means that a program is not installed.
var ErrMissing = errors.New("the program is not installed")

// A Runner runs programs. Its methods may be called concurrently.
type Runner struct {
	launchers []sandbox.Launcher
	slots     chan struct{} // holds an element for each program that runs

	mu     sync.Mutex
	chosen sandbox.Launcher // nil before the first program
}

// New returns a Runner that uses the first launcher that works here. Nothing is started
// before the first program.
func New(launchers ...sandbox.Launcher) *Runner {
	return &Runner{launchers: launchers, slots: make(chan struct{}, max(2, runtime.NumCPU()))}
}

// A Program is a program to run.
type Program struct {
	Argv []string // the first is a name, or an absolute path
	// Files are the absolute paths of files and directories that it may read, beside what
	// is installed on the system. They keep their paths.
	Files   []string
	Env     []string  // NAME=value, in addition to a short list
	Stdin   io.Reader // nil: it is empty
	Stdout  io.Writer // nil discards; an error ends the program
	Timeout time.Duration
	Memory  int64 // bytes, for the program and its descendants
}

// An ExitError is how a program failed.
type ExitError struct {
	Program string
	Why     string // such as "exit code 1"
	Stderr  string // its end
	Limit   bool   // it was ended because it took too much time or memory
}

func (e *ExitError) Error() string {
	text := e.Program + " failed: " + e.Why
	if e.Stderr != "" {
		text += ": " + e.Stderr
	}
	return text
}

// Find returns the path of the first of some programs that is installed, or an error that
// is an ErrMissing.
func Find(names ...string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", fmt.Errorf("%w: %s", ErrMissing, strings.Join(names, ", "))
}

// Run runs a program to its end. The error is an ErrMissing, an [*ExitError], an error of
// p.Stdin or p.Stdout, or the error of ctx. After Run nothing of the program is left.
func (r *Runner) Run(ctx context.Context, p Program) error {
	path, err := Find(p.Argv[0])
	if err != nil {
		return err
	}
	p.Argv = append([]string{path}, p.Argv[1:]...)
	if p.Timeout <= 0 {
		p.Timeout = defaultTimeout
	}
	if p.Memory <= 0 {
		p.Memory = defaultMemory
	}
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-r.slots }()
	b, env, err := r.open(ctx, p)
	if err != nil {
		return fmt.Errorf("a sandbox for %s: %w", filepath.Base(path), err)
	}
	err = run(ctx, b, p, env)
	// Whatever the program has started ends here.
	if left := b.Close(); err == nil && left != nil {
		return fmt.Errorf("ending the sandbox of %s: %w", filepath.Base(path), left)
	}
	return err
}

// Isolated reports whether programs are isolated. It may take a second.
func (r *Runner) Isolated(ctx context.Context) bool {
	l, err := r.choose(ctx)
	return err == nil && l.Name() != "host"
}

func (r *Runner) choose(ctx context.Context) (sandbox.Launcher, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.chosen != nil {
		return r.chosen, nil
	}
	for _, l := range r.launchers {
		works := l.Probe(ctx).Works
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if works {
			r.chosen = l
			return l, nil
		}
	}
	return nil, errors.New("no sandbox works here")
}

// open opens the sandbox of a program. env is the environment of the program in it.
func (r *Runner) open(ctx context.Context, p Program) (_ *box.Box, env []string, err error) {
	launcher, err := r.choose(ctx)
	if err != nil {
		return nil, nil, err
	}
	spec := sandbox.Spec{
		ID:     "single" + strings.ToLower(rand.Text()),
		Limits: sandbox.Limits{Memory: p.Memory, Processes: maxProcesses, FileSize: maxTemp, Temp: maxTemp},
	}
	for _, file := range p.Files {
		real, err := filepath.EvalSymlinks(file)
		if err != nil {
			return nil, nil, err
		}
		spec.Binds = append(spec.Binds, sandbox.Bind{Host: real, Inside: real})
	}
	temp := os.TempDir()
	if launcher.Name() != "host" {
		temp = "/tmp"
	}
	spec.Open = launcher.Name() == "host"
	link, err := launcher.Launch(ctx, spec)
	if err != nil {
		return nil, nil, err
	}
	b, err := box.Open(ctx, link)
	if err != nil {
		return nil, nil, errors.Join(err, link.Close())
	}
	env = []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "HOME=" + temp, "TMPDIR=" + temp,
	}
	if runtime.GOOS == "windows" {
		env = os.Environ()
	}
	return b, slices.Concat(env, p.Env), nil
}

// run runs a program in a box.
func run(ctx context.Context, b *box.Box, p Program, env []string) error {
	s := &sink{out: p.Stdout, end: make(chan struct{}), failed: make(chan struct{})}
	child, err := b.Start(ctx, wire.StartBody{
		Argv: p.Argv, Dir: string(filepath.Separator), Env: env, Input: p.Stdin != nil, Timeout: p.Timeout,
		Limits: wire.Limits{Memory: p.Memory, Processes: maxProcesses, FileSize: maxTemp},
	}, s)
	if err != nil {
		return fmt.Errorf("starting %s: %w", filepath.Base(p.Argv[0]), err)
	}
	input := make(chan error, 1)
	go func() { input <- feed(ctx, child, p.Stdin) }()
	select {
	case <-s.end:
	case <-s.failed:
	case <-ctx.Done():
	}
	lost := b.Close() // ends the program, and feed with it
	<-s.end
	fed := <-input
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.err != nil:
		return s.err
	case fed != nil:
		return fed
	case s.exited:
		return s.failure(p)
	}
	return errors.Join(s.lost, lost)
}

// feed writes stdin of a program. A program that ends before it has read everything is no
// failure.
func feed(ctx context.Context, child *box.Child, from io.Reader) error {
	if from == nil {
		return nil
	}
	buffer := make([]byte, wire.MaxData)
	for {
		n, err := from.Read(buffer)
		if child.Input(ctx, buffer[:n]) != nil {
			return nil
		}
		if errors.Is(err, io.EOF) {
			_ = child.EndInput() // it has ended
			return nil
		}
		if err != nil {
			_ = child.Kill()
			return err
		}
	}
}

// A sink receives what a program writes, and how it ends.
type sink struct {
	out    io.Writer
	failed chan struct{} // closed when out has failed
	end    chan struct{} // closed when the program has ended, with all that it started

	// Written by the goroutine of the box, before end is closed.
	err    error // of out
	words  sandbox.Tail
	exited bool
	exit   wire.ExitBody
	lost   error
}

func (s *sink) Output(stream sandbox.Stream, data []byte) {
	if stream == sandbox.Stderr {
		_, _ = s.words.Write(data) // a Tail does not fail
		return
	}
	if s.out == nil || s.err != nil {
		return
	}
	if _, s.err = s.out.Write(data); s.err != nil {
		close(s.failed)
	}
}

func (s *sink) Skipped(sandbox.Stream, int64) {}

func (s *sink) Exited(e wire.ExitBody) { s.exited, s.exit = true, e }

func (s *sink) Gone(err error) {
	s.lost = err
	close(s.end)
}

// failure returns how the program failed, or nil.
func (s *sink) failure(p Program) error {
	e := &ExitError{Program: filepath.Base(p.Argv[0]), Stderr: s.words.String()}
	switch {
	case s.exit.TimedOut:
		e.Why, e.Limit = fmt.Sprintf("it took more than %s", p.Timeout), true
	case s.exit.LimitExceeded != "":
		e.Why, e.Limit = "it exceeded the limit of "+s.exit.LimitExceeded, true
	case s.exit.Signal != "":
		e.Why = "it was ended by " + s.exit.Signal
	case s.exit.Code != 0:
		e.Why = fmt.Sprintf("exit code %d", s.exit.Code)
	default:
		return nil
	}
	return e
}
