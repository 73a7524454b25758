package egress

import (
	"io"
	"net"
	"testing"
)

// BenchmarkConnect opens and closes a connection through the proxy; BenchmarkDirect does
// so without it.
func BenchmarkConnect(b *testing.B) {
	s := listen(b)
	address := proxy(b, ProxyOptions{Dialer: dialer(b, Rules{AllowPrivate: []string{"127.0.0.1:" + s.port}}, nil)})
	for b.Loop() {
		conn, err := through(b, address, "connect", "127.0.0.1", s.port)
		if err != nil {
			b.Fatal(err)
		}
		_ = conn.Close()
	}
}

func BenchmarkDirect(b *testing.B) {
	s := listen(b)
	for b.Loop() {
		conn, err := net.Dial("tcp", "127.0.0.1:"+s.port)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = conn.Read(make([]byte, 1))
		_ = conn.Close()
	}
}

func BenchmarkThroughput(b *testing.B) {
	s := listen(b)
	address := proxy(b, ProxyOptions{Dialer: dialer(b, Rules{AllowPrivate: []string{"127.0.0.1:" + s.port}}, nil)})
	conn, err := through(b, address, "connect", "127.0.0.1", s.port)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	block := make([]byte, 64<<10)
	b.SetBytes(int64(len(block)))
	for b.Loop() { // in both directions
		if _, err := conn.Write(block); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(conn, block); err != nil {
			b.Fatal(err)
		}
	}
}
