package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// knock sends a request to the door without a network in between, so that it
// can have what no client of Go's would send.
func knock(t *testing.T, path string, change func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
	r.Host = "localhost"
	change(r)
	w := httptest.NewRecorder()
	newDoor(newTestServer(t)).Handler().ServeHTTP(w, r)
	return w
}

func TestOneGoodOriginDoesNotCoverForABadOne(t *testing.T) {
	for _, origins := range [][]string{{"http://localhost", evil}, {evil, "http://localhost"}, {"http://localhost, " + evil}} {
		w := knock(t, "/mcp", func(r *http.Request) { r.Header["Origin"] = origins })
		if allowed := w.Header().Get("Access-Control-Allow-Origin"); w.Code != http.StatusForbidden || allowed != "" {
			t.Errorf("%q got %d, and %q may read it", origins, w.Code, allowed)
		}
	}
}

func TestRefusalsAtTheDoorAreScrubbed(t *testing.T) {
	w := knock(t, "/mcp/"+plantedKey(), func(r *http.Request) { r.Header.Set("Authorization", "Bearer alice") })
	if w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), plantedKey()) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}
