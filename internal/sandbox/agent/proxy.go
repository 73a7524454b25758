package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

const (
	// ProxyAddress is the address of the proxy in the sandbox.
	ProxyAddress = "127.0.0.1:3128"
	// maxTunnels is the maximum number of concurrent connections.
	maxTunnels = 64
	maxAnswer  = 16 << 10 // bytes of the answer of the proxy
)

// forward listens on ProxyAddress, and calls serve with each connection.
func forward(serve func(net.Conn)) error {
	listener, err := net.Listen("tcp", ProxyAddress)
	if err != nil {
		return fmt.Errorf("listening for the proxy: %w", err)
	}
	go accept(listener, serve)
	return nil
}

// Tunnel forwards the connections of a listener to the socket of a proxy, until the listener is closed. It is for
// launchers of sandboxes that have the loopback address of this machine.
func Tunnel(listener net.Listener, socket string) {
	accept(listener, func(conn net.Conn) { tunnel(conn, socket, "") })
}

// forwardTo listens on an address and forwards each connection to a host, as ADDRESS=HOST names them. An address that
// cannot be used is left out: the proxy still leads to its host.
func forwardTo(rule, socket string) {
	address, host, _ := strings.Cut(rule, "=")
	if listener, err := net.Listen("tcp", address); err == nil {
		go accept(listener, func(conn net.Conn) { tunnel(conn, socket, host) })
	}
}

func accept(listener net.Listener, serve func(net.Conn)) {
	free := make(chan struct{}, maxTunnels)
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // out of file descriptors: try again later
			continue
		}
		select {
		case free <- struct{}{}:
			go func() {
				defer func() { <-free }()
				serve(conn)
			}()
		default:
			conn.Close()
		}
	}
}

// tunnel copies bytes in both directions until both sides have closed. If there is a host the proxy is asked to connect to
// it first.
func tunnel(in net.Conn, socket, host string) {
	defer in.Close()
	out, err := net.DialTimeout("unix", socket, 5*time.Second)
	if err != nil {
		return
	}
	defer out.Close()
	if host != "" && connect(out, host) != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { copyAll(out, in) })
	both.Go(func() { copyAll(in, out) })
	both.Wait()
}

// connect asks the proxy to connect to a host.
func connect(proxy net.Conn, host string) error {
	if _, err := fmt.Fprintf(proxy, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", host, host); err != nil {
		return err
	}
	var head []byte
	for one := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")); head = append(head, one...) {
		if _, err := io.ReadFull(proxy, one); err != nil { // byte by byte: the bytes after the header are the host's
			return err
		}
		if len(head) > maxAnswer {
			return errors.New("the answer of the proxy is too long")
		}
	}
	if line, _, _ := bytes.Cut(head, []byte("\r\n")); !bytes.Contains(line, []byte(" 200")) {
		return fmt.Errorf("the proxy answers %q", line)
	}
	return nil
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
