package main

import (
	"net/http"
	"testing"
)

// TestMetricsRefuseForeignHosts checks DNS rebinding: a page whose host name resolves to the listener cannot
// read the metrics.
func TestMetricsRefuseForeignHosts(t *testing.T) {
	r := serveRemote(t, "server: {allowed_hosts: [tools.example.com]}", "--metrics", "localhost:0")
	url := r.log.find(t, `serving metrics +url=(\S+)`)
	for host, want := range map[string]int{
		"": http.StatusOK, "localhost:9090": http.StatusOK, "10.1.2.3:9090": http.StatusOK, "tools.example.com:9090": http.StatusOK,
		"evil.example.com": http.StatusForbidden, "evil.example.com:9090": http.StatusForbidden,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("to %q: got %d, want %d", host, res.StatusCode, want)
		}
	}
}
