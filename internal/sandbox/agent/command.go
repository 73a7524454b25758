package agent

import (
	"cmp"
	"encoding/json"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

const (
	// drain is the longest time to wait for output after a command has ended,
	// when processes that it started keep its streams open.
	drain = 250 * time.Millisecond
	// drainCheck is the time between two checks whether such output can still
	// come soon: see drained.
	drainCheck = 4 * time.Millisecond
	// lastDrain is the same for one that was killed.
	lastDrain = 50 * time.Millisecond
)

// A command is a process and all processes that it has started.
type command struct {
	agent *agent
	id    uint32
	mark  string
	spec  wire.StartBody
	muted atomic.Bool
	read  atomic.Int64 // bytes of its streams
	sent  atomic.Int64 // of them, to the server
	// taking is held while bytes go from a stream to the count in read, so that arrived misses none.
	taking sync.Mutex
	held   atomic.Int64 // of them, in tails
	input  *input       // nil when stdin is empty

	mu        sync.Mutex
	pid       int  // 0 until it runs
	startSent bool // Started was sent; Exited must not be sent before
	started   time.Time
	timer     *time.Timer // its timeout, then its drain
	files     []*os.File  // the agent's ends of its streams
	streams   []stream    // of its output
	open      int         // streams that it may still write to
	exit      wire.ExitBody
	exited    bool // the process itself has ended
	drained   bool // no more output is waited for
	killing   bool // it is being killed, or to be killed once it runs
	killed    bool // the kill has succeeded, or was given up
	mode      killMode
	peak      int64

	killOnce  sync.Once
	reporting sync.Mutex // serializes the frames about the end
	exitSent  bool       // Exited was sent
	goneSent  bool
}

// A killMode is how a command is killed.
type killMode int

const (
	terminateFirst killMode = iota // SIGTERM, then SIGKILL
	killAtOnce
)

// grace returns how long the processes have to end after SIGTERM.
func (c *command) grace() time.Duration { return cmp.Or(c.spec.Grace, 150*time.Millisecond) }

// begin starts the command and sends the result.
func (c *command) begin() {
	streams, err := c.launch()
	if err != nil {
		c.agent.forget(c)
		c.agent.sent(c.agent.out.SendJSON(wire.Refused, c.id, refusal(err)))
		return
	}
	c.agent.sent(c.agent.out.SendJSON(wire.Started, c.id, wire.StartedBody{PID: c.pid}))
	c.mu.Lock()
	c.startSent = true
	c.mu.Unlock()
	for _, s := range streams {
		go c.pump(s)
	}
	if c.input != nil {
		go c.input.run(c)
	}
	c.agent.processTable.follow(c)
	c.guard()
	c.agent.processTable.startReaping()
}

// guard starts the timer of the timeout, and handles a kill or an exit during the
// start.
func (c *command) guard() {
	c.mu.Lock()
	if c.spec.Timeout > 0 && !c.exited {
		c.timer = time.AfterFunc(c.spec.Timeout, func() {
			c.kill(func(c *command) { c.exit.TimedOut = !c.exited }, terminateFirst)
		})
	}
	doomed, over := c.killing, c.exited
	c.mu.Unlock()
	if doomed {
		c.killTree()
	} else if over {
		c.report()
	}
}

// launch makes the streams and starts the process. On return the process is
// known to the processTable, and may already have exited.
func (c *command) launch() ([]stream, error) {
	path, err := find(c.spec.Argv, c.spec.Env, c.spec.Dir)
	if err != nil {
		return nil, err
	}
	p, err := c.openFiles()
	if err != nil {
		return nil, err
	}
	defer p.closeTheirs()
	c.mu.Lock()
	c.files, c.streams, c.open = p.ours, p.streams, len(p.streams)
	c.started = time.Now()
	c.mu.Unlock()
	pid, err := c.agent.fork(c, path, p)
	if err != nil {
		p.closeOurs()
		return nil, explain(err, c.spec)
	}
	c.mu.Lock()
	c.pid = pid
	c.mu.Unlock()
	return p.streams, nil
}

// pump forwards the output of one stream.
func (c *command) pump(s stream) {
	buf := c.agent.bufs.Get().(*[]byte)
	defer c.agent.bufs.Put(buf)
	var err error // the end; a terminal returns EIO when no process has it open
	for sent := int64(0); err == nil; {
		if t := c.tail(s, sent); t != nil {
			err = t.run()
			continue
		}
		var n int
		n, err = c.take(s, *buf)
		if n > 0 && !c.muted.Load() {
			c.agent.sent(c.agent.out.Send(s.kind, c.id, (*buf)[:n]))
		}
		sent += int64(n)
		c.sent.Add(int64(n))
	}
	c.mu.Lock()
	c.open--
	last := c.open == 0
	c.mu.Unlock()
	if last {
		c.report()
	}
}

// An ending is how a process ended.
type ending struct {
	code   int
	signal string
	cpu    time.Duration
	memory int64
}

// ended is called by the processTable when the process itself has ended. It does not
// wait for anything; report follows.
func (c *command) ended(e ending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exited {
		return
	}
	c.exited = true
	c.exit.Code, c.exit.Signal, c.exit.CPU = e.code, e.signal, e.cpu
	c.exit.Memory = max(e.memory, c.peak)
	c.exit.Took = time.Since(c.started)
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.open == 0 {
		return
	}
	if c.killing {
		c.timer = time.AfterFunc(lastDrain, c.stopDrain) // while the kill goes on
		return
	}
	c.drainUntil(time.Now().Add(drain), c.arrived(), 0, c.sent.Load())
}

// arrived returns the number of bytes that the command has written, read or still in its
// streams.
func (c *command) arrived() int64 {
	c.taking.Lock()
	defer c.taking.Unlock()
	n := c.read.Load()
	for _, s := range c.streams {
		n += int64(buffered(s.file))
	}
	return n
}

// drainUntil waits for output of a command that has ended, until the end of its
// drain or until its streams are quiet: in two checks in a row nothing was
// forwarded, nothing is left to forward, and every process that holds the streams open
// sleeps. A filter that the command wrote to, as in exec > >(sort), runs until it has
// written too. The bytes up to owed were in the pipes when the command ended, so they
// are forwarded however long the server takes.
func (c *command) drainUntil(end time.Time, owed int64, quiet int, before int64) {
	c.timer = time.AfterFunc(drainCheck, func() {
		sent := c.sent.Load()
		busy := sent < c.arrived()
		if sent == before && !busy && c.agent.processTable.asleep(c) {
			quiet++
		} else {
			quiet = 0
		}
		if quiet >= 2 || time.Now().After(end) && (!busy || sent >= owed) {
			c.stopDrain()
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.open > 0 && !c.drained {
			c.drainUntil(end, owed, quiet, sent)
		}
	})
}

// stopDrain ends the wait for output.
func (c *command) stopDrain() {
	c.mu.Lock()
	c.drained = true
	c.mu.Unlock()
	c.report()
}

func (c *command) hasExited() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exited
}

// report sends Exited when the command has ended, and Gone when all its descendants
// have ended too.
func (c *command) report() {
	c.reporting.Lock()
	defer c.reporting.Unlock()
	c.mu.Lock()
	closed := c.open == 0
	ready := c.startSent && c.exited && (closed || c.drained && c.held.Load() == 0) && (c.killed || !c.killing)
	c.mu.Unlock()
	if !ready || c.goneSent {
		return
	}
	left := c.agent.processTable.left(c)
	if !c.exitSent { // the watch may not have counted them yet
		c.observe(0, left)
	}
	c.mu.Lock()
	body, killing := c.exit, c.killing && !c.killed
	c.mu.Unlock()
	if killing { // killTree calls report
		return
	}
	var frames []wire.Frame
	if !c.exitSent {
		c.exitSent = true
		body.Left = left
		text, _ := json.Marshal(body) // nothing in it can fail
		frames = append(frames, wire.Frame{Kind: wire.Exited, ID: c.id, Body: text})
	}
	if left == 0 && closed {
		c.goneSent = true
		c.close()
		c.agent.forget(c)
		c.agent.processTable.gone(c)
		frames = append(frames, wire.Frame{Kind: wire.Gone, ID: c.id})
	}
	if len(frames) > 0 {
		c.agent.sent(c.agent.out.SendAll(frames...))
	}
}

// close closes the agent's ends of the streams.
func (c *command) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.input != nil {
		c.input.close()
	}
	for _, f := range c.files {
		f.Close()
	}
	c.files = nil
}

// kill ends the command and all that it has started; why notes the reason,
// and only the first reason counts.
func (c *command) kill(why func(*command), how killMode) {
	c.mu.Lock()
	if c.killing {
		c.mu.Unlock()
		return
	}
	c.killing, c.mode = true, how
	why(c)
	runs := c.pid != 0
	c.mu.Unlock()
	if runs {
		c.killTree()
	}
}

// killTree kills all processes of the command, and then closes the streams: other processes may
// have inherited them. A process that cannot be killed is given up: the call must end.
func (c *command) killTree() {
	c.killOnce.Do(func() {
		go func() {
			c.agent.processTable.kill(c, c.mode)
			c.ended(ending{code: 137, signal: "SIGKILL"})
			c.mu.Lock()
			c.killed = true
			c.mu.Unlock()
			time.AfterFunc(lastDrain, c.close)
			c.report()
		}()
	})
}

// observe is called with the resource use of the command and its descendants. It kills them when a limit is
// exceeded. The exit names the limit even if the command itself has ended: a fork bomb may end by its own failed
// forks.
func (c *command) observe(memory int64, processes int) {
	c.mu.Lock()
	c.peak = max(c.peak, memory)
	c.mu.Unlock()
	limits, what := c.spec.Limits, ""
	switch {
	case limits.Processes > 0 && processes > limits.Processes:
		what = "processes"
	case limits.Memory > 0 && memory > limits.Memory:
		what = "memory"
	default:
		return
	}
	c.kill(func(c *command) { c.exit.LimitExceeded = what }, killAtOnce)
}

// writeInput queues bytes for stdin.
func (c *command) writeInput(data []byte) {
	if c.input != nil {
		c.input.write(data)
	}
}

func (c *command) endInput() {
	if c.input != nil {
		c.input.end()
	}
}
