package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// HTTP serves remote clients: streamable HTTP in all its revisions at /mcp and
// /mcp/{profile}, and when asked for the older HTTP+SSE at /sse.
//
// Every request proves who sends it; a session is no proof of anything. Who
// may ask from where is guard.go's business, the streams are in stream.go.
type HTTP struct {
	Server     *Server
	Identities Identities
	Base       Access // what a token does not say: workspace, provider
	SSE        bool
	TLS        *tls.Config // nil serves plain HTTP
	// Approvals serves /approvals for tokens that may decide approvals; may be nil.
	Approvals func(http.ResponseWriter, *http.Request, Identity)

	MaxMessage        int64
	MaxSessions       int
	SessionIdle       time.Duration
	ReadHeaderTimeout time.Duration
	Grace             time.Duration
	AllowedHosts      []string // beside loopback names
	AllowedOrigins    []string // beside loopback origins

	sessions *sessionTable
	conns    *connTable
	idlers   idlers
}

// Serve answers requests until ctx ends; then it accepts no more, lets calls
// in flight finish within the grace time, stops the rest, and returns.
func (h *HTTP) Serve(ctx context.Context, l net.Listener) error {
	return h.serve(ctx, l, h.Handler())
}

func (h *HTTP) serve(ctx context.Context, l net.Listener, handler http.Handler) error {
	calls, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	srv := &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return calls },
		ReadHeaderTimeout: h.ReadHeaderTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(h.Server.log.Handler(), slog.LevelDebug),
		TLSConfig:         h.TLS,
		ConnState:         h.idlers.note,
	}
	ended := make(chan error, 1)
	go func() {
		if h.TLS != nil {
			ended <- srv.ServeTLS(l, "", "")
		} else {
			ended <- srv.Serve(l)
		}
	}()
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-sweep.C:
			h.sessions.sweep(time.Now().Add(-h.SessionIdle))
		case <-ctx.Done():
			return h.shutdown(srv, stop)
		}
	}
}

const sweepEvery = time.Minute

// shutdown ends the streams that would stay open for ever first, so that only
// real work is waited for.
func (h *HTTP) shutdown(srv *http.Server, stop context.CancelCauseFunc) error {
	h.Server.Close()
	h.idlers.close()
	patience, done := context.WithTimeout(context.Background(), h.Grace)
	defer done()
	h.conns.drain(h.Grace)
	err := srv.Shutdown(patience)
	if err == nil {
		return nil
	}
	stop(errShutdown)
	last, done := context.WithTimeout(context.Background(), lastGrace)
	defer done()
	if srv.Shutdown(last) != nil {
		h.Server.log.Warn("some requests did not stop when they were cancelled")
	}
	return errors.Join(srv.Close(), ignoreDeadline(err))
}

// idlers are the connections over which no request has come yet. Shutdown
// would wait seconds for each, in case one is on its way.
type idlers struct {
	mu     sync.Mutex
	fresh  map[net.Conn]struct{}
	closed bool
}

func (i *idlers) note(c net.Conn, state http.ConnState) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(i.fresh, c)
	case i.closed:
		c.Close()
	default:
		if i.fresh == nil {
			i.fresh = make(map[net.Conn]struct{})
		}
		i.fresh[c] = struct{}{}
	}
}

func (i *idlers) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	for c := range i.fresh {
		c.Close()
	}
}

// ignoreDeadline keeps quiet about calls that used up the grace time: they
// have been stopped, which is what it is for.
func ignoreDeadline(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// Handler is the HTTP side without a listener.
func (h *HTTP) Handler() http.Handler {
	h.sessions = newSessionTable(h.Server, h.MaxSessions)
	h.conns = newConnTable()
	mux := http.NewServeMux()
	for _, path := range []string{"/mcp", "/mcp/{profile}"} {
		mux.HandleFunc("POST "+path, h.entered(h.post))
		mux.HandleFunc("GET "+path, h.entered(h.get))
		mux.HandleFunc("DELETE "+path, h.entered(h.delete))
		mux.HandleFunc("OPTIONS "+path, preflight)
		mux.HandleFunc(path, notAllowed)
	}
	if h.SSE {
		mux.HandleFunc("GET /sse", h.entered(h.openSSE))
		mux.HandleFunc("GET /sse/{profile}", h.entered(h.openSSE))
		mux.HandleFunc("POST /message", h.entered(h.postSSE))
		mux.HandleFunc("POST /message/{profile}", h.entered(h.postSSE))
		for _, path := range []string{"/sse", "/sse/{profile}", "/message", "/message/{profile}"} {
			mux.HandleFunc("OPTIONS "+path, preflight)
		}
	}
	if h.Approvals != nil {
		mux.HandleFunc("GET /approvals", h.approver)
		mux.HandleFunc("GET /approvals/{id}", h.approver)
		mux.HandleFunc("POST /approvals/{id}", h.approver)
		mux.HandleFunc("OPTIONS /approvals", preflight)
		mux.HandleFunc("OPTIONS /approvals/{id}", preflight)
	}
	mux.HandleFunc("GET /.well-known/oauth-protected-resource", h.metadata)
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", h.metadata)
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp/{profile}", h.metadata)
	return h.guard(mux)
}

func (h *HTTP) metadata(w http.ResponseWriter, _ *http.Request) {
	doc := h.Identities.Metadata()
	if doc == nil {
		say(w, http.StatusNotFound, "this server takes tokens of its own, not OAuth")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "max-age=300")
	if _, err := w.Write(doc); err != nil {
		h.Server.log.Debug("the metadata was not delivered", "err", err)
	}
}

func notAllowed(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Allow", "POST, GET, DELETE, OPTIONS")
	say(w, http.StatusMethodNotAllowed, "use POST")
}

// hurry bounds how long a client may leave a short answer unread.
func hurry(w http.ResponseWriter) {
	// Where it cannot be set, the answer is not longer than a buffer.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeLimit))
}

// say answers with one line for a person.
func say(w http.ResponseWriter, status int, text string) {
	hurry(w)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	if _, err := w.Write([]byte(text + "\n")); err != nil {
		return // the client has disconnected
	}
}
