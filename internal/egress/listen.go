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
// the path is too long for a socket, it uses a directory among the temporary files.
// Closing the listener removes the socket.
func Listen(dir string) (socket string, l net.Listener, err error) {
	name := rand.Text()[:16] + ".sock"
	if len(filepath.Join(dir, name)) > maxSocket {
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("mcp-tools-%d", os.Getuid()))
	}
	if err := private.MakeDir(dir); err != nil {
		return "", nil, err
	}
	socket = filepath.Join(dir, name)
	l, err = net.Listen("unix", socket)
	if err != nil {
		return "", nil, err
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		return "", nil, errors.Join(err, l.Close())
	}
	return socket, l, nil
}
