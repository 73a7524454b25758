package oauth

import (
	"net/http"
	"net/url"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/api"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

const (
	maxBody     = 1 << 20 // of a response, in bytes
	requestTime = 30 * time.Second
	attempts    = 2 // of a request that has failed temporarily
	firstPause  = 200 * time.Millisecond
)

// Client returns an HTTP client for the endpoints of authorization servers: metadata, keys, registration, tokens. It
// is one of package api, with its attempts and bounds and the rules of web. It follows no redirects.
func Client(web outbound.Client) *http.Client {
	return &http.Client{
		Transport:     origins{web},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// origins sends each request to its origin as a service of its own. So the credential of a client
// reaches its endpoint alone, on any host of the metadata.
type origins struct{ web outbound.Client }

func (o origins) RoundTrip(r *http.Request) (*http.Response, error) {
	service, err := api.New(api.Options{
		Name: r.URL.Host, URL: (&url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host}).String(), HTTP: o.web,
		MaxBytes: maxBody, Timeout: requestTime, Attempts: api.Attempts{Max: attempts, First: firstPause},
	})
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	return service.RoundTrip(r)
}
