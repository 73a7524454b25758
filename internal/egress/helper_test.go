package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// names is a resolver. Each lookup of a name takes its next answer; the last one stays.
type names struct {
	mu      sync.Mutex
	answers map[string][]string
	asked   []string
}

func (n *names) LookupNetIP(_ context.Context, network, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, host)
	key := strings.TrimSuffix(host, ".")
	all := n.answers[key]
	if len(all) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(all) > 1 {
		n.answers[key] = all[1:]
	}
	var out []netip.Addr
	for _, text := range strings.Fields(all[0]) {
		if a := netip.MustParseAddr(text); network == "ip" || (network == "ip4") == a.Is4() {
			out = append(out, a)
		}
	}
	return out, nil
}

// An insider is a server on loopback that counts its connections.
type insider struct {
	port    string
	reached atomic.Int64
}

// listen serves on one port of 127.0.0.1, and of ::1 if possible. It sends a greeting,
// and then what it receives.
func listen(t testing.TB) *insider {
	t.Helper()
	var s insider
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, s.port, _ = net.SplitHostPort(first.Addr().String())
	all := []net.Listener{first}
	if second, err := net.Listen("tcp", "[::1]:"+s.port); err == nil {
		all = append(all, second)
	}
	var open sync.WaitGroup
	for _, l := range all {
		open.Go(func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				s.reached.Add(1)
				open.Go(func() {
					defer conn.Close()
					_, _ = io.WriteString(conn, "hello\n")
					_, _ = io.Copy(conn, conn)
				})
			}
		})
	}
	t.Cleanup(func() {
		for _, l := range all {
			_ = l.Close()
		}
		open.Wait()
	})
	return &s
}

func dialer(t testing.TB, r Rules, answers map[string][]string) *Dialer {
	t.Helper()
	d, err := NewDialer(r, &names{answers: answers})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// proxy serves on loopback until the test ends.
func proxy(t testing.TB, o ProxyOptions) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- NewProxy(o).Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func kindOf(err error) tool.Kind {
	if err == nil {
		return ""
	}
	return tool.AsError(err).Kind
}

// through requests a connection to host:port from the proxy at address, with the protocol
// that way names, and returns an error if the proxy refuses.
func through(t testing.TB, address, way, host, port string) (net.Conn, error) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	var ask string
	target := host + ":" + port
	if strings.Contains(host, ":") {
		target = "[" + host + "]:" + port
	}
	switch way {
	case "connect":
		ask = "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n"
	case "get":
		ask = "GET http://" + target + "/ HTTP/1.1\r\nHost: other\r\n\r\n"
	}
	if _, err := io.WriteString(conn, ask); err != nil {
		return conn, err
	}
	line := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(conn, line); err != nil || string(line) != "HTTP/1.1 200" {
		return conn, fmt.Errorf("%s %w", line, errors.Join(err, errors.New("refused")))
	}
	return conn, nil
}
