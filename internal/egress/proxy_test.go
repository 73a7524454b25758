package egress

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestHalfClose(t *testing.T) {
	s := listen(t)
	address, visits := proxy(t, ProxyOptions{Dialer: dialer(t, Rules{AllowPrivate: []string{"127.0.0.1:" + s.port}},
		nil)})
	for _, way := range []string{"connect", "socks"} {
		conn, err := through(t, address, way, "127.0.0.1", s.port)
		if err != nil {
			t.Fatal(err)
		}
		big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		go func() {
			_, _ = conn.Write(big)
			_ = conn.(*net.TCPConn).CloseWrite()
		}()
		got, err := io.ReadAll(conn)
		if err != nil || !bytes.HasSuffix(got, append([]byte("hello\n"), big...)) {
			t.Errorf("%s: %d bytes came back, %v", way, len(got), err)
		}
		_ = conn.Close()
	}
	for _, v := range visits() {
		if v.Sent != 1<<20 || v.Received != 1<<20+6 || v.Err != nil {
			t.Errorf("%+v", v)
		}
	}
}

func TestIdle(t *testing.T) {
	s := listen(t)
	address, visits := proxy(t, ProxyOptions{Dialer: dialer(t, Rules{AllowPrivate: []string{"127.0.0.1:" + s.port}},
		nil), IdleTimeout: 20 * time.Millisecond})
	conn, err := through(t, address, "socks", "127.0.0.1", s.port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.ReadAll(conn); err != nil {
		t.Errorf("it does not end: %v", err)
	}
	if all := visits(); len(all) != 1 {
		t.Errorf("%+v", all)
	}
}

// TestConnectionsAtOnce checks that connections above the maximum wait.
func TestConnectionsAtOnce(t *testing.T) {
	s := listen(t)
	address, _ := proxy(t, ProxyOptions{Dialer: dialer(t, Rules{AllowPrivate: []string{"127.0.0.1:" + s.port}}, nil),
		MaxConns: 2})
	served := make(chan error, 20)
	for range 20 {
		go func() {
			conn, err := through(t, address, "connect", "127.0.0.1", s.port)
			if err == nil {
				err = conn.Close()
			}
			served <- err
		}()
	}
	for range 20 {
		if err := <-served; err != nil {
			t.Error(err)
		}
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
	for _, ask := range []string{"", "\x05", "GET http", "CONNECT 127.0.0.1:" + s.port +
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
