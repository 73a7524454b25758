package agent

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// ProxyAddress is the address at which commands reach the proxy.
	ProxyAddress = "127.0.0.1:3128"
	// maxTunnels is the maximum number of concurrent connections.
	maxTunnels = 64
)

// forward listens on ProxyAddress, and forwards each connection to the socket of
// the proxy.
func forward(socket string) error {
	listener, err := net.Listen("tcp", ProxyAddress)
	if err != nil {
		return fmt.Errorf("listening for the proxy: %w", err)
	}
	go accept(listener, socket)
	return nil
}

func accept(listener net.Listener, socket string) {
	free := make(chan struct{}, maxTunnels)
	for {
		conn, err := listener.Accept()
		if err != nil {
			time.Sleep(10 * time.Millisecond) // out of file descriptors: try again later
			continue
		}
		select {
		case free <- struct{}{}:
			go func() {
				defer func() { <-free }()
				tunnel(conn, socket)
			}()
		default:
			conn.Close()
		}
	}
}

// tunnel copies bytes in both directions until both sides have closed.
func tunnel(in net.Conn, socket string) {
	defer in.Close()
	out, err := net.DialTimeout("unix", socket, 5*time.Second)
	if err != nil {
		return
	}
	defer out.Close()
	var both sync.WaitGroup
	both.Go(func() { copyAll(out, in) })
	both.Go(func() { copyAll(in, out) })
	both.Wait()
}

// copyAll copies until the end, and then closes the write side.
func copyAll(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		_ = half.CloseWrite()
		return
	}
	to.Close()
	from.Close()
}
