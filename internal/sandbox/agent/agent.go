// Package agent runs inside a sandbox. It starts commands there, forwards their
// output, and kills them with all their descendants. It receives requests in the
// frames of package wire on stdin, and answers on stdout. When stdin ends, the
// server has ended, and the agent ends all commands. It does not set up the
// isolation: its launcher has done that, and the commands inherit it.
//
// Begin with [Main]; command.go holds the life of a command, processes_linux.go
// finds the processes that belong to it.
package agent

import (
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// Name is the argument that makes this program an agent.
const Name = "sandbox-agent"

// Stream as the socket of the proxy stands for the connection to the server: the proxy is on another machine.
const Stream = "-"

const (
	// threads is the number of threads that the agent starts with.
	threads = 20
	// starts is the maximum number of concurrent starts. Each of them blocks a
	// thread.
	starts = 8
)

// options are the arguments of an agent.
type options struct {
	proxy     string // socket of the proxy, or Stream
	wait      bool   // for a line, since nothing reads before the server is connected
	forward   []string
	processes int    // RLIMIT_NPROC, where it counts only processes of the sandbox
	fileSize  int64  // RLIMIT_FSIZE
	mark      string // the prefix of the marks of commands
}

func parse(args []string, errs io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet(Name, flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&o.proxy, "proxy", "", "forward connections to 127.0.0.1:3128 to this `socket`; "+Stream+" is the server")
	f.BoolVar(&o.wait, "wait", false, "send nothing before a line has come")
	f.Func("forward", "forward connections to this address to a host, through the proxy: `ADDRESS=HOST`",
		func(value string) error {
			o.forward = append(o.forward, value)
			return nil
		})
	f.IntVar(&o.processes, "processes", 0, "the most processes of this user, where it has no others")
	f.Int64Var(&o.fileSize, "filesize", 0, "the most `bytes` that a file may grow to")
	f.StringVar(&o.mark, "mark", "", "prefix of the marks of commands")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", f.Arg(0))
	}
	if o.mark == "" {
		o.mark = rand.Text()
	}
	return o, nil
}

// agent serves one server.
type agent struct {
	out          *wire.Writer
	processTable *processTable
	mark         string
	null         *os.File
	bufs         sync.Pool    // of *[]byte of wire.MaxData
	tails        atomic.Int64 // bytes of memory for tails

	starting chan struct{} // semaphore for concurrent starts

	mu       sync.Mutex
	commands map[uint32]*command
	conns    map[uint32]*connection
	led      uint32 // the last number of a connection to the proxy
	closing  bool
	broken   chan struct{} // closed when the server no longer reads
	breaks   sync.Once
}

// Main is the main function of the agent; args come after its name. It returns the
// exit code of the program.
func Main(args []string) int {
	o, err := parse(args, os.Stderr)
	if err != nil {
		return fail(err)
	}
	// Enough that goroutines do not wait for one in a system call. The rest of
	// the processors is for the commands.
	runtime.GOMAXPROCS(4)
	warm()
	signals := listen()
	if err := prepare(o); err != nil {
		return fail(err)
	}
	if o.proxy != "" && o.proxy != Stream {
		if err := forward(func(conn net.Conn) { tunnel(conn, o.proxy, "") }); err != nil {
			return fail(err)
		}
		for _, one := range o.forward {
			forwardTo(one, o.proxy)
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fail(err)
	}
	a := &agent{
		out:      wire.NewWriter(os.Stdout),
		mark:     o.mark,
		null:     null,
		commands: map[uint32]*command{},
		conns:    map[uint32]*connection{},
		broken:   make(chan struct{}),
		starting: make(chan struct{}, starts),
	}
	a.bufs.New = func() any { b := make([]byte, wire.MaxData); return &b }
	if a.processTable, err = newProcessTable(a.reportAll); err != nil {
		return fail(err)
	}
	if o.wait {
		if err := awaitLine(os.Stdin, waitLimit); err != nil {
			return fail(err)
		}
	}
	if o.proxy == Stream {
		if err := forward(a.lead); err != nil {
			return fail(err)
		}
	}
	return a.run(signals)
}

// waitLimit is how long an agent waits for its server.
const waitLimit = 2 * time.Minute

// awaitLine reads a line, and nothing behind it.
func awaitLine(from io.Reader, limit time.Duration) error {
	read := make(chan error, 1)
	go func() {
		for one := []byte{0}; one[0] != '\n'; {
			if _, err := io.ReadFull(from, one); err != nil {
				read <- fmt.Errorf("waiting for the server: %w", err)
				return
			}
		}
		read <- nil
	}()
	select {
	case err := <-read:
		return err
	case <-time.After(limit):
		return errors.New("no server came")
	}
}

// warm starts the threads that the agent may need: it could start none later if
// commands have used up the process limit, and would crash.
func warm() {
	var ready, done sync.WaitGroup
	ready.Add(threads)
	for range threads {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			ready.Wait()
		})
	}
	done.Wait()
}

func fail(err error) int {
	fmt.Fprintf(os.Stderr, "%s: %v\n", Name, err)
	return 1
}

// run serves until the server has ended or a signal arrives.
func (a *agent) run(signals <-chan os.Signal) int {
	if err := a.out.SendJSON(wire.Hello, 0, wire.HelloBody{Version: wire.Version, PID: os.Getpid(),
		UID: os.Getuid()}); err != nil {
		return fail(err)
	}
	ended := make(chan error, 1)
	go a.serve(wire.NewReader(os.Stdin, wire.MaxBody), ended)
	var err error
	select {
	case err = <-ended:
	case <-signals:
	case <-a.broken:
	}
	a.mu.Lock()
	a.closing = true
	a.mu.Unlock()
	a.processTable.killAll()
	if err != nil && !errors.Is(err, io.EOF) {
		return fail(err)
	}
	return 0
}

// sent handles the result of sending a frame.
func (a *agent) sent(err error) {
	if err != nil {
		a.breaks.Do(func() { close(a.broken) })
	}
}

// serve handles frames until reading fails, and sends the error to ended. It never waits for a
// command: the goroutine that reads a start request runs the command, and another goroutine
// continues to read. The other way round is slower.
func (a *agent) serve(frames *wire.Reader, ended chan<- error) {
	for {
		f, err := frames.Next()
		if err == nil && f.Kind == wire.Start {
			var c *command
			if c, err = a.add(f); err == nil {
				go a.serve(frames, ended)
				c.begin()
				return
			}
		} else if err == nil {
			err = a.handle(f)
		}
		if err != nil {
			ended <- err
			return
		}
	}
}

// handle handles a frame for a command or a connection that was started.
func (a *agent) handle(f wire.Frame) error {
	switch f.Kind {
	case wire.Dial:
		return a.connect(f)
	case wire.Ping:
		a.sent(a.out.Send(wire.Pong, 0, nil))
		return nil
	}
	if n := a.connection(f.ID); n != nil {
		return n.handle(f)
	}
	c := a.command(f.ID)
	if c == nil {
		return nil // it ended before the frame arrived
	}
	switch f.Kind {
	case wire.Input:
		c.writeInput(f.Body)
	case wire.InputEnd:
		c.endInput()
	case wire.Kill:
		c.kill(func(c *command) { c.exit.Killed = !c.exited }, terminateFirst)
	case wire.Drop:
		c.muted.Store(true)
	default:
		return fmt.Errorf("a frame of kind %d", f.Kind)
	}
	return nil
}

func (a *agent) command(id uint32) *command {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.commands[id]
}

// add registers a command before its start.
func (a *agent) add(f wire.Frame) (*command, error) {
	c := &command{agent: a, id: f.ID, mark: a.mark + "-" + strconv.FormatUint(uint64(f.ID), 10)}
	if err := f.Decode(&c.spec); err != nil {
		return nil, err
	}
	if c.spec.Input {
		c.input = newInput()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closing {
		return nil, io.EOF
	}
	if a.commands[f.ID] != nil || a.conns[f.ID] != nil {
		return nil, fmt.Errorf("command %d was started twice", f.ID)
	}
	a.commands[f.ID] = c
	return c, nil
}

// fork starts the process of a command, unless the agent is ending.
func (a *agent) fork(c *command, path string, p *commandFiles) (int, error) {
	a.starting <- struct{}{}
	defer func() { <-a.starting }()
	a.mu.Lock()
	closing := a.closing
	a.mu.Unlock()
	if closing {
		return 0, errors.New("the sandbox is being closed")
	}
	return a.processTable.start(c, path, p)
}

func (a *agent) forget(c *command) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.commands, c.id)
}

// reportAll is called when a process ended that was no command: it may have been
// the last descendant of one.
func (a *agent) reportAll() {
	for _, c := range a.all() {
		c.report()
	}
}

func (a *agent) all() []*command {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make([]*command, 0, len(a.commands))
	for _, c := range a.commands {
		list = append(list, c)
	}
	return list
}

// listen takes the signals that would end the agent before its commands. The
// first process of a sandbox is not ended by any: commands could send them.
func listen() <-chan os.Signal {
	all := make(chan os.Signal, 8)
	signal.Notify(all, deadly()...)
	wanted := make(chan os.Signal, 1)
	go func() {
		for s := range all {
			if s == syscall.SIGPIPE || os.Getpid() == 1 {
				continue // the failed write is handled
			}
			select {
			case wanted <- s:
			default:
			}
		}
	}()
	return wanted
}
