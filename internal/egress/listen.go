package egress

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// maxSocket is the maximum length of a socket's path that all systems allow.
const maxSocket = 103

// Listen creates a socket in dir that only its owner can reach, and dir if necessary. If
// the path is too long for a socket, it uses a new directory for temporary files.
// Closing the listener removes what Listen created.
func Listen(dir string) (socket string, l net.Listener, err error) {
	if err := private.MakeDir(dir); err != nil {
		return "", nil, err
	}
	name := rand.Text()[:16] + ".sock"
	socket = filepath.Join(dir, name)
	made := ""
	if len(socket) > maxSocket {
		if made, err = os.MkdirTemp("", "mcp-"); err != nil {
			return "", nil, err
		}
		if socket = filepath.Join(made, name); len(socket) > maxSocket {
			return "", nil, errors.Join(fmt.Errorf("%s is too long for a socket; set TMPDIR to a shorter path",
				socket), os.Remove(made))
		}
	}
	l, err = net.Listen("unix", socket)
	if err == nil {
		err = os.Chmod(socket, 0o600)
	}
	if err != nil {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
		if made != "" {
			err = errors.Join(err, os.Remove(made))
		}
		return "", nil, err
	}
	return socket, &listener{Listener: l, dir: made}, nil
}

// A listener removes its directory when it is closed.
type listener struct {
	net.Listener
	dir string
}

func (l *listener) Close() error {
	err := l.Listener.Close()
	if l.dir == "" {
		return err
	}
	if gone := os.Remove(l.dir); !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}
