package agent

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// ProxyAddress is where commands find the proxy.
	ProxyAddress = "127.0.0.1:3128"
	// mostTunnels bounds the connections at a time.
	mostTunnels = 64
)

// forward listens where commands look for the proxy and passes each connection
// on to a socket that leads out.
func forward(socket string) error {
	listener, err := net.Listen("tcp", ProxyAddress)
	if err != nil {
		return fmt.Errorf("the way to the proxy: %w", err)
	}
	go accept(listener, socket)
	return nil
}

func accept(listener net.Listener, socket string) {
	free := make(chan struct{}, mostTunnels)
	for {
		conn, err := listener.Accept()
		if err != nil {
			time.Sleep(10 * time.Millisecond) // out of descriptors, for a while
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

// tunnel carries bytes both ways until both sides have said all they have.
func tunnel(in net.Conn, socket string) {
	defer in.Close()
	out, err := net.DialTimeout("unix", socket, 5*time.Second)
	if err != nil {
		return
	}
	defer out.Close()
	var both sync.WaitGroup
	both.Go(func() { pour(out, in) })
	both.Go(func() { pour(in, out) })
	both.Wait()
}

// pour copies to the end, and says that it was the end.
func pour(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		_ = half.CloseWrite()
		return
	}
	to.Close()
	from.Close()
}
