package cli

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestPersonsBrowser comes back to the port once, and finds it closed after the command.
func TestPersonsBrowser(t *testing.T) {
	var shown strings.Builder
	b := &personsBrowser{out: &shown}
	back, err := b.Return()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{http.StatusOK, http.StatusGone} {
		response, err := http.Get(back + "?code=c&state=s")
		if err != nil {
			t.Fatal(err)
		}
		if response.Body.Close(); response.StatusCode != want {
			t.Errorf("answer %d has status %d", i, response.StatusCode)
		}
	}
	q, err := b.Visit(t.Context(), "https://login.test/?a=1\u202e")
	if err != nil || q.Encode() != (url.Values{"code": {"c"}, "state": {"s"}}).Encode() {
		t.Errorf("the person came back with %v, %v", q, err)
	}
	if text := shown.String(); !strings.Contains(text, "https://login.test/?a=1") || strings.Contains(text, "\u202e") {
		t.Errorf("shown is %q", text)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Visit(ended, "https://login.test/"); err == nil {
		t.Error("a command that was interrupted waits")
	}
	b.close()
	if _, err := http.Get(back); err == nil {
		t.Error("the port is open after the command")
	}
}
