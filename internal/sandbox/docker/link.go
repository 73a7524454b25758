package docker

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
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
	grace       = time.Second     // for the agent to end by itself
	killTimeout = 5 * time.Second // for the engine to kill the container

	maxFrame = 64 << 20 // maximum length of a frame; engines send far shorter ones
)

// A link is the connection to the agent in a container.
type link struct {
	dynamic bool // the agent needs shared libraries
	e       *engine
	id      string
	holds   []sandbox.Guarantee
	carried sandbox.Carried

	conn  net.Conn
	from  *bufio.Reader
	words *sandbox.Tail // stderr of the agent
	left  int           // remaining bytes of the current frame

	once sync.Once
	err  error // the result of Close
}

func (k *link) Guarantees() []sandbox.Guarantee { return k.holds }

// Carries implements [sandbox.Carrier].
func (k *link) Carries() sandbox.Carried { return k.carried }

// Read reads stdout of the agent. The engine multiplexes both streams in frames with
// an 8-byte header: the stream, three zero bytes and the length.
func (k *link) Read(p []byte) (int, error) {
	for k.left == 0 {
		var head [8]byte
		if _, err := io.ReadFull(k.from, head[:]); err != nil {
			return 0, k.end(err)
		}
		size := int64(binary.BigEndian.Uint32(head[4:]))
		switch {
		case size > maxFrame:
			return 0, fmt.Errorf("the docker engine at %s sent a frame that is too long", k.e.name)
		case head[0] == 1:
			k.left = int(size)
		case head[0] == 2, head[0] == 3:
			if _, err := io.CopyN(k.words, k.from, size); err != nil {
				return 0, k.end(err)
			}
		default:
			return 0, fmt.Errorf("the docker engine at %s sent an invalid frame", k.e.name)
		}
	}
	n, err := k.from.Read(p[:min(len(p), k.left)])
	k.left -= n
	return n, err
}

// end returns the error at the end of the agent, with the first line of its stderr.
func (k *link) end(err error) error {
	words := k.words.String()
	if k.dynamic && lacksLibraries(words) {
		return errLibraries(errors.New(firstLine(words)))
	}
	if words != "" {
		return fmt.Errorf("the sandbox ended: %s", firstLine(words))
	}
	if err == io.ErrUnexpectedEOF {
		return io.EOF
	}
	return err
}

func (k *link) Write(p []byte) (int, error) { return k.conn.Write(p) }

// Close closes the input of the agent so that it ends, or kills the container.
func (k *link) Close() error {
	k.once.Do(func() {
		defer k.e.count(-1)
		defer k.conn.Close()
		if k.err = k.stop(); k.err != nil {
			k.e.fails(time.Now())
		}
	})
	return k.err
}

func (k *link) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), grace+killTimeout)
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

// wait returns when the container has stopped.
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
