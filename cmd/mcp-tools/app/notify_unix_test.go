//go:build unix

package app

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// TestReady plays the service manager, with its socket.
func TestReady(t *testing.T) {
	name := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenPacket("unixgram", name)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	next := func() string {
		t.Helper()
		_ = socket.SetReadDeadline(time.Now().Add(time.Minute))
		buf := make([]byte, 100)
		n, _, err := socket.ReadFrom(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
	a := &App{env: &Env{Getenv: func(key string) string { return map[string]string{"NOTIFY_SOCKET": name}[key] }}}
	ctx, cancel := context.WithCancel(t.Context())
	defer a.ready(ctx)()
	if got := next(); got != "READY=1" {
		t.Errorf("the service manager gets %q", got)
	}
	cancel()
	if got := next(); got != "STOPPING=1" {
		t.Errorf("the service manager gets %q", got)
	}
}
