package egress

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestHalfClose(t *testing.T) {
	s := listen(t)
	address := proxy(t, ProxyOptions{Dialer: dialer(t, Rules{AllowPrivate: []string{"127.0.0.1:" + s.port}},
		nil)})
	conn, err := through(t, address, "connect", "127.0.0.1", s.port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	go func() {
		_, _ = conn.Write(big)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(conn)
	if _, got, _ = bytes.Cut(got, []byte("\r\n\r\n")); err != nil || string(got) != "hello\n"+string(big) {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
}

func TestIdle(t *testing.T) {
	s := listen(t)
	address := proxy(t, ProxyOptions{Dialer: dialer(t, Rules{AllowPrivate: []string{"127.0.0.1:" + s.port}},
		nil), IdleTimeout: 20 * time.Millisecond})
	conn, err := through(t, address, "connect", "127.0.0.1", s.port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.ReadAll(conn); err != nil {
		t.Errorf("it does not end: %v", err)
	}
}

func TestEndOfProxy(t *testing.T) {
	s := listen(t)
	socket, l, err := Listen(filepath.Join(t.TempDir(), "sockets"))
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- NewProxy(ProxyOptions{Dialer: dialer(t, Rules{AllowPrivate: []string{"127.0.0.1:" + s.port}},
			nil)}).Serve(ctx, l)
	}()
	var open []net.Conn
	for _, ask := range []string{"", "GET http", "GET http", "CONNECT 127.0.0.1:" + s.port +
		" HTTP/1.1\r\nHost: x\r\n\r\n"} {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, ask)
		open = append(open, conn)
	}
	if _, err := open[3].Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, conn := range open {
		if _, err := io.ReadAll(conn); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(socket); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
	for late := time.Now().Add(3 * time.Minute); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(late) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// TestAllow checks that Allow is asked after the rules and before a connection, and that
// its error is the response.
func TestAllow(t *testing.T) {
	s := listen(t)
	var mu sync.Mutex
	var asked []string
	address := proxy(t, ProxyOptions{
		Dialer: dialer(t, Rules{AllowPrivate: []string{"127.0.0.1:" + s.port}}, nil),
		Allow: func(_ context.Context, to Target) error {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, to.String())
			if len(asked) == 1 {
				return tool.Errorf(tool.Refused, "a person denied %q", to.String())
			}
			return nil
		},
	})
	if got := raw(t, address, "GET http://10.0.0.1/ HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.HasPrefix(got, "403") {
		t.Error(got)
	}
	if got := raw(t, address, "CONNECT 127.0.0.1:"+s.port+" HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.Contains(got,
		"a person denied") || s.reached.Load() != 0 {
		t.Errorf("%s, reached %d times", got, s.reached.Load())
	}
	conn, err := through(t, address, "connect", "127.0.0.1", s.port)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if want := "127.0.0.1:" + s.port; !slices.Equal(asked, []string{want, want}) {
		t.Errorf("asked for %q", asked)
	}
}
