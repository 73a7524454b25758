package egresstest

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"net/url"
	"sync"
	"testing"
)

// listen serves the way in until the test ends.
func (n *Net) listen(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.Way = &url.URL{Scheme: "socks5", Host: l.Addr().String()}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
				n.connect(ctx, conn)
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = l.Close()
		all.Wait()
	})
}

// connect serves one request of SOCKS5 for an address.
func (n *Net) connect(ctx context.Context, conn net.Conn) {
	to, err := requested(conn)
	if err != nil {
		return
	}
	n.mu.Lock()
	n.reached = append(n.reached, to.String())
	d, found := n.doors[to]
	n.mu.Unlock()
	if !found {
		_, _ = conn.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0}) // refused
		return
	}
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", d.server)
	if err != nil {
		_, _ = conn.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	defer server.Close()
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if _, err := conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0}); err != nil {
		return
	}
	if d.name != "" {
		conn = tls.Server(conn, &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return n.signer.certificate(d.name) }})
	}
	carry(conn, server)
}

// carry takes bytes both ways until one side ends.
func carry(a, b net.Conn) {
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			half, ok := way[0].(interface{ CloseWrite() error })
			if !ok || half.CloseWrite() != nil {
				_ = way[0].Close()
			}
		})
	}
	both.Wait()
}

// requested reads where a client of SOCKS5 wants to go.
func requested(conn io.ReadWriter) (netip.AddrPort, error) {
	none := netip.AddrPort{}
	var head [2]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return none, err
	}
	if _, err := io.CopyN(io.Discard, conn, int64(head[1])); err != nil {
		return none, err
	}
	if _, err := conn.Write([]byte{5, 0}); err != nil {
		return none, err
	}
	var request [4]byte
	if _, err := io.ReadFull(conn, request[:]); err != nil {
		return none, err
	}
	size, ok := map[byte]int{1: 4, 4: 16}[request[3]]
	if !ok {
		return none, errors.New("this is not an address")
	}
	rest := make([]byte, size+2)
	if _, err := io.ReadFull(conn, rest); err != nil {
		return none, err
	}
	addr, _ := netip.AddrFromSlice(rest[:size])
	return netip.AddrPortFrom(addr, uint16(rest[size])<<8|uint16(rest[size+1])), nil
}
