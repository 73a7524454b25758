package egress

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// site serves HTTP on loopback and records its requests.
func site(t *testing.T) (address string, asked chan *http.Request) {
	t.Helper()
	asked = make(chan *http.Request, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- r
		w.Header().Set("X-Kept", "yes")
		w.Header().Set("Connection", "X-Dropped, keep-alive")
		w.Header().Set("X-Dropped", "no")
		switch r.URL.Path {
		case "/stream":
			for i := range 3 {
				fmt.Fprintf(w, "part %d\n", i)
				w.(http.Flusher).Flush()
			}
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		case "/big":
			_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<20))
		default:
			fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.Path, body)
		}
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), asked
}

func clientOf(address string) *http.Client {
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: address})}}
}

func TestForward(t *testing.T) {
	at, asked := site(t)
	address := proxy(t, ProxyOptions{Dialer: dialer(t, Rules{AllowPrivate: []string{at}}, nil)})
	c := clientOf(address)
	defer c.CloseIdleConnections()
	for _, test := range []struct{ method, path, send, want string }{
		{"GET", "/a", "", "GET /a "}, {"POST", "/b", "sent", "POST /b sent"},
		{"GET", "/stream", "", "part 0\npart 1\npart 2\n"},
		{"HEAD", "/a", "", ""}, {"GET", "/none", "", ""},
		{"PUT", "/c", strings.Repeat("y", 1<<20), "PUT /c " + strings.Repeat("y", 1<<20)},
		{"GET", "/big", "", strings.Repeat("x", 1<<20)},
	} {
		r, err := http.NewRequestWithContext(t.Context(), test.method, "http://"+at+test.path,
			strings.NewReader(test.send))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Proxy-Authorization", "secret")
		r.Header.Set("Proxy-Connection", "keep-alive")
		r.Header.Set("Connection", "X-Hop")
		r.Header.Set("X-Hop", "drop")
		r.Header.Set("Authorization", "keep")
		if test.method == "PUT" {
			r.ContentLength = -1 // chunked
			r.Header.Set("Expect", "100-continue")
		}
		res, err := c.Do(r)
		if err != nil {
			t.Fatalf("%s %s: %v", test.method, test.path, err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || string(body) != test.want || res.Header.Get("X-Kept") != "yes" ||
			res.Header.Get("X-Dropped") != "" {
			t.Errorf("%s %s: %.50q %v %v", test.method, test.path, body, res.Header, err)
		}
		got := <-asked
		for _, name := range []string{"Proxy-Authorization", "Proxy-Connection", "X-Hop", "Connection", "Expect"} {
			if got.Header.Get(name) != "" {
				t.Errorf("%s reached the host", name)
			}
		}
		if got.Header.Get("Authorization") != "keep" || got.Host != at || got.RequestURI != test.path {
			t.Errorf("the host was asked for %q %q with %v", got.Host, got.RequestURI, got.Header)
		}
	}
}

// raw sends text and returns the status, the header and the body of the response.
func raw(t *testing.T, address, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%.60q: %v", text, err)
	}
	body, _ := io.ReadAll(res.Body) // the connection may be reset
	return fmt.Sprintf("%s\n%v\n\n%s", res.Status, res.TransferEncoding, body)
}

func TestRequests(t *testing.T) {
	at, _ := site(t)
	address := proxy(t, ProxyOptions{Dialer: dialer(t, Rules{AllowPrivate: []string{at}}, nil)})
	for text, want := range map[string]string{
		"GET http://" + at +
			"/a HTTP/1.1\r\nHost: evil\r\n\r\n": "200 OK",
		"GET http://" + at +
			"/a HTTP/1.0\r\n\r\n": "200 OK",
		"GET http://" + at +
			"/stream HTTP/1.0\r\n\r\n": "200 OK",
		"GET / HTTP/1.1\r\nHost: " + at +
			"\r\n\r\n": "400",
		"GET https://" + at +
			"/ HTTP/1.1\r\nHost: x\r\n\r\n": "403",
		"GET ftp://" + at +
			"/ HTTP/1.1\r\nHost: x\r\n\r\n": "403",
		"GET file:///etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n": "400",
		"GET http://u:p@" + at +
			"/ HTTP/1.1\r\nHost: x\r\n\r\n": "403",
		"GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: x\r\n\r\n":      "403",
		"GET http://none.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n": "502",
		"CONNECT none.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n": "502",
		"CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: " + at +
			"\r\n\r\n": "403",
		"CONNECT 127.0.0.1 HTTP/1.1\r\nHost: x\r\n\r\n":         "400",
		"CONNECT u@" + at + " HTTP/1.1\r\nHost: x\r\n\r\n":      "400",
		"CONNECT http://" + at + " HTTP/1.1\r\nHost: x\r\n\r\n": "400",
		"CONNECT /x HTTP/1.1\r\nHost: x\r\n\r\n":                "400",
		"nonsense\r\n\r\n":                                      "400",
		"\x16\x03\x01\x00\x05hello\r\n\r\n":                     "400",
		"\x05\x01\x00\r\n\r\n":                                  "400",
		"GET http://" + at + "/ HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", 2*maxHead) +
			"\r\n\r\n": "431",
		"GET http://" + at + "/ HTTP/1.1\r\n" + strings.Repeat("X: y\r\n", maxHead/2) +
			"\r\n": "431",
		"GET http://" + at + "/" + strings.Repeat("a", 2*maxHead) +
			" HTTP/1.1\r\nHost: x\r\n\r\n": "431",
		"POST http://" + at +
			"/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd": "400",
	} {
		got := raw(t, address, text)
		if !strings.HasPrefix(got, want) {
			t.Errorf("%.60q: %.100q, want %q", text, got, want)
		}
		if strings.Contains(text, "/stream HTTP/1.0") &&
			(strings.Contains(got, "chunked") || !strings.HasSuffix(got, "part 2\n")) {
			t.Errorf("an old client got %q", got)
		}
	}
}

func TestKeepAlive(t *testing.T) {
	at, asked := site(t)
	address := proxy(t, ProxyOptions{Dialer: dialer(t, Rules{AllowPrivate: []string{at}}, nil)})
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	for _, p := range []string{"/1", "/stream", "/none", "/2"} {
		fmt.Fprintf(conn, "GET http://%s%s HTTP/1.1\r\nHost: x\r\n\r\n", at, p)
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(res.Body); err != nil {
			t.Fatal(err)
		}
		if r := <-asked; r.URL.Path != p {
			t.Errorf("%s instead of %s", r.URL.Path, p)
		}
	}
	fmt.Fprintf(conn, "GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: x\r\n\r\n")
	if res, err := http.ReadResponse(in, nil); err != nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("the last of several: %v, %v", res, err)
	}
}

func FuzzRequest(f *testing.F) {
	for _, text := range []string{
		"GET http://example.org/ HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://u@[::1]:80/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST http://example.org:8080/a?b#c HTTP/1.1\r\nHost: x\r\nConnection: a, b\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(in)))
		if err != nil {
			return
		}
		to, err := requestTarget(r)
		if err != nil {
			return
		}
		if again, err := ParseTarget(to.String()); err != nil || again != to {
			t.Fatalf("%q: %+v, %v", in, to, err)
		}
		if r.Method == http.MethodConnect {
			return
		}
		out := r.Clone(t.Context())
		rewrite(&httputil.ProxyRequest{In: r, Out: out}, to)
		if out.URL.Host != to.String() || out.URL.User != nil {
			t.Fatalf("%q goes out as %+v", in, out)
		}
	})
}
