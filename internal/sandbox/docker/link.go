package docker

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

const (
	grace = time.Second     // for the agent to end by itself
	sure  = 5 * time.Second // for the engine to kill it

	longest = 64 << 20 // of the pieces that engines send; they are far shorter
)

// A link is the way to the agent in a container.
type link struct {
	e     *engine
	id    string
	text  string
	holds []sandbox.Promise

	conn  net.Conn
	from  *bufio.Reader
	words *tail // what the agent wrote to stderr
	left  int   // bytes of the piece that is being read

	once sync.Once
	err  error // of Close
}

func (k *link) Holds() []sandbox.Promise { return k.holds }
func (k *link) Describe() string         { return k.text }

// Read returns what the agent wrote to stdout. The engine sends both streams in
// pieces: a byte that says which, three empty ones, and the length.
func (k *link) Read(p []byte) (int, error) {
	for k.left == 0 {
		var head [8]byte
		if _, err := io.ReadFull(k.from, head[:]); err != nil {
			return 0, k.end(err)
		}
		size := int64(binary.BigEndian.Uint32(head[4:]))
		switch {
		case size > longest:
			return 0, fmt.Errorf("the docker engine at %s sent too much at once", k.e.name)
		case head[0] == 1:
			k.left = int(size)
		case head[0] == 2, head[0] == 3:
			if _, err := io.CopyN(k.words, k.from, size); err != nil {
				return 0, k.end(err)
			}
		default:
			return 0, fmt.Errorf("the docker engine at %s sent something else than output", k.e.name)
		}
	}
	n, err := k.from.Read(p[:min(len(p), k.left)])
	k.left -= n
	return n, err
}

// end is the end of the agent, with its last words if it had any.
func (k *link) end(err error) error {
	if words := k.words.String(); words != "" {
		return fmt.Errorf("the sandbox ended: %s", firstLine(words))
	}
	if err == io.ErrUnexpectedEOF {
		return io.EOF
	}
	return err
}

func (k *link) Write(p []byte) (int, error) { return k.conn.Write(p) }

// Close ends the agent by the end of its input, or has the container killed.
func (k *link) Close() error {
	k.once.Do(func() {
		defer k.e.count(-1)
		defer k.conn.Close()
		k.err = k.stop()
	})
	return k.err
}

func (k *link) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), grace+sure)
	defer cancel()
	gone := make(chan error, 1)
	go func() { gone <- k.wait(ctx) }()
	if half, ok := k.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	} else {
		_ = k.conn.Close()
	}
	select {
	case err := <-gone:
		return err
	case <-time.After(grace):
	}
	err := k.e.api.ContainerKill(ctx, k.id, "KILL")
	if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) {
		cancel()
		<-gone
		return k.e.explain(err)
	}
	return <-gone
}

// wait returns when nothing runs in the container any more.
func (k *link) wait(ctx context.Context) error {
	ended, failed := k.e.api.ContainerWait(ctx, k.id, container.WaitConditionNotRunning)
	select {
	case <-ended:
		return nil
	case err := <-failed:
		if errdefs.IsNotFound(err) {
			return nil
		}
		return k.e.explain(err)
	}
}
