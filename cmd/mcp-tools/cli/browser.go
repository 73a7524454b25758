package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A personsBrowser is a browser of this machine. The person copies an address from the terminal into it, and the other
// site sends it back to a port of this process, which is open until close.
type personsBrowser struct {
	out    io.Writer
	server *http.Server
	back   string
	came   chan url.Values
	over   chan struct{}
}

var _ room.Browser = (*personsBrowser)(nil)

// Return opens the port.
func (b *personsBrowser) Return() (string, error) {
	if b.server != nil {
		return b.back, nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	b.came, b.over = make(chan url.Values, 1), make(chan struct{})
	b.back = "http://" + listener.Addr().String() + room.ReturnPath
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+room.ReturnPath, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		select {
		case b.came <- r.URL.Query():
			_, _ = io.WriteString(w, "You can close this page: mcp-tools goes on.\n")
		default: // a second answer does not count
			w.WriteHeader(http.StatusGone)
		}
	})
	b.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(b.over)
		_ = b.server.Serve(listener) // ends with close
	}()
	return b.back, nil
}

// Visit shows an address, and waits for the browser.
func (b *personsBrowser) Visit(ctx context.Context, address string) (url.Values, error) {
	if b.server == nil {
		return nil, errors.New("there is no page to return to")
	}
	fmt.Fprintf(b.out, "Open this address in a browser of this machine, and agree there:\n\n  %s\n\n", tool.Visible(address))
	select {
	case q := <-b.came:
		return q, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// close closes the port.
func (b *personsBrowser) close() {
	if b.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // for the page to arrive
	defer cancel()
	_ = b.server.Shutdown(ctx)
	_ = b.server.Close()
	<-b.over
}
