package browser

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

const (
	maxOffline  = 2 // browsers
	offlineIdle = 2 * time.Minute
)

// Offline returns browsers that reach no host, for the program's own pages, such as diagrams. None is started yet.
func Offline(c Settings, tiers sandbox.Tiers, log *slog.Logger) (*Browsers, error) {
	return New(Options{
		Tiers: tiers, Path: c.Path, Insecure: c.Insecure, Sessions: maxOffline, PerCaller: 1, Idle: offlineIdle, Log: log,
		Proxy: func(context.Context, func(string, error)) (Proxy, error) { return noNetwork{}, nil },
	})
}

// noNetwork is a proxy that closes all connections.
type noNetwork struct{}

// Serve closes all connections to l, until ctx ends.
func (noNetwork) Serve(ctx context.Context, l net.Listener) error {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	for {
		conn, err := l.Accept()
		if err != nil {
			return l.Close()
		}
		conn.Close()
	}
}
