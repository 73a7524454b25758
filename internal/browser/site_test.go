package browser

import (
	"cmp"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A site serves the pages of testdata/site.
type site struct {
	*httptest.Server
	inside string // address of the internal host, in the evil page
	names  []string
	goOn   chan struct{} // closed to end slow responses
}

func newSite(t testing.TB) *site {
	s := &site{inside: "localhost", goOn: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", s.page)
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("user") != "ann" || r.FormValue("password") != "opensesame" {
			http.Redirect(w, r, "/login.html?wrong", http.StatusSeeOther)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "login", Value: r.FormValue("user"), Path: "/", HttpOnly: true})
		http.Redirect(w, r, "/private", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /private", func(w http.ResponseWriter, r *http.Request) {
		c, err := r.Cookie("login")
		if err != nil {
			http.Redirect(w, r, "/login.html", http.StatusSeeOther)
			return
		}
		fmt.Fprintf(w, "<title>Private</title><h1>Welcome %s</h1><a href=/table.html>Prices</a>", c.Value)
	})
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, "<title>Echo</title>")
		var lines []string
		for name, values := range r.PostForm {
			lines = append(lines, fmt.Sprintf("<p>%s=%s.</p>", name, strings.Join(values, ",")))
		}
		sort.Strings(lines)
		fmt.Fprint(w, strings.Join(lines, ""))
	})
	mux.HandleFunc("GET /file/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="../../`+r.PathValue("name")+`"`)
		fmt.Fprint(w, "%PDF "+strings.Repeat("x", 1000))
	})
	mux.HandleFunc("GET /late/{name}", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(700 * time.Millisecond):
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", cmp.Or(mime.TypeByExtension(filepath.Ext(r.URL.Path)),
			"application/octet-stream"))
		fmt.Fprint(w, "%PDF late")
	})
	mux.HandleFunc("POST /late/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Disposition", "attachment")
		fmt.Fprint(w, r.FormValue("text"))
	})
	mux.HandleFunc("GET /long/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", "3000000")
		w.Write(make([]byte, 1_000_000))
		w.(http.Flusher).Flush()
		select {
		case <-s.goOn:
			w.Write(make([]byte, 2_000_000))
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("GET /slow.json", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(300 * time.Millisecond):
		case <-r.Context().Done():
		}
		json.NewEncoder(w).Encode(map[string]string{"word": "item"})
	})
	mux.HandleFunc("GET /redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.FormValue("to"), http.StatusFound)
	})
	mux.HandleFunc("GET /refresh", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html") // without it the response is shown as text
		fmt.Fprintf(w, `<meta http-equiv=refresh content="0; url=%s"><p>Refreshing</p>`, r.FormValue("to"))
	})
	mux.HandleFunc("GET /socket", socket)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *site) page(w http.ResponseWriter, r *http.Request) {
	name := filepath.Base(r.URL.Path)
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "site", name))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	names, _ := json.Marshal(s.names)
	kind := "text/html; charset=utf-8"
	if strings.HasSuffix(name, ".js") {
		kind = "text/javascript"
	}
	w.Header().Set("Content-Type", kind)
	fmt.Fprint(w, strings.NewReplacer("INSIDENAMES", string(names), "INSIDE", s.inside).Replace(string(text)))
}

// socket is a WebSocket that sends hello.
func socket(w http.ResponseWriter, r *http.Request) {
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	fmt.Fprintf(conn,
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n\x81\x05hello", base64.StdEncoding.EncodeToString(sum[:]))
	one := make([]byte, 1)
	conn.Read(one) // until the browser closes it
}

// An insider is an internal server, which must never be reached.
type insider struct {
	net.Listener
	reached atomic.Int64
}

func newInsider(t testing.TB) *insider {
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	in := &insider{Listener: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			in.reached.Add(1)
			fmt.Fprint(conn,
				"HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nContent-Length: 7\r\nConnection: close\r\n\r\nINSIDER")
			conn.Close()
		}
	}()
	return in
}

func (in *insider) port() string {
	_, port, _ := net.SplitHostPort(in.Addr().String())
	return port
}
