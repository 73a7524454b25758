// Package desk lets people see and use the browsers of all servers on a data directory: it has the verbs with which the
// console shows a browser, takes it over, and gives it back.
//
// The console may be another process than the server with the browser. So a server with browsers listens on a Unix socket
// in the data directory, which only its user can reach, and answers with HTTP. The package knows neither DevTools nor pages:
// those are in package browser.
//
// Begin with [Serve] and [Verbs].
package desk

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Dir is the directory of the sockets within the data directory.
const Dir = "browsers"

const (
	ending    = ".sock"
	dialTime  = 2 * time.Second
	maxAnswer = 8 << 20
	maxAsked  = 64 << 10
	// maxPath is the maximum length of the path of a socket.
	maxPath = 103
)

// A Desk is a server's socket. It listens from the first browser on.
type Desk struct {
	Dir      string // of the sockets
	Browsers func() *browser.Browsers

	once   sync.Once
	err    error
	server *http.Server
	path   string
}

// Open listens, if it does not already.
func (d *Desk) Open() error {
	d.once.Do(func() { d.err = d.listen() })
	return d.err
}

func (d *Desk) listen() error {
	if err := private.MakeDir(d.Dir); err != nil {
		return err
	}
	path := filepath.Join(d.Dir, strings.ToLower(rand.Text()[:8])+ending)
	if len(path) > maxPath {
		return fmt.Errorf("%s is too long for the path of a socket", path)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(err, l.Close())
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{what}", d.answer)
	d.server, d.path = &http.Server{Handler: mux, ReadHeaderTimeout: dialTime}, path
	go func() { _ = d.server.Serve(l) }() // until Close
	return nil
}

// Close ends the socket.
func (d *Desk) Close() error {
	d.once.Do(func() {})
	if d.server == nil {
		return nil
	}
	return errors.Join(d.server.Close(), private.Remove(d.path))
}

// asked is a request to a server with browsers.
type asked struct {
	ID    string        `json:"id,omitempty"`
	By    string        `json:"by,omitempty"`
	Input browser.Input `json:"input"`
}

// An answer of a server with browsers.
type answer struct {
	Running []browser.Running `json:"running,omitempty"`
	Picture []byte            `json:"picture,omitempty"`
	Error   *tool.Error       `json:"error,omitempty"`
}

func (d *Desk) answer(w http.ResponseWriter, r *http.Request) {
	var q asked
	var a answer
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAsked)).Decode(&q)
	b := d.Browsers()
	switch what := r.PathValue("what"); {
	case err != nil:
	case what == "list":
		a.Running = b.Running()
	case what == "take":
		err = b.Take(r.Context(), q.ID, q.By)
	case what == "give":
		err = b.Give(q.ID, q.By)
	case what == "input":
		err = b.Input(r.Context(), q.ID, q.By, q.Input)
	case what == "look":
		var one browser.Running
		a.Picture, one, err = b.Look(r.Context(), q.ID, q.By)
		a.Running = []browser.Running{one}
	default:
		err = tool.Errorf(tool.NotFound, "there is no %q", what)
	}
	if err != nil {
		known := tool.AsError(err)
		if known.Kind == tool.Internal {
			known = tool.Errorf(tool.Unavailable, "the browser does not answer").Try("try again")
		}
		a.Error = known
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a) // else the client has gone
}

// servers returns the sockets of the servers with browsers, without those of servers that were killed, which it removes.
func servers(dir string) (all []string, err error) {
	found, err := filepath.Glob(filepath.Join(dir, "*"+ending))
	for _, path := range found {
		conn, err := net.DialTimeout("unix", path, dialTime)
		if err != nil {
			_ = private.Remove(path) // a server that is gone does not come back to it
			continue
		}
		_ = conn.Close() // it was only tried
		all = append(all, path)
	}
	return all, err
}

// ask asks one server.
func ask(ctx context.Context, path, what string, q asked) (a answer, err error) {
	body, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: dialTime}).DialContext(ctx, "unix", path)
		},
	}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://browser/"+what, strings.NewReader(string(body)))
	if err != nil {
		return a, err
	}
	got, err := client.Do(r)
	if err != nil {
		return a, tool.Errorf(tool.Unavailable, "the server with the browser does not answer").Try("try again").Because(err)
	}
	defer got.Body.Close()
	if err := json.NewDecoder(io.LimitReader(got.Body, maxAnswer)).Decode(&a); err != nil {
		return a, fmt.Errorf("the answer of the server with the browser: %w", err)
	}
	if a.Error != nil {
		return a, a.Error
	}
	return a, nil
}
