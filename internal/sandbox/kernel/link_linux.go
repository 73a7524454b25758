package kernel

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// patience is how long an agent may take to end by itself.
const patience = time.Second

// A link is the server's end of an agent's streams.
type link struct {
	cmd   *exec.Cmd
	in    *os.File
	out   *os.File
	words *sandbox.Tail
	gone  chan struct{} // closed when the agent and its descendants have ended
	end   sync.Once

	holds []sandbox.Guarantee
	group *cgroup
	home  string
	jail  bool
	about string
}

// begin starts the command and waits for its end, on one thread: the parent death
// signal is sent when that thread ends.
func (k *link) begin() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := k.cmd.Start()
		started <- err
		if err == nil {
			k.cmd.Wait() // its stderr shows how it ended
			close(k.gone)
		}
	}()
	return <-started
}

// Read reads stdout of the agent. The error at the end contains its stderr.
func (k *link) Read(p []byte) (int, error) {
	n, err := k.out.Read(p)
	if errors.Is(err, io.EOF) {
		<-k.gone
		if words := k.words.String(); words != "" {
			err = fmt.Errorf("%w: %s", err, words)
		}
	}
	return n, err
}

func (k *link) Write(p []byte) (int, error) { return k.in.Write(p) }

// Close ends the agent and its descendants, with a kill after a timeout, and removes
// the files that were made for them.
func (k *link) Close() error {
	k.end.Do(func() {
		k.in.Close()
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-k.gone:
		case <-timer.C:
		}
		k.kill()
		k.out.Close()
		k.group.remove()
		if k.home != "" {
			os.RemoveAll(k.home)
		}
	})
	return nil
}

// kill kills the init process of the namespace, and with it all others. It is reaped
// after they have ended.
func (k *link) kill() {
	k.cmd.Process.Kill() // an error means that it has ended already
	<-k.gone
}

func (k *link) Guarantees() []sandbox.Guarantee { return slices.Clone(k.holds) }

func (k *link) Describe() string { return k.about }

// pipes are the pipes to a stage. The server's end is the writer at index 1 of in and
// plan, and the reader at index 0 of out and answer.
type pipes struct {
	in, out, plan, answer [2]*os.File
}

func newPipes() (*pipes, error) {
	p := &pipes{}
	for _, ends := range []*[2]*os.File{&p.in, &p.out, &p.plan, &p.answer} {
		var err error
		if ends[0], ends[1], err = os.Pipe(); err != nil {
			for _, e := range []*[2]*os.File{&p.in, &p.out, &p.plan, &p.answer} {
				e[0].Close()
				e[1].Close()
			}
			return nil, err
		}
	}
	wire.Widen(p.out[1])
	return p, nil
}

func (p *pipes) closeTheirs() {
	closeAll(p.in[0], p.out[1], p.plan[0], p.answer[1])
}

// randomName returns a unique name.
func randomName() string { return rand.Text()[:12] }
