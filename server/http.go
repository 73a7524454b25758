package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// HTTP serves remote clients: streamable HTTP in all its revisions at /mcp and
// /mcp/{profile}, and when asked for the older HTTP+SSE at /sse.
//
// Every request is authenticated; a session id is not a credential. guard.go
// checks hosts, origins and tokens.
type HTTP struct {
	Server     *Server
	Identities Identities
	Base       Access // defaults for settings that a token leaves open: workspace, provider
	SSE        bool
	TLS        *tls.Config // nil serves plain HTTP
	// Documents are served to everyone, by their paths. They are JSON.
	Documents map[string][]byte
	// Login serves the paths for which Logs reports true, to all clients that reach the server by an allowed
	// host; it checks origins itself. May be nil.
	Login http.Handler
	// Logs reports whether a path belongs to Login.
	Logs func(path string) bool
	// Hooks serves POST /hooks/{name} for services and authenticates them; may be nil.
	Hooks http.Handler
	// Approvals serves /approvals for tokens that may decide approvals; may be nil.
	Approvals func(http.ResponseWriter, *http.Request, Identity)
	// Verbs serves /operator for tokens that may decide approvals; may be nil.
	Verbs *OperatorVerbs

	MaxMessage        int64
	MaxSessions       int
	SessionIdle       time.Duration
	ReadHeaderTimeout time.Duration
	Grace             time.Duration
	AllowedHosts      []string // beside loopback names
	AllowedOrigins    []string // beside loopback origins

	sessions *sessionTable
	conns    *connTable
	calls    context.Context // of calls that outlive their connection; nil for no limit
}

// Serve answers requests until ctx ends. Then it closes the listener, waits for
// running calls within the grace time, cancels the rest, and returns.
func (h *HTTP) Serve(ctx context.Context, l net.Listener) error {
	return h.serve(ctx, l, h.Handler())
}

func (h *HTTP) serve(ctx context.Context, l net.Listener, handler http.Handler) error {
	calls, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	h.calls = calls
	srv := &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return calls },
		ReadHeaderTimeout: h.ReadHeaderTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(h.Server.log.Handler(), slog.LevelDebug),
		TLSConfig:         h.TLS,
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

// shutdown first ends the streams that have no end of their own, so that it waits
// for calls only.
func (h *HTTP) shutdown(srv *http.Server, stop context.CancelCauseFunc) error {
	h.Server.Close()
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

// ignoreDeadline drops the error about calls that used up the grace time: those
// calls have been stopped.
func ignoreDeadline(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// Handler returns the HTTP handler of all endpoints.
func (h *HTTP) Handler() http.Handler {
	h.sessions = newSessionTable(h.Server, h.MaxSessions)
	h.conns = &connTable{byID: make(map[string]*conn)}
	mux := http.NewServeMux()
	for _, path := range []string{"/mcp", "/mcp/{profile}"} {
		mux.HandleFunc("POST "+path, h.authenticated(h.post))
		mux.HandleFunc("GET "+path, h.authenticated(h.get))
		mux.HandleFunc("DELETE "+path, h.authenticated(h.delete))
		mux.HandleFunc("OPTIONS "+path, preflight)
		mux.HandleFunc(path, notAllowed)
	}
	if h.SSE {
		mux.HandleFunc("GET /sse", h.authenticated(h.openSSE))
		mux.HandleFunc("GET /sse/{profile}", h.authenticated(h.openSSE))
		mux.HandleFunc("POST /message", h.authenticated(h.postSSE))
		mux.HandleFunc("POST /message/{profile}", h.authenticated(h.postSSE))
		for _, path := range []string{"/sse", "/sse/{profile}", "/message", "/message/{profile}"} {
			mux.HandleFunc("OPTIONS "+path, preflight)
		}
	}
	if h.Approvals != nil {
		mux.HandleFunc("GET /approvals", h.approver(h.Approvals))
		mux.HandleFunc("GET /approvals/{id}", h.approver(h.Approvals))
		mux.HandleFunc("POST /approvals/{id}", h.approver(h.Approvals))
		mux.HandleFunc("OPTIONS /approvals", preflight)
		mux.HandleFunc("OPTIONS /approvals/{id}", preflight)
	}
	if h.Verbs != nil {
		mux.HandleFunc("GET /operator", h.approver(h.Verbs.List))
		mux.HandleFunc("POST /operator/{room}/{verb...}", h.approver(h.Verbs.Call))
	}
	if h.Hooks != nil {
		mux.Handle("POST /hooks/{name}", h.Hooks)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeText(w, http.StatusNotFound, "there is nothing here; MCP is at /mcp, and at /sse if server.sse is on")
	})
	mux.HandleFunc("GET /.well-known/oauth-protected-resource", h.metadata)
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", h.metadata)
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp/{profile}", h.metadata)
	for path, document := range h.Documents {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Cache-Control", "max-age=300")
			setWriteDeadline(w)
			_, _ = w.Write(document) // the client has disconnected otherwise
		})
	}
	return h.guard(mux)
}

func (h *HTTP) metadata(w http.ResponseWriter, r *http.Request) {
	doc := h.Identities.Metadata(r.PathValue("profile"))
	if doc == nil {
		writeText(w, http.StatusNotFound, "this server issues its tokens itself and does not use OAuth")
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
	writeText(w, http.StatusMethodNotAllowed, "use POST")
}

// setWriteDeadline limits how long writing a short response may take.
func setWriteDeadline(w http.ResponseWriter) {
	// If it cannot be set, the response still fits into a buffer.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeLimit))
}

// writeText responds with one line of text.
func writeText(w http.ResponseWriter, status int, text string) {
	setWriteDeadline(w)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	if _, err := w.Write([]byte(text + "\n")); err != nil {
		return // the client has disconnected
	}
}
