package agent

import (
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
	drainCheck = 10 * time.Millisecond
	// lastDrain is the same for one that was killed.
	lastDrain = 50 * time.Millisecond
)

// A command is one from its start to the end of all that it has started.
type command struct {
	agent *agent
	id    uint32
	mark  string
	spec  wire.StartBody
	muted atomic.Bool
	bytes atomic.Int64 // read from its streams
	input *input       // nil when stdin is empty

	mu      sync.Mutex
	pid     int  // 0 until it runs
	told    bool // Started was sent: it comes before the end
	started time.Time
	timer   *time.Timer // its timeout, then its drain
	ours    []*os.File  // our ends of its streams
	open    int         // streams that it may still write to
	tty     *os.File
	exit    wire.ExitBody
	over    bool // the process itself has ended
	drained bool // no more output is waited for
	doomed  bool // it is being killed, or to be killed once it runs
	slain   bool // that is done, or was given up
	how     manner
	peak    int64

	slaying  sync.Once
	settling sync.Mutex // orders what is said about the end
	exited   bool       // Exited was sent; likewise:
	gone     bool
}

// A manner is how a command is killed.
type manner int

const (
	gently manner = iota // it is asked first
	hard
)

// begin starts the command and says what came of it.
func (c *command) begin() {
	streams, err := c.launch()
	if err != nil {
		c.agent.forget(c)
		c.agent.hurt(c.agent.out.SendJSON(wire.Refused, c.id, refusal(err)))
		return
	}
	c.agent.hurt(c.agent.out.SendJSON(wire.Started, c.id, wire.StartedBody{PID: c.pid}))
	c.mu.Lock()
	c.told = true
	c.mu.Unlock()
	for _, s := range streams {
		go c.pump(s.kind, s.file)
	}
	if c.input != nil {
		go c.input.run(c)
	}
	c.agent.processTable.follow(c)
	c.guard()
	c.agent.processTable.startReaping()
}

// guard sees to the timeout, and to what happened while the command was being
// started.
func (c *command) guard() {
	c.mu.Lock()
	if c.spec.Timeout > 0 && !c.over {
		c.timer = time.AfterFunc(c.spec.Timeout, func() {
			c.kill(func(c *command) { c.exit.TimedOut = true }, gently)
		})
	}
	doomed, over := c.doomed, c.over
	c.mu.Unlock()
	if doomed {
		c.slay()
	} else if over {
		c.settle()
	}
}

// launch makes the streams and starts the process. On return the process is
// known to the processTable, and its end may already have been told.
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
	c.ours, c.open, c.tty = p.ours, len(p.streams), p.tty
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

// pump passes on what the command writes to one stream.
func (c *command) pump(kind wire.Kind, from *os.File) {
	buf := c.agent.bufs.Get().(*[]byte)
	defer c.agent.bufs.Put(buf)
	for {
		n, err := from.Read(*buf)
		c.bytes.Add(int64(n))
		if n > 0 && !c.muted.Load() {
			c.agent.hurt(c.agent.out.Send(kind, c.id, (*buf)[:n]))
		}
		if err != nil {
			break // the end, or what a terminal says when nobody is left
		}
	}
	c.mu.Lock()
	c.open--
	last := c.open == 0
	c.mu.Unlock()
	if last {
		c.settle()
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
// wait for anything: settle is next.
func (c *command) ended(e ending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.over = true
	c.exit.Code, c.exit.Signal, c.exit.CPU = e.code, e.signal, e.cpu
	c.exit.Memory = max(e.memory, c.peak)
	c.exit.Took = time.Since(c.started)
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.open == 0 {
		return
	}
	if c.doomed {
		c.timer = time.AfterFunc(lastDrain, c.stopDrain) // beside what the killing takes
		return
	}
	c.drainUntil(time.Now().Add(drain), 0, -1)
}

// drainUntil waits for output of a command that has ended, until the end of its
// drain or until its streams are quiet: in two checks in a row nothing was
// read, and every process that holds them open sleeps. What the command itself
// wrote is in its pipes by then, and was read; a filter that it wrote to, as in
// exec > >(sort), runs until it has written too.
func (c *command) drainUntil(end time.Time, quiet int, read int64) {
	c.timer = time.AfterFunc(drainCheck, func() {
		now := c.bytes.Load()
		if now == read && c.agent.processTable.asleep(c) {
			quiet++
		} else {
			quiet = 0
		}
		if quiet >= 2 || time.Now().After(end) {
			c.stopDrain()
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.open > 0 && !c.drained {
			c.drainUntil(end, quiet, now)
		}
	})
}

// stopDrain ends the wait for output.
func (c *command) stopDrain() {
	c.mu.Lock()
	c.drained = true
	c.mu.Unlock()
	c.settle()
}

// settle says that the command has ended, and that it is gone, when it is so.
func (c *command) settle() {
	c.settling.Lock()
	defer c.settling.Unlock()
	c.mu.Lock()
	closed := c.open == 0
	ready := c.told && c.over && (closed || c.drained) && (c.slain || !c.doomed)
	body := c.exit
	c.mu.Unlock()
	if !ready || c.gone {
		return
	}
	left := c.agent.processTable.left(c)
	var news []wire.Frame
	if !c.exited {
		c.exited = true
		body.Left = left
		text, _ := json.Marshal(body) // nothing in it can fail
		news = append(news, wire.Frame{Kind: wire.Exited, ID: c.id, Body: text})
	}
	if left == 0 && closed {
		c.gone = true
		c.close()
		c.agent.forget(c)
		c.agent.processTable.gone(c)
		news = append(news, wire.Frame{Kind: wire.Gone, ID: c.id})
	}
	if len(news) > 0 {
		c.agent.hurt(c.agent.out.SendAll(news...))
	}
}

// close closes our ends of the streams.
func (c *command) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.input != nil {
		c.input.close()
	}
	for _, f := range c.ours {
		f.Close()
	}
	c.ours = nil
}

// kill ends the command and all that it has started; why notes the reason,
// which is the first one's.
func (c *command) kill(why func(*command), how manner) {
	c.mu.Lock()
	if c.doomed {
		c.mu.Unlock()
		return
	}
	c.doomed, c.how = true, how
	if !c.over {
		why(c)
	}
	runs := c.pid != 0
	c.mu.Unlock()
	if runs {
		c.slay()
	}
}

// slay kills the tree, and then closes the streams, which somebody else may
// have been handed. What cannot be killed is given up: the call must end.
func (c *command) slay() {
	c.slaying.Do(func() {
		go func() {
			c.agent.processTable.kill(c, c.how)
			c.ended(ending{code: 137, signal: "SIGKILL"})
			c.mu.Lock()
			c.slain = true
			c.mu.Unlock()
			time.AfterFunc(lastDrain, c.close)
			c.settle()
		}()
	})
}

// observe is called by the processTable with what the command and all that it has started
// take, and kills it when that is too much.
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
	c.kill(func(c *command) { c.exit.Starved = what }, hard)
}

// put takes bytes for stdin.
func (c *command) put(data []byte) {
	if c.input != nil {
		c.input.put(data)
	}
}

func (c *command) endInput() {
	if c.input != nil {
		c.input.end()
	}
}

func (c *command) resize(size wire.Size) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tty != nil {
		setSize(c.tty, size)
	}
}
