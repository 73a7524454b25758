package wire

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
)

// TestCallsStayAtTheProvider: a provider cannot have its next request sent to another host, and what it links to there
// is fetched without its key.
func TestCallsStayAtTheProvider(t *testing.T) {
	keys := make(chan string, 10)
	serve := func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("Authorization")
		_, _ = w.Write([]byte("ID3-sound"))
	}
	own, other := httptest.NewServer(http.HandlerFunc(serve)), httptest.NewServer(http.HandlerFunc(serve))
	defer own.Close()
	defer other.Close()
	out := egresstest.Local(t, own.URL, other.URL)
	c, err := NewClient(Options{Name: "p", URL: own.URL + "/v1", Key: "the-key", API: out, Web: out})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.JSON(t.Context(), Call{Path: other.URL + "/v1/x"}, new(any)); err == nil || len(keys) > 0 {
		t.Errorf("a request was sent to another host: %v", err)
	}
	for link, want := range map[string]string{"/v1/files/1": "Bearer the-key", other.URL + "/2": ""} {
		file, err := c.Fetch(t.Context(), link)
		if err != nil || file.MIME != "audio/mpeg" {
			t.Fatalf("%s: %+v, %v", link, file, err)
		}
		if got := <-keys; got != want {
			t.Errorf("%s got the key %q", link, got)
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
