package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/egress"
)

// client returns a client for a server, with a limit of 1 MB.
func client(t *testing.T, server *httptest.Server, waits *[]time.Duration) *Client {
	t.Helper()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	out, err := egress.NewClient(egress.ClientOptions{Rules: func(string) (egress.Rules, error) {
		return egress.Rules{AllowPrivate: []string{u.Host}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	c, err := NewClient(Options{
		Name: "p", URL: server.URL + "/v1", Key: "the-key", Prefix: "Bearer ", API: out, Web: out, MaxBytes: 1 << 20,
		Wait: func(_ context.Context, d time.Duration) error {
			*waits = append(*waits, d)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func serve(t *testing.T, f http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s
}

// TestKeyStaysAtItsHost: no other host gets the key.
func TestKeyStaysAtItsHost(t *testing.T) {
	got := map[string]string{}
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got[r.URL.Path] = r.Header.Get("Authorization")
		fmt.Fprint(w, "ID3-sound")
	})
	var waits []time.Duration
	c := client(t, server, &waits)
	if _, err := c.Fetch(t.Context(), "/v1/files/1"); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{
		strings.Replace(server.URL, "127.0.0.1", "localhost", 1), strings.Replace(server.URL, "http:", "https:", 1),
		"http://example.org", "http://127.0.0.1:1",
	} {
		r, err := http.NewRequest(http.MethodGet, other+"/v1/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		if added, err := (secret{c}).Attach(t.Context(), r); added || err != nil || len(r.Header) > 0 {
			t.Errorf("%s gets the key: %v %v", other, r.Header, err)
		}
		if err := c.JSON(t.Context(), Call{Path: other + "/v1/x"}, new(any)); err == nil {
			t.Errorf("a request was sent to %s", other)
		}
	}
	if got["/v1/files/1"] != "Bearer the-key" || len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestLargeResponses(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/declared" {
			w.Header().Set("Content-Length", fmt.Sprint(300<<20))
		}
		for range 2 << 10 {
			if _, err := w.Write(make([]byte, 1<<10)); err != nil {
				return
			}
		}
	})
	var waits []time.Duration
	c := client(t, server, &waits)
	for _, path := range []string{"declared", "stream"} {
		_, err := c.File(t.Context(), Call{Path: path})
		var f *Failure
		if !errors.As(err, &f) || f.Reason != Unreadable || !strings.Contains(f.Message, "larger than 1.0 MB") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if len(waits) > 0 {
		t.Errorf("it was tried again: %v", waits)
	}
}

func TestRetryAfter(t *testing.T) {
	left := 2
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if left--; left >= 0 {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		fmt.Fprint(w, `{"ok":true}`)
	})
	var waits []time.Duration
	var answer struct{ OK bool }
	if err := client(t, server, &waits).JSON(t.Context(), Call{Path: "x", Once: true}, &answer); err != nil ||
		!answer.OK {
		t.Fatal(err)
	}
	if len(waits) != 2 || waits[0] != 7*time.Second || waits[1] != 7*time.Second {
		t.Error(waits)
	}
}

// TestCancelled: the error of a request whose context ends is its cause.
func TestCancelled(t *testing.T) {
	cause := errors.New("it is not needed")
	ctx, cancel := context.WithCancelCause(t.Context())
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel(cause)
		<-r.Context().Done()
	})
	var waits []time.Duration
	if err := client(t, server, &waits).JSON(ctx, Call{Path: "x"}, new(any)); !errors.Is(err, cause) {
		t.Error(err)
	}
}

func TestInvalidURL(t *testing.T) {
	for _, u := range []string{"", "nothing", "https://user:secret@host/v1", "https://host/v1?key=secret", "://"} {
		_, err := NewClient(Options{Name: "p", URL: u})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", u, err)
		}
	}
}

func TestSizes(t *testing.T) {
	for _, x := range []struct {
		aspect, size string
		w, h         int
	}{
		{"16:9", "", 1360, 768}, {"1:1", "", 1024, 1024}, {"", "", 1024, 1024}, {"16:9", "640x480", 640, 480},
		{"nonsense", "1K", 1024, 1024}, {"1:0", "0x5", 1024, 1024},
	} {
		if w, h := Size(x.aspect, x.size, Pixels(x.size, 1<<20), 16); w != x.w || h != x.h {
			t.Errorf("%q %q: %dx%d", x.aspect, x.size, w, h)
		}
	}
	p := Params{"a": "6,10", "b": "2-15", "c": "720P,1080P"}
	for n, want := range map[int]int{1: 6, 6: 6, 7: 10, 30: 10} {
		if got := p.Nearest("a", n); got != want {
			t.Errorf("%d: %d", n, got)
		}
	}
	for n, want := range map[int]int{1: 2, 2: 2, 9: 9, 15: 15, 16: 15} {
		if got := p.Nearest("b", n); got != want {
			t.Errorf("%d: %d", n, got)
		}
	}
	if p.Nearest("none", 3) != 3 || p.Choose("c", "1080p") != "1080P" || p.Choose("c", "8K") != "720P" ||
		p.Choose("d", "x") != "x" {
		t.Error("a parameter is not chosen")
	}
}

func TestTypesByContent(t *testing.T) {
	for content, want := range map[string]string{
		"\xff\xfb\x90\x00": "audio/mpeg", "\xff\xf1\x50\x80": "audio/aac", "OggS\x00": "audio/ogg",
		"fLaC\x00":                     "audio/flac",
		"\x00\x00\x00\x20ftypM4A \x00": "audio/mp4", "RIFF\x00\x00\x00\x00WAVEfmt ": "audio/wav",
		"<html>":  "text/plain",
		`{"a":1}`: "text/plain", "\x01\x02\x03": "video/mp4", "\xff\xd8\xff\xe0": "image/jpeg",
	} {
		if got := MIMEOf([]byte(content), "video/mp4; codecs=x"); got != want {
			t.Errorf("%q: %s, not %s", content, got, want)
		}
	}
}
