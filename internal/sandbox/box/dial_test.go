package box_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
)

// listenTCP serves connections with a function until the test ends, and returns the port.
func listenTCP(t *testing.T, serve func(net.Conn)) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return uint16(l.Addr().(*net.TCPAddr).Port)
}

// TestDial copies more than the window in both directions, on several connections at once,
// beside a command.
func TestDial(t *testing.T) {
	b := open(t)
	port := listenTCP(t, func(conn net.Conn) { _, _ = io.Copy(conn, conn) })
	data := make([]byte, 3<<20)
	_, _ = rand.Read(data)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			conn, err := b.Dial(t.Context(), port)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			go func() { _, _ = conn.Write(data) }()
			got := make([]byte, len(data))
			if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, data) {
				t.Errorf("other bytes came back: %v", err)
			}
		})
	}
	if out := run(t, b, sh("echo hello")).stdout(); out != "hello\n" {
		t.Errorf("the command wrote %q", out)
	}
	all.Wait()
}

func TestDialEnds(t *testing.T) {
	b := open(t)
	if _, err := b.Dial(t.Context(), 1); !errors.Is(err, box.ErrNoServer) {
		t.Errorf("a port that nothing listens on: %v", err)
	}
	port := listenTCP(t, func(conn net.Conn) { _, _ = io.WriteString(conn, "bye") })
	conn, err := b.Dial(t.Context(), port)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(conn); string(text) != "bye" || err != nil {
		t.Errorf("at the end of the server: %q, %v", text, err)
	}
	closed := make(chan error, 1)
	port = listenTCP(t, func(conn net.Conn) {
		_, err := conn.Read(make([]byte, 1))
		closed <- err
	})
	if conn, err = b.Dial(t.Context(), port); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if err := <-closed; err == nil {
		t.Error("the server does not see that the connection was closed")
	}
	if conn, err = b.Dial(t.Context(), port); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("a connection outlives its sandbox")
	}
}

// TestDialDoesNotRead checks that a reader who stops neither fills the memory nor stops others.
func TestDialDoesNotRead(t *testing.T) {
	b := open(t)
	wrote := make(chan int64, 1)
	port := listenTCP(t, func(conn net.Conn) {
		n, _ := io.Copy(conn, io.LimitReader(zeros{}, 1<<30))
		wrote <- n
	})
	conn, err := b.Dial(t.Context(), port)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if out := run(t, b, sh("echo hello")).stdout(); out != "hello\n" {
		t.Errorf("the command wrote %q", out)
	}
	conn.Close()
	if n := <-wrote; n > 512<<20 {
		t.Errorf("the server wrote %d bytes to nobody", n)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
